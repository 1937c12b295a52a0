/* SPDX-License-Identifier: Apache-2.0 */
#include "control/shape.h"

#include "base/units.h"

/* Ethernet header and two VLAN tags: a qdisc counts them (qdisc_pkt_len_init, net/core/dev.c). */
#define FRAME_EXTRA_BYTES 22u

#define TICK_USEC UINT64_C(4000)
#define BURST_SHARE 10 /* of a second */

/* As long as a look must be for what is in it to count fully: a third of a second is some ten looks of the shed step. A starting
 * point. */
#define MEMORY_USEC UINT64_C(300000)

/* Time in which the excess over the target is to drain. A starting point. */
#define EXCESS_SEC 2

static uint64_t at_least(uint64_t value, uint64_t floor)
{
	return value < floor ? floor : value;
}

static uint64_t at_most(uint64_t value, uint64_t ceiling)
{
	return value > ceiling ? ceiling : value;
}

uint32_t skm_control_shape_burst(const struct skm_shape_path *path, uint64_t rate)
{
	uint64_t burst = at_least(path->gso_max_bytes, skm_scale(rate, TICK_USEC, SKM_USEC_PER_SEC));

	burst = at_most(burst, rate / BURST_SHARE);
	burst = at_least(burst, (uint64_t)path->mtu + FRAME_EXTRA_BYTES);
	return (uint32_t)at_most(burst, UINT32_MAX);
}

uint64_t skm_control_shape_least(const struct skm_shape_path *path)
{
	return at_least((uint64_t)path->mtu + FRAME_EXTRA_BYTES, path->gso_max_bytes) * BURST_SHARE;
}

uint32_t skm_control_shape_split(const struct skm_shape_path *path, uint64_t rate)
{
	return rate < skm_control_shape_least(path) ? skm_control_shape_burst(path, rate) : 0;
}

void skm_control_drain_note(struct skm_drain *drain, const struct skm_drain_look *look)
{
	uint64_t elapsed = look->when_usec - drain->when_usec, rate;
	bool first = drain->when_usec == 0;

	drain->when_usec = look->when_usec;
	if (first || elapsed == 0 || look->read_bytes == 0)
		return;
	rate = skm_scale(look->read_bytes, SKM_USEC_PER_SEC, elapsed);
	if (drain->rate == 0)
		drain->rate = look->from_backlog ? rate : 0;
	else if (rate > drain->rate)
		drain->rate += skm_scale(rate - drain->rate, elapsed, elapsed + MEMORY_USEC);
	else if (look->from_backlog)
		drain->rate -= skm_scale(drain->rate - rate, elapsed, elapsed + MEMORY_USEC);
}

uint64_t skm_control_shape_rate(const struct skm_shape_question *question)
{
	uint64_t drain = question->drain->rate, excess = 0, rate;

	if (drain == 0)
		return 0;
	if (question->sock_bytes > question->target_bytes)
		excess = (question->sock_bytes - question->target_bytes) / EXCESS_SEC;
	rate = drain > excess ? drain - excess : 0;
	rate = at_most(at_least(rate, drain / 2), drain - drain / 10);
	rate = at_least(rate, question->floor);
	return at_least(rate, skm_control_shape_least(&question->path));
}
