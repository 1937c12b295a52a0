/* SPDX-License-Identifier: Apache-2.0 */
/* From a container's process to the descriptors that stand for it, so that nothing is looked up by pid again. */
#ifndef SKM_PROBE_PROCESS_H
#define SKM_PROBE_PROCESS_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* /proc/PID/cgroup: a line for each v1 hierarchy and the one of v2, each with a path of at most PATH_MAX; generous for what is
 * real. */
#define SKM_PROC_CGROUP_MAX 65536

/* Where cgroup2 is mounted: the first mount of type cgroup2 in mountinfo that shows the whole hierarchy, not a part bound
 * elsewhere (path a parameter for tests; NULL: /proc/self/mountinfo). ret: at least PATH_MAX.
 * Returns 0; -ENOENT where there is none; -ENAMETOOLONG; -errno. */
int skm_probe_cgroup2_mount(const char *mountinfo, char *ret, size_t size, struct skm_err *err);

/* The `0::` line of text in the format of /proc/PID/cgroup. A path with a ".." component (a process outside our cgroup
 * namespace) is refused. ret: at least PATH_MAX. Returns 0; -ENOENT without such a line; -EINVAL; -ENAMETOOLONG. */
int skm_probe_cgroup_line(const char *text, char *ret, size_t size, struct skm_err *err);

/* Its line of the v1 hierarchy that has the memory controller ("9:memory:/a"), as above. -ENOENT where no line has it: then
 * memory is on v2, or nowhere. */
int skm_probe_cgroup1_memory_line(const char *text, char *ret, size_t size, struct skm_err *err);

/* Opens what stands for process pid: a pidfd, its cgroup's directory (O_RDONLY|O_DIRECTORY; of the hierarchy that has the memory
 * controller: v2's, or v1's where it is there) and its network namespace.
 * pid <= 1 is refused (-EINVAL). The pidfd is opened first and asked again at the end, so that all three belong to one process.
 * Returns 0 with three descriptors that the caller closes; -ESRCH where it has ended; -ENOENT without such a cgroup; -errno. */
struct skm_process_fds {
	int pidfd, cgroup, netns;
};
int skm_probe_process_open(pid_t pid, struct skm_process_fds *ret, struct skm_err *err);

/* The same without the cgroup, which becomes -1. */
int skm_probe_process_open_netns(pid_t pid, struct skm_process_fds *ret, struct skm_err *err);

/* The path behind a descriptor (/proc/self/fd). Returns 0 or -errno. */
int skm_probe_fd_path(int fd, char *ret, size_t size);

/* /proc/sys/kernel/random/boot_id without its newline. ret: at least 40 bytes. Returns 0 or -errno. */
int skm_probe_boot_id(char ret[40]);

#endif
