/* SPDX-License-Identifier: Apache-2.0 */
#include "control/destroy.h"

#include "base/units.h"

static bool may_go(const struct skm_destroy_candidate *one)
{
	return one->send_bytes >= SKM_DESTROY_LEAST_BYTES && one->send_bytes > one->receive_bytes;
}

static uint64_t weight(const struct skm_destroy_candidate *one)
{
	return skm_scale(one->send_bytes, one->idle_msec + 1, 1);
}

/* Whether a is to go before b. */
static bool goes_first(const struct skm_destroy_candidate *a, const struct skm_destroy_candidate *b)
{
	return a->orphan != b->orphan ? a->orphan : weight(a) > weight(b);
}

static bool is_picked(size_t index, const size_t *picked, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (picked[i] == index)
			return true;
	return false;
}

size_t skm_control_destroy_choose(const struct skm_destroy_candidate *list, size_t count, uint64_t excess_bytes,
                                  size_t ret_picked[static SKM_DESTROY_MAX])
{
	uint64_t freed = 0;
	size_t picked = 0;

	while (picked < SKM_DESTROY_MAX && freed < excess_bytes) {
		size_t best = count;

		for (size_t i = 0; i < count; i++)
			if (may_go(&list[i]) && !is_picked(i, ret_picked, picked) &&
			    (best == count || goes_first(&list[i], &list[best])))
				best = i;
		if (best == count)
			break;
		ret_picked[picked++] = best;
		freed += list[best].send_bytes;
	}
	return picked;
}
