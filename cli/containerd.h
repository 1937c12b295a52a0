/* SPDX-License-Identifier: Apache-2.0 */
/* Which annotations of a pod containerd passes to the runtime: only those that its configuration lists, runtime by runtime
 * (pod_annotations; docs/cri/config.md of containerd). CRI-O has no such list for annotations that are not its own. */
#ifndef SKM_CLI_CONTAINERD_H
#define SKM_CLI_CONTAINERD_H

#include <stdbool.h>
#include <stddef.h>

#define SKM_CONTAINERD_RUNTIMES_MAX 16

struct skm_containerd_runtime {
	char name[64];     /* cut where it is longer */
	char missing[256]; /* those of ours that it does not pass, "a, b"; empty where it passes all */
};

struct skm_containerd {
	bool found; /* its configuration is there and could be read */
	size_t count;
	struct skm_containerd_runtime runtimes[SKM_CONTAINERD_RUNTIMES_MAX];
};

/* Reads the file, at most 1 MiB of it. Imports are not followed. */
void skm_cli_containerd_look(const char *path, struct skm_containerd *ret);

/* The same for its text. As much of TOML as such a configuration has: tables by header, arrays of strings, comments. */
void skm_cli_containerd_parse(const char *text, struct skm_containerd *ret);

#endif
