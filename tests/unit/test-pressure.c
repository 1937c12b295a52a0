/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "control/pressure.h"

#define SEC UINT64_C(1000000)

static enum skm_pressure saw(struct skm_pressure_window *window, uint64_t scanned, uint64_t stolen, uint64_t now_usec)
{
	const struct skm_reclaim_counts counts = {.scanned_pages = scanned, .stolen_pages = stolen};

	return skm_control_pressure_saw(window, &counts, now_usec);
}

static void test_levels_are_the_kernels(void **state)
{
	const struct {
		uint64_t scanned, stolen;
		enum skm_pressure level;
	} cases[] = {
	        {512, 512, SKM_PRESSURE_LOW},    {512, 600, SKM_PRESSURE_LOW},
	        {1000, 401, SKM_PRESSURE_LOW},   {1000, 400, SKM_PRESSURE_MEDIUM},
	        {1000, 51, SKM_PRESSURE_MEDIUM}, {1000, 50, SKM_PRESSURE_CRITICAL},
	        {512, 0, SKM_PRESSURE_CRITICAL}, {UINT64_MAX, UINT64_MAX / 100, SKM_PRESSURE_CRITICAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(skm_control_pressure_level(cases[i].scanned, cases[i].stolen), cases[i].level);
}

static void test_what_was_before_the_first_look_does_not_count(void **state)
{
	struct skm_pressure_window window = {0};

	(void)state;
	assert_int_equal(saw(&window, 1000000, 0, SEC), SKM_PRESSURE_LOW);
	assert_int_equal(saw(&window, 1000511, 0, 2 * SEC), SKM_PRESSURE_LOW);
	assert_int_equal(saw(&window, 1000512, 0, 3 * SEC), SKM_PRESSURE_CRITICAL);
}

static void test_a_level_lasts_a_second(void **state)
{
	struct skm_pressure_window window = {0};

	(void)state;
	saw(&window, 0, 0, SEC);
	assert_int_equal(saw(&window, 1000, 100, 2 * SEC), SKM_PRESSURE_MEDIUM);
	assert_int_equal(saw(&window, 1000, 100, 3 * SEC - 1), SKM_PRESSURE_MEDIUM);
	assert_int_equal(saw(&window, 1000, 100, 3 * SEC), SKM_PRESSURE_LOW);
}

static void test_a_lower_level_does_not_end_a_higher_one(void **state)
{
	struct skm_pressure_window window = {0};

	(void)state;
	saw(&window, 0, 0, SEC);
	assert_int_equal(saw(&window, 1000, 0, 2 * SEC), SKM_PRESSURE_CRITICAL);
	assert_int_equal(saw(&window, 2000, 1000, 2 * SEC + 1000), SKM_PRESSURE_CRITICAL);
	assert_int_equal(saw(&window, 3000, 1300, 2 * SEC + 2000), SKM_PRESSURE_CRITICAL);
	assert_int_equal(saw(&window, 4000, 1500, 3 * SEC), SKM_PRESSURE_MEDIUM);
}

static void test_a_trickle_is_no_pressure(void **state)
{
	struct skm_pressure_window window = {0};
	uint64_t scanned = 0;

	(void)state;
	saw(&window, 0, 0, SEC);
	for (uint64_t now = 12 * SEC; now < 600 * SEC; now += 12 * SEC) {
		scanned += 100;
		assert_int_equal(saw(&window, scanned, 0, now), SKM_PRESSURE_LOW);
	}
}

static void test_our_own_reclaim_is_not_believed(void **state)
{
	struct skm_pressure_window window = {0};

	(void)state;
	saw(&window, 0, 0, SEC);
	saw(&window, 1000, 0, 2 * SEC);
	skm_control_pressure_deafen(&window, 2 * SEC);
	assert_int_equal(saw(&window, 1000, 0, 2 * SEC), SKM_PRESSURE_LOW);
	assert_int_equal(saw(&window, 9000, 0, 4 * SEC - 1), SKM_PRESSURE_LOW);
	assert_int_equal(saw(&window, 9100, 0, 4 * SEC), SKM_PRESSURE_LOW);
	assert_int_equal(saw(&window, 10000, 0, 5 * SEC), SKM_PRESSURE_CRITICAL);
}

static void test_counters_that_went_back_begin_again(void **state)
{
	struct skm_pressure_window window = {0};

	(void)state;
	saw(&window, 100000, 50000, SEC);
	assert_int_equal(saw(&window, 600, 0, 2 * SEC), SKM_PRESSURE_LOW);
	assert_int_equal(saw(&window, 1200, 0, 3 * SEC), SKM_PRESSURE_CRITICAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_levels_are_the_kernels),
	        cmocka_unit_test(test_what_was_before_the_first_look_does_not_count),
	        cmocka_unit_test(test_a_level_lasts_a_second),
	        cmocka_unit_test(test_a_lower_level_does_not_end_a_higher_one),
	        cmocka_unit_test(test_a_trickle_is_no_pressure),
	        cmocka_unit_test(test_our_own_reclaim_is_not_believed),
	        cmocka_unit_test(test_counters_that_went_back_begin_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
