/* SPDX-License-Identifier: Apache-2.0 */
/* Who is ended first. */
#include "skm-test.h"

#include "base/units.h"
#include "control/destroy.h"

static size_t picked[SKM_DESTROY_MAX];

static void test_largest_and_longest_idle_first(void **state)
{
	const struct skm_destroy_candidate list[] = {
	        {.send_bytes = SKM_MIB, .idle_msec = 1000},
	        {.send_bytes = SKM_MIB, .idle_msec = 9000},
	        {.send_bytes = 4 * SKM_MIB, .idle_msec = 1000},
	        {.send_bytes = 100 * SKM_KIB, .idle_msec = 9000},
	};

	(void)state;
	assert_int_equal(skm_control_destroy_choose(list, 4, UINT64_MAX, picked), 4);
	assert_int_equal(picked[0], 1);
	assert_int_equal(picked[1], 2);
	assert_int_equal(picked[2], 0);
	assert_int_equal(picked[3], 3);
}

static void test_orphans_before_all(void **state)
{
	const struct skm_destroy_candidate list[] = {
	        {.send_bytes = 9 * SKM_MIB, .idle_msec = 9000},
	        {.send_bytes = SKM_MIB, .idle_msec = 10, .orphan = true},
	};

	(void)state;
	assert_int_equal(skm_control_destroy_choose(list, 2, SKM_MIB, picked), 1);
	assert_int_equal(picked[0], 1);
}

/* Ending such a one frees nothing, or next to nothing. */
static void test_receive_heavy_and_small_stay(void **state)
{
	const struct skm_destroy_candidate list[] = {
	        {.send_bytes = SKM_MIB, .receive_bytes = SKM_MIB, .idle_msec = 9000},
	        {.receive_bytes = 9 * SKM_MIB, .idle_msec = 9000, .orphan = true},
	        {.send_bytes = SKM_DESTROY_LEAST_BYTES - 1, .idle_msec = 9000, .orphan = true},
	        {0},
	};

	(void)state;
	assert_int_equal(skm_control_destroy_choose(list, 4, UINT64_MAX, picked), 0);
}

static void test_no_more_than_needed_nor_than_a_few(void **state)
{
	struct skm_destroy_candidate list[10];

	(void)state;
	for (int i = 0; i < 10; i++)
		list[i] = (struct skm_destroy_candidate){.send_bytes = SKM_MIB, .idle_msec = 100};
	assert_int_equal(skm_control_destroy_choose(list, 10, 0, picked), 0);
	assert_int_equal(skm_control_destroy_choose(list, 10, 1, picked), 1);
	assert_int_equal(skm_control_destroy_choose(list, 10, 2 * SKM_MIB, picked), 2);
	assert_int_equal(skm_control_destroy_choose(list, 10, 2 * SKM_MIB + 1, picked), 3);
	assert_int_equal(skm_control_destroy_choose(list, 10, UINT64_MAX, picked), SKM_DESTROY_MAX);
}

/* UINT64_MAX bytes do not wrap round. */
static void test_extremes(void **state)
{
	const struct skm_destroy_candidate list[] = {
	        {.send_bytes = SKM_MIB, .idle_msec = 5},
	        {.send_bytes = UINT32_MAX, .idle_msec = UINT64_MAX - 1},
	};

	(void)state;
	assert_int_equal(skm_control_destroy_choose(list, 2, 1, picked), 1);
	assert_int_equal(picked[0], 1);
	assert_int_equal(skm_control_destroy_choose(NULL, 0, 1, picked), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_largest_and_longest_idle_first),
	        cmocka_unit_test(test_orphans_before_all),
	        cmocka_unit_test(test_receive_heavy_and_small_stay),
	        cmocka_unit_test(test_no_more_than_needed_nor_than_a_few),
	        cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
