/* SPDX-License-Identifier: Apache-2.0 */
/* How often a value is written that follows what a tenant moves: the cap follows the number of sockets, both ways, as fast as
 * they come and go. Pure. */
#ifndef SKM_CONTROL_RATE_H
#define SKM_CONTROL_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* A value is not raised sooner than this after it was last written, ... */
#define SKM_LOOSEN_AFTER_USEC UINT64_C(500000)
/* ... and where raising it proved premature, again and again, not sooner than this. A container with a burst every few seconds
 * keeps the cap of its last one for so long at most. */
#define SKM_LOOSEN_AFTER_MAX_USEC UINT64_C(4000000)
/* So many times a second a value is lowered to what is wanted; after that to half of it, so that a descent ends soon: at a grain
 * of an eighth it is some fifty steps from the largest buffer to the smallest. */
#define SKM_TIGHTEN_EXACTLY 10

struct skm_write_rate {
	uint64_t written_usec; /* when it was last written; 0: never */
	uint64_t hold_usec;    /* how long it is not raised after that */
	bool loosened;         /* the last write raised it */
	uint64_t second_usec;  /* when the second began in which `tightened` counts */
	uint32_t tightened;
};

/* What is to be written of wanted_bytes, where standing_bytes stands; in both 0 means the baseline, the largest. Lowering is
 * never put off. floor_bytes: what is wanted is not halved below it. Returns standing_bytes where nothing is to be written now.
 */
uint64_t skm_control_rate_next(struct skm_write_rate *rate, uint64_t standing_bytes, uint64_t wanted_bytes, uint64_t floor_bytes,
                               uint64_t now_usec);

/* Events of one kind: so many in so long a time are kept, the others counted. */
#define SKM_EVENTS_IN_WINDOW 32
#define SKM_EVENT_WINDOW_USEC UINT64_C(10000000)

struct skm_event_rate {
	uint64_t window_usec; /* when the window began */
	uint32_t count, left_out;
};

/* Whether one more is kept; counted either way. */
bool skm_control_event_kept(struct skm_event_rate *rate, uint64_t now_usec);

/* How many were left out of a window that is over (or, with now_usec UINT64_MAX, of the present one); 0 where none is to be told.
 * Told once. */
uint32_t skm_control_events_left_out(struct skm_event_rate *rate, uint64_t now_usec);

#endif
