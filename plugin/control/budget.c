/* SPDX-License-Identifier: Apache-2.0 */
#include "control/budget.h"

#define START_SHARE 1024
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

/* Whether the sum of min(demand, cap) is within target. */
static bool fits(uint64_t target_bytes, const uint64_t *demands, size_t count, uint64_t cap)
{
	uint64_t left = target_bytes;

	for (size_t i = 0; i < count; i++) {
		uint64_t taken = demands[i] < cap ? demands[i] : cap;

		if (taken > left)
			return false;
		left -= taken;
	}
	return true;
}

uint64_t skm_control_max_min(uint64_t target_bytes, const uint64_t *demands, size_t count, bool *ret_too_small)
{
	uint64_t low = SKM_BUFFER_FLOOR_BYTES, high = target_bytes;

	*ret_too_small = false;
	if (fits(target_bytes, demands, count, UINT64_MAX))
		return UINT64_MAX;
	if (high < low || !fits(target_bytes, demands, count, low)) {
		*ret_too_small = true;
		return SKM_BUFFER_FLOOR_BYTES;
	}
	/* low fits; with high at the target or more, a single socket above it would not */
	while (low < high) {
		uint64_t middle = low + (high - low) / 2 + 1;

		if (fits(target_bytes, demands, count, middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

uint64_t skm_control_start_buffer(uint64_t limit_bytes, uint64_t baseline_bytes)
{
	uint64_t start = limit_bytes / START_SHARE;

	if (start < START_MIN_BYTES)
		start = START_MIN_BYTES;
	return start < baseline_bytes ? start : baseline_bytes;
}
