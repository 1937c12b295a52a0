/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a container that a manager has moved out of its cgroup: what their sockets hold is counted elsewhere. */
#ifndef SKM_PROBE_OUTSIDE_H
#define SKM_PROBE_OUTSIDE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

struct skm_outside {
	uint32_t looked_at;    /* processes */
	uint32_t outside;      /* of them, outside the cgroup */
	pid_t pid;             /* the first of those; 0 where there is none */
	char cgroup[PATH_MAX]; /* where it is: the path below the mount */
};

/* Looks at a container's init and its descendants, parents first, at most `most` of them. Descendants by parentage (children
 * in /proc, CONFIG_PROC_CHILDREN): what a runtime starts later beside the init (exec) is not among them.
 * mount: where cgroup v2 is; cgroup_fd: the directory that they belong at or below. A process that ends meanwhile is left out. */
void skm_probe_outside(pid_t init, const char *mount, int cgroup_fd, uint32_t most, struct skm_outside *ret);

#endif
