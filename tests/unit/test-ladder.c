/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"
#include "control/budget.h"
#include "control/ladder.h"

#define LIMIT (32 * SKM_MIB)

static const struct skm_ladder_config CONFIG = {
        .limit_bytes = LIMIT,
        .rmem_max_baseline_bytes = 6291456,
        .wmem_start_baseline_bytes = 16384,
        .wmem_max_baseline_bytes = 4194304,
        .notsent_lowat_baseline_bytes = UINT32_MAX,
};

/* One look: u in per cent of the limit at a time in milliseconds, 50 sockets. */
static const struct skm_decision *look(struct skm_ladder_state *state, unsigned percent, uint64_t msec)
{
	struct skm_sample sample = {
	        .when_usec = 1000000 + msec * 1000,
	        .sock_bytes = (LIMIT * percent + 99) / 100,
	        .sockets = 50,
	};

	return skm_control_decide(&CONFIG, &sample, state);
}

static void test_rest_writes_nothing(void **state)
{
	struct skm_ladder_state ladder = {0};
	const struct skm_decision *decision = look(&ladder, 69, 0);

	(void)state;
	assert_int_equal(decision->step, SKM_STEP_NONE);
	assert_int_equal(decision->reason, SKM_REASON_REST);
	assert_int_equal(decision->targets.rmem_max_bytes, 0);
	assert_int_equal(decision->targets.wmem_max_bytes, 0);
	assert_int_equal(decision->targets.notsent_lowat_bytes, 0);
	assert_int_equal(decision->squeeze_above_bytes, 0);
	assert_true(decision->fair_cap_bytes == UINT64_MAX);
}

static void test_steps_are_entered_at_once(void **state)
{
	const struct {
		unsigned percent;
		enum skm_step step;
	} cases[] = {{70, SKM_STEP_CAP},     {84, SKM_STEP_CAP},   {85, SKM_STEP_SQUEEZE},
	             {99, SKM_STEP_SQUEEZE}, {100, SKM_STEP_SHED}, {400, SKM_STEP_SHED}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_ladder_state ladder = {0};

		assert_int_equal(look(&ladder, cases[i].percent, 0)->step, cases[i].step);
		assert_int_equal(ladder.decision.reason, SKM_REASON_OCCUPANCY);
	}
}

static void test_cap_and_squeeze_values(void **state)
{
	struct skm_ladder_state ladder = {0};
	const struct skm_decision *decision = look(&ladder, 75, 0);

	(void)state;
	assert_int_equal(decision->fair_cap_bytes, LIMIT * 95 / 100 / 50);
	assert_int_equal(decision->targets.rmem_max_bytes, LIMIT * 95 / 100 / 50);
	assert_int_equal(decision->targets.wmem_max_bytes, LIMIT * 95 / 100 / 50);
	assert_int_equal(decision->targets.notsent_lowat_bytes, 128 * SKM_KIB);
	assert_int_equal(decision->squeeze_above_bytes, decision->fair_cap_bytes);

	decision = look(&ladder, 90, 1);
	assert_int_equal(decision->fair_cap_bytes, LIMIT * 80 / 100 / 50);
	assert_int_equal(decision->squeeze_above_bytes, decision->fair_cap_bytes);

	decision = look(&ladder, 105, 2);
	assert_int_equal(decision->fair_cap_bytes, LIMIT * 70 / 100 / 50);
}

static void test_a_step_is_held_for_a_second(void **state)
{
	struct skm_ladder_state ladder = {0};

	(void)state;
	look(&ladder, 90, 0);
	assert_int_equal(look(&ladder, 10, 999)->step, SKM_STEP_SQUEEZE);
	assert_int_equal(ladder.decision.reason, SKM_REASON_HOLD);
	assert_int_equal(look(&ladder, 10, 1000)->step, SKM_STEP_NONE);
	assert_int_equal(ladder.decision.reason, SKM_REASON_RELAXED);
}

