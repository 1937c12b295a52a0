/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"
#include "control/shape.h"

#define MBIT UINT64_C(125000)
#define GBIT (MBIT * 1000)
#define FRAME(mtu) ((mtu) + 22u)

static const struct skm_shape_path PATHS[] = {
        {.mtu = 1500, .gso_max_bytes = 65536},  {.mtu = 9000, .gso_max_bytes = 65536},  {.mtu = 1280, .gso_max_bytes = 65536},
        {.mtu = 65535, .gso_max_bytes = 65536}, {.mtu = 1500, .gso_max_bytes = 524280}, {.mtu = 1500, .gso_max_bytes = 0},
};
#define PATH_COUNT (sizeof(PATHS) / sizeof(*PATHS))

/* C15: from a packet a second to 400 Gbit/s. */
static void test_burst(void **state)
{
	(void)state;
	for (size_t i = 0; i < PATH_COUNT; i++) {
		const struct skm_shape_path *path = &PATHS[i];
		uint64_t least = skm_control_shape_least(path);

		assert_true(skm_control_shape_burst(path, 1) == FRAME(path->mtu));
		for (uint64_t rate = 1000; rate < 400 * GBIT; rate += rate / 7 + 1) {
			uint64_t burst = skm_control_shape_burst(path, rate);

			/* a full frame fits at every rate, a whole GSO packet from least on */
			assert_true(burst >= FRAME(path->mtu));
			assert_true(rate < least || burst >= path->gso_max_bytes);
			/* the first second: the burst at once, the rate, and at the end one packet too much */
			if (rate >= least) {
				assert_true(burst + rate + path->gso_max_bytes <= rate + rate / 5);
				assert_int_equal(skm_control_shape_split(path, rate), 0);
			} else {
				/* what is cut up is no larger than a tenth, or a frame */
				assert_int_equal(skm_control_shape_split(path, rate), burst);
				assert_true(burst <= rate / 10 || burst == FRAME(path->mtu));
			}
		}
	}
	/* and a fast one is not starved between two ticks of 4 ms */
	assert_true(skm_control_shape_burst(&PATHS[0], 40 * GBIT) >= 40 * GBIT / 250);
	assert_true(skm_control_shape_burst(&PATHS[0], UINT64_MAX) == UINT32_MAX);
}

static void look(struct skm_drain *drain, uint64_t msec, uint64_t bytes, bool from_backlog)
{
	const struct skm_drain_look next = {.elapsed_usec = msec * 1000, .read_bytes = bytes, .from_backlog = from_backlog};

	skm_control_drain_note(drain, &next);
}

static struct skm_drain seen(uint64_t rate)
{
	struct skm_drain drain = {0};

	look(&drain, 100, rate / 100, true); /* it may have stood still for most of it */
	assert_int_equal(drain.rate, 0);
	look(&drain, 100, rate / 10, true);
	assert_int_equal(drain.rate, rate);
	return drain;
}

static void test_drain_of_a_reader(void **state)
{
	struct skm_drain drain = seen(20000000);

	(void)state;
	for (int i = 0; i < 20; i++)
		look(&drain, 100, 2000000, true);
	assert_int_equal(drain.rate, 20000000);
	/* it follows a reader that slows down, and one that speeds up */
	for (int i = 0; i < 30; i++)
		look(&drain, 100, 500000, true);
	assert_in_range(drain.rate, 5000000, 5100000);
	for (int i = 0; i < 30; i++)
		look(&drain, 100, 3000000, true);
	assert_in_range(drain.rate, 29500000, 30000000);
	/* in as many steps as it likes: time counts, not looks */
	for (int i = 0; i < 300; i++)
		look(&drain, 10, 100000, true);
	assert_in_range(drain.rate, 10000000, 10200000);
}

/* A reader that stands still, whole or in between, is no slow reader. */
static void test_drain_of_a_stalled_reader(void **state)
{
	struct skm_drain drain = seen(20000000);

	(void)state;
	for (int i = 0; i < 100; i++)
		look(&drain, 100, 0, true);
	assert_int_equal(drain.rate, 20000000);
	for (int i = 0; i < 50; i++) {
		look(&drain, 100, 2000000, true);
		look(&drain, 900, 0, false);
	}
	assert_int_equal(drain.rate, 20000000);
	/* also where a stall begins and ends within a look */
	for (int i = 0; i < 50; i++) {
		look(&drain, 100, 300000, true);
		look(&drain, 100, 0, true);
		look(&drain, 100, 2000000, true);
	}
	assert_int_equal(drain.rate, 20000000);
	/* and of one never seen reading nothing is known */
	drain = (struct skm_drain){0};
	for (int i = 0; i < 100; i++)
		look(&drain, 100, 0, true);
	assert_int_equal(drain.rate, 0);
}

/* A reader that waits for data reads as fast as that comes: shaping by it would go down to the floor step by step. */
static void test_drain_of_a_starved_reader(void **state)
{
	struct skm_drain drain = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		look(&drain, 100, 100000, false);
	assert_int_equal(drain.rate, 0);
	drain = seen(20000000);
	for (int i = 0; i < 100; i++)
		look(&drain, 100, 100000, false);
	assert_int_equal(drain.rate, 20000000);
	for (int i = 0; i < 30; i++)
		look(&drain, 100, 4000000, false);
	assert_in_range(drain.rate, 39900000, 40000000);
	/* two looks at one time */
	look(&drain, 0, 1000000000, true);
	assert_in_range(drain.rate, 39900000, 40000000);
}

