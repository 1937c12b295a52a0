/* SPDX-License-Identifier: Apache-2.0 */
/* Proactive reclaim of a cgroup: memory.reclaim, from kernel 5.19. */
#ifndef SKM_ACTUATE_MEMORY_RECLAIM_H
#define SKM_ACTUATE_MEMORY_RECLAIM_H

#include "base/err.h"

#include <stdint.h>

/* Opens memory.reclaim below the cgroup directory cgroup_fd. Returns a descriptor that the caller closes; -ENOENT before kernel
 * 5.19, said so; -errno. */
int skm_actuate_reclaim_open(int cgroup_fd, struct skm_err *err);

/* Asks for `bytes` once. Blocks while the kernel reclaims, up to seconds: never in the enforcer's loop.
 * Returns 0; -EAGAIN where the kernel could not reclaim as much; -EINTR; -ENODEV where the cgroup is gone; -errno. */
int skm_actuate_reclaim(int fd, uint64_t bytes, struct skm_err *err);

#endif
