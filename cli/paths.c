/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include "model/request.h"

#include <stdio.h>
#include <stdlib.h>

#define HOOK_PATH SKM_LIBEXECDIR "/sockmem-hook"

#ifdef SKM_TEST_PATHS

/* sockmem-test, which is never installed: everything below $SKM_RUN_DIR. */
const struct skm_cli_paths *skm_cli_paths(void)
{
	static char socket_path[4096], ended[4096], hook_log[4096], containerd[4096];
	static const struct skm_cli_paths paths = {socket_path, ended, hook_log, HOOK_PATH, SKM_HOOKSDIR, containerd};
	const char *run_dir = getenv("SKM_RUN_DIR");

	snprintf(socket_path, sizeof(socket_path), "%s/sockmemd.sock", run_dir ? run_dir : "/nonexistent");
	snprintf(ended, sizeof(ended), "%s/ended", run_dir ? run_dir : "/nonexistent");
	snprintf(hook_log, sizeof(hook_log), "%s/hook.log", run_dir ? run_dir : "/nonexistent");
	snprintf(containerd, sizeof(containerd), "%s/containerd.toml", run_dir ? run_dir : "/nonexistent");
	return &paths;
}

#else

const struct skm_cli_paths *skm_cli_paths(void)
{
	static const struct skm_cli_paths paths = {
	        SKM_SOCKET_PATH, SKM_ENDED_DIR, SKM_HOOK_LOG, HOOK_PATH, SKM_HOOKSDIR, "/etc/containerd/config.toml",
	};

	return &paths;
}

#endif
