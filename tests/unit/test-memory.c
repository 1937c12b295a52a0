/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"
#include "control/memory.h"

#include <errno.h>

#define MIN SKM_MEMORY_FILE_MIN
#define LOW SKM_MEMORY_FILE_LOW
#define HIGH SKM_MEMORY_FILE_HIGH
#define MAX SKM_MEMORY_FILE_MAX
#define NOT_SET UINT64_C(99)

static void fill(struct skm_in_force in_force[SKM_IN_FORCE_COUNT], const uint64_t mib[SKM_MEMORY_FILES])
{
	memset(in_force, 0, sizeof(*in_force) * SKM_IN_FORCE_COUNT);
	for (int file = 0; file < SKM_MEMORY_FILES; file++)
		if (mib[file] != NOT_SET)
			in_force[SKM_IN_FORCE_MEMORY + file] = (struct skm_in_force){
			        .set = true, .asked_bytes = mib[file] * SKM_MIB, .bytes = mib[file] * SKM_MIB};
}

static void test_consistent(void **state)
{
	static const struct {
		uint64_t mib[SKM_MEMORY_FILES];
		const char *fault;
	} CASES[] = {
	        {{1, 2, 3, 4}, NULL},
	        {{4, 4, 4, 4}, NULL},
	        {{NOT_SET, NOT_SET, NOT_SET, NOT_SET}, NULL},
	        {{1, NOT_SET, NOT_SET, 1}, NULL},
	        {{NOT_SET, 5, NOT_SET, 6}, NULL},
	        {{5, NOT_SET, NOT_SET, 4}, "memory.min (5.0 MiB) is above memory.max (4.0 MiB)"},
	        {{2, 1, 3, 4}, "memory.min (2.0 MiB) is above memory.low (1.0 MiB)"},
	        {{NOT_SET, 9, 8, NOT_SET}, "memory.low (9.0 MiB) is above memory.high (8.0 MiB)"},
	        {{NOT_SET, NOT_SET, 9, 8}, "memory.high (9.0 MiB) is above memory.max (8.0 MiB)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
		struct skm_in_force in_force[SKM_IN_FORCE_COUNT];
		struct skm_err err = SKM_ERR_INIT;
		int r;

		fill(in_force, CASES[i].mib);
		r = skm_control_memory_fit(in_force, &err);
		assert_int_equal(r, CASES[i].fault ? -EINVAL : 0);
		assert_contains(err.text, CASES[i].fault ? CASES[i].fault : "");
	}
}

/* What was asked in order and is out of it by a cut is no fault of the policy's. */
static void test_a_cut_cuts_below_it(void **state)
{
	struct skm_in_force in_force[SKM_IN_FORCE_COUNT], *files = &in_force[SKM_IN_FORCE_MEMORY];

	(void)state;
	fill(in_force, (const uint64_t[]){100, 800, 900, 1000});
	files[MAX].bytes = 512 * SKM_MIB;
	files[MAX].cut = true;
	files[MAX].cut_by = SKM_CUT_CEILING;
	assert_int_equal(skm_control_memory_fit(in_force, NULL), 0);
	assert_int_equal(files[HIGH].bytes, 512 * SKM_MIB);
	assert_int_equal(files[LOW].bytes, 512 * SKM_MIB);
	assert_int_equal(files[LOW].cut_by, SKM_CUT_CEILING);
	assert_true(files[LOW].cut);
	assert_int_equal(files[LOW].asked_bytes, 800 * SKM_MIB);
	assert_int_equal(files[MIN].bytes, 100 * SKM_MIB);
	assert_false(files[MIN].cut);
}

static void test_high_has_room_for_the_sockets(void **state)
{
	(void)state;
	assert_int_equal(skm_control_memory_high(900 * SKM_MIB, 64 * SKM_MIB), 964 * SKM_MIB);
	assert_int_equal(skm_control_memory_high(900 * SKM_MIB, UINT64_MAX), 900 * SKM_MIB);
	assert_true(skm_control_memory_high(UINT64_MAX, 64 * SKM_MIB) == UINT64_MAX);
}

struct levels {
	uint64_t value[2][SKM_MEMORY_FILES];
};

/* min <= low <= high <= max at both levels, and the inner protects no more than the outer affords. */
static bool is_sane(const struct levels *levels)
{
	for (int depth = 0; depth < 2; depth++)
		for (int file = 1; file < SKM_MEMORY_FILES; file++)
			if (levels->value[depth][file - 1] > levels->value[depth][file])
				return false;
	return levels->value[1][MIN] <= levels->value[0][MIN] && levels->value[1][LOW] <= levels->value[0][LOW];
}

static struct levels levels_of(const uint64_t values[SKM_MEMORY_FILES])
{
	struct levels levels;

	for (int depth = 0; depth < 2; depth++)
		memcpy(levels.value[depth], values, sizeof(levels.value[depth]));
	return levels;
}

/* Every step from one sane state to another is sane: over all pairs of some states. */
static void test_order_is_safe_at_every_step(void **state)
{
	static const uint64_t STATES[][SKM_MEMORY_FILES] = {
	        {0, 0, UINT64_MAX, UINT64_MAX},
	        {1, 2, 3, 4},
	        {5, 6, 7, 8},
	        {0, 0, 3, 4},
	        {7, 7, 7, 7},
	        {3, 3, 9, 9},
	        {0, 8, 8, 8},
	        {1, 1, 1, UINT64_MAX},
	        {2, 9, UINT64_MAX, UINT64_MAX},
	        {4, 4, 20, 30},
	        {0, 0, 1, 1},
	};
	const size_t count = sizeof(STATES) / sizeof(*STATES);

	(void)state;
	for (size_t pair = 0; pair < count * count; pair++) {
		const uint64_t *from = STATES[pair / count], *to = STATES[pair % count];
		struct levels levels = levels_of(from);
		struct skm_memory_change changes[2 * SKM_MEMORY_FILES];

		for (unsigned int i = 0; i < 2 * SKM_MEMORY_FILES; i++) {
			enum skm_memory_file file = i % SKM_MEMORY_FILES;

			changes[i] = (struct skm_memory_change){
			        .depth = i / SKM_MEMORY_FILES, .file = file, .from = from[file], .to = to[file], .entry = i};
		}
		skm_control_memory_order(changes, 2 * SKM_MEMORY_FILES);
		for (unsigned int i = 0; i < 2 * SKM_MEMORY_FILES; i++) {
			levels.value[changes[i].depth][changes[i].file] = changes[i].to;
			assert_int_equal(changes[i].entry, changes[i].depth * SKM_MEMORY_FILES + changes[i].file);
			if (!is_sane(&levels))
				fail_msg("from state %zu to %zu: step %u is not sane", pair / count, pair % count, i);
		}
	}
}

static void test_verdicts(void **state)
{
	(void)state;
	assert_int_equal(skm_control_memory_judge(MAX, false, 100, 100), SKM_MEMORY_STANDS);
	assert_int_equal(skm_control_memory_judge(MAX, false, 100, 99), SKM_MEMORY_TAKE_OVER);
	assert_int_equal(skm_control_memory_judge(MAX, false, 100, UINT64_MAX), SKM_MEMORY_REASSERT);
	assert_int_equal(skm_control_memory_judge(HIGH, false, 100, 99), SKM_MEMORY_TAKE_OVER);
	assert_int_equal(skm_control_memory_judge(HIGH, false, 100, 101), SKM_MEMORY_REASSERT);
	assert_int_equal(skm_control_memory_judge(LOW, false, 100, 99), SKM_MEMORY_REASSERT);
	assert_int_equal(skm_control_memory_judge(LOW, false, 100, 101), SKM_MEMORY_REASSERT);
	assert_int_equal(skm_control_memory_judge(MIN, false, 100, 0), SKM_MEMORY_REASSERT);
	assert_int_equal(skm_control_memory_judge(LOW, true, 100, 99), SKM_MEMORY_REASSERT);
	assert_int_equal(skm_control_memory_judge(LOW, true, 100, 101), SKM_MEMORY_TAKE_OVER);
}

/* How many writes somebody gets who changes the value every interval for an hour. */
static int writes_in(uint64_t seconds, uint64_t every_usec)
{
	struct skm_memory_backoff backoff = {0};
	int writes = 0;

	for (uint64_t now = 1000 * SKM_USEC_PER_SEC; now < (1000 + seconds) * SKM_USEC_PER_SEC; now += every_usec)
		if (skm_control_memory_may_write(&backoff, now)) {
			writes++;
			skm_control_memory_wrote(&backoff, now);
		}
	return writes;
}

static void test_backoff(void **state)
{
	struct skm_memory_backoff backoff = {0};
	const uint64_t start = 1000 * SKM_USEC_PER_SEC;

	(void)state;
	assert_int_equal(writes_in(1, 100000), 1); /* ten quick changes */
	assert_int_equal(writes_in(10, 100000), 4);
	assert_int_equal(writes_in(3600, SKM_USEC_PER_SEC), 6 + 59); /* 1 2 4 8 16 32, then one a minute */
	assert_true(skm_control_memory_may_write(&backoff, start));
	skm_control_memory_wrote(&backoff, start);
	assert_false(skm_control_memory_may_write(&backoff, start + SKM_USEC_PER_SEC - 1));
	assert_true(skm_control_memory_may_write(&backoff, start + SKM_USEC_PER_SEC));
	skm_control_memory_wrote(&backoff, start + SKM_USEC_PER_SEC);
	assert_int_equal(backoff.interval_usec, 2 * SKM_USEC_PER_SEC);
	/* it stood for more than a minute: as at the first time */
	assert_true(skm_control_memory_may_write(&backoff, start + 70 * SKM_USEC_PER_SEC));
	skm_control_memory_wrote(&backoff, start + 70 * SKM_USEC_PER_SEC);
	assert_int_equal(backoff.interval_usec, SKM_USEC_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_consistent),
	        cmocka_unit_test(test_a_cut_cuts_below_it),
	        cmocka_unit_test(test_high_has_room_for_the_sockets),
	        cmocka_unit_test(test_order_is_safe_at_every_step),
	        cmocka_unit_test(test_verdicts),
	        cmocka_unit_test(test_backoff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
