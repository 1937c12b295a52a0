/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "control/grant.h"

#include <errno.h>
#include <stdio.h>

#define BYTES(n) ((struct skm_size){SKM_SIZE_BYTES, (n)})
#define PERCENT(n) ((struct skm_size){SKM_SIZE_PERCENT, (n)*100})
#define NO_LIMIT ((struct skm_size){SKM_SIZE_MAX, 0})
#define PROGRAM(n) ((struct skm_size){SKM_SIZE_PROGRAM, (n)})

#define IN_FORCE(file) (SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_##file)

/* A container as the runtime left it: memory.max 1 GiB, no memory.high, a program of 10 MiB. */
static const struct skm_grant_facts FACTS = {SKM_GIB, UINT64_MAX, 10 * SKM_MIB};

static void set(struct skm_policy *policy, enum skm_policy_key key)
{
	policy->set |= SKM_KEY_BIT(key);
}

static struct skm_policy with_limit(enum skm_policy_source source, struct skm_size limit)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	policy.source = source;
	policy.tcpmem_limit = limit;
	set(&policy, SKM_KEY_TCPMEM_LIMIT);
	return policy;
}

static struct skm_policy with_memory(enum skm_policy_source source, enum skm_memory_file file, struct skm_size size)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	policy.source = source;
	policy.memory[file] = size;
	set(&policy, SKM_KEY_MEMORY_MIN + file);
	return policy;
}

static struct skm_node with_ceiling(struct skm_size tcpmem)
{
	struct skm_node node = SKM_NODE_INIT;

	node.ceilings = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	node.tcpmem_ceiling = tcpmem;
	return node;
}

static struct skm_grant granted(const struct skm_node *node, const struct skm_policy *asked, const struct skm_grant_facts *facts)
{
	struct skm_grant grant = {0};
	struct skm_err err = SKM_ERR_INIT;

	if (skm_control_grant_policy(node, asked, &grant, &err) < 0 || skm_control_grant_sizes(node, facts, &grant, &err) < 0)
		fail_msg("refused: %s", err.text);
	return grant;
}

/* The policy is refused with this code, whose text names each of the parts. */
static void refused(const struct skm_node *node, const struct skm_policy *asked, const struct skm_grant_facts *facts, int code,
                    const char *part, const char *other_part)
{
	struct skm_grant grant = {.policy.profile = "untouched"};
	struct skm_err err = SKM_ERR_INIT;
	int r = skm_control_grant_policy(node, asked, &grant, &err);

	if (r == 0)
		r = skm_control_grant_sizes(node, facts, &grant, &err);
	else
		assert_string_equal(grant.policy.profile, "untouched");
	assert_int_equal(r, -code);
	assert_contains(err.text, part);
	assert_contains(err.text, other_part);
}

static void in_force_is(const struct skm_in_force *in_force, uint64_t asked_bytes, uint64_t bytes, enum skm_cut cut_by)
{
	assert_int_equal(in_force->asked_bytes, asked_bytes);
	assert_int_equal(in_force->bytes, bytes);
	assert_int_equal(in_force->cut_by, cut_by);
	assert_int_equal(in_force->cut, cut_by != SKM_CUT_NOTHING);
}

static void test_each_value_says_where_it_came_from(void **state)
{
	struct skm_node node = SKM_NODE_INIT;
	struct skm_policy asked = with_limit(SKM_SOURCE_ANNOTATION_POLICY, BYTES(64 * SKM_MIB));
	struct skm_grant grant = granted(&node, &asked, &FACTS);

	(void)state;
	assert_int_equal(grant.sources[SKM_KEY_TCPMEM_LIMIT], SKM_SOURCE_ANNOTATION_POLICY);
	assert_int_equal(grant.sources[SKM_KEY_TCPMEM_MODE], SKM_SOURCE_NONE);
	assert_true(grant.in_force[SKM_IN_FORCE_LIMIT].set);
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], 64 * SKM_MIB, 64 * SKM_MIB, SKM_CUT_NOTHING);
	assert_false(grant.in_force[IN_FORCE(LOW)].set);
	node.on_error = SKM_ON_ERROR_WARN;
	grant = granted(&node, &asked, &FACTS);
	assert_int_equal(grant.policy.on_error, SKM_ON_ERROR_WARN);
	assert_int_equal(grant.sources[SKM_KEY_ON_ERROR], SKM_SOURCE_NODE_DEFAULTS);
}

