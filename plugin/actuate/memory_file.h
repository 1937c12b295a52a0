/* SPDX-License-Identifier: Apache-2.0 */
/* Writes memory.min, memory.low, memory.high and memory.max of a cgroup, by libcgroup where a write cannot wait.
 *
 * A memory.high or memory.max that is written below what is in use makes the kernel reclaim in the writer's name for as long as
 * it takes (memory_high_write, memory_max_write: mm/memcontrol.c, 4.5 to 7.0), which may be seconds, unless the file was opened
 * with O_NONBLOCK (since 6.16), which libcgroup does not. Those are written by a child of their own (actuate/memory_writer.h). */
#ifndef SKM_ACTUATE_MEMORY_FILE_H
#define SKM_ACTUATE_MEMORY_FILE_H

#include "base/err.h"
#include "model/policy.h"

#include <stddef.h>
#include <stdint.h>

/* A cgroup by both names: libcgroup goes by path, and a path may come to be another cgroup's. */
struct skm_memory_cgroup {
	int dirfd;
	const char *path; /* as the host sees it */
};

/* Writes bytes (UINT64_MAX: "max") and reads the file back. Some 50 µs; a child, where one is needed, some ms.
 * Returns 0 where the file shows what the kernel makes of the value (skm_probe_memcg_kept); -ENODEV where the cgroup is gone;
 * -ESTALE where the path is another cgroup by now, or below another mount than the one that libcgroup found first; -ETIMEDOUT
 * where the kernel has not taken the value after a quarter of a second; -EIO where it shows another one; -EPERM, -EINVAL, -errno.
 */
int skm_actuate_memory_write(const struct skm_memory_cgroup *cgroup, enum skm_memory_file file, uint64_t bytes,
                             struct skm_err *err);

/* Lowers memory.max below what is in use, of all the cgroups (1 or 2, the innermost first), in a child that takes up to
 * SKM_MEMORY_STEPS_SEC: a quarter of what is too much is reclaimed (memory.reclaim, where the kernel has it) and the limit
 * follows what is in use down, until it is there or nothing more comes; then it is written whatever is in use, and the kernel
 * kills. Each write before that kills nothing. Returns 0 once the child has begun; -errno. */
#define SKM_MEMORY_STEPS_SEC 5
int skm_actuate_memory_step_down(const struct skm_memory_cgroup *cgroups, size_t count, uint64_t bytes, struct skm_err *err);

#endif
