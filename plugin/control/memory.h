/* SPDX-License-Identifier: Apache-2.0 */
/* The memory controller's files of a policy: what is written where and in which order, and what to make of a value that someone
 * else wrote. Pure. Bytes; UINT64_MAX is "max". */
#ifndef SKM_CONTROL_MEMORY_H
#define SKM_CONTROL_MEMORY_H

#include "base/err.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* min <= low <= high <= max as far as the policy sets them. Where it asked so, and what the node or the runtime has cut is now
 * below its neighbour, the neighbour is cut too. Returns 0; -EINVAL naming the two that were asked for the wrong way round. */
int skm_control_memory_fit(struct skm_in_force in_force[SKM_IN_FORCE_COUNT], struct skm_err *err);

/* What memory.high is written as: the policy's and the limit on sockets, a constant. Below what sockets hold it would freeze the
 * very reader that drains them (FACTS.md, 2: 20 MB/s fell to 0.7). limit_bytes: UINT64_MAX where there is none. */
uint64_t skm_control_memory_high(uint64_t high_bytes, uint64_t limit_bytes);

/* One file of one cgroup. */
struct skm_memory_change {
	unsigned int depth; /* of the cgroup: less is nearer to the root */
	enum skm_memory_file file;
	uint64_t from, to;
	uint32_t entry; /* the caller's */
};

/* Sorts changes into an order in which no moment is stricter or leaves less protected than both ends: what grows first, from the
 * root downwards and max before high before low before min; then what shrinks, the other way round. */
void skm_control_memory_order(struct skm_memory_change *changes, size_t count);

/* What to do about a file where `written` was ours and `now` stands; both as the kernel keeps them. */
enum skm_memory_verdict {
	SKM_MEMORY_STANDS,
	SKM_MEMORY_REASSERT, /* ours again */
	SKM_MEMORY_TAKE_OVER /* theirs stays: a lower high or max than the policy's; in an ancestor, more protection than is
	                        needed */
};
enum skm_memory_verdict skm_control_memory_judge(enum skm_memory_file file, bool ancestor, uint64_t written, uint64_t now);

/* How often a value is put back: at once, then after 1 s, 2 s, … 60 s; from the start again when it has stood for a minute.
 * Whoever writes it over and over gets a bounded number of writes. */
#define SKM_MEMORY_BACKOFF_MIN_USEC UINT64_C(1000000)
#define SKM_MEMORY_BACKOFF_MAX_USEC UINT64_C(60000000)

struct skm_memory_backoff {
	uint64_t interval_usec;   /* to the write after the next; 0: none was needed of late */
	uint64_t not_before_usec; /* CLOCK_MONOTONIC */
};

/* Whether it may be put back now. */
bool skm_control_memory_may_write(struct skm_memory_backoff *backoff, uint64_t now_usec);

/* It was put back. */
void skm_control_memory_wrote(struct skm_memory_backoff *backoff, uint64_t now_usec);

#endif