/* Who may ask for how much: annotations and the bundle are a tenant's, the rest is the node's own. */
static void test_ceilings_bound_tenants_alone(void **state)
{
	const struct {
		enum skm_policy_source source;
		bool cut;
	} cases[] = {
	        {SKM_SOURCE_ANNOTATION_CONTAINER, true}, {SKM_SOURCE_ANNOTATION_POLICY, true},
	        {SKM_SOURCE_ANNOTATION_TCPMEM, true},    {SKM_SOURCE_KERNEL_TCP, true},
	        {SKM_SOURCE_ADMINISTRATOR, false},
	};
	struct skm_node node = with_ceiling(BYTES(64 * SKM_MIB));

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_policy asked = with_limit(cases[i].source, BYTES(SKM_GIB));
		struct skm_grant grant = granted(&node, &asked, &FACTS);

		in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], SKM_GIB, cases[i].cut ? 64 * SKM_MIB : SKM_GIB,
		            cases[i].cut ? SKM_CUT_CEILING : SKM_CUT_NOTHING);
	}
	for (uint64_t below = 64 * SKM_MIB - 1; below <= 64 * SKM_MIB; below++) {
		struct skm_policy asked = with_limit(SKM_SOURCE_ANNOTATION_POLICY, BYTES(below));
		struct skm_grant grant = granted(&node, &asked, &FACTS);

		in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], below, below, SKM_CUT_NOTHING);
	}
}

static void test_no_limit_is_the_largest_to_ask_for(void **state)
{
	struct skm_node node = with_ceiling(BYTES(64 * SKM_MIB));
	struct skm_policy max = with_limit(SKM_SOURCE_ANNOTATION_TCPMEM, NO_LIMIT);
	struct skm_policy unwritten = with_memory(SKM_SOURCE_ANNOTATION_POLICY, SKM_MEMORY_FILE_HIGH, BYTES(SKM_GIB));
	struct skm_grant grant = granted(&node, &max, &FACTS);

	(void)state;
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], UINT64_MAX, 64 * SKM_MIB, SKM_CUT_CEILING);
	grant = granted(&node, &unwritten, &FACTS);
	assert_false(grant.in_force[SKM_IN_FORCE_LIMIT].set);
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], UINT64_MAX, 64 * SKM_MIB, SKM_CUT_CEILING);
	node = SKM_NODE_INIT;
	grant = granted(&node, &max, &FACTS);
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], UINT64_MAX, UINT64_MAX, SKM_CUT_NOTHING);
}

static void test_percentages(void **state)
{
	const struct skm_grant_facts no_max = {UINT64_MAX, UINT64_MAX, 0};
	struct skm_node node = with_ceiling(PERCENT(25)), plain = SKM_NODE_INIT;
	struct skm_policy share = with_limit(SKM_SOURCE_ANNOTATION_TCPMEM, PERCENT(50));
	struct skm_policy size = with_limit(SKM_SOURCE_ANNOTATION_TCPMEM, BYTES(SKM_MIB));
	struct skm_grant grant = granted(&node, &share, &FACTS);

	(void)state;
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], SKM_GIB / 2, SKM_GIB / 4, SKM_CUT_CEILING);
	/* not EINVAL: the policy is valid, this container cannot have it */
	refused(&plain, &share, &no_max, EOPNOTSUPP, "tcpmem.limit is a percentage", "memory.max");
	refused(&node, &size, &no_max, EOPNOTSUPP, "ceiling of tcpmem.limit", "memory.max");
	share = with_limit(SKM_SOURCE_ANNOTATION_TCPMEM, (struct skm_size){SKM_SIZE_PERCENT, 1});
	refused(&plain, &share, &(struct skm_grant_facts){4096, UINT64_MAX, 0}, ERANGE, "tcpmem.limit", "0 bytes");
}

