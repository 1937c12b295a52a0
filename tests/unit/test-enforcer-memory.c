/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy writes to the memory controller's files of a container, and gives back. */
#include "memory-stage.h"

#define ALL ((struct sizes){.min = 16 * SKM_MIB, .low = 32 * SKM_MIB, .high = 100 * SKM_MIB, .max = 200 * SKM_MIB})

static void test_applied_and_given_back(void **state)
{
	struct skm_container *container = hold(policy_with(ALL));

	(void)state;
	assert_int_equal(writes.count, 4);
	assert_int_equal(writes.journaled_first, 4);
	wrote(0, "box", SKM_MEMORY_FILE_LOW, 32 * SKM_MIB); /* what grows first, the larger before the smaller */
	wrote(1, "box", SKM_MEMORY_FILE_MIN, 16 * SKM_MIB);
	wrote(2, "box", SKM_MEMORY_FILE_HIGH, 100 * SKM_MIB);
	wrote(3, "box", SKM_MEMORY_FILE_MAX, 200 * SKM_MIB);
	assert_int_equal(report()->backend, SKM_BACKEND_NONE);
	assert_int_equal(report()->memory_writes, 4);
	assert_int_equal(report()->memory_max_bytes, 200 * SKM_MIB);
	assert_int_equal(count_events(SKM_EVENT_MEMORY, "memory.max: 200.0 MiB (was max)"), 1);
	assert_true(report()->protection.known);
	assert_int_equal(report()->protection.effective_low_bytes, 32 * SKM_MIB);
	assert_int_equal(skm_memory_runtimes(container, SKM_MEMORY_FILE_MAX, 5), UINT64_MAX);
	release("web");
	is(stage.cgroup, "memory.min", 0);
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
	is(stage.cgroup, "memory.max", UINT64_MAX);
	wrote(4, "box", SKM_MEMORY_FILE_MAX, UINT64_MAX);
	wrote(7, "box", SKM_MEMORY_FILE_LOW, 0);
	assert_int_equal(skm_memory_due(container), UINT64_MAX);
}

static void test_all_or_nothing(void **state)
{
	struct skm_policy policy = policy_with(ALL);

	(void)state;
	for (int at = 1; at <= 4; at++) {
		struct skm_err err = SKM_ERR_INIT;

		memset(&writes, 0, sizeof(writes));
		writes.fail_at = at;
		assert_int_equal(try_in(stage.cgroup, "web", &policy, &err), -EPERM);
		assert_contains(err.text, "lets fail");
		is(stage.cgroup, "memory.min", 0);
		is(stage.cgroup, "memory.low", 0);
		is(stage.cgroup, "memory.high", UINT64_MAX);
		is(stage.cgroup, "memory.max", UINT64_MAX);
		assert_int_equal(skm_registry_count(stage.registry), 0);
		assert_int_equal(files_in(stage.journal), 0);
		assert_int_equal(writes.count, 2 * at); /* undone in reverse, the failed one too */
		for (int i = 0; i < at; i++)
			assert_int_equal(writes.list[2 * at - 1 - i].file, writes.list[i].file);
	}
}

/* A change that fails leaves the policy before it in force, on disk too. */
static void test_a_change_is_all_or_nothing(void **state)
{
	struct skm_container *container = hold(policy_with(ALL));
	struct skm_in_force *files = &container->report.in_force[SKM_IN_FORCE_MEMORY];
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	files[SKM_MEMORY_FILE_LOW].bytes = files[SKM_MEMORY_FILE_LOW].asked_bytes = 64 * SKM_MIB;
	files[SKM_MEMORY_FILE_HIGH].bytes = files[SKM_MEMORY_FILE_HIGH].asked_bytes = 90 * SKM_MIB;
	writes.fail_at = 6;
	assert_int_equal(skm_memory_apply(container, false, &err), -EPERM);
	is(stage.cgroup, "memory.low", 32 * SKM_MIB);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB);
	for (uint32_t i = 0; i < container->journal.memory_count; i++)
		if (container->journal.memory[i].file == SKM_MEMORY_FILE_LOW)
			assert_int_equal(container->journal.memory[i].written, 32 * SKM_MIB);
	writes.fail_at = 0;
	assert_int_equal(skm_memory_apply(container, false, &err), 0);
	is(stage.cgroup, "memory.low", 64 * SKM_MIB);
	is(stage.cgroup, "memory.high", 90 * SKM_MIB);
	release("web");
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
}