static void test_hysteresis(void **state)
{
	struct skm_ladder_state ladder = {0};

	(void)state;
	look(&ladder, 85, 0);
	assert_int_equal(look(&ladder, 75, 5000)->step, SKM_STEP_SQUEEZE); /* 0.85 - 0.10 has to be passed */
	assert_int_equal(look(&ladder, 74, 5001)->step, SKM_STEP_SQUEEZE); /* for as long as the hold */
	assert_int_equal(look(&ladder, 74, 6000)->step, SKM_STEP_CAP);
	assert_int_equal(look(&ladder, 60, 7000)->step, SKM_STEP_CAP);
	assert_int_equal(look(&ladder, 34, 7001)->step, SKM_STEP_CAP);
	assert_int_equal(look(&ladder, 34, 8000)->step, SKM_STEP_NONE);
}

/* 200 senders against a slow reader: the cap works, u falls below the exit and stays there. Released then, they burst again. */
static void test_a_cap_that_works_is_kept(void **state)
{
	struct skm_ladder_state ladder = {0};
	uint64_t msec = 0;

	(void)state;
	look(&ladder, 104, msec);
	for (; msec <= 900; msec += 10)
		look(&ladder, 90, msec);
	for (; msec < 900 + SKM_STEP_HOLD_DEMAND * 1000; msec += 10)
		assert_int_not_equal(look(&ladder, 45, msec)->step, SKM_STEP_NONE);
	assert_int_equal(ladder.decision.step, SKM_STEP_CAP);
	assert_int_equal(look(&ladder, 45, msec)->step, SKM_STEP_NONE);
}

/* The burst is over: within two seconds after the sockets are drained, whatever step it was. */
static void test_a_burst_that_is_over_is_forgotten(void **state)
{
	struct skm_ladder_state ladder = {0};
	uint64_t msec = 0;

	(void)state;
	for (unsigned percent = 104; percent >= 35; percent--, msec += 15)
		assert_int_not_equal(look(&ladder, percent, msec)->step, SKM_STEP_NONE);
	look(&ladder, 20, msec);
	assert_int_not_equal(ladder.decision.step, SKM_STEP_NONE);
	assert_int_equal(look(&ladder, 0, msec + 1000)->step, SKM_STEP_NONE);
}

/* What idle sockets do not ask for is the others', but for a burst, and where the limit is reached. */
static void test_idle_sockets_leave_their_share(void **state)
{
	const uint64_t growth = LIMIT * 10;
	const struct {
		unsigned percent;
		uint64_t growth;
		uint64_t target; /* of the one hungry socket among 49 idle ones; 0: an equal share of the limit */
	} cases[] = {{75, 0, LIMIT * 95 / 100}, {90, 0, LIMIT * 80 / 100}, {100, 0, 0}, {45, growth, 0}};
	struct skm_demands demands = {.hungry = 1};

	(void)state;
	for (int i = 0; i < 49; i++)
		skm_demand_add(&demands, 0, 32768, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_ladder_state ladder = {0};
		struct skm_sample sample = {
		        .when_usec = 1,
		        .sock_bytes = (LIMIT * cases[i].percent + 99) / 100,
		        .growth_bytes_per_sec = cases[i].growth,
		        .sockets = 50,
		        .demands = &demands,
		};
		uint64_t cap = skm_control_decide(&CONFIG, &sample, &ladder)->fair_cap_bytes;

		if (cases[i].target > 0)
			assert_int_equal(cap, cases[i].target - 49 * 32768);
		else
			assert_int_equal(cap, LIMIT * (cases[i].percent == 100 ? 70 : 95) / 100 / 50);
	}
}

/* 1,000 sockets take a packet more each: an eighth of a small cap is left for it, but none goes below the least buffer. */
static void test_a_small_cap_leaves_room_for_a_packet(void **state)
{
	const struct {
		uint32_t sockets;
		uint64_t cap;
	} cases[] = {{1000, 27892}, {250, 111568}, {240, 132819}, {6000, 4648}, {6500, 4608}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_ladder_state ladder = {0};
		struct skm_sample sample = {.when_usec = 1, .sock_bytes = LIMIT * 3 / 4, .sockets = cases[i].sockets};

		assert_int_equal(skm_control_decide(&CONFIG, &sample, &ladder)->fair_cap_bytes, cases[i].cap);
	}
}