/* With a memory.max of its own, the policy's shares are of that one, and its share of the runtime's. */
static void test_percentages_are_of_the_memory_max_in_force(void **state)
{
	struct skm_node node = SKM_NODE_INIT;
	struct skm_policy asked = with_limit(SKM_SOURCE_ADMINISTRATOR, PERCENT(10));
	struct skm_grant grant;

	(void)state;
	asked.memory[SKM_MEMORY_FILE_MAX] = PERCENT(50);
	set(&asked, SKM_KEY_MEMORY_MAX);
	grant = granted(&node, &asked, &FACTS);
	in_force_is(&grant.in_force[IN_FORCE(MAX)], SKM_GIB / 2, SKM_GIB / 2, SKM_CUT_NOTHING);
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], SKM_GIB / 20, SKM_GIB / 20, SKM_CUT_NOTHING);
}

static void test_program_sizes(void **state)
{
	const struct skm_grant_facts no_program = {SKM_GIB, UINT64_MAX, 0};
	struct skm_node node = SKM_NODE_INIT;
	struct skm_policy asked = with_memory(SKM_SOURCE_ADMINISTRATOR, SKM_MEMORY_FILE_LOW, PROGRAM(2));
	struct skm_grant grant = granted(&node, &asked, &FACTS);

	(void)state;
	in_force_is(&grant.in_force[IN_FORCE(LOW)], 20 * SKM_MIB, 20 * SKM_MIB, SKM_CUT_NOTHING);
	refused(&node, &asked, &no_program, EOPNOTSUPP, "memory.low", "program's size");
}

/* Without a node file: nothing that takes from neighbours, each key named. */
static void test_what_annotations_may_not_set(void **state)
{
	struct skm_node node = SKM_NODE_INIT;
	struct skm_policy asked = with_memory(SKM_SOURCE_ANNOTATION_POLICY, SKM_MEMORY_FILE_MIN, BYTES(SKM_MIB));

	(void)state;
	set(&asked, SKM_KEY_MEMORY_LOW);
	asked.memory[SKM_MEMORY_FILE_LOW] = BYTES(SKM_MIB);
	refused(&node, &asked, &FACTS, EINVAL, "memory.min, memory.low", SKM_NODE_FILE);
	asked.source = SKM_SOURCE_ANNOTATION_CONTAINER;
	refused(&node, &asked, &FACTS, EINVAL, "memory.min, memory.low", "io.sockmem.policy.container");
	node.allow |= SKM_KEY_BIT(SKM_KEY_MEMORY_MIN);
	refused(&node, &asked, &FACTS, EINVAL, "may not set memory.low ", "\"allow\"");
	node.allow |= SKM_KEY_BIT(SKM_KEY_MEMORY_LOW);
	granted(&node, &asked, &FACTS);
	node = SKM_NODE_INIT;
	asked.source = SKM_SOURCE_ADMINISTRATOR;
	granted(&node, &asked, &FACTS);

	asked = with_memory(SKM_SOURCE_ANNOTATION_POLICY, SKM_MEMORY_FILE_HIGH, BYTES(SKM_MIB));
	asked.propagate = true;
	set(&asked, SKM_KEY_MEMORY_PROPAGATE);
	refused(&node, &asked, &FACTS, EINVAL, "memory.propagate", "allow");
	asked.propagate = false; /* which asks for nothing, as a protection of 0 does */
	asked.memory[SKM_MEMORY_FILE_MIN] = asked.memory[SKM_MEMORY_FILE_LOW] = BYTES(0);
	set(&asked, SKM_KEY_MEMORY_MIN);
	set(&asked, SKM_KEY_MEMORY_LOW);
	assert_true(granted(&node, &asked, &FACTS).in_force[IN_FORCE(MIN)].set);

	node.allow = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	asked = with_limit(SKM_SOURCE_ANNOTATION_TCPMEM, BYTES(SKM_MIB));
	granted(&node, &asked, &FACTS);
	set(&asked, SKM_KEY_TCPMEM_MODE);
	asked.mode = SKM_MODE_OBSERVE;
	refused(&node, &asked, &FACTS, EINVAL, "tcpmem.mode", "io.sockmem.tcpmem");
	node.allow = 0;
	asked = with_limit(SKM_SOURCE_KERNEL_TCP, BYTES(SKM_MIB));
	granted(&node, &asked, &FACTS);
}