static void test_a_file_that_the_policy_drops_goes_back(void **state)
{
	struct skm_container *container = hold(policy_with(ALL));

	(void)state;
	container->report.in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_HIGH].set = false;
	assert_int_equal(skm_memory_apply(container, false, NULL), 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	assert_int_equal(entries_in_the_journal(), 3);
	put_at(stage.cgroup, "memory.high", 50 * SKM_MIB); /* now whoever wants it has it */
	skm_registry_run(stage.registry, skm_now_usec() + 5 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.high", 50 * SKM_MIB);
}

static void test_high_has_room_for_the_sockets(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.high = 100 * SKM_MIB});
	struct skm_container *container;

	(void)state;
	with_limit(&policy, LIMIT);
	container = hold(policy);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB + LIMIT);
	container->report.limit_bytes = 2 * LIMIT;
	assert_int_equal(skm_memory_apply(container, false, NULL), 0);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB + 2 * LIMIT);
	container->report.limit_bytes = UINT64_MAX;
	assert_int_equal(skm_memory_apply(container, false, NULL), 0);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB);
}

/* An annotation may lower the runtime's memory.high, so the room for the sockets may not lift it either. */
static void test_high_of_a_tenant_stays_below_the_runtimes(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.high = 100 * SKM_MIB});

	(void)state;
	put_at(stage.cgroup, "memory.high", 110 * SKM_MIB);
	with_limit(&policy, LIMIT);
	policy.source = SKM_SOURCE_ANNOTATION_POLICY;
	hold(policy);
	is(stage.cgroup, "memory.high", 110 * SKM_MIB);
	assert_int_equal(writes.count, 0);
}

static void test_inconsistent(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.min = 300 * SKM_MIB, .max = 200 * SKM_MIB});
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(try_in(stage.cgroup, "web", &policy, &err), -EINVAL);
	assert_contains(err.text, "memory.min (300.0 MiB) is above memory.max (200.0 MiB)");
	assert_int_equal(writes.count, 0);
	assert_int_equal(files_in(stage.journal), 0);
}

static void test_max_below_what_is_in_use(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.max = 64 * SKM_MIB});
	struct skm_container *container;
	struct skm_in_force *max;
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	put_at(stage.cgroup, "memory.current", 100 * SKM_MIB);
	assert_int_equal(try_in(stage.cgroup, "web", &policy, &err), -EBUSY);
	assert_contains(err.text, "memory.max (64.0 MiB) would come below what is in use (100.0 MiB)");
	assert_int_equal(writes.count, 0);
	container = hold(policy_with((struct sizes){.max = 128 * SKM_MIB}));
	max = &container->report.in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX];
	max->bytes = max->asked_bytes = 64 * SKM_MIB;
	assert_int_equal(skm_memory_apply(container, false, &err), -EBUSY);
	assert_int_equal(writes.steps, 0);
	assert_int_equal(skm_memory_apply(container, true, &err), 0);
	assert_int_equal(writes.steps, 1);
	/* on its way it is not put back, nor taken for someone else's */
	put_at(stage.cgroup, "memory.max", 90 * SKM_MIB);
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 90 * SKM_MIB);
	assert_int_equal(report()->memory_reasserted, 0);
	/* when its time is over it is looked after as ever */
	skm_registry_run(stage.registry, skm_now_usec() + 20 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 64 * SKM_MIB);
}

