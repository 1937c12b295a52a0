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

/* One part in so many at least: of what came in, of what waited. A starting point. */
#define MOSTLY_READ 4

/* A reader with so much before it does not wait for data. One that a rate starves has a GSO packet at most, and what comes while
 * it sleeps: 64 KiB is half of this at the default floor of 10 Mbit/s. */
#define BACKLOG_USEC UINT64_C(100000)

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

static uint64_t sum_unread(const struct skm_shape_sockets *sockets)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < sockets->count; i++)
		sum += sockets->list[i].unread_bytes;
	return sum;
}

/* What waited at both looks in sockets that had unread data at both, and whether any of them had another amount. */
struct backlog {
	uint64_t bytes;
	bool moved;
};

static struct backlog common_backlog(const struct skm_shape_sockets *before, const struct skm_shape_sockets *now)
{
	struct backlog backlog = {0};

	for (size_t i = 0, j = 0; i < before->count && j < now->count;) {
		const struct skm_shape_socket *was = &before->list[i], *is = &now->list[j];

		if (was->cookie == is->cookie && was->unread_bytes > 0 && is->unread_bytes > 0) {
			backlog.bytes += at_most(was->unread_bytes, is->unread_bytes);
			backlog.moved |= was->unread_bytes != is->unread_bytes;
		}
		i += was->cookie <= is->cookie;
		j += is->cookie <= was->cookie;
	}
	return backlog;
}

/* One whose program stands still keeps its amount, as soon as its window is full. One that is read may have the same amount again
 * at the next look, but then much more than that went through meanwhile. */
static bool is_read(const struct backlog *backlog, uint64_t read_bytes)
{
	return backlog->moved || read_bytes >= backlog->bytes / MOSTLY_READ;
}

struct skm_drain_look skm_control_drain_compare(const struct skm_shape_sockets *before, const struct skm_shape_sockets *now,
                                                uint64_t received_bytes, uint64_t elapsed_usec)
{
	struct skm_drain_look look = {.elapsed_usec = elapsed_usec};
	uint64_t in = received_bytes + sum_unread(before), left = sum_unread(now);
	struct backlog backlog = common_backlog(before, now);

	look.read_bytes = in > left ? in - left : 0;
	look.from_backlog = elapsed_usec > 0 && backlog.bytes > 0 &&
	                    backlog.bytes >= skm_scale(look.read_bytes, BACKLOG_USEC, elapsed_usec) &&
	                    look.read_bytes >= received_bytes / MOSTLY_READ && is_read(&backlog, look.read_bytes);
	return look;
}

void skm_control_drain_note(struct skm_drain *drain, const struct skm_drain_look *look)
{
	uint64_t elapsed = look->elapsed_usec, rate, lower = 0;

	if (elapsed == 0 || look->read_bytes == 0)
		return;
	rate = skm_scale(look->read_bytes, SKM_USEC_PER_SEC, elapsed);
	if (look->from_backlog) {
		/* of two in a row the higher one: in the other it may have stood still for a part of the time */
		lower = drain->last_rate > 0 ? at_least(rate, drain->last_rate) : 0;
		drain->last_rate = rate;
	}
	if (drain->rate == 0)
		drain->rate = lower;
	else if (rate > drain->rate)
		drain->rate += skm_scale(rate - drain->rate, elapsed, elapsed + MEMORY_USEC);
	else if (lower > 0 && lower < drain->rate)
		drain->rate -= skm_scale(drain->rate - lower, elapsed, elapsed + MEMORY_USEC);
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
