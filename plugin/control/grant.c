/* SPDX-License-Identifier: Apache-2.0 */
#include "control/grant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The sizes of a policy in the order of skm_in_force. */
static const enum skm_policy_key SIZE_KEYS[SKM_IN_FORCE_COUNT] = {
        SKM_KEY_TCPMEM_LIMIT, SKM_KEY_MEMORY_MIN, SKM_KEY_MEMORY_LOW, SKM_KEY_MEMORY_HIGH, SKM_KEY_MEMORY_MAX,
};

#define IN_FORCE_MAX (SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX)
#define IN_FORCE_HIGH (SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_HIGH)

static bool is_annotation(enum skm_policy_source source)
{
	return source == SKM_SOURCE_ANNOTATION_CONTAINER || source == SKM_SOURCE_ANNOTATION_POLICY ||
	       source == SKM_SOURCE_ANNOTATION_TCPMEM;
}

bool skm_control_is_tenants(enum skm_policy_source source)
{
	return is_annotation(source) || source == SKM_SOURCE_KERNEL_TCP;
}

/* Appends "separator word" as far as it fits; a list that does not ends in "…". */
static void append(char *list, size_t size, const char *word, const char *separator)
{
	size_t length = strlen(list), more = strlen(word) + (length ? strlen(separator) : 0);

	if (length + more + sizeof("…") + sizeof(", ") < size)
		snprintf(list + length, size - length, "%s%s", length ? separator : "", word);
	else if (length > 0 && !strstr(list, "…"))
		snprintf(list + length, size - length, ", …");
}

static int fill_in_profile(const struct skm_node *node, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	char known[320] = "";

	for (size_t i = 0; i < node->profile_count; i++) {
		if (strcmp(node->profiles[i].name, name) == 0) {
			*ret = node->profiles[i].policy;
			return 0;
		}
		append(known, sizeof(known), node->profiles[i].name, ", ");
	}
	if (!known[0])
		return skm_err_set(err, EINVAL, "%s: \"%s\" is no profile of this node, which has none; they stand in %s",
		                   SKM_ANNOTATION_PROFILE, name, SKM_NODE_FILE);
	return skm_err_set(err, EINVAL, "%s: \"%s\" is no profile of this node; it has %s", SKM_ANNOTATION_PROFILE, name, known);
}

/* Values that ask for nothing, though a key is written for them. */
static bool asks_for_nothing(const struct skm_policy *policy, enum skm_policy_key key)
{
	const struct skm_size *size;

	if (key == SKM_KEY_THROTTLE_DESTROY)
		return !policy->throttle.destroy;
	if (key == SKM_KEY_MEMORY_PROPAGATE)
		return !policy->propagate;
	if (key != SKM_KEY_MEMORY_MIN && key != SKM_KEY_MEMORY_LOW)
		return false;
	size = &policy->memory[key - SKM_KEY_MEMORY_MIN];
	return size->kind == SKM_SIZE_BYTES && size->value == 0;
}

/* Whether the value makes the limit one on paper. onError belongs here: who writes a limit that this host cannot hold, such as a
 * percentage where there is no memory.max, and "warn" beside it, would run without any. */
static bool lifts_limit(const struct skm_policy *policy, enum skm_policy_key key)
{
	switch (key) {
	case SKM_KEY_TCPMEM_MODE:
		return policy->mode == SKM_MODE_OBSERVE;
	case SKM_KEY_THROTTLE_SYSCTL:
		return !policy->throttle.sysctl;
	case SKM_KEY_THROTTLE_SOCKETS:
		return !policy->throttle.sockets;
	case SKM_KEY_THROTTLE_PROTOCOLS:
		return !(policy->throttle.protocols & UINT32_C(1) << SKM_PROTOCOL_TCP);
	case SKM_KEY_ON_ERROR:
		return policy->on_error == SKM_ON_ERROR_WARN;
	default:
		return false;
	}
}

/* Whether annotations may set that value here. A ceiling on sockets means that they are held: without an allow list, which would
 * be the administrator's word, nothing may be set that leaves them alone. */
static bool may_set(const struct skm_node *node, const struct skm_policy *policy, enum skm_policy_key key)
{
	bool has_list = node->lower_only == 0;

	if (!(node->allow & SKM_KEY_BIT(key)))
		return asks_for_nothing(policy, key);
	return has_list || !(node->ceilings & SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT)) || !lifts_limit(policy, key);
}

