/* SPDX-License-Identifier: Apache-2.0 */
#include "control/budget.h"

#define START_SHARE 1024

/* In a burst the sockets that have nothing queued at the moment of a dump are those that it has not reached yet. With their share
 * given to the others 50 connections reached 1.20 of 32 MiB in a 6.1 guest (tests/bench/beside-v1). */
#define HUNGRY_SHARE 4

#define START_MIN_BYTES (UINT64_C(16) << 10)

uint64_t skm_control_fair_cap(uint64_t target_bytes, uint32_t sockets, bool *ret_too_small)
{
	uint64_t cap;

	*ret_too_small = false;
	if (sockets == 0)
		return UINT64_MAX;
	cap = target_bytes / sockets;
	if (cap >= SKM_BUFFER_FLOOR_BYTES)
		return cap;
	*ret_too_small = true;
	return SKM_BUFFER_FLOOR_BYTES;
}

static uint32_t top_bucket(const struct skm_demands *demands)
{
	uint32_t top = SKM_DEMAND_BUCKETS;

	while (top > 0 && demands->count[top - 1] == 0)
		top--;
	return top;
}

static uint64_t sum_of_counts(const struct skm_demands *demands)
{
	uint64_t sum = demands->hungry;

	for (uint32_t i = 0; i < SKM_DEMAND_BUCKETS; i++)
		sum += demands->count[i];
	return sum;
}

uint64_t skm_control_max_min_cap(uint64_t target_bytes, uint32_t sockets, const struct skm_demands *demands, bool *ret_too_small)
{
	uint64_t equal = skm_control_fair_cap(target_bytes, sockets, ret_too_small), seen, left, takers, cap;
	uint32_t end;

	if (!demands || sockets == 0 || *ret_too_small)
		return equal;
	seen = sum_of_counts(demands);
	takers = seen > sockets ? seen : sockets;
	if ((demands->hungry + takers - seen) * HUNGRY_SHARE > takers)
		return equal;
	left = target_bytes;
	/* all buckets can be satisfied only while there is someone else to take the rest */
	end = top_bucket(demands);
	if (end > 0 && demands->hungry == 0 && seen >= sockets)
		end--;
	for (uint32_t i = 0; i < end; i++) {
		uint64_t others = takers - demands->count[i];

		/* with a cap at the bucket's upper end all would ask for more than there is: the cap lies within or below it */
		if (demands->bytes[i] > left || (left - demands->bytes[i]) / others < skm_demand_bound(i + 1))
			break;
		left -= demands->bytes[i];
		takers = others;
	}
	cap = takers > 0 ? left / takers : equal;
	return cap > equal ? cap : equal;
}

uint64_t skm_control_start_buffer(uint64_t limit_bytes, uint64_t baseline_bytes)
{
	uint64_t start = limit_bytes / START_SHARE;

	if (start < START_MIN_BYTES)
		start = START_MIN_BYTES;
	return start < baseline_bytes ? start : baseline_bytes;
}
