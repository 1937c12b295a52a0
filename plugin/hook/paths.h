/* SPDX-License-Identifier: Apache-2.0 */
/* The places that the hook uses. Constants of the build; only the test program takes them from the environment. */
#ifndef SKM_HOOK_PATHS_H
#define SKM_HOOK_PATHS_H

struct skm_hook_paths {
	const char *run_dir;
	const char *socket;
	const char *journal;
	const char *log_name; /* below run_dir */
	const char *daemon;   /* the enforcer's program */
	const char *node_file;
};

const struct skm_hook_paths *skm_hook_paths(void);

#endif
