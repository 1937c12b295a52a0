/* SPDX-License-Identifier: Apache-2.0 */
/* A memory cgroup as its files show it. Descriptors stay open, so a sample is a few pread calls. */
#ifndef SOCKLOAD_CGROUP_H
#define SOCKLOAD_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* One look. On v1 `sock` is memory.kmem.tcp.usage_in_bytes, anon and file are total_rss and total_cache. */
struct cgroup_sample {
	uint64_t sock, current, anon, file;
};

/* What changes rarely, and is looked at less often. */
struct cgroup_events {
	uint64_t oom_kills;
	uint64_t max_usage, failcnt; /* v1 only */
};

struct cgroup {
	bool v1;
	int dir, stat, current, events, populated; /* descriptors, -1 where there is no such file */
	int tcp_usage, tcp_max_usage, tcp_failcnt; /* v1 */
	bool was_populated;
	uint64_t limit;     /* memory.max, or on v1 memory.limit_in_bytes; UINT64_MAX is none */
	uint64_t tcp_limit; /* v1 */
};

/* Opens what there is. -ENOENT if the cgroup or its memory files are not there (yet). */
int cgroup_open(struct cgroup *cgroup, const char *path, bool v1);
void cgroup_close(struct cgroup *cgroup);

/* 0, or -ENODEV once the cgroup is gone. */
int cgroup_sample(struct cgroup *cgroup, struct cgroup_sample *ret);

/* 0, or -ENODEV once the cgroup is gone. */
int cgroup_read_events(struct cgroup *cgroup, struct cgroup_events *ret);

/* True when the cgroup is gone, or was populated once and is no more. */
bool cgroup_ended(struct cgroup *cgroup);

/* The number behind `key` in "key number" lines; false where there is none. */
bool find_key(const char *text, const char *key, uint64_t *ret);

#endif
