/* SPDX-License-Identifier: Apache-2.0 */
/* When a round of ending connections begins, and above all when not. The stage's cgroup is of plain files, so that no socket is
 * of it: what a round does on a real one is shown in a guest (tests/guest/destroy). */
#include "enforcer-stage.h"

static struct skm_node node;

static void register_destroying(enum skm_mode mode)
{
	struct skm_policy policy = policy_of(mode, (struct skm_size){SKM_SIZE_BYTES, LIMIT});
	struct skm_err err = SKM_ERR_INIT;

	policy.source = SKM_SOURCE_ANNOTATION_POLICY;
	policy.throttle.destroy = true;
	policy.set |= SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY);
	node = (struct skm_node)SKM_NODE_INIT;
	node.destroy = true;
	node.allow = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY);
	skm_registry_use_node(stage.registry, &node);
	if (register_policy("web", &policy, &err) < 0)
		fail_msg("register: %s", err.text);
}

static const struct skm_destroyer *destroyer(void)
{
	return &skm_registry_first(stage.registry)->destroyer;
}

/* Whether a round has begun within some time. */
static bool begins(int milliseconds)
{
	for (int i = 0; i < milliseconds / 50; i++) {
		if (destroyer()->job || destroyer()->job_usec > 0)
			return true;
		serve(50);
	}
	return false;
}

static void test_above_the_limit_for_two_seconds(void **state)
{
	uint64_t began;

	(void)state;
	register_destroying(SKM_MODE_SOFT);
	put_sock(LIMIT + SKM_MIB);
	run_until(SKM_STEP_SHED);
	began = skm_now_usec();
	assert_true(begins(6000));
	assert_in_range(destroyer()->job_usec - began, 1500 * SKM_USEC_PER_MSEC, 4000 * SKM_USEC_PER_MSEC);
	serve(1000);
	assert_int_equal(report()->destroyed_sockets, 0);
	assert_false(has_event(SKM_EVENT_DESTROYED));
}

/* Each alone is not enough: the policy's word, the node's, a limit that is passed, a backend that acts. */
static void test_not_without_the_nodes_word(void **state)
{
	(void)state;
	register_destroying(SKM_MODE_SOFT);
	node.destroy = false;
	put_sock(LIMIT + SKM_MIB);
	run_until(SKM_STEP_SHED);
	assert_false(begins(3500));
}

static void test_not_without_the_policys_word(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	node = (struct skm_node)SKM_NODE_INIT;
	node.destroy = true;
	skm_registry_use_node(stage.registry, &node);
	put_sock(LIMIT + SKM_MIB);
	run_until(SKM_STEP_SHED);
	assert_false(begins(3500));
}

/* The last step by pressure, or still held, with sockets below the limit. */
static void test_not_below_the_limit(void **state)
{
	struct skm_container *container;

	(void)state;
	register_destroying(SKM_MODE_SOFT);
	container = (struct skm_container *)skm_registry_first(stage.registry);
	for (uint64_t now = 1; now < 10 * SKM_USEC_PER_SEC; now += SKM_USEC_PER_SEC) {
		container->report.decision.step = SKM_STEP_SHED;
		container->report.sock_bytes = LIMIT - 1;
		skm_destroy_run(container, now);
		assert_null(container->destroyer.job);
	}
	container->report.decision.step = SKM_STEP_SQUEEZE;
	container->report.sock_bytes = LIMIT + 1;
	skm_destroy_run(container, 20 * SKM_USEC_PER_SEC);
	skm_destroy_run(container, 30 * SKM_USEC_PER_SEC);
	assert_null(container->destroyer.job);
}

static void test_let_go_in_the_middle(void **state)
{
	(void)state;
	register_destroying(SKM_MODE_SOFT);
	put_sock(LIMIT + SKM_MIB);
	run_until(SKM_STEP_SHED);
	assert_true(begins(6000));
	/* what is under way is the registry's to drop, in tear_down */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_above_the_limit_for_two_seconds),
	        STAGED(test_not_without_the_nodes_word),
	        STAGED(test_not_without_the_policys_word),
	        STAGED(test_not_below_the_limit),
	        STAGED(test_let_go_in_the_middle),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
