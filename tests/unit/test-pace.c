/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"
#include "control/pace.h"

#define LIMIT (32 * SKM_MIB)

static const struct skm_pace_question REST = {.limit_bytes = LIMIT, .possible_bytes = SKM_MIB, .containers = 1};

/* Two looks 100 ms apart, each at a cost of 10 µs. */
static struct skm_pace pace_after(uint64_t first_bytes, uint64_t second_bytes)
{
	struct skm_pace pace = {0};

	skm_control_pace_saw(&pace, 1000000, first_bytes, first_bytes, 10);
	skm_control_pace_saw(&pace, 1100000, second_bytes, second_bytes, 10);
	return pace;
}

static void test_at_rest_a_second(void **state)
{
	struct skm_pace pace = pace_after(0, 0);

	(void)state;
	assert_int_equal(skm_control_pace_next(&pace, &REST), SKM_PACE_REST_USEC);
}

static void test_sockets_that_could_burst(void **state)
{
	struct skm_pace pace = pace_after(0, 0);
	struct skm_pace_question question = REST;

	(void)state;
	question.possible_bytes = LIMIT + 1;
	assert_int_equal(skm_control_pace_next(&pace, &question), SKM_PACE_BURST_USEC);
	question.possible_bytes = LIMIT;
	assert_int_equal(skm_control_pace_next(&pace, &question), SKM_PACE_REST_USEC);
	question.throttled = true;
	assert_int_equal(skm_control_pace_next(&pace, &question), SKM_PACE_BURST_USEC);
}

static void test_a_full_memory_blinds_the_tripwire(void **state)
{
	struct skm_pace pace = pace_after(0, 0);
	struct skm_pace_question question = REST;

	(void)state;
	question.memory_full = true;
	assert_int_equal(skm_control_pace_next(&pace, &question), SKM_PACE_REST_USEC);
	question.possible_bytes = LIMIT + 1;
	assert_int_equal(skm_control_pace_next(&pace, &question), SKM_PACE_BLIND_USEC);
}

static void test_a_quarter_of_the_headroom(void **state)
{
	/* 8 MiB in 100 ms are 80 MiB/s; 24 MiB are free, a quarter is 6 MiB: 75 ms */
	struct skm_pace pace = pace_after(0, 8 * SKM_MIB);

	(void)state;
	assert_int_equal(skm_control_pace_next(&pace, &REST), 75000);
}

static void test_the_shortest_is_two_milliseconds(void **state)
{
	struct skm_pace pace = pace_after(0, LIMIT - 1);

	(void)state;
	assert_int_equal(skm_control_pace_next(&pace, &REST), SKM_PACE_MIN_USEC);
}

static void test_one_per_cent_of_a_processor(void **state)
{
	struct skm_pace pace = {0};
	struct skm_pace_question question = REST;

	(void)state;
	for (int i = 0; i < 50; i++)
		skm_control_pace_saw(&pace, 1000000 + (uint64_t)i * 100000, (uint64_t)i * SKM_MIB, 0, 50);
	pace.growth_bytes_per_sec = SKM_GIB;
	assert_int_equal(skm_control_pace_next(&pace, &question), 5000);
	question.containers = 10;
	assert_int_equal(skm_control_pace_next(&pace, &question), 50000);
}

static void test_one_slow_look_does_not_slow_the_pace(void **state)
{
	struct skm_pace pace = {0};

	(void)state;
	for (int i = 0; i < 20; i++)
		skm_control_pace_saw(&pace, 1000000 + (uint64_t)i * 1000, 0, 0, 40);
	skm_control_pace_saw(&pace, 2000000, 0, 0, 4000);
	assert_in_range(pace.full_cost_usec, 40, 50);
	for (int i = 0; i < 200; i++) /* looks that stay dear are believed */
		skm_control_pace_saw(&pace, 3000000 + (uint64_t)i * 1000, 0, 0, 4000);
	assert_int_equal(pace.full_cost_usec, 4000);
}

static void test_falling_is_no_growth(void **state)
{
	struct skm_pace pace = pace_after(8 * SKM_MIB, 4 * SKM_MIB);

	(void)state;
	assert_int_equal(pace.growth_bytes_per_sec, 0);
	assert_int_equal(skm_control_pace_next(&pace, &REST), SKM_PACE_REST_USEC);
}

static void test_tripwire(void **state)
{
	struct skm_pace pace = pace_after(0, 0);

	(void)state;
	assert_false(skm_control_tripwire(&pace, LIMIT, LIMIT / 4 - 1));
	assert_true(skm_control_tripwire(&pace, LIMIT, LIMIT / 4));
	pace.current_bytes = 100 * SKM_MIB; /* a program that shrinks */
	assert_false(skm_control_tripwire(&pace, LIMIT, 0));
	pace = pace_after(LIMIT, LIMIT); /* no headroom: a sixteenth of the limit, not each byte */
	assert_false(skm_control_tripwire(&pace, LIMIT, LIMIT + LIMIT / 16 - 1));
	assert_true(skm_control_tripwire(&pace, LIMIT, LIMIT + LIMIT / 16));
}

static void test_tripwire_is_shared(void **state)
{
	struct skm_pace pace = {0};
	struct skm_pace_question question = REST;

	(void)state;
	skm_control_pace_tripped(&pace, 2);
	assert_int_equal(skm_control_tripwire_next(&pace, &question), SKM_TRIPWIRE_MIN_USEC);
	question.containers = 1000;
	assert_int_equal(skm_control_tripwire_next(&pace, &question), 200000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_at_rest_a_second),
	        cmocka_unit_test(test_sockets_that_could_burst),
	        cmocka_unit_test(test_a_full_memory_blinds_the_tripwire),
	        cmocka_unit_test(test_a_quarter_of_the_headroom),
	        cmocka_unit_test(test_the_shortest_is_two_milliseconds),
	        cmocka_unit_test(test_one_per_cent_of_a_processor),
	        cmocka_unit_test(test_one_slow_look_does_not_slow_the_pace),
	        cmocka_unit_test(test_falling_is_no_growth),
	        cmocka_unit_test(test_tripwire),
	        cmocka_unit_test(test_tripwire_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
