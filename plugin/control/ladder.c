/* SPDX-License-Identifier: Apache-2.0 */
#include "control/ladder.h"

#include "base/units.h"
#include "control/budget.h"

#include <inttypes.h>
#include <stdio.h>

/* Where a step is entered, and what share of the limit its fair cap aims at (DESIGN.md, section 5). A buffer bounds what a socket
 * holds but for the last packet, up to 64 KiB: with 1.00 and 0.85 in the first two steps 200 connections reached 1.06 of 32 MiB
 * in one of three runs in a 6.1 guest (tests/guest/limits). */
struct rung {
	uint32_t enter_permyriad;
	uint32_t target_permyriad;
};

static const struct rung RUNGS[] = {
        [SKM_STEP_NONE] = {0, 10000},
        [SKM_STEP_CAP] = {7000, 9500},
        [SKM_STEP_SQUEEZE] = {8500, 8000},
        [SKM_STEP_SHED] = {10000, 7000},
};

#define LEAVE_BELOW_PERMYRIAD 1000

/* Below this nothing of a burst is left. A cap that works holds u above it: the cap step's target is the limit. */
#define DRAINED_PERMYRIAD 3500

/* A step takes this long to work: the socket worker was seen to need 40 to 400 ms in a flooded guest. Growth that reaches the cap
 * step within it enters that step at once, if the sockets hold enough already. Entered at 0.70 only, 200 connections that came
 * all at once reached 1.10 of 32 MiB in one of some ten runs on 6.1 (tests/guest/story). */
#define HORIZON_USEC UINT64_C(100000)
#define BURST_FROM_PERMYRIAD 4000

/* Far above any step, and far enough below the type's end that a gap can be added. */
#define OCCUPANCY_MAX (UINT32_MAX / 2)

/* What may wait unsent in a socket: enough to keep a fast path busy between two wake-ups, no more than a fair share. */
#define NOTSENT_MAX_BYTES (UINT64_C(128) << 10)

static uint64_t at_least(uint64_t value, uint64_t floor)
{
	return value < floor ? floor : value;
}

uint32_t skm_control_occupancy(uint64_t sock_bytes, uint64_t limit_bytes)
{
	uint64_t permyriad = skm_scale(sock_bytes, SKM_PERMYRIAD, limit_bytes);

	return permyriad > OCCUPANCY_MAX ? OCCUPANCY_MAX : (uint32_t)permyriad;
}

/* The highest step whose threshold, lowered by `below`, u has reached. */
static enum skm_step highest_step(uint32_t occupancy, uint32_t below)
{
	enum skm_step step = SKM_STEP_SHED;

	while (step > SKM_STEP_NONE && occupancy + below < RUNGS[step].enter_permyriad)
		step--;
	return step;
}

/* The step that reclaim pressure alone asks for. Where sockets hold little nothing is won by throttling them (DESIGN.md,
 * section 5). */
#define PRESSURE_SHARE 10

bool skm_control_pressure_matters(const struct skm_sample *sample)
{
	return sample->sock_bytes > 0 && sample->sock_bytes >= sample->current_bytes / PRESSURE_SHARE;
}

static enum skm_step pressure_step(const struct skm_ladder_config *config, const struct skm_sample *sample)
{
	if (!skm_control_pressure_matters(sample))
		return SKM_STEP_NONE;
	if (sample->pressure == SKM_PRESSURE_CRITICAL)
		return SKM_STEP_SHED;
	if (sample->pressure == SKM_PRESSURE_MEDIUM ||
	    (config->pressure_some_permyriad > 0 && sample->psi_some_permyriad >= config->pressure_some_permyriad))
		return SKM_STEP_SQUEEZE;
	return SKM_STEP_NONE;
}

/* What the sockets may hold together in a step. Under pressure alone the limit is far, and a share of it would ask for nothing:
 * there it is the same share of what they hold, but never less than an eighth of the limit. */
static uint64_t target_bytes(const struct skm_ladder_config *config, const struct skm_sample *sample, enum skm_step step,
                             bool by_pressure)
{
	uint64_t of = config->limit_bytes;

	if (by_pressure && sample->sock_bytes < of)
		of = sample->sock_bytes > of / 8 ? sample->sock_bytes : of / 8;
	return skm_scale(of, RUNGS[step].target_permyriad, SKM_PERMYRIAD);
}

/* A socket takes one more packet while it holds no more than its buffer (tcp_try_rmem_schedule, net/ipv4/tcp_input.c): of a small
 * buffer that is a large part. Worst of three runs each in 6.1 guests with 200 connections at 8 MiB: 1.31 of v1's peak without
 * room for it, 1.03 with (tests/bench/beside-v1). */
#define SMALL_CAP_BYTES (UINT64_C(128) << 10)

