/* SPDX-License-Identifier: Apache-2.0 */
/* From a container's cgroup to its neighbours in the tree: the one whose memory is looked at, those below, those of its pod. */
#ifndef SKM_PROBE_CGROUP_TREE_H
#define SKM_PROBE_CGROUP_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Tenants make cgroups of their own; deeper than this nobody has seen one, and recursion has to end. */
#define SKM_CGROUP_DEPTH_MAX 32

/* Opens the cgroup whose memory is the container's. cgroup_fd: where its process is; id: the container's.
 *
 * That cgroup itself, where it has the memory controller; else the outer one where two are the container's
 * (skm_probe_is_nested). pod: what is above both, never the root.
 *
 * Returns a descriptor that the caller closes; -EOPNOTSUPP with the cgroup and what is missing there (no memory controller, and
 * where it is not delegated; a threaded cgroup; no parent that could be a pod); -ENODEV where it is gone; -errno. */
int skm_probe_cgroup_governed(int cgroup_fd, const char *id, bool pod, struct skm_err *err);

/* Whether this could be the pod of a container in the namespace netns_inode: all processes below it are in that namespace or, as
 * the runtime's monitors are, in the host's; and it is not at the top of the tree, where containers without a pod lie together.
 * Returns 0; -EOPNOTSUPP with the process that is elsewhere; -errno. */
int skm_probe_cgroup_is_pod(int pod_fd, uint64_t netns_inode, uint64_t host_netns_inode, struct skm_err *err);

/* Calls visit for the cgroup and each one below it, parents first. Stops where visit returns anything but 0, and returns that. A
 * cgroup that goes meanwhile is left out. */
int skm_probe_cgroup_walk(int cgroup_fd, int (*visit)(int cgroup_fd, void *data), void *data);

/* Calls visit for each process of one cgroup, with the same results. There are none in a threaded one, and of those outside our
 * pid namespace nothing is known. */
int skm_probe_cgroup_processes(int cgroup_fd, int (*visit)(pid_t pid, void *data), void *data);

/* A process at or below the cgroup that is in the namespace netns_inode: pid itself where it is one of them, else any.
 * Returns its pid; 0 where there is none. */
pid_t skm_probe_cgroup_find_process(int cgroup_fd, pid_t pid, uint64_t netns_inode);

/* Whether nothing runs in the cgroup or below it (cgroup.events: populated). Returns 1 where something does, 0, -ENODEV where the
 * cgroup is gone, -errno. */
int skm_probe_cgroup_populated(int cgroup_fd, struct skm_err *err);

#endif
