/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket that forgives late ticks (timers are coarse in an emulated guest) but hoards nothing. */
#ifndef SOCKLOAD_PACE_H
#define SOCKLOAD_PACE_H

#include "util.h"

/* How often a paced run works. */
#define TICK_NSEC (5 * NSEC_PER_MSEC)

struct pace {
	double rate;   /* bytes/s, 0 = no limit */
	double tokens; /* bytes that may go now */
	int64_t filled_nsec;
	uint64_t late_ticks;
	double lost_bytes; /* credit lost because a tick was later than the bucket is deep */
};

/* The bucket starts empty at `now`. */
void pace_start(struct pace *pace, double rate, int64_t now);

/* Forgets what was not used, after a wanted pause. */
void pace_restart(struct pace *pace, int64_t now);

void pace_fill(struct pace *pace, int64_t now);

/* How many of `wanted` bytes may go now. */
size_t pace_allowed(const struct pace *pace, size_t wanted);

void pace_spend(struct pace *pace, size_t bytes);

/* Nothing was left to do: credit beyond one tick is given up, so that no burst follows a quiet time. */
void pace_idle(struct pace *pace);

#endif
