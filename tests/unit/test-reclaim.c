/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"
#include "control/reclaim.h"

#define PAGE UINT64_C(4096)

static void test_a_quarter_of_what_is_left(void **state)
{
	(void)state;
	assert_int_equal(skm_control_reclaim_step(SKM_GIB, PAGE), SKM_GIB / 4);
	assert_int_equal(skm_control_reclaim_step(8 * SKM_MIB, PAGE), 2 * SKM_MIB);
}

static void test_no_small_steps_and_never_more_than_is_left(void **state)
{
	(void)state;
	assert_int_equal(skm_control_reclaim_step(2 * SKM_MIB, PAGE), SKM_MIB);
	assert_int_equal(skm_control_reclaim_step(12 * PAGE, PAGE), 12 * PAGE);
	assert_int_equal(skm_control_reclaim_step(12 * PAGE + 100, PAGE), 12 * PAGE);
	assert_int_equal(skm_control_reclaim_step(PAGE - 1, PAGE), 0);
	assert_int_equal(skm_control_reclaim_step(0, PAGE), 0);
}

/* Whatever is asked for comes to its end, in few steps. */
static void test_the_steps_come_to_an_end(void **state)
{
	uint64_t left = SKM_GIB;
	unsigned steps = 0;

	(void)state;
	while (left >= PAGE) {
		uint64_t step = skm_control_reclaim_step(left, PAGE);

		assert_true(step > 0 && step <= left);
		left -= step;
		steps++;
	}
	assert_in_range(steps, 10, 32);
}

static void test_need_is_what_frees_a_quarter_of_the_limit(void **state)
{
	(void)state;
	assert_int_equal(skm_control_reclaim_need(100 * SKM_MIB, 128 * SKM_MIB, 32 * SKM_MIB), 0);
	assert_int_equal(skm_control_reclaim_need(120 * SKM_MIB, 128 * SKM_MIB, 32 * SKM_MIB), 0);
	assert_int_equal(skm_control_reclaim_need(124 * SKM_MIB, 128 * SKM_MIB, 32 * SKM_MIB), 4 * SKM_MIB);
	assert_int_equal(skm_control_reclaim_need(124 * SKM_MIB, UINT64_MAX, 32 * SKM_MIB), 0);
	assert_int_equal(skm_control_reclaim_need(16 * SKM_MIB, 16 * SKM_MIB, 512 * SKM_MIB), 8 * SKM_MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_a_quarter_of_what_is_left),
	        cmocka_unit_test(test_no_small_steps_and_never_more_than_is_left),
	        cmocka_unit_test(test_the_steps_come_to_an_end),
	        cmocka_unit_test(test_need_is_what_frees_a_quarter_of_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