/* A ceiling on a limit that nobody holds would be none. */
static void test_a_ceiling_is_held(void **state)
{
	struct skm_node node = with_ceiling(BYTES(64 * SKM_MIB)), bare = SKM_NODE_INIT;
	struct skm_policy asked = with_limit(SKM_SOURCE_ANNOTATION_POLICY, BYTES(SKM_MIB));

	(void)state;
	set(&asked, SKM_KEY_TCPMEM_MODE);
	set(&asked, SKM_KEY_THROTTLE_SYSCTL);
	set(&asked, SKM_KEY_THROTTLE_SOCKETS);
	set(&asked, SKM_KEY_THROTTLE_PROTOCOLS);
	granted(&node, &asked, &FACTS); /* nothing of it is off */
	asked.mode = SKM_MODE_OBSERVE;
	refused(&node, &asked, &FACTS, EINVAL, "may not set tcpmem.mode on", "\"allow\"");
	asked.mode = SKM_MODE_SOFT;
	set(&asked, SKM_KEY_ON_ERROR);
	asked.on_error = SKM_ON_ERROR_WARN; /* with a limit that cannot be held here, it would be none */
	refused(&node, &asked, &FACTS, EINVAL, "may not set onError on", "\"allow\"");
	asked.on_error = SKM_ON_ERROR_FAIL;
	asked.throttle.sysctl = asked.throttle.sockets = false;
	asked.throttle.protocols = UINT32_C(1) << SKM_PROTOCOL_UDP;
	refused(&node, &asked, &FACTS, EINVAL, "throttle.sysctl, throttle.sockets, throttle.protocols", "them");
	granted(&bare, &asked, &FACTS);
	node.lower_only = 0; /* an allow list has these values */
	granted(&node, &asked, &FACTS);
	node = with_ceiling(BYTES(64 * SKM_MIB));
	asked.source = SKM_SOURCE_ADMINISTRATOR;
	granted(&node, &asked, &FACTS);
}

static void test_destroy_needs_the_node_and_the_policy(void **state)
{
	struct skm_node node = SKM_NODE_INIT;
	struct skm_policy asked = with_limit(SKM_SOURCE_ANNOTATION_POLICY, BYTES(SKM_MIB));

	(void)state;
	set(&asked, SKM_KEY_THROTTLE_DESTROY);
	granted(&node, &asked, &FACTS); /* false asks for nothing */
	asked.throttle.destroy = true;
	refused(&node, &asked, &FACTS, EINVAL, "throttle.destroy", "allow");
	node.allow |= SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY);
	refused(&node, &asked, &FACTS, EINVAL, "throttle.destroy", "\"destroy\": true");
	node.destroy = true;
	assert_true(granted(&node, &asked, &FACTS).policy.throttle.destroy);
	node.allow &= ~SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY);
	refused(&node, &asked, &FACTS, EINVAL, "throttle.destroy", "allow");
	asked.source = SKM_SOURCE_ADMINISTRATOR;
	assert_true(granted(&node, &asked, &FACTS).policy.throttle.destroy);
	node.destroy = false;
	refused(&node, &asked, &FACTS, EINVAL, "administrator: throttle.destroy", "\"destroy\": true");
}

