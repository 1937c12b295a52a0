/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"
#include "control/budget.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t max_min(uint64_t target, const uint64_t *demands, size_t count, bool *ret_too_small)
{
	return skm_control_max_min(target, demands, count, ret_too_small);
}

static void test_demands_that_fit_are_not_capped(void **state)
{
	const uint64_t demands[] = {10000, 20000, 30000};
	bool too_small;

	(void)state;
	assert_true(max_min(60000, demands, 3, &too_small) == UINT64_MAX);
	assert_true(max_min(0, demands, 0, &too_small) == UINT64_MAX);
	assert_false(too_small);
}

static void test_idle_sockets_leave_their_share_to_the_hot(void **state)
{
	uint64_t demands[1001];
	bool too_small;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		demands[i] = 6000;
	demands[1000] = 100 * SKM_MIB;
	assert_int_equal(max_min(32 * SKM_MIB, demands, 1001, &too_small), 32 * SKM_MIB - 1000 * 6000);
	assert_false(too_small);
}

static void test_equals_share_equally(void **state)
{
	const uint64_t demands[] = {SKM_MIB, SKM_MIB, SKM_MIB, SKM_MIB};
	bool too_small;

	(void)state;
	assert_int_equal(max_min(SKM_MIB, demands, 4, &too_small), SKM_MIB / 4);
}

static void test_a_budget_below_a_segment_each_is_said(void **state)
{
	uint64_t demands[100];
	bool too_small = false;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		demands[i] = SKM_MIB;
	assert_int_equal(max_min(100 * SKM_BUFFER_FLOOR_BYTES - 1, demands, 100, &too_small), SKM_BUFFER_FLOOR_BYTES);
	assert_true(too_small);
	assert_int_equal(max_min(100, demands, 1, &too_small), SKM_BUFFER_FLOOR_BYTES);
	assert_true(too_small);
	assert_int_equal(max_min(100 * SKM_BUFFER_FLOOR_BYTES, demands, 100, &too_small), SKM_BUFFER_FLOOR_BYTES);
	assert_false(too_small);
}

static uint64_t total(const uint64_t *demands, size_t count, uint64_t cap)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += demands[i] < cap ? demands[i] : cap;
	return sum;
}

/* The definition itself: w fits and w + 1 does not. */
static void test_it_is_the_largest_that_fits(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (int round = 0; round < 500; round++) {
		uint64_t demands[64], target, cap;
		size_t count = 1 + (size_t)rand_r(&seed) % 64;
		bool too_small;

		for (size_t i = 0; i < count; i++)
			demands[i] = (uint64_t)rand_r(&seed) >> (rand_r(&seed) % 24);
		target = (uint64_t)rand_r(&seed) >> (rand_r(&seed) % 8);
		cap = max_min(target, demands, count, &too_small);
		if (too_small) {
			assert_true(total(demands, count, SKM_BUFFER_FLOOR_BYTES) > target);
		} else if (cap == UINT64_MAX) {
			assert_true(total(demands, count, UINT64_MAX) <= target);
		} else {
			assert_true(total(demands, count, cap) <= target);
			assert_true(total(demands, count, cap + 1) > target);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_demands_that_fit_are_not_capped),
	        cmocka_unit_test(test_idle_sockets_leave_their_share_to_the_hot),
	        cmocka_unit_test(test_equals_share_equally),
	        cmocka_unit_test(test_a_budget_below_a_segment_each_is_said),
	        cmocka_unit_test(test_it_is_the_largest_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
