/* SPDX-License-Identifier: Apache-2.0 */
#include "control/rate.h"

#include "base/units.h"

static bool is_looser(uint64_t wanted_bytes, uint64_t standing_bytes)
{
	return standing_bytes != 0 && (wanted_bytes == 0 || wanted_bytes > standing_bytes);
}

/* Whether it may be raised now. The baseline is wanted where a step is left, which is not often: behind another raise it may come
 * at once. */
static bool may_loosen(const struct skm_write_rate *rate, uint64_t wanted_bytes, uint64_t now_usec)
{
	return rate->written_usec == 0 || (wanted_bytes == 0 && rate->loosened) ||
	       now_usec - rate->written_usec >= rate->hold_usec;
}

static void note_loosened(struct skm_write_rate *rate, uint64_t now_usec)
{
	rate->written_usec = now_usec;
	rate->loosened = true;
}

/* Lowered again soon after it was raised: next time it is raised later. One that stood is no reason for that any more. */
static void learn(struct skm_write_rate *rate, uint64_t stood_usec)
{
	if (rate->hold_usec == 0 || stood_usec > SKM_LOOSEN_AFTER_MAX_USEC)
		rate->hold_usec = SKM_LOOSEN_AFTER_USEC;
	else if (stood_usec < SKM_USEC_PER_SEC && rate->hold_usec < SKM_LOOSEN_AFTER_MAX_USEC)
		rate->hold_usec *= 2;
}

static void note_tightened(struct skm_write_rate *rate, uint64_t now_usec)
{
	if (rate->loosened || rate->written_usec == 0)
		learn(rate, now_usec - rate->written_usec);
	rate->written_usec = now_usec;
	rate->loosened = false;
	if (now_usec - rate->second_usec >= SKM_USEC_PER_SEC) {
		rate->second_usec = now_usec;
		rate->tightened = 0;
	}
	rate->tightened++;
}

uint64_t skm_control_rate_next(struct skm_write_rate *rate, uint64_t standing_bytes, uint64_t wanted_bytes, uint64_t floor_bytes,
                               uint64_t now_usec)
{
	uint64_t half = wanted_bytes / 2;

	if (wanted_bytes == standing_bytes)
		return standing_bytes;
	if (is_looser(wanted_bytes, standing_bytes)) {
		if (!may_loosen(rate, wanted_bytes, now_usec))
			return standing_bytes;
		note_loosened(rate, now_usec);
		return wanted_bytes;
	}
	note_tightened(rate, now_usec);
	if (rate->tightened <= SKM_TIGHTEN_EXACTLY)
		return wanted_bytes;
	return half < floor_bytes ? floor_bytes : half;
}

bool skm_control_event_kept(struct skm_event_rate *rate, uint64_t now_usec)
{
	if (rate->count == 0 || now_usec - rate->window_usec >= SKM_EVENT_WINDOW_USEC) {
		rate->window_usec = now_usec;
		rate->count = 0;
	}
	if (rate->count < SKM_EVENTS_IN_WINDOW) {
		rate->count++;
		return true;
	}
	rate->left_out++;
	return false;
}

uint32_t skm_control_events_left_out(struct skm_event_rate *rate, uint64_t now_usec)
{
	uint32_t left_out = rate->left_out;

	if (left_out == 0 || now_usec - rate->window_usec < SKM_EVENT_WINDOW_USEC)
		return 0;
	rate->left_out = 0;
	return left_out;
}
