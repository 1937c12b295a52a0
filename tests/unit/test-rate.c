/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"
#include "control/rate.h"

#define MSEC SKM_USEC_PER_MSEC
#define SEC SKM_USEC_PER_SEC
#define FLOOR UINT64_C(4608)

/* One value that follows what is wanted, and how often it was written. */
struct follower {
	struct skm_write_rate rate;
	uint64_t standing, now_usec;
	unsigned int writes;
};

static struct follower follower(void)
{
	return (struct follower){.now_usec = 1000 * SEC};
}

static uint64_t want(struct follower *one, uint64_t bytes, uint64_t after_usec)
{
	uint64_t next;

	one->now_usec += after_usec;
	next = skm_control_rate_next(&one->rate, one->standing, bytes, FLOOR, one->now_usec);
	one->writes += next != one->standing;
	one->standing = next;
	return next;
}

static void test_lowering_is_never_late(void **state)
{
	struct follower one = follower();

	(void)state;
	assert_int_equal(want(&one, 1000000, 0), 1000000);
	for (uint64_t bytes = 900000; bytes > 5000; bytes = bytes * 9 / 10)
		assert_true(want(&one, bytes, 3 * MSEC) <= bytes);
	assert_true(one.standing >= FLOOR);
}

static void test_raising_waits_half_a_second(void **state)
{
	struct follower one = follower();

	(void)state;
	want(&one, 100000, 0);
	assert_int_equal(want(&one, 200000, 499 * MSEC), 100000);
	assert_int_equal(want(&one, 0, 0), 100000); /* the baseline is the largest */
	assert_int_equal(want(&one, 0, 1 * MSEC), 0);
	assert_int_equal(want(&one, 50000, 1 * MSEC), 50000);
	want(&one, 60000, 1000 * MSEC);
	assert_int_equal(want(&one, 70000, 1 * MSEC), 60000);
	assert_int_equal(want(&one, 0, 1 * MSEC), 0); /* the step is left */
}

static void test_what_was_raised_too_soon_is_raised_later(void **state)
{
	struct follower one = follower();
	const uint64_t holds[] = {500 * MSEC, 1000 * MSEC, 2000 * MSEC, 4000 * MSEC, 4000 * MSEC};

	(void)state;
	want(&one, 100000, 0);
	for (size_t i = 0; i < sizeof(holds) / sizeof(*holds); i++) {
		assert_int_equal(want(&one, 200000, holds[i] - 1), 100000);
		assert_int_equal(want(&one, 200000, 1), 200000);
		assert_int_equal(want(&one, 100000, 10 * MSEC), 100000);
	}
	/* once it has stood, that is forgotten */
	want(&one, 200000, 4 * SEC);
	want(&one, 100000, 5 * SEC);
	assert_int_equal(want(&one, 200000, 500 * MSEC), 200000);
}

/* The most that a tenant can make of it: all sockets closed and opened again at each look, or one after the other. */
static void test_a_flood_is_bounded(void **state)
{
	(void)state;
	for (int steps = 2; steps <= 400; steps *= 2) {
		struct follower one = follower();
		unsigned int most = 0;

		for (int second = 0; second < 60; second++) {
			unsigned int before = one.writes;

			for (int look = 0; look < 100; look++) {
				uint64_t wanted = 6000000 / (uint64_t)(1 + look % steps * 400 / steps);

				assert_true(want(&one, wanted, 10 * MSEC) <= wanted);
			}
			if (one.writes - before > most)
				most = one.writes - before;
		}
		if (most > 20 || one.writes > 60 * 6)
			fail_msg("%d steps: %u writes in a minute, %u in one second", steps, one.writes, most);
	}
}

static void test_a_steep_descent_ends_soon(void **state)
{
	struct follower one = follower();

	(void)state;
	want(&one, 6000000, 0);
	for (uint64_t bytes = 6000000; bytes > FLOOR; bytes = bytes * 99 / 100)
		want(&one, bytes, 100);
	assert_true(one.writes <= SKM_TIGHTEN_EXACTLY + 12);
	assert_int_equal(want(&one, FLOOR, 100), FLOOR);
}

static void test_events_of_a_flood(void **state)
{
	struct skm_event_rate rate = {0};
	uint64_t now = 1000 * SEC;
	unsigned int kept = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		kept += skm_control_event_kept(&rate, now + (uint64_t)i * MSEC);
	assert_int_equal(kept, SKM_EVENTS_IN_WINDOW);
	assert_int_equal(skm_control_events_left_out(&rate, now + 9 * SEC), 0);
	assert_int_equal(skm_control_events_left_out(&rate, now + 10 * SEC), 1000 - SKM_EVENTS_IN_WINDOW);
	assert_int_equal(skm_control_events_left_out(&rate, now + 11 * SEC), 0); /* told once */
	assert_true(skm_control_event_kept(&rate, now + 10 * SEC));
	for (int i = 0; i < 40; i++)
		skm_control_event_kept(&rate, now + 11 * SEC);
	assert_int_equal(skm_control_events_left_out(&rate, UINT64_MAX), 41 - SKM_EVENTS_IN_WINDOW); /* at the end */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_lowering_is_never_late),
	        cmocka_unit_test(test_raising_waits_half_a_second),
	        cmocka_unit_test(test_what_was_raised_too_soon_is_raised_later),
	        cmocka_unit_test(test_a_flood_is_bounded),
	        cmocka_unit_test(test_a_steep_descent_ends_soon),
	        cmocka_unit_test(test_events_of_a_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
