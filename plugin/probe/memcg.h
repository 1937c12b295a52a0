/* SPDX-License-Identifier: Apache-2.0 */
/* A container's memory cgroup, through descriptors that stay open: a sample costs two preads at most. On a host whose memory
 * controller is on v1 the same questions are answered from v1's files, which are named beside. */
#ifndef SKM_PROBE_MEMCG_H
#define SKM_PROBE_MEMCG_H

#include "base/err.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct skm_memcg {
	int dir;
	int stat;    /* memory.stat; v1: memory.kmem.tcp.usage_in_bytes */
	int current; /* memory.current; v1: memory.usage_in_bytes */
	int events;  /* memory.events; v1: memory.oom_control */
	bool v1;
};

#define SKM_MEMCG_INIT ((struct skm_memcg){-1, -1, -1, -1, false})

/* Opens the files below the cgroup directory dirfd (duplicated). Returns 0; -ENOENT where the memory controller is not enabled
 * there (said so); -EOPNOTSUPP where a v1 kernel has no memory.kmem.tcp files; -errno. */
int skm_probe_memcg_open(int dirfd, struct skm_memcg *ret, struct skm_err *err);
void skm_probe_memcg_close(struct skm_memcg *memcg);

/* All in bytes. Each returns 0; -ENODEV where the cgroup is gone; -EINVAL where the text is not as the kernel writes it; -errno.
 */
int skm_probe_memcg_sock(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);
int skm_probe_memcg_current(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);
int skm_probe_memcg_oom_kills(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);

/* v1: memory.limit_in_bytes. Else the smallest memory.max of the cgroup itself and, where it has none (crun under systemd nests),
 * of its parent directory if that is below the mount; UINT64_MAX: none. */
int skm_probe_memcg_max(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);

/* Its own memory.high; UINT64_MAX: none, as always on v1. */
int skm_probe_memcg_high(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);

/* v1's own counters of a cgroup's TCP memory: the limit in bytes (UINT64_MAX: none), the most that was ever charged, and how
 * often a charge was refused. Returns as the readers above; -EINVAL for a cgroup of v2. */
struct skm_memcg_v1_tcp {
	uint64_t limit_bytes, max_usage_bytes, failcnt;
};
int skm_probe_memcg_v1_tcp(const struct skm_memcg *memcg, struct skm_memcg_v1_tcp *ret, struct skm_err *err);

/* One of the files that a policy may set, of the cgroup at the directory dirfd: UINT64_MAX for "max". The first opens it for
 * whoever looks at it again and again: a descriptor, or -errno; the second reads it by that. Each returns 0; -ENODEV where the
 * cgroup is gone; -EINVAL; -errno. */
int skm_probe_memcg_file_open(int dirfd, enum skm_memory_file file, struct skm_err *err);
int skm_probe_memcg_file_read(int fd, enum skm_memory_file file, uint64_t *ret, struct skm_err *err);
int skm_probe_memcg_file(int dirfd, enum skm_memory_file file, uint64_t *ret, struct skm_err *err);

/* memory.current of the cgroup at dirfd, for whoever has not opened it before. Same results. */
int skm_probe_memcg_in_use(int dirfd, uint64_t *ret, struct skm_err *err);

/* What such a file shows once `bytes` was written to it: the kernel keeps whole pages, and "max" for what is past its counter
 * (page_counter_memparse, mm/page_counter.c: at most PAGE_COUNTER_MAX = LONG_MAX / PAGE_SIZE pages; 6.1 to 7.0). */
uint64_t skm_probe_memcg_kept(uint64_t bytes, uint64_t page_bytes);

/* The value of one key of "key value\n" lines, as memory.stat and memory.events are. Exact key, whole line, decimal digits only.
 * Returns 0; -ENOENT without the key; -EINVAL where its value is not a 64-bit number (cut, garbage, negative). */
int skm_probe_keyed_value(const char *text, const char *key, uint64_t *ret);

/* A file with one number or "max" (UINT64_MAX). Returns 0 or -EINVAL. */
int skm_probe_single_value(const char *text, uint64_t *ret);

#endif
