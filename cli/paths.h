/* SPDX-License-Identifier: Apache-2.0 */
/* The places that the CLI reads. Constants of the build; only the test program takes them from the environment. */
#ifndef SKM_CLI_PATHS_H
#define SKM_CLI_PATHS_H

struct skm_cli_paths {
	const char *socket;
	const char *ended; /* the folder of records */
	const char *hook_log;
	const char *hook;      /* the installed hook */
	const char *hooks_dir; /* where this build installs its hooks.d file */
	const char *containerd;
};

const struct skm_cli_paths *skm_cli_paths(void);

#endif