/* Few sockets cannot pass the limit once they are let go: the hold alone counts. */
static void test_few_sockets_are_let_go_early(void **state)
{
	struct skm_ladder_state ladder = {0};
	struct skm_sample sample = {.when_usec = 1000000, .sock_bytes = LIMIT * 8 / 10, .sockets = 5};

	(void)state;
	assert_int_equal(skm_control_decide(&CONFIG, &sample, &ladder)->step, SKM_STEP_CAP);
	sample.sock_bytes = LIMIT / 2;
	sample.when_usec = 1999999;
	assert_int_equal(skm_control_decide(&CONFIG, &sample, &ladder)->step, SKM_STEP_CAP);
	sample.when_usec = 2000000;
	assert_int_equal(skm_control_decide(&CONFIG, &sample, &ladder)->step, SKM_STEP_NONE);
}

/* When none is entered after throttling that begins at `msec` and finds nothing left of the burst at once. */
static uint64_t throttle_once(struct skm_ladder_state *ladder, uint64_t msec)
{
	uint64_t end = msec;

	assert_int_equal(look(ladder, 80, msec)->step, SKM_STEP_CAP);
	while (look(ladder, 10, end)->step != SKM_STEP_NONE)
		end++;
	return end;
}

static void test_throttling_again_soon_doubles_the_hold(void **state)
{
	static const uint64_t HOLDS[] = {1000, 2000, 4000, 4000};
	struct skm_ladder_state ladder = {0};
	uint64_t end = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(HOLDS) / sizeof(*HOLDS); i++) {
		uint64_t begin = end + 1999;

		end = throttle_once(&ladder, begin);
		assert_int_equal(end - begin, HOLDS[i]);
	}
	assert_int_equal(throttle_once(&ladder, end + 9999) - end - 9999, 4000);
	end = end + 9999 + 4000;
	assert_int_equal(throttle_once(&ladder, end + 10000) - end - 10000, 1000);
}

static void test_up_again_restarts_the_hold(void **state)
{
	struct skm_ladder_state ladder = {0};

	(void)state;
	look(&ladder, 70, 0);
	look(&ladder, 85, 900);
	assert_int_equal(look(&ladder, 10, 1200)->step, SKM_STEP_SQUEEZE);
	assert_int_equal(look(&ladder, 10, 1900)->step, SKM_STEP_NONE);
}

static void test_a_limit_too_small_is_said(void **state)
{
	struct skm_ladder_state ladder = {0};
	struct skm_sample sample = {.when_usec = 1, .sock_bytes = LIMIT, .sockets = 100000};
	const struct skm_decision *decision = skm_control_decide(&CONFIG, &sample, &ladder);
	char text[256];

	(void)state;
	assert_int_equal(decision->reason, SKM_REASON_TOO_SMALL);
	assert_int_equal(decision->fair_cap_bytes, SKM_BUFFER_FLOOR_BYTES);
	assert_int_equal(decision->targets.wmem_max_bytes, 16384); /* never below what a socket starts with */
	assert_int_equal(decision->targets.notsent_lowat_bytes, 4096);
	skm_control_explain(decision, &sample, LIMIT, text, sizeof(text));
	assert_contains(text, "too small for 100000 sockets");
}

static void test_without_sockets_nothing_is_capped(void **state)
{
	struct skm_ladder_state ladder = {0};
	struct skm_sample sample = {.when_usec = 1, .sock_bytes = LIMIT};
	const struct skm_decision *decision = skm_control_decide(&CONFIG, &sample, &ladder);

	(void)state;
	assert_true(decision->fair_cap_bytes == UINT64_MAX);
	assert_int_equal(decision->targets.rmem_max_bytes, 0);
	assert_int_equal(decision->squeeze_above_bytes, 0);
}

static void test_a_cap_above_the_baseline_is_the_baseline(void **state)
{
	struct skm_ladder_state ladder = {0};
	struct skm_sample sample = {.when_usec = 1, .sock_bytes = LIMIT * 8 / 10, .sockets = 2};

	(void)state;
	assert_int_equal(skm_control_decide(&CONFIG, &sample, &ladder)->targets.rmem_max_bytes, 0);
}