static int check_allowed(const struct skm_node *node, const struct skm_policy *policy, struct skm_err *err)
{
	char refused[256] = "";
	unsigned int count = 0;

	for (unsigned int key = 0; key < SKM_POLICY_KEYS; key++) {
		if (!skm_policy_has(policy, key) || may_set(node, policy, key))
			continue;
		append(refused, sizeof(refused), skm_name_of(&skm_policy_key_names, key), ", ");
		count++;
	}
	if (count == 0)
		return 0;
	return skm_err_set(err, EINVAL,
	                   "%s: annotations may not set %s on this node; leave %s out, or have the administrator add %s to "
	                   "\"allow\" in %s",
	                   skm_name_of(&skm_policy_source_names, policy->source), refused, count == 1 ? "it" : "them",
	                   count == 1 ? "it" : "them", SKM_NODE_FILE);
}

/* Ending connections needs the node and the policy. A node file that says no to what its own profiles say is no reason to keep
 * containers from running. */
static int check_destroy(const struct skm_node *node, struct skm_policy *policy, struct skm_err *err)
{
	if (!policy->throttle.destroy || node->destroy)
		return 0;
	if (policy->source == SKM_SOURCE_ANNOTATION_PROFILE || policy->source == SKM_SOURCE_NODE_DEFAULTS) {
		policy->throttle.destroy = false;
		return 0;
	}
	return skm_err_set(err, EINVAL,
	                   "%s: throttle.destroy is off on this node; leave it out, or have the administrator write \"destroy\": "
	                   "true in %s",
	                   skm_name_of(&skm_policy_source_names, policy->source), SKM_NODE_FILE);
}

int skm_control_grant_policy(const struct skm_node *node, const struct skm_policy *asked, struct skm_grant *ret,
                             struct skm_err *err)
{
	struct skm_grant grant = {.policy = *asked};
	int r = 0;

	if (asked->source == SKM_SOURCE_NODE_DEFAULTS && !node->has_defaults)
		return skm_err_set(err, ENODATA, "this node has no defaults; they stand in %s", SKM_NODE_FILE);
	if (asked->source == SKM_SOURCE_NODE_DEFAULTS)
		grant.policy = node->defaults;
	if (asked->source == SKM_SOURCE_ANNOTATION_PROFILE)
		r = fill_in_profile(node, asked->profile, &grant.policy, err);
	if (r == 0 && is_annotation(asked->source))
		r = check_allowed(node, asked, err);
	if (r == 0)
		r = check_destroy(node, &grant.policy, err);
	if (r < 0)
		return r;
	for (unsigned int key = 0; key < SKM_POLICY_KEYS; key++)
		grant.sources[key] = skm_policy_has(&grant.policy, key) ? grant.policy.source : SKM_SOURCE_NONE;
	if (grant.policy.on_error == SKM_ON_ERROR_UNSET && node->on_error != SKM_ON_ERROR_UNSET) {
		grant.policy.on_error = node->on_error;
		grant.sources[SKM_KEY_ON_ERROR] = SKM_SOURCE_NODE_DEFAULTS;
	}
	*ret = grant;
	return 0;
}

static const struct skm_size *size_of(const struct skm_policy *policy, unsigned int which)
{
	return which == SKM_IN_FORCE_LIMIT ? &policy->tcpmem_limit : &policy->memory[which - SKM_IN_FORCE_MEMORY];
}

static const char *name_of(unsigned int which)
{
	return skm_name_of(&skm_policy_key_names, SIZE_KEYS[which]);
}

/* One size in bytes. share_of: what a percentage is of. whose: "", or who wrote it, for errors. */
static int to_bytes(const struct skm_size *size, uint64_t share_of, uint64_t program_bytes, const char *whose, unsigned int which,
                    uint64_t *ret, struct skm_err *err)
{
	uint64_t bytes = size->value;

	if (size->kind == SKM_SIZE_PERCENT && share_of == UINT64_MAX)
		return skm_err_set(err, EOPNOTSUPP,
		                   "%s%s is a percentage, but the container has no memory.max; write a size such as 64Mi", whose,
		                   name_of(which));
	if (size->kind == SKM_SIZE_PROGRAM && program_bytes == 0)
		return skm_err_set(err, EOPNOTSUPP,
		                   "%s%s is a multiple of the program's size, which is not known here; write a size such as 64Mi",
		                   whose, name_of(which));
	if (size->kind == SKM_SIZE_MAX)
		bytes = UINT64_MAX;
	else if (size->kind == SKM_SIZE_PERCENT)
		bytes = skm_scale(share_of, size->value, SKM_PERMYRIAD);
	else if (size->kind == SKM_SIZE_PROGRAM)
		bytes = skm_scale(program_bytes, size->value, 1);
	if (bytes == 0 && size->kind == SKM_SIZE_PERCENT)
		return skm_err_set(err, ERANGE, "%s%s comes to 0 bytes of memory.max; write a larger share, or a size", whose,
		                   name_of(which));
	*ret = bytes;
	return 0;
}

