/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/policy-table.h"

#include "codec/policy-kind.h"

#include <stddef.h>
#include <string.h>

/* One for each value of a policy: how it stands in JSON, and where in the struct. The names are skm_policy_key_names. */
struct value {
	enum skm_policy_kind kind;
	size_t offset;
	const struct skm_names *names;
	bool nullable;
};

#define VALUE(kind_, member) .kind = (kind_), .offset = offsetof(struct skm_policy, member)

static const struct value VALUES[SKM_POLICY_KEYS] = {
        [SKM_KEY_TCPMEM_LIMIT] = {VALUE(SKM_KIND_SIZE, tcpmem_limit)},
        [SKM_KEY_TCPMEM_MODE] = {VALUE(SKM_KIND_WORD, mode), &skm_mode_names},
        [SKM_KEY_TCPMEM_SCOPE] = {VALUE(SKM_KIND_WORD, scope), &skm_scope_names},
        [SKM_KEY_MEMORY_MIN] = {VALUE(SKM_KIND_PROTECTION, memory[SKM_MEMORY_FILE_MIN]), .nullable = true},
        [SKM_KEY_MEMORY_LOW] = {VALUE(SKM_KIND_PROTECTION, memory[SKM_MEMORY_FILE_LOW]), .nullable = true},
        [SKM_KEY_MEMORY_HIGH] = {VALUE(SKM_KIND_SIZE, memory[SKM_MEMORY_FILE_HIGH]), .nullable = true},
        [SKM_KEY_MEMORY_MAX] = {VALUE(SKM_KIND_SIZE, memory[SKM_MEMORY_FILE_MAX]), .nullable = true},
        [SKM_KEY_MEMORY_PROPAGATE] = {VALUE(SKM_KIND_BOOL, propagate)},
        [SKM_KEY_THROTTLE_SYSCTL] = {VALUE(SKM_KIND_BOOL, throttle.sysctl)},
        [SKM_KEY_THROTTLE_SOCKETS] = {VALUE(SKM_KIND_BOOL, throttle.sockets)},
        [SKM_KEY_THROTTLE_TC] = {VALUE(SKM_KIND_BOOL, throttle.tc)},
        [SKM_KEY_THROTTLE_RECLAIM] = {VALUE(SKM_KIND_BOOL, throttle.reclaim)},
        [SKM_KEY_THROTTLE_DESTROY] = {VALUE(SKM_KIND_BOOL, throttle.destroy)},
        [SKM_KEY_THROTTLE_PROTOCOLS] = {VALUE(SKM_KIND_PROTOCOLS, throttle.protocols)},
        [SKM_KEY_THROTTLE_FLOOR] = {VALUE(SKM_KIND_RATE, throttle.floor_bits_per_sec)},
        [SKM_KEY_THROTTLE_EGRESS] = {VALUE(SKM_KIND_RATE, throttle.egress_bits_per_sec), .nullable = true},
        [SKM_KEY_PRESSURE_SOME] = {VALUE(SKM_KIND_PERCENT, pressure_some_permyriad)},
        [SKM_KEY_PRESSURE_WINDOW] = {VALUE(SKM_KIND_WINDOW, pressure_window_usec)},
        [SKM_KEY_ON_ERROR] = {VALUE(SKM_KIND_WORD_OR_NOT, on_error), &skm_on_error_names, .nullable = true},
};

const struct skm_policy_group skm_policy_groups[SKM_POLICY_GROUPS] = {
        {"tcpmem", SKM_KEY_TCPMEM_LIMIT, SKM_KEY_TCPMEM_SCOPE},
        {"memory", SKM_KEY_MEMORY_MIN, SKM_KEY_MEMORY_PROPAGATE},
        {"throttle", SKM_KEY_THROTTLE_SYSCTL, SKM_KEY_THROTTLE_EGRESS},
        {"pressure", SKM_KEY_PRESSURE_SOME, SKM_KEY_PRESSURE_WINDOW},
};
_Static_assert(SKM_KEY_THROTTLE_EGRESS - SKM_KEY_THROTTLE_SYSCTL + 1 == SKM_POLICY_GROUP_VALUES_MAX, "the largest group");

uint32_t skm_policy_group_bits(const struct skm_policy_group *group)
{
	return (SKM_KEY_BIT(group->last) << 1) - SKM_KEY_BIT(group->first);
}

const char *skm_policy_value_name(enum skm_policy_key key)
{
	const char *name = skm_name_of(&skm_policy_key_names, key), *point = strchr(name, '.');

	return point ? point + 1 : name;
}

bool skm_policy_value_may_be_null(enum skm_policy_key key)
{
	return VALUES[key].nullable;
}

int skm_policy_value_read(const struct skm_place *place, struct json_object *value, enum skm_policy_key key,
                          struct skm_policy *policy, struct skm_err *err)
{
	const struct value *one = &VALUES[key];
	int r = skm_kind_read(one->kind, one->names, place, value, (char *)policy + one->offset, err);

	if (r == 0)
		policy->set |= SKM_KEY_BIT(key);
	return r;
}

void skm_policy_value_write(struct skm_writer *writer, enum skm_policy_key key, const struct skm_policy *policy)
{
	bool is_memory = key >= SKM_KEY_MEMORY_MIN && key <= SKM_KEY_MEMORY_MAX;
	const struct value *one = &VALUES[key];

	/* of the others that may be null, the value itself tells: it is 0 */
	if (is_memory && !skm_policy_has(policy, key))
		skm_writer_null(writer, skm_policy_value_name(key));
	else
		skm_kind_write(one->kind, one->names, writer, skm_policy_value_name(key), (const char *)policy + one->offset);
}