static void test_fast_growth_is_capped_early(void **state)
{
	const struct {
		unsigned percent; /* S, of the limit */
		unsigned growth;  /* in a tenth of a second, per cent of the limit */
		enum skm_step step;
	} cases[] = {
	        {45, 25, SKM_STEP_CAP},  {45, 24, SKM_STEP_NONE}, {39, 90, SKM_STEP_NONE}, {60, 9, SKM_STEP_NONE},
	        {45, 900, SKM_STEP_CAP}, {72, 90, SKM_STEP_CAP},  {69, 0, SKM_STEP_NONE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_ladder_state ladder = {0};
		struct skm_sample sample = {
		        .when_usec = 1,
		        .sock_bytes = (LIMIT * cases[i].percent + 99) / 100,
		        .growth_bytes_per_sec = (LIMIT * cases[i].growth + 9) / 10,
		        .sockets = 50,
		};

		assert_int_equal(skm_control_decide(&CONFIG, &sample, &ladder)->step, cases[i].step);
		if (cases[i].percent == 45 && cases[i].step == SKM_STEP_CAP)
			assert_int_equal(ladder.decision.reason, SKM_REASON_BURST);
	}
}

static void test_grain(void **state)
{
	(void)state;
	assert_true(skm_control_within_grain(800, 800));
	assert_true(skm_control_within_grain(800, 899));
	assert_true(skm_control_within_grain(800, 701));
	assert_false(skm_control_within_grain(800, 900));
	assert_false(skm_control_within_grain(800, 700));
	assert_true(skm_control_within_grain(0, 0));
	assert_false(skm_control_within_grain(0, 1));
	assert_false(skm_control_within_grain(1, 0));
}

static void test_occupancy_saturates(void **state)
{
	(void)state;
	assert_int_equal(skm_control_occupancy(LIMIT / 2, LIMIT), 5000);
	assert_int_equal(skm_control_occupancy(UINT64_MAX, 1), UINT32_MAX / 2);
}

static void test_a_saturated_occupancy_stays_in_shed(void **state)
{
	struct skm_ladder_state ladder = {0};
	struct skm_ladder_config tiny = CONFIG;
	struct skm_sample sample = {.when_usec = 1, .sock_bytes = UINT64_MAX / 2, .sockets = 1};

	(void)state;
	tiny.limit_bytes = 1;
	assert_int_equal(skm_control_decide(&tiny, &sample, &ladder)->step, SKM_STEP_SHED);
	sample.when_usec += 5000000;
	assert_int_equal(skm_control_decide(&tiny, &sample, &ladder)->step, SKM_STEP_SHED);
}

static void test_start_buffer(void **state)
{
	(void)state;
	assert_int_equal(skm_control_start_buffer(32 * SKM_MIB, 131072), 32768);
	assert_int_equal(skm_control_start_buffer(SKM_MIB, 131072), 16384);
	assert_int_equal(skm_control_start_buffer(SKM_GIB, 131072), 131072);
	assert_int_equal(skm_control_start_buffer(SKM_GIB, 8192), 8192);
}

static void test_same_run_same_decisions(void **state)
{
	struct skm_ladder_state first = {0}, second = {0};

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		unsigned percent = i * 7919 % 131;

		look(&first, percent, i * 37);
		look(&second, percent, i * 37);
		assert_memory_equal(&first, &second, sizeof(first));
	}
}

static const struct skm_decision *press(struct skm_ladder_state *state, struct skm_sample sample, uint64_t msec)
{
	static const struct skm_ladder_config config = {
	        .limit_bytes = LIMIT,
	        .rmem_max_baseline_bytes = 6291456,
	        .wmem_max_baseline_bytes = 4194304,
	        .pressure_some_permyriad = 1000,
	};

	sample.when_usec = 1000000 + msec * 1000;
	sample.sockets = 50;
	return skm_control_decide(&config, &sample, state);
}

