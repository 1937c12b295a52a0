/* SPDX-License-Identifier: Apache-2.0 */
#include "control/reclaim.h"

uint64_t skm_control_reclaim_step(uint64_t left_bytes, uint64_t page_bytes)
{
	uint64_t step = left_bytes / 4;

	if (step < SKM_RECLAIM_STEP_MIN_BYTES)
		step = SKM_RECLAIM_STEP_MIN_BYTES;
	if (step > left_bytes)
		step = left_bytes;
	return step - step % page_bytes;
}

uint64_t skm_control_reclaim_need(uint64_t current_bytes, uint64_t max_bytes, uint64_t limit_bytes)
{
	uint64_t room = limit_bytes / 4, used;

	if (max_bytes == UINT64_MAX)
		return 0;
	/* a policy's limit may exceed memory.max: then half of that is the most that is worth freeing */
	if (room > max_bytes / 2)
		room = max_bytes / 2;
	used = max_bytes - room;
	return current_bytes > used ? current_bytes - used : 0;
}