/* memory.high and memory.max may be lowered by annotations, not raised over what the runtime set. */
static void test_annotations_lower_what_the_runtime_set(void **state)
{
	const struct skm_grant_facts facts = {SKM_GIB, SKM_GIB / 2, 0};
	struct skm_node node = SKM_NODE_INIT;
	struct skm_policy asked = with_memory(SKM_SOURCE_ANNOTATION_POLICY, SKM_MEMORY_FILE_MAX, NO_LIMIT);
	struct skm_grant grant = granted(&node, &asked, &facts);

	(void)state;
	in_force_is(&grant.in_force[IN_FORCE(MAX)], UINT64_MAX, SKM_GIB, SKM_CUT_RUNTIME);
	asked.memory[SKM_MEMORY_FILE_MAX] = BYTES(SKM_GIB - 1);
	grant = granted(&node, &asked, &facts);
	in_force_is(&grant.in_force[IN_FORCE(MAX)], SKM_GIB - 1, SKM_GIB - 1, SKM_CUT_NOTHING);
	asked = with_memory(SKM_SOURCE_ANNOTATION_POLICY, SKM_MEMORY_FILE_HIGH, BYTES(SKM_GIB));
	grant = granted(&node, &asked, &facts);
	in_force_is(&grant.in_force[IN_FORCE(HIGH)], SKM_GIB, SKM_GIB / 2, SKM_CUT_RUNTIME);
	asked.source = SKM_SOURCE_ADMINISTRATOR;
	grant = granted(&node, &asked, &facts);
	in_force_is(&grant.in_force[IN_FORCE(HIGH)], SKM_GIB, SKM_GIB, SKM_CUT_NOTHING);
	/* an allow list that was written is the administrator's word */
	asked.source = SKM_SOURCE_ANNOTATION_POLICY;
	node.lower_only = 0;
	grant = granted(&node, &asked, &facts);
	in_force_is(&grant.in_force[IN_FORCE(HIGH)], SKM_GIB, SKM_GIB, SKM_CUT_NOTHING);
}

static void test_ceilings_of_memory(void **state)
{
	struct skm_node node = SKM_NODE_INIT;
	struct skm_policy asked = with_memory(SKM_SOURCE_ANNOTATION_POLICY, SKM_MEMORY_FILE_LOW, PROGRAM(2));
	struct skm_grant grant;

	(void)state;
	node.allow |= SKM_KEY_BIT(SKM_KEY_MEMORY_LOW);
	node.ceilings = SKM_KEY_BIT(SKM_KEY_MEMORY_LOW) | SKM_KEY_BIT(SKM_KEY_MEMORY_MIN);
	node.memory_ceiling[SKM_MEMORY_FILE_LOW] = BYTES(16 * SKM_MIB);
	node.memory_ceiling[SKM_MEMORY_FILE_MIN] = BYTES(4 * SKM_MIB);
	grant = granted(&node, &asked, &FACTS);
	in_force_is(&grant.in_force[IN_FORCE(LOW)], 20 * SKM_MIB, 16 * SKM_MIB, SKM_CUT_CEILING);
	assert_false(grant.in_force[IN_FORCE(MIN)].set); /* a file that is not asked for is not written */
	assert_false(grant.in_force[IN_FORCE(MIN)].cut);
}

static struct skm_node with_profiles(struct skm_node_profile *profiles, size_t count)
{
	struct skm_node node = with_ceiling(BYTES(SKM_MIB));

	for (size_t i = 0; i < count; i++) {
		snprintf(profiles[i].name, sizeof(profiles[i].name), "profile-%03zu", i);
		profiles[i].policy = with_limit(SKM_SOURCE_ANNOTATION_PROFILE, BYTES((i + 1) * SKM_GIB));
		memcpy(profiles[i].policy.profile, profiles[i].name, sizeof(profiles[i].name));
	}
	node.profiles = profiles;
	node.profile_count = count;
	return node;
}

static void test_profiles(void **state)
{
	struct skm_node_profile profiles[100];
	struct skm_node node = with_profiles(profiles, 2), bare = SKM_NODE_INIT;
	struct skm_policy asked = SKM_POLICY_INIT;
	struct skm_grant grant;

	(void)state;
	asked.source = SKM_SOURCE_ANNOTATION_PROFILE;
	strcpy(asked.profile, "profile-001");
	profiles[1].policy.throttle.destroy = true; /* which the node says no to */
	profiles[1].policy.propagate = true;
	set(&profiles[1].policy, SKM_KEY_MEMORY_PROPAGATE);
	grant = granted(&node, &asked, &FACTS); /* the node's own: neither its ceilings nor its allow list bound it */
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], 2 * SKM_GIB, 2 * SKM_GIB, SKM_CUT_NOTHING);
	assert_false(grant.policy.throttle.destroy);
	assert_int_equal(grant.policy.source, SKM_SOURCE_ANNOTATION_PROFILE);
	assert_int_equal(grant.sources[SKM_KEY_MEMORY_PROPAGATE], SKM_SOURCE_ANNOTATION_PROFILE);
	assert_string_equal(grant.policy.profile, "profile-001");
	strcpy(asked.profile, "profile-00");
	refused(&node, &asked, &FACTS, EINVAL, "\"profile-00\"", "profile-000, profile-001");
	refused(&bare, &asked, &FACTS, EINVAL, "\"profile-00\"", "which has none");
	node = with_profiles(profiles, 100); /* more names than an error takes */
	strcpy(asked.profile, "none");
	refused(&node, &asked, &FACTS, EINVAL, "profile-000, profile-001", ", …");
}