static void test_pressure_throttles_where_sockets_hold_a_share(void **state)
{
	const struct {
		struct skm_sample sample;
		enum skm_step step;
	} cases[] = {
	        {{.sock_bytes = 10 * SKM_MIB, .current_bytes = 100 * SKM_MIB, .pressure = SKM_PRESSURE_MEDIUM}, SKM_STEP_SQUEEZE},
	        {{.sock_bytes = 10 * SKM_MIB, .current_bytes = 100 * SKM_MIB, .pressure = SKM_PRESSURE_CRITICAL}, SKM_STEP_SHED},
	        {{.sock_bytes = 10 * SKM_MIB, .current_bytes = 100 * SKM_MIB, .psi_some_permyriad = 1000}, SKM_STEP_SQUEEZE},
	        {{.sock_bytes = 10 * SKM_MIB, .current_bytes = 100 * SKM_MIB, .psi_some_permyriad = 999}, SKM_STEP_NONE},
	        {{.sock_bytes = 9 * SKM_MIB, .current_bytes = 100 * SKM_MIB, .pressure = SKM_PRESSURE_CRITICAL}, SKM_STEP_NONE},
	        {{.sock_bytes = 0, .current_bytes = 0, .pressure = SKM_PRESSURE_CRITICAL}, SKM_STEP_NONE},
	        /* occupancy asks for more than the pressure does */
	        {{.sock_bytes = LIMIT, .current_bytes = LIMIT, .pressure = SKM_PRESSURE_MEDIUM}, SKM_STEP_SHED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_ladder_state ladder = {0};

		assert_int_equal(press(&ladder, cases[i].sample, 0)->step, cases[i].step);
	}
}

static void test_pressure_aims_below_what_is_held(void **state)
{
	struct skm_ladder_state ladder = {0};
	struct skm_sample sample = {.sock_bytes = 10 * SKM_MIB, .current_bytes = 60 * SKM_MIB, .pressure = SKM_PRESSURE_MEDIUM};
	const struct skm_decision *decision = press(&ladder, sample, 0);

	(void)state;
	assert_int_equal(decision->reason, SKM_REASON_PRESSURE);
	assert_int_equal(decision->fair_cap_bytes, 10 * SKM_MIB * 80 / 100 / 50);
}

static void test_pressure_is_left_after_the_hold(void **state)
{
	struct skm_ladder_state ladder = {0};
	struct skm_sample sample = {.sock_bytes = 10 * SKM_MIB, .current_bytes = 60 * SKM_MIB, .pressure = SKM_PRESSURE_CRITICAL};

	(void)state;
	press(&ladder, sample, 0);
	sample.pressure = SKM_PRESSURE_LOW;
	assert_int_equal(press(&ladder, sample, 999)->step, SKM_STEP_SHED);
	assert_int_equal(press(&ladder, sample, 1000)->step, SKM_STEP_NONE);
	assert_int_equal(ladder.decision.reason, SKM_REASON_RELAXED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_pressure_throttles_where_sockets_hold_a_share),
	        cmocka_unit_test(test_pressure_aims_below_what_is_held),
	        cmocka_unit_test(test_pressure_is_left_after_the_hold),
	        cmocka_unit_test(test_rest_writes_nothing),
	        cmocka_unit_test(test_steps_are_entered_at_once),
	        cmocka_unit_test(test_cap_and_squeeze_values),
	        cmocka_unit_test(test_a_step_is_held_for_a_second),
	        cmocka_unit_test(test_hysteresis),
	        cmocka_unit_test(test_a_cap_that_works_is_kept),
	        cmocka_unit_test(test_a_burst_that_is_over_is_forgotten),
	        cmocka_unit_test(test_idle_sockets_leave_their_share),
	        cmocka_unit_test(test_a_small_cap_leaves_room_for_a_packet),
	        cmocka_unit_test(test_few_sockets_are_let_go_early),
	        cmocka_unit_test(test_throttling_again_soon_doubles_the_hold),
	        cmocka_unit_test(test_up_again_restarts_the_hold),
	        cmocka_unit_test(test_a_limit_too_small_is_said),
	        cmocka_unit_test(test_without_sockets_nothing_is_capped),
	        cmocka_unit_test(test_a_cap_above_the_baseline_is_the_baseline),
	        cmocka_unit_test(test_fast_growth_is_capped_early),
	        cmocka_unit_test(test_grain),
	        cmocka_unit_test(test_occupancy_saturates),
	        cmocka_unit_test(test_a_saturated_occupancy_stays_in_shed),
	        cmocka_unit_test(test_start_buffer),
	        cmocka_unit_test(test_same_run_same_decisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
