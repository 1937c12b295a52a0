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

uint64_t skm_control_start_buffer(uint64_t limit_bytes, uint64_t baseline_bytes)
{
	uint64_t start = limit_bytes / START_SHARE;

	if (start < START_MIN_BYTES)
		start = START_MIN_BYTES;
	return start < baseline_bytes ? start : baseline_bytes;
}