static void test_observe_writes_nothing(void **state)
{
	struct skm_policy policy = policy_with(ALL);

	(void)state;
	with_limit(&policy, LIMIT);
	policy.mode = SKM_MODE_OBSERVE;
	hold(policy);
	assert_int_equal(writes.count, 0);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "observe");
}

static void test_rounding_is_no_drift(void **state)
{
	(void)state;
	hold(policy_with((struct sizes){.max = 200 * SKM_MIB + 1}));
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	for (unsigned int i = 1; i < 10; i++)
		skm_registry_run(stage.registry, skm_now_usec() + i * 2 * SKM_USEC_PER_SEC);
	assert_int_equal(writes.count, 1);
	release("web");
	is(stage.cgroup, "memory.max", UINT64_MAX);
}

static void test_rewritten_values_come_back(void **state)
{
	uint64_t start;

	(void)state;
	hold(policy_with(ALL));
	start = skm_now_usec();
	put_at(stage.cgroup, "memory.max", UINT64_MAX);
	put_at(stage.cgroup, "memory.low", 0);
	skm_registry_run(stage.registry, start + 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	is(stage.cgroup, "memory.low", 32 * SKM_MIB);
	assert_int_equal(report()->memory_reasserted, 2);
	assert_int_equal(count_events(SKM_EVENT_MEMORY, "memory.max: someone else made it max; it is 200.0 MiB again"), 1);
	/* ten changes in ten seconds: after 1, 2 and 4 s */
	for (unsigned int i = 0; i < 10; i++) {
		put_at(stage.cgroup, "memory.max", (300 + i) * SKM_MIB);
		skm_registry_run(stage.registry, start + (3 + i) * SKM_USEC_PER_SEC);
	}
	assert_int_equal(report()->memory_reasserted, 2 + 3);
	is(stage.cgroup, "memory.max", 309 * SKM_MIB);
	skm_registry_run(stage.registry, start + 20 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
}

static void test_a_cgroup_that_goes_meanwhile_is_quiet(void **state)
{
	uint64_t start;

	(void)state;
	hold(policy_with(ALL));
	start = skm_now_usec();
	put_at(stage.cgroup, "memory.max", UINT64_MAX);
	writes.fail_at = writes.count + 1;
	writes.gone = true;
	skm_registry_run(stage.registry, start + 2 * SKM_USEC_PER_SEC);
	assert_int_equal(report()->memory_reasserted, 0);
	assert_false(has_event(SKM_EVENT_TROUBLE));
	/* any other failure is told, and tried again later */
	writes.fail_at = writes.count + 1;
	writes.gone = false;
	skm_registry_run(stage.registry, start + 10 * SKM_USEC_PER_SEC);
	assert_true(has_event(SKM_EVENT_TROUBLE));
	skm_registry_run(stage.registry, start + 20 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	assert_int_equal(report()->memory_reasserted, 1);
}

static void test_stricter_values_stay(void **state)
{
	uint64_t start;

	(void)state;
	hold(policy_with(ALL));
	start = skm_now_usec();
	put_at(stage.cgroup, "memory.max", 150 * SKM_MIB);
	for (unsigned int i = 1; i < 10; i++)
		skm_registry_run(stage.registry, start + i * 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 150 * SKM_MIB);
	assert_int_equal(report()->memory_taken_over, 1);
	assert_int_equal(report()->memory_reasserted, 0);
	assert_int_equal(count_events(SKM_EVENT_MEMORY, "someone else made it 150.0 MiB, which is stricter"), 1);
	/* nor does another policy that wants the same here take it away */
	skm_registry_head(stage.registry)->report.in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_LOW].bytes = 20 * SKM_MIB;
	assert_int_equal(skm_memory_apply(skm_registry_head(stage.registry), false, NULL), 0);
	is(stage.cgroup, "memory.low", 20 * SKM_MIB);
	is(stage.cgroup, "memory.max", 150 * SKM_MIB);
	skm_registry_run(stage.registry, start + 30 * SKM_USEC_PER_SEC);
	assert_int_equal(report()->memory_taken_over, 1);
	/* raised again, past ours */
	put_at(stage.cgroup, "memory.max", 500 * SKM_MIB);
	skm_registry_run(stage.registry, start + 60 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	/* theirs is not taken away at the end either */
	put_at(stage.cgroup, "memory.high", 50 * SKM_MIB);
	release("web");
	is(stage.cgroup, "memory.high", 50 * SKM_MIB);
	is(stage.cgroup, "memory.max", UINT64_MAX);
}

static void test_taken_over_after_a_crash(void **state)
{
	struct skm_policy policy = policy_with(ALL);

	(void)state;
	put_at(stage.cgroup, "memory.max", 400 * SKM_MIB);
	policy.memory[SKM_MEMORY_FILE_MAX] = (struct skm_size){.kind = SKM_SIZE_PERCENT, .value = 5000};
	hold(policy);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	writes.count = 0;
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_int_equal(writes.count, 0);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB); /* not half of that again */
	put_at(stage.cgroup, "memory.max", 300 * SKM_MIB);
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	release("web");
	is(stage.cgroup, "memory.min", 0);
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
	is(stage.cgroup, "memory.max", 400 * SKM_MIB);
}

static void test_restored_where_it_ended_meanwhile(void **state)
{
	(void)state;
	hold(policy_with(ALL));
	put_at(stage.cgroup, "memory.high", 50 * SKM_MIB); /* someone else's */
	end_child();
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 0);
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.max", UINT64_MAX);
	is(stage.cgroup, "memory.high", 50 * SKM_MIB);
}

/* crun under systemd: the scope and the cgroup in it are one container's. */
static void test_both_levels(void **state)
{
	int slice = make_cgroup("slice"), scope = make_cgroup("slice/box.scope"), inner = make_box("slice/box.scope/container");

	(void)state;
	put_at(scope, "memory.max", 300 * SKM_MIB);
	hold_in(inner, "box", policy_with((struct sizes){.low = 60 * SKM_MIB, .max = 200 * SKM_MIB}));
	wrote(0, "box.scope", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	wrote(1, "container", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	wrote(2, "container", SKM_MEMORY_FILE_MAX, 200 * SKM_MIB);
	wrote(3, "box.scope", SKM_MEMORY_FILE_MAX, 200 * SKM_MIB);
	assert_int_equal(writes.count, 4);
	is(slice, "memory.low", 0);
	assert_int_equal(skm_memory_runtimes(skm_registry_head(stage.registry), SKM_MEMORY_FILE_MAX, 7), 300 * SKM_MIB);
	release("box");
	is(scope, "memory.max", 300 * SKM_MIB);
	is(inner, "memory.max", UINT64_MAX);
	is(scope, "memory.low", 0);
	close(slice);
	close(scope);
	close(inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        MEMORY(test_applied_and_given_back),
	        MEMORY(test_all_or_nothing),
	        MEMORY(test_a_change_is_all_or_nothing),
	        MEMORY(test_a_file_that_the_policy_drops_goes_back),
	        MEMORY(test_high_has_room_for_the_sockets),
	        MEMORY(test_high_of_a_tenant_stays_below_the_runtimes),
	        MEMORY(test_inconsistent),
	        MEMORY(test_max_below_what_is_in_use),
	        MEMORY(test_observe_writes_nothing),
	        MEMORY(test_rounding_is_no_drift),
	        MEMORY(test_rewritten_values_come_back),
	        MEMORY(test_a_cgroup_that_goes_meanwhile_is_quiet),
	        MEMORY(test_stricter_values_stay),
	        MEMORY(test_taken_over_after_a_crash),
	        MEMORY(test_restored_where_it_ended_meanwhile),
	        MEMORY(test_both_levels),
	};

	return enter_stage() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
