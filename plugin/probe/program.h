/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a container's program, before the container runs it. */
#ifndef SKM_PROBE_PROGRAM_H
#define SKM_PROBE_PROGRAM_H

#include <stdint.h>

struct skm_program {
	const char *root; /* the container's root filesystem on the host */
	const char *file; /* process.args[0] */
	const char *path; /* PATH of the container's environment; NULL: what crun takes where there is none */
	const char *cwd;  /* the container's; NULL: / */
};

/* The size in bytes of the file that starts the container, looked up as execvp(3) would inside: a name with a slash as it is,
 * else the first executable regular file along the path. Symbolic links are followed inside the root and never lead out of it,
 * whatever the container's owner has put there; nothing is opened for reading. What the container mounts over its root is not
 * seen: it is not there yet. 0 where it is not known, and for an empty file. */
uint64_t skm_probe_program_bytes(const struct skm_program *program);

#endif