static uint64_t less_a_packet(uint64_t cap)
{
	return cap < SMALL_CAP_BYTES ? at_least(cap - cap / 8, SKM_BUFFER_FLOOR_BYTES) : cap;
}

/* What the sockets asked for at the last dump says nothing of a burst, nor of sockets that hold the limit and more. */
static uint64_t fair_cap(const struct skm_ladder_config *config, const struct skm_sample *sample,
                         const struct skm_decision *decision, bool by_pressure, bool *ret_too_small)
{
	uint64_t target = target_bytes(config, sample, decision->step, by_pressure);
	bool believed = decision->step < SKM_STEP_SHED && decision->reason != SKM_REASON_BURST;

	return less_a_packet(skm_control_max_min_cap(target, sample->sockets, believed ? sample->demands : NULL, ret_too_small));
}

static bool is_burst(const struct skm_sample *sample, uint64_t limit_bytes, uint32_t occupancy)
{
	uint64_t soon = skm_scale(sample->growth_bytes_per_sec, HORIZON_USEC, SKM_USEC_PER_SEC);

	if (occupancy < BURST_FROM_PERMYRIAD)
		return false;
	return soon > limit_bytes ||
	       skm_control_occupancy(sample->sock_bytes + soon, limit_bytes) >= RUNGS[SKM_STEP_CAP].enter_permyriad;
}

/* Whether the sockets, let go, could together pass the limit. */
static bool may_burst(const struct skm_ladder_config *config, const struct skm_sample *sample)
{
	return sample->sockets > config->limit_bytes / at_least(config->rmem_max_baseline_bytes, 1);
}

static uint64_t hold_of(const struct skm_ladder_state *state)
{
	return at_least(state->hold_usec, SKM_STEP_HOLD_USEC);
}

/* Keeps what the holds count from: the sample asks for the steps up to this one. */
static void note_demand(struct skm_ladder_state *state, enum skm_step asked, uint64_t now_usec)
{
	for (int step = SKM_STEP_CAP; step <= (int)asked; step++)
		state->above_usec[step] = now_usec;
	if (asked > SKM_STEP_NONE)
		state->full_usec = now_usec;
}

/* Where the way down leads now: past each step whose exit has been passed for long enough; to none only where nothing is left of
 * the burst, or much later. */
static enum skm_step way_down(const struct skm_ladder_state *state, bool may_burst, uint64_t now_usec)
{
	enum skm_step step = state->decision.step;
	uint64_t hold = hold_of(state), below;

	while (step > SKM_STEP_CAP && now_usec - state->above_usec[step] >= SKM_STEP_HOLD_USEC)
		step--;
	if (step != SKM_STEP_CAP)
		return step;
	below = now_usec - state->above_usec[SKM_STEP_CAP];
	if (now_usec - state->full_usec >= hold || below >= (may_burst ? hold * SKM_STEP_HOLD_DEMAND : hold))
		return SKM_STEP_NONE;
	return SKM_STEP_CAP;
}

/* Up at once; down only after the hold, and only past the gap. */
static enum skm_step next_step(const struct skm_ladder_state *state, uint32_t occupancy, enum skm_step pressed, bool may_burst,
                               uint64_t now_usec, enum skm_reason *ret_reason)
{
	enum skm_step current = state->decision.step;
	enum skm_step up = highest_step(occupancy, 0), down;

	if (pressed > up && pressed >= current) {
		*ret_reason = SKM_REASON_PRESSURE;
		return pressed;
	}
	if (up > current) {
		*ret_reason = SKM_REASON_OCCUPANCY;
		return up;
	}
	down = way_down(state, may_burst, now_usec);
	if (down < current) {
		*ret_reason = SKM_REASON_RELAXED;
		return down;
	}
	if (current == SKM_STEP_NONE)
		*ret_reason = SKM_REASON_REST;
	else
		*ret_reason = up == current ? SKM_REASON_OCCUPANCY : SKM_REASON_HOLD;
	return current;
}

/* Throttling begins or ends: what that says about the hold. */
static void note_change(struct skm_ladder_state *state, enum skm_step step, uint64_t now_usec)
{
	uint64_t calm = now_usec - state->released_usec;

	if (step == SKM_STEP_NONE)
		state->released_usec = now_usec;
	if (step > state->decision.step)
		note_demand(state, step, now_usec);
	if (state->decision.step != SKM_STEP_NONE)
		return;
	if (state->released_usec == 0 || calm >= SKM_STEP_CALM_USEC)
		state->hold_usec = SKM_STEP_HOLD_USEC;
	else if (calm < SKM_STEP_AGAIN_USEC && state->hold_usec < SKM_STEP_HOLD_MAX_USEC)
		state->hold_usec *= 2;
}

/* 0, the baseline, where the cap would not lower it */
static uint64_t lowered(uint64_t cap, uint64_t baseline)
{
	return cap < baseline ? cap : 0;
}

