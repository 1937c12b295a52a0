/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/paths.h"

#include "model/node.h"
#include "model/request.h"

#include <stdio.h>
#include <stdlib.h>

#define DAEMON_PATH SKM_SBINDIR "/sockmemd"

#ifdef SKM_TEST_PATHS

/* sockmem-hook-test, which is never installed: everything below $SKM_RUN_DIR, and $SKM_DAEMON for the enforcer. */
const struct skm_hook_paths *skm_hook_paths(void)
{
	static char socket_path[4096], journal[4096], node_file[4096];
	static struct skm_hook_paths paths = {
	        .socket = socket_path,
	        .journal = journal,
	        .log_name = "hook.log",
	        .node_file = node_file,
	};

	paths.run_dir = getenv("SKM_RUN_DIR");
	paths.daemon = getenv("SKM_DAEMON");
	if (!paths.run_dir)
		paths.run_dir = "/dev/null/none";
	if (!paths.daemon)
		paths.daemon = DAEMON_PATH;
	snprintf(socket_path, sizeof(socket_path), "%s/sockmemd.sock", paths.run_dir);
	snprintf(journal, sizeof(journal), "%s/journal", paths.run_dir);
	snprintf(node_file, sizeof(node_file), "%s/node.json", paths.run_dir);
	return &paths;
}

#else

const struct skm_hook_paths *skm_hook_paths(void)
{
	static const struct skm_hook_paths paths = {
	        .run_dir = SKM_RUN_DIR,
	        .socket = SKM_SOCKET_PATH,
	        .journal = SKM_JOURNAL_DIR,
	        .log_name = &SKM_HOOK_LOG[sizeof(SKM_RUN_DIR)],
	        .daemon = DAEMON_PATH,
	        .node_file = SKM_NODE_FILE,
	};

	return &paths;
}

#endif