static void cut_to(struct skm_in_force *in_force, uint64_t most_bytes, enum skm_cut by)
{
	if (in_force->bytes <= most_bytes)
		return;
	in_force->bytes = most_bytes;
	in_force->cut = true;
	in_force->cut_by = by;
}

static int cut_to_ceiling(const struct skm_node *node, uint64_t share_of, unsigned int which, struct skm_in_force *in_force,
                          struct skm_err *err)
{
	const struct skm_size *ceiling =
	        which == SKM_IN_FORCE_LIMIT ? &node->tcpmem_ceiling : &node->memory_ceiling[which - SKM_IN_FORCE_MEMORY];
	uint64_t bytes = 0;
	int r;

	if (!(node->ceilings & SKM_KEY_BIT(SIZE_KEYS[which])))
		return 0;
	r = to_bytes(ceiling, share_of, 0, "the node's ceiling of ", which, &bytes, err);
	if (r == 0)
		cut_to(in_force, bytes, SKM_CUT_CEILING);
	return r;
}

/* What the runtime set, where an annotation may only lower it. */
static void cut_to_runtimes(const struct skm_node *node, const struct skm_grant_facts *facts, unsigned int which,
                            struct skm_in_force *in_force)
{
	if (!(node->lower_only & SKM_KEY_BIT(SIZE_KEYS[which])))
		return;
	if (which == IN_FORCE_MAX)
		cut_to(in_force, facts->memory_max_bytes, SKM_CUT_RUNTIME);
	else if (which == IN_FORCE_HIGH)
		cut_to(in_force, facts->memory_high_bytes, SKM_CUT_RUNTIME);
}

static int grant_size(const struct skm_node *node, const struct skm_grant_facts *facts, uint64_t share_of, unsigned int which,
                      struct skm_grant *grant, struct skm_err *err)
{
	enum skm_policy_source source = grant->policy.source;
	struct skm_in_force in_force = {.set = skm_policy_has(&grant->policy, SIZE_KEYS[which]), .bytes = UINT64_MAX};
	int r = 0;

	/* a limit that is not written is none; a file of the memory controller then stays as it is */
	if (in_force.set || which == SKM_IN_FORCE_LIMIT)
		r = to_bytes(size_of(&grant->policy, which), share_of, facts->program_bytes, "", which, &in_force.bytes, err);
	in_force.asked_bytes = in_force.bytes;
	if (r == 0 && skm_control_is_tenants(source) && (in_force.set || which == SKM_IN_FORCE_LIMIT))
		r = cut_to_ceiling(node, share_of, which, &in_force, err);
	if (r < 0)
		return r;
	if (in_force.set && is_annotation(source))
		cut_to_runtimes(node, facts, which, &in_force);
	grant->in_force[which] = in_force;
	return 0;
}

int skm_control_grant_sizes(const struct skm_node *node, const struct skm_grant_facts *facts, struct skm_grant *grant,
                            struct skm_err *err)
{
	struct skm_grant whole = *grant;
	uint64_t share_of = facts->memory_max_bytes;
	int r = grant_size(node, facts, share_of, IN_FORCE_MAX, &whole, err);

	if (r == 0 && whole.in_force[IN_FORCE_MAX].set)
		share_of = whole.in_force[IN_FORCE_MAX].bytes;
	for (unsigned int which = 0; r == 0 && which < SKM_IN_FORCE_COUNT; which++)
		if (which != IN_FORCE_MAX)
			r = grant_size(node, facts, share_of, which, &whole, err);
	if (r == 0)
		*grant = whole;
	return r;
}

int skm_control_grant_limit(const struct skm_size *limit, const struct skm_grant_facts *facts, struct skm_grant *grant,
                            struct skm_err *err)
{
	struct skm_in_force in_force = {.set = true};
	int r = to_bytes(limit, facts->memory_max_bytes, facts->program_bytes, "", SKM_IN_FORCE_LIMIT, &in_force.bytes, err);

	if (r < 0)
		return r;
	in_force.asked_bytes = in_force.bytes;
	grant->policy.tcpmem_limit = *limit;
	grant->policy.set |= SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	grant->in_force[SKM_IN_FORCE_LIMIT] = in_force;
	grant->sources[SKM_KEY_TCPMEM_LIMIT] = SKM_SOURCE_ADMINISTRATOR;
	return 0;
}
