/* SPDX-License-Identifier: Apache-2.0 */
/* Where the hook is registered with podman and CRI-O: hooks.d files (oci-hooks(5)). */
#ifndef SKM_CLI_HOOKS_FILE_H
#define SKM_CLI_HOOKS_FILE_H

#include <limits.h>
#include <stdbool.h>

#define SKM_HOOKS_FILE_NAME "sockmem.json"

struct skm_hooks_file {
	char path[PATH_MAX];  /* of the file */
	char hook[PATH_MAX];  /* the hook that it names; empty: none was found in it */
	bool found;           /* the file is there and could be read */
	bool executable;      /* the hook is a file that can be executed */
	bool for_all;         /* it is for containers without an annotation too (sockmem-always.json) */
	bool read_by_default; /* podman looks into this folder without being told */
};

/* The folders, in podman's order; this build's own comes last where it is none of podman's. Returns how many. */
#define SKM_HOOKS_FOLDERS_MAX 3
int skm_cli_hooks_files(const char *own_folder, struct skm_hooks_file ret[SKM_HOOKS_FOLDERS_MAX]);

/* The value of the first member "path" in the text of a hooks.d file, which has one: hook.path. No more of the file is judged.
 * ret: PATH_MAX, empty where there is none that is a plain absolute path. */
void skm_cli_hooks_file_path(const char *text, char *ret);

#endif
