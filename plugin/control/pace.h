/* SPDX-License-Identifier: Apache-2.0 */
/* When to look again (DESIGN.md, section 5). Pure.
 *
 * Two looks: a full one reads `sock` (tens of microseconds, may flush the kernel's counters); the tripwire reads memory.current
 * alone (2 µs) and asks for a full one when the container's memory has grown by what could be a burst. */
#ifndef SKM_CONTROL_PACE_H
#define SKM_CONTROL_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define SKM_PACE_MIN_USEC UINT64_C(2000)
#define SKM_PACE_BURST_USEC UINT64_C(250000)
#define SKM_PACE_REST_USEC UINT64_C(1000000)
#define SKM_PACE_BLIND_USEC UINT64_C(20000)
#define SKM_TRIPWIRE_MIN_USEC UINT64_C(10000)

struct skm_pace {
	uint64_t when_usec, sock_bytes, current_bytes; /* of the last full look */
	uint64_t growth_bytes_per_sec;                 /* of S between the last two full looks; 0 where it fell */
	uint32_t full_cost_usec, tripwire_cost_usec;   /* what a look costs, the least of late */
};

/* Tells the pace about a full look and what it cost. */
void skm_control_pace_saw(struct skm_pace *pace, uint64_t when_usec, uint64_t sock_bytes, uint64_t current_bytes,
                          uint64_t cost_usec);

/* Tells it what a look at memory.current alone cost. */
void skm_control_pace_tripped(struct skm_pace *pace, uint64_t cost_usec);

struct skm_pace_question {
	uint64_t limit_bytes;
	uint64_t possible_bytes; /* sockets × the buffer each may grow to */
	uint32_t containers;     /* that the node's one per cent is shared among, at least 1 */
	bool throttled;          /* a step above none */
	bool memory_full;        /* memory.current stands at memory.max: the tripwire sees no growth there */
};

/* Microseconds from the last full look to the next: the time in which a quarter of the headroom can be used at the present
 * growth, (L - S) / (4 growth), within 2 ms and 1 s; 250 ms while throttled or while open sockets could pass the limit
 * together; 20 ms while they could and memory.max is full (of page cache, say: sockets then grow at its cost, and memory.current
 * stands still); and never so short that looking costs more than one per cent of a processor. */
uint64_t skm_control_pace_next(const struct skm_pace *pace, const struct skm_pace_question *question);

/* Microseconds between two looks at memory.current: 10 ms, longer where many containers share the one per cent. */
uint64_t skm_control_tripwire_next(const struct skm_pace *pace, const struct skm_pace_question *question);

/* Whether memory.current has grown since the last full look by a quarter of the headroom (at least a sixteenth of the limit, so
 * that an allocation or the charge slack does not trip it). */
bool skm_control_tripwire(const struct skm_pace *pace, uint64_t limit_bytes, uint64_t current_bytes);

#endif
