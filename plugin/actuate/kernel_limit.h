/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v1's own limit on TCP memory: memory.kmem.tcp.limit_in_bytes. */
#ifndef SKM_ACTUATE_KERNEL_LIMIT_H
#define SKM_ACTUATE_KERNEL_LIMIT_H

#include "base/err.h"

#include <stdint.h>

/* Writes the limit of the memory cgroup at dirfd, in bytes (UINT64_MAX: none), and reads it back: the kernel keeps whole pages,
 * at most what its counter knows (page_counter_memparse, mm/page_counter.c). From the first limit on new sockets are charged;
 * earlier ones never are (mem_cgroup_sk_alloc asks for tcpmem_active, which memcg_update_tcp_max sets, mm/memcontrol.c of 6.1).
 * Returns 0; -EBUSY where the sockets hold more than that now; -EIO where the kernel took another value (both named); -ENODEV
 * where the cgroup is gone; -errno. */
int skm_actuate_kernel_limit_write(int dirfd, uint64_t bytes, struct skm_err *err);

#endif