static struct skm_netns_targets targets_of(const struct skm_ladder_config *config, uint64_t cap)
{
	uint64_t notsent = at_least(cap / 4, SKM_NOTSENT_MIN_BYTES);

	if (notsent > NOTSENT_MAX_BYTES)
		notsent = NOTSENT_MAX_BYTES;
	return (struct skm_netns_targets){
	        .rmem_max_bytes = lowered(cap, config->rmem_max_baseline_bytes),
	        .wmem_max_bytes = lowered(at_least(cap, config->wmem_start_baseline_bytes), config->wmem_max_baseline_bytes),
	        .notsent_lowat_bytes = lowered(notsent, config->notsent_lowat_baseline_bytes),
	};
}

const struct skm_decision *skm_control_decide(const struct skm_ladder_config *config, const struct skm_sample *sample,
                                              struct skm_ladder_state *state)
{
	struct skm_decision decision = {.fair_cap_bytes = UINT64_MAX};
	enum skm_step pressed = pressure_step(config, sample), asked;
	bool too_small = false;

	decision.occupancy_permyriad = skm_control_occupancy(sample->sock_bytes, config->limit_bytes);
	asked = highest_step(decision.occupancy_permyriad, LEAVE_BELOW_PERMYRIAD);
	note_demand(state, asked > pressed ? asked : pressed, sample->when_usec);
	if (decision.occupancy_permyriad >= DRAINED_PERMYRIAD)
		state->full_usec = sample->when_usec;
	decision.step = next_step(state, decision.occupancy_permyriad, pressed, may_burst(config, sample), sample->when_usec,
	                          &decision.reason);
	if (decision.step == SKM_STEP_NONE && is_burst(sample, config->limit_bytes, decision.occupancy_permyriad)) {
		decision.step = SKM_STEP_CAP;
		decision.reason = SKM_REASON_BURST;
	}
	if (decision.reason == SKM_REASON_PRESSURE)
		state->by_pressure = true;
	else if (decision.reason != SKM_REASON_HOLD)
		state->by_pressure = false;
	if (decision.step != SKM_STEP_NONE) {
		decision.fair_cap_bytes = fair_cap(config, sample, &decision, state->by_pressure, &too_small);
		decision.targets = targets_of(config, decision.fair_cap_bytes);
	}
	/* From the cap step on: a lowered tcp_rmem[2] stops growth, but what autotuning has given to open sockets by then (1
	 * to 2.8 MB each of 50) fills all the same. With squeezing from 0.85 on the peak came to 1.11 to 1.24 of 32 MiB with 50
	 * connections in a 6.1 guest under load (tests/guest/story). */
	if (decision.step >= SKM_STEP_CAP && decision.fair_cap_bytes < UINT32_MAX)
		decision.squeeze_above_bytes = decision.fair_cap_bytes;
	if (too_small)
		decision.reason = SKM_REASON_TOO_SMALL;
	if (decision.step != state->decision.step)
		note_change(state, decision.step, sample->when_usec);
	state->decision = decision;
	return &state->decision;
}

bool skm_control_within_grain(uint64_t written, uint64_t target)
{
	uint64_t distance = written > target ? written - target : target - written;

	if (written == 0 || target == 0)
		return written == target;
	return distance < written / 8;
}

void skm_control_explain(const struct skm_decision *decision, const struct skm_sample *sample, uint64_t limit_bytes, char *buffer,
                         size_t size)
{
	char held[SKM_SIZE_TEXT_MAX], limit[SKM_SIZE_TEXT_MAX], cap[SKM_SIZE_TEXT_MAX];
	int length;

	length = snprintf(buffer, size, "sockets hold %s, %" PRIu32 "%% of the limit of %s%s",
	                  skm_bytes_human(sample->sock_bytes, held), decision->occupancy_permyriad / 100,
	                  skm_bytes_human(limit_bytes, limit),
	                  decision->reason == SKM_REASON_PRESSURE ? ", while the kernel reclaims in vain" : "");
	if (length < 0 || (size_t)length >= size)
		return;
	buffer += length;
	size -= (size_t)length;
	if (decision->step == SKM_STEP_NONE)
		snprintf(buffer, size, ": nothing is throttled");
	else if (decision->fair_cap_bytes == UINT64_MAX)
		snprintf(buffer, size, ", but no TCP socket is in use: nothing to cap");
	else if (decision->reason == SKM_REASON_TOO_SMALL)
		snprintf(buffer, size, ": too small for %" PRIu32 " sockets, each keeps the least buffer, %s", sample->sockets,
		         skm_bytes_human(decision->fair_cap_bytes, cap));
	else
		snprintf(buffer, size, ": buffers capped at %s for each of %" PRIu32 " sockets%s",
		         skm_bytes_human(decision->fair_cap_bytes, cap), sample->sockets,
		         decision->squeeze_above_bytes ? ", larger ones squeezed" : "");
}
