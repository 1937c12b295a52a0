/* SPDX-License-Identifier: Apache-2.0 */
#include "control/pace.h"

#include "base/units.h"

/* All reading together may take one part in this of a processor. */
#define COST_SHARE 100

/* What a look costs when nothing comes between: the least of late. It is timed by the clock on the wall, and under the very load
 * that makes looking urgent most looks are preempted; a mean would slow the pace then. It rises by a sixteenth a look. */
static uint32_t least_cost(uint32_t least, uint64_t cost_usec)
{
	uint32_t cost = cost_usec > 100000 ? 100000 : (uint32_t)cost_usec;
	uint32_t risen = least + least / 16 + 1;

	if (cost == 0)
		cost = 1;
	return least == 0 || cost < risen ? cost : risen;
}

void skm_control_pace_saw(struct skm_pace *pace, uint64_t when_usec, uint64_t sock_bytes, uint64_t current_bytes,
                          uint64_t cost_usec)
{
	uint64_t elapsed = when_usec - pace->when_usec;

	pace->growth_bytes_per_sec = 0;
	if (pace->when_usec > 0 && elapsed > 0 && sock_bytes > pace->sock_bytes)
		pace->growth_bytes_per_sec = skm_scale(sock_bytes - pace->sock_bytes, SKM_USEC_PER_SEC, elapsed);
	pace->when_usec = when_usec;
	pace->sock_bytes = sock_bytes;
	pace->current_bytes = current_bytes;
	pace->full_cost_usec = least_cost(pace->full_cost_usec, cost_usec);
}

void skm_control_pace_tripped(struct skm_pace *pace, uint64_t cost_usec)
{
	pace->tripwire_cost_usec = least_cost(pace->tripwire_cost_usec, cost_usec);
}

static uint64_t headroom(const struct skm_pace *pace, uint64_t limit_bytes)
{
	return pace->sock_bytes < limit_bytes ? limit_bytes - pace->sock_bytes : 0;
}

static uint64_t clamp(uint64_t value, uint64_t low, uint64_t high)
{
	if (value > high)
		value = high;
	return value < low ? low : value;
}

uint64_t skm_control_pace_next(const struct skm_pace *pace, const struct skm_pace_question *question)
{
	bool possible = question->possible_bytes > question->limit_bytes;
	uint64_t longest = question->throttled || possible ? SKM_PACE_BURST_USEC : SKM_PACE_REST_USEC;
	uint64_t affordable = (uint64_t)pace->full_cost_usec * COST_SHARE * question->containers;
	uint64_t next;

	if (possible && question->memory_full)
		longest = SKM_PACE_BLIND_USEC;
	next = longest;
	if (pace->growth_bytes_per_sec > 0)
		next = skm_scale(headroom(pace, question->limit_bytes), SKM_USEC_PER_SEC / 4, pace->growth_bytes_per_sec);
	next = clamp(next, SKM_PACE_MIN_USEC, longest);
	return next < affordable ? affordable : next;
}

uint64_t skm_control_tripwire_next(const struct skm_pace *pace, const struct skm_pace_question *question)
{
	uint64_t affordable = (uint64_t)pace->tripwire_cost_usec * COST_SHARE * question->containers;

	return clamp(affordable, SKM_TRIPWIRE_MIN_USEC, SKM_PACE_REST_USEC);
}

bool skm_control_tripwire(const struct skm_pace *pace, uint64_t limit_bytes, uint64_t current_bytes)
{
	uint64_t step = headroom(pace, limit_bytes) / 4;

	if (step < limit_bytes / 16)
		step = limit_bytes / 16;
	return current_bytes > pace->current_bytes && current_bytes - pace->current_bytes >= step;
}