static struct skm_drain_look compare(const struct skm_shape_socket *before, size_t before_count,
                                     const struct skm_shape_socket *now, size_t now_count, uint64_t received)
{
	const struct skm_shape_sockets was = {before, before_count}, is = {now, now_count};

	return skm_control_drain_compare(&was, &is, received, 200000);
}

static void test_compare(void **state)
{
	const struct skm_shape_socket before[] = {{1, 1000}, {3, 5000}, {4, 0}, {9, 700}};
	const struct skm_shape_socket steady[] = {{1, 1200}, {3, 4800}, {4, 0}, {9, 700}};
	const struct skm_shape_socket other[] = {{2, 900}, {3, 5000}, {4, 300}, {10, 500}};
	const struct skm_shape_socket stalled[] = {{1, 1000}, {3, 5000}, {4, 0}, {9, 700}};
	const struct skm_shape_socket filled[] = {{1, 9000}, {3, 90000}, {4, 0}, {9, 700}};
	const struct skm_shape_socket drained[] = {{1, 0}, {3, 0}, {4, 0}, {9, 0}};
	struct skm_drain_look look;

	(void)state;
	look = compare(before, 4, steady, 4, 10000);
	assert_int_equal(look.elapsed_usec, 200000);
	assert_int_equal(look.read_bytes, 10000);
	assert_true(look.from_backlog);
	/* what waits is less than a tenth of a second's: some packets on their way to a reader that is starved */
	look = compare(before, 4, steady, 4, 14000);
	assert_int_equal(look.read_bytes, 14000);
	assert_false(look.from_backlog);
	/* other sockets, and one of which nobody reads: its neighbours read all that came, as it came */
	look = compare(before, 4, other, 4, 1200);
	assert_int_equal(look.read_bytes, 1200);
	assert_false(look.from_backlog);
	/* a reader that has the same amount before it at each look, and a trickle beside one that stands still */
	look = compare(before, 4, stalled, 4, 9000);
	assert_true(look.from_backlog);
	look = compare(before, 4, stalled, 4, 900);
	assert_false(look.from_backlog);
	/* full windows and nobody who reads */
	look = compare(before, 4, stalled, 4, 0);
	assert_int_equal(look.read_bytes, 0);
	assert_false(look.from_backlog);
	/* they fill, and only the headers are not there */
	look = compare(before, 4, filled, 4, 96000);
	assert_int_equal(look.read_bytes, 96000 + 6700 - 99700);
	assert_false(look.from_backlog);
	/* more arrived than the links had counted when they were asked */
	look = compare(before, 4, filled, 4, 90000);
	assert_int_equal(look.read_bytes, 0);
	assert_false(look.from_backlog);
	/* all of it read: may be faster still */
	look = compare(before, 4, drained, 4, 3300);
	assert_int_equal(look.read_bytes, 10000);
	assert_false(look.from_backlog);
	look = compare(NULL, 0, NULL, 0, 5000);
	assert_int_equal(look.read_bytes, 5000);
	assert_false(look.from_backlog);
}

static uint64_t rate_of(uint64_t drain_rate, uint64_t sock, uint64_t target, uint64_t floor)
{
	const struct skm_drain drain = {.rate = drain_rate};
	const struct skm_shape_question question = {
	        .drain = &drain, .path = PATHS[0], .sock_bytes = sock, .target_bytes = target, .floor = floor};

	return skm_control_shape_rate(&question);
}

static void test_rate(void **state)
{
	const uint64_t M = 1000000, FLOOR = 10 * MBIT;

	(void)state;
	assert_true(rate_of(0, 100 * M, 10 * M, FLOOR) == 0); /* never seen reading */
	/* always below the drain: nine tenths near the target, half far from it, between them what drains the excess in 2 s */
	assert_true(rate_of(20 * M, 10 * M, 10 * M, FLOOR) == 18 * M);
	assert_true(rate_of(20 * M, 5 * M, 10 * M, FLOOR) == 18 * M);
	assert_true(rate_of(20 * M, 20 * M, 10 * M, FLOOR) == 15 * M);
	assert_true(rate_of(20 * M, 200 * M, 10 * M, FLOOR) == 10 * M);
	assert_true(rate_of(20 * M, UINT64_MAX, 0, FLOOR) == 10 * M);
	/* never below the floor, nor below what keeps C15's 1.2 */
	assert_true(rate_of(2 * M, 200 * M, 10 * M, FLOOR) == FLOOR);
	assert_true(rate_of(1, 200 * M, 10 * M, FLOOR) == FLOOR);
	assert_true(rate_of(20 * M, 200 * M, 10 * M, 100 * M) == 100 * M);
	assert_true(rate_of(1, 200 * M, 10 * M, 1) == 655360);
	assert_true(rate_of(UINT64_MAX, 0, 0, FLOOR) == UINT64_MAX - UINT64_MAX / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_burst),
	        cmocka_unit_test(test_drain_of_a_reader),
	        cmocka_unit_test(test_drain_of_a_stalled_reader),
	        cmocka_unit_test(test_drain_of_a_starved_reader),
	        cmocka_unit_test(test_compare),
	        cmocka_unit_test(test_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
