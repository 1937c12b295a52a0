/* SPDX-License-Identifier: Apache-2.0 */
#include "pace.h"

/* A guest's virtual processor may be away for this long without the rate suffering. */
#define DEPTH_NSEC (200 * NSEC_PER_MSEC)

void pace_start(struct pace *pace, double rate, int64_t now)
{
	*pace = (struct pace){.rate = rate, .filled_nsec = now};
}

void pace_restart(struct pace *pace, int64_t now)
{
	pace->tokens = 0;
	pace->filled_nsec = now;
}

void pace_fill(struct pace *pace, int64_t now)
{
	int64_t passed = now - pace->filled_nsec;
	double deepest = pace->rate * to_seconds(DEPTH_NSEC);

	if (pace->rate <= 0)
		return;
	if (passed > 4 * TICK_NSEC)
		pace->late_ticks++;
	pace->tokens += pace->rate * to_seconds(passed);
	pace->filled_nsec = now;
	if (pace->tokens > deepest) {
		pace->lost_bytes += pace->tokens - deepest;
		pace->tokens = deepest;
	}
}

size_t pace_allowed(const struct pace *pace, size_t wanted)
{
	if (pace->rate <= 0)
		return wanted;
	if (pace->tokens < 1)
		return 0;
	return pace->tokens < (double)wanted ? (size_t)pace->tokens : wanted;
}

void pace_spend(struct pace *pace, size_t bytes)
{
	if (pace->rate > 0)
		pace->tokens -= (double)bytes;
}

void pace_idle(struct pace *pace)
{
	double tick = pace->rate * to_seconds(TICK_NSEC);

	if (pace->tokens > tick)
		pace->tokens = tick;
}
