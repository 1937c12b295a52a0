/* SPDX-License-Identifier: Apache-2.0 */
/* The fair cap against the exact one of the same sockets, by sorting. */
#include "skm-test.h"

#include "base/units.h"
#include "control/budget.h"

#include <stdlib.h>

#define SOCKETS_MAX 1000

/* What each socket asks for; UINT64_MAX: all it can get. */
struct wishes {
	uint64_t bytes[SOCKETS_MAX];
	uint32_t count;
};

static uint64_t random_state;

static uint64_t random_below(uint64_t bound)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (random_state >> 16) % bound;
}

static int by_size(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The largest w with sum of min(wish, w) <= target, where one at least is hungry. Sorts the wishes. */
static uint64_t exact_cap(struct wishes *wishes, uint64_t target)
{
	uint32_t i = 0;

	qsort(wishes->bytes, wishes->count, sizeof(*wishes->bytes), by_size);
	while (wishes->bytes[i] <= target / (wishes->count - i)) {
		target -= wishes->bytes[i];
		i++;
	}
	return target / (wishes->count - i);
}

static uint64_t sum_at(const struct wishes *wishes, uint64_t cap)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < wishes->count; i++)
		sum += wishes->bytes[i] < cap ? wishes->bytes[i] : cap;
	return sum;
}

static void make_wishes(struct wishes *wishes, struct skm_demands *demands)
{
	*demands = (struct skm_demands){0};
	wishes->count = (uint32_t)(1 + random_below(SOCKETS_MAX));
	for (uint32_t i = 0; i < wishes->count; i++) {
		uint32_t buffer = (uint32_t)(2304 + random_below(UINT64_C(1) << (10 + random_below(14))));
		bool hungry = i == 0 || random_below(8) == 0;

		wishes->bytes[i] = hungry ? UINT64_MAX : buffer;
		skm_demand_add(demands, hungry ? buffer / 2 : 0, buffer, 0);
	}
}

/* What lies in w's bucket, or up to a quarter above, is what the buckets cannot tell. */
static void test_close_to_the_exact_one_and_never_above(void **state)
{
	int close = 0;

	(void)state;
	random_state = 7;
	for (int i = 0; i < 3000; i++) {
		struct wishes wishes;
		struct skm_demands demands;
		uint64_t target = SKM_MIB + random_below(64 * SKM_MIB), exact, cap;
		bool too_small;

		make_wishes(&wishes, &demands);
		exact = exact_cap(&wishes, target);
		cap = skm_control_max_min_cap(target, wishes.count, &demands, &too_small);
		if (too_small) {
			assert_int_equal(cap, SKM_BUFFER_FLOOR_BYTES);
			continue;
		}
		if (demands.hungry > wishes.count / 4) {
			assert_int_equal(cap, target / wishes.count);
			continue;
		}
		close++;
		assert_true(cap <= exact);
		assert_true(cap >= target / wishes.count);
		assert_true(sum_at(&wishes, cap) <= target);
		if (exact >= 4096)
			assert_true(cap * 5 / 4 + 1 >= exact);
	}
	assert_true(close > 2000);
}

static void test_idle_ones_leave_the_rest_to_the_others(void **state)
{
	struct skm_demands demands = {0};
	bool too_small = true;

	(void)state;
	for (int i = 0; i < 500; i++)
		skm_demand_add(&demands, 0, 32768, 0);
	skm_demand_add(&demands, 500000, 1000000, 0);
	skm_demand_add(&demands, 0, 16384, 100000);
	assert_int_equal(skm_control_max_min_cap(32 * SKM_MIB, 502, &demands, &too_small), (32 * SKM_MIB - 500 * 32768) / 2);
	assert_false(too_small);
	/* without a dump, as much for each */
	assert_int_equal(skm_control_max_min_cap(32 * SKM_MIB, 502, NULL, &too_small), 32 * SKM_MIB / 502);
	/* those that came since may be as hungry, and where they are many, so may be the rest */
	assert_int_equal(skm_control_max_min_cap(32 * SKM_MIB, 600, &demands, &too_small), (32 * SKM_MIB - 500 * 32768) / 100);
	assert_int_equal(skm_control_max_min_cap(32 * SKM_MIB, 667, &demands, &too_small), 32 * SKM_MIB / 667);
	/* fewer there are now: at least as much for each */
	assert_int_equal(skm_control_max_min_cap(32 * SKM_MIB, 1, &demands, &too_small), 32 * SKM_MIB);
}

/* Nobody has a queue: the largest may grow into what is left, no more. */
static void test_without_a_hungry_one_the_largest_takes_the_rest(void **state)
{
	struct skm_demands demands = {0};
	bool too_small;

	(void)state;
	for (int i = 0; i < 9; i++)
		skm_demand_add(&demands, 0, 100000, 0);
	assert_int_equal(skm_control_max_min_cap(2000000, 9, &demands, &too_small), 2000000 / 9);
	skm_demand_add(&demands, 0, 400000, 0);
	assert_int_equal(skm_control_max_min_cap(2000000, 10, &demands, &too_small), 2000000 - 9 * 100000);
	assert_true(skm_control_max_min_cap(2000000, 0, &demands, &too_small) == UINT64_MAX);
}

static void test_bounds_of_the_buckets(void **state)
{
	struct skm_demands demands = {0};

	(void)state;
	for (uint32_t i = 0; i < SKM_DEMAND_BUCKETS; i++)
		assert_true(skm_demand_bound(i) < skm_demand_bound(i + 1));
	for (uint32_t i = 2; i < SKM_DEMAND_BUCKETS; i++)
		assert_true(skm_demand_bound(i) * 4 <= skm_demand_bound(i - 1) * 5);
	skm_demand_add(&demands, 0, UINT32_MAX, 0);
	skm_demand_add(&demands, 0, 0, 0);
	skm_demand_add(&demands, 0, 4096, 0);
	assert_int_equal(demands.count[SKM_DEMAND_BUCKETS - 1] + demands.count[0] + demands.count[1], 3);
	assert_int_equal(demands.hungry, 0);
	skm_demand_add(&demands, 1, 64000, 0);
	skm_demand_add(&demands, 0, 64000, 1);
	assert_int_equal(demands.hungry, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_close_to_the_exact_one_and_never_above),
	        cmocka_unit_test(test_idle_ones_leave_the_rest_to_the_others),
	        cmocka_unit_test(test_without_a_hungry_one_the_largest_takes_the_rest),
	        cmocka_unit_test(test_bounds_of_the_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
