/* SPDX-License-Identifier: Apache-2.0 */
/* The switches of a policy, and what of it is listed as not applied. */
#include "enforcer-stage.h"

/* A node on which all may be asked for. */
static const struct skm_node node = {.destroy = true};

static void register_throttled(const struct skm_throttle *throttle, uint32_t set)
{
	struct skm_policy policy = policy_of(SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT});
	struct skm_err err = SKM_ERR_INIT;

	policy.throttle = *throttle;
	policy.set = set;
	policy.source = SKM_SOURCE_ADMINISTRATOR;
	skm_registry_use_node(stage.registry, &node);
	if (register_policy("web", &policy, &err) < 0)
		fail_msg("register: %s", err.text);
}

static void test_throttle_sysctl_off(void **state)
{
	struct skm_throttle throttle = SKM_POLICY_INIT.throttle;

	(void)state;
	throttle.sysctl = false;
	register_throttled(&throttle, SKM_KEY_BIT(SKM_KEY_THROTTLE_SYSCTL));
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	serve(500);
	assert_true(report()->squeeze_runs > 0);
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	sysctl_is("tcp_notsent_lowat", "4294967295");
	assert_int_equal(report()->sysctl_writes, 0);
	assert_int_equal(report()->skipped_count, 0); /* it was not wanted */
}

static void test_throttle_sockets_off(void **state)
{
	struct skm_throttle throttle = SKM_POLICY_INIT.throttle;

	(void)state;
	throttle.sockets = false;
	register_throttled(&throttle, SKM_KEY_BIT(SKM_KEY_THROTTLE_SOCKETS));
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	serve(500);
	assert_int_equal(report()->squeeze_runs, 0);
	sysctl_is("tcp_rmem", "4096\t32768\t777480");
	assert_int_equal(report()->skipped_count, 0);
}

static void test_udp_alone_leaves_tcp(void **state)
{
	struct skm_throttle throttle = SKM_POLICY_INIT.throttle;

	(void)state;
	throttle.protocols = UINT32_C(1) << SKM_PROTOCOL_UDP;
	register_throttled(&throttle, SKM_KEY_BIT(SKM_KEY_THROTTLE_PROTOCOLS));
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	serve(300);
	assert_int_equal(report()->squeeze_runs, 0);
	assert_int_equal(report()->sysctl_writes, 0);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "throttle.protocols: ");
}

/* What nobody stands behind is listed where the document asks for it, and told after the start; a default is no wish. */
static void test_what_is_not_built_is_listed(void **state)
{
	struct skm_throttle throttle = SKM_POLICY_INIT.throttle;

	(void)state;
	throttle.protocols = UINT32_C(1) << SKM_PROTOCOL_UDP;
	throttle.destroy = true;
	throttle.egress_bits_per_sec = 1000000;
	register_throttled(&throttle, SKM_KEY_BIT(SKM_KEY_THROTTLE_EGRESS) | SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY));
	assert_int_equal(report()->skipped_count, 3);
	assert_contains(report()->skipped[0], "throttle.destroy: ");
	assert_contains(report()->skipped[1], "throttle.egress: ");
	assert_int_equal(skm_registry_event(skm_registry_first(stage.registry), 0)->kind, SKM_EVENT_REGISTERED);
	assert_int_equal(count_events(SKM_EVENT_POLICY, "not applied: throttle.egress: "), 1);
	assert_int_equal(count_events(SKM_EVENT_POLICY, "not applied: "), 3);
}

static void test_the_skipped_are_bounded_and_told_once(void **state)
{
	struct skm_container *container;

	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	container = (struct skm_container *)skm_registry_first(stage.registry);
	for (int i = 0; i < 2 * SKM_SKIPPED_MAX; i++)
		for (int again = 0; again < 2; again++)
			skm_container_skip(container, "thing %d: %0300d", i, 7);
	assert_int_equal(report()->skipped_count, SKM_SKIPPED_MAX);
	assert_int_equal(count_events(SKM_EVENT_POLICY, "not applied: thing "), SKM_SKIPPED_MAX);
	assert_int_equal(strlen(report()->skipped[0]), SKM_SKIPPED_TEXT_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_throttle_sysctl_off),
	        STAGED(test_throttle_sockets_off),
	        STAGED(test_udp_alone_leaves_tcp),
	        STAGED(test_what_is_not_built_is_listed),
	        STAGED(test_the_skipped_are_bounded_and_told_once),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