static void test_node_defaults(void **state)
{
	struct skm_node node = with_ceiling(BYTES(SKM_MIB));
	struct skm_policy asked = SKM_POLICY_INIT;
	struct skm_grant grant;

	(void)state;
	asked.source = SKM_SOURCE_NODE_DEFAULTS;
	refused(&node, &asked, &FACTS, ENODATA, "no defaults", SKM_NODE_FILE);
	node.has_defaults = true;
	node.defaults = with_limit(SKM_SOURCE_NODE_DEFAULTS, BYTES(SKM_GIB));
	grant = granted(&node, &asked, &FACTS);
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], SKM_GIB, SKM_GIB, SKM_CUT_NOTHING);
	assert_int_equal(grant.sources[SKM_KEY_TCPMEM_LIMIT], SKM_SOURCE_NODE_DEFAULTS);
}

static void test_a_change_of_the_limit_alone(void **state)
{
	struct skm_node node = with_ceiling(BYTES(64 * SKM_MIB));
	struct skm_policy asked = with_limit(SKM_SOURCE_ANNOTATION_POLICY, BYTES(SKM_GIB));
	struct skm_grant grant, before;
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	set(&asked, SKM_KEY_TCPMEM_MODE);
	asked.mode = SKM_MODE_SOFT;
	asked.memory[SKM_MEMORY_FILE_HIGH] = BYTES(SKM_GIB / 2);
	set(&asked, SKM_KEY_MEMORY_HIGH);
	before = grant = granted(&node, &asked, &FACTS);
	assert_int_equal(skm_control_grant_limit(&BYTES(2 * SKM_GIB), &FACTS, &grant, &err), 0);
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], 2 * SKM_GIB, 2 * SKM_GIB, SKM_CUT_NOTHING);
	assert_int_equal(grant.sources[SKM_KEY_TCPMEM_LIMIT], SKM_SOURCE_ADMINISTRATOR);
	assert_int_equal(grant.sources[SKM_KEY_TCPMEM_MODE], SKM_SOURCE_ANNOTATION_POLICY);
	assert_int_equal(grant.policy.mode, SKM_MODE_SOFT);
	assert_memory_equal(&grant.in_force[1], &before.in_force[1], sizeof(grant.in_force) - sizeof(*grant.in_force));
	assert_int_equal(
	        skm_control_grant_limit(&PERCENT(10), &(struct skm_grant_facts){UINT64_MAX, UINT64_MAX, 0}, &grant, &err),
	        -EOPNOTSUPP);
	in_force_is(&grant.in_force[SKM_IN_FORCE_LIMIT], 2 * SKM_GIB, 2 * SKM_GIB, SKM_CUT_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_each_value_says_where_it_came_from),
	        cmocka_unit_test(test_ceilings_bound_tenants_alone),
	        cmocka_unit_test(test_no_limit_is_the_largest_to_ask_for),
	        cmocka_unit_test(test_percentages),
	        cmocka_unit_test(test_percentages_are_of_the_memory_max_in_force),
	        cmocka_unit_test(test_program_sizes),
	        cmocka_unit_test(test_what_annotations_may_not_set),
	        cmocka_unit_test(test_a_ceiling_is_held),
	        cmocka_unit_test(test_destroy_needs_the_node_and_the_policy),
	        cmocka_unit_test(test_annotations_lower_what_the_runtime_set),
	        cmocka_unit_test(test_ceilings_of_memory),
	        cmocka_unit_test(test_profiles),
	        cmocka_unit_test(test_node_defaults),
	        cmocka_unit_test(test_a_change_of_the_limit_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
