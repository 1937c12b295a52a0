/* SPDX-License-Identifier: Apache-2.0 */
/* A container's memory cgroup (v2), through descriptors that stay open: a sample costs two preads at most. */
#ifndef SKM_PROBE_MEMCG_H
#define SKM_PROBE_MEMCG_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct skm_memcg {
	int dir, stat, current, events;
};

#define SKM_MEMCG_INIT ((struct skm_memcg){-1, -1, -1, -1})

/* Opens the files below the cgroup directory dirfd (duplicated). Returns 0; -ENOENT where the memory controller is not enabled
 * there (said so); -errno. */
int skm_probe_memcg_open(int dirfd, struct skm_memcg *ret, struct skm_err *err);
void skm_probe_memcg_close(struct skm_memcg *memcg);

/* All in bytes. Each returns 0; -ENODEV where the cgroup is gone; -EINVAL where the text is not as the kernel writes it; -errno.
 */
int skm_probe_memcg_sock(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);
int skm_probe_memcg_current(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);
int skm_probe_memcg_oom_kills(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);

/* The smallest memory.max of the cgroup itself and, where it has none (crun under systemd nests), of its parent directory
 * if that is below the mount; UINT64_MAX: none. */
int skm_probe_memcg_max(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);

/* Its own memory.high; UINT64_MAX: none. */
int skm_probe_memcg_high(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err);

/* cgroup.events: populated. Returns 1, 0, -ENODEV where it is gone, -errno. */
int skm_probe_memcg_populated(const struct skm_memcg *memcg, struct skm_err *err);

/* The value of one key of "key value\n" lines, as memory.stat and memory.events are. Exact key, whole line, decimal digits only.
 * Returns 0; -ENOENT without the key; -EINVAL where its value is not a 64-bit number (cut, garbage, negative). */
int skm_probe_keyed_value(const char *text, const char *key, uint64_t *ret);

/* A file with one number or "max" (UINT64_MAX). Returns 0 or -EINVAL. */
int skm_probe_single_value(const char *text, uint64_t *ret);

#endif
