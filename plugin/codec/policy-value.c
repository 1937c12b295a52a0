/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/policy-value.h"

#include "codec/policy-table.h"

#include <json-c/json.h>
#include <string.h>

#define EXAMPLE "write {\"tcpmem\": \"64Mi\"}"

/* A key that is known, but in another object, gets told where. */
static int check_keys(const struct skm_place *place, struct json_object *object, const char *const *known, struct skm_err *err)
{
	json_object_object_foreach(object, name, unused)
	{
		struct skm_place inside = SKM_PLACE_KEY(place, name);
		bool is_known = false;

		(void)unused;
		for (const char *const *one = known; *one; one++)
			is_known = is_known || strcmp(*one, name) == 0;
		for (size_t i = 0; !is_known && i < SKM_POLICY_GROUPS; i++)
			for (enum skm_policy_key key = skm_policy_groups[i].first; key <= skm_policy_groups[i].last; key++)
				if (strcmp(skm_policy_value_name(key), name) == 0)
					return skm_place_fail(&inside, err, "unknown key here; it belongs in %s",
					                      skm_policy_groups[i].name);
	}
	return skm_value_check_keys(place, object, known, err);
}

static int read_group(const struct skm_place *place, struct json_object *object, const struct skm_policy_group *group,
                      struct skm_policy *policy, struct skm_err *err)
{
	const char *known[SKM_POLICY_GROUP_VALUES_MAX + 1] = {NULL};
	int r;

	for (enum skm_policy_key key = group->first; key <= group->last; key++)
		known[key - group->first] = skm_policy_value_name(key);
	r = check_keys(place, object, known, err);
	for (enum skm_policy_key key = group->first; r == 0 && key <= group->last; key++) {
		struct skm_place inside = SKM_PLACE_KEY(place, skm_policy_value_name(key));
		struct json_object *value;

		if (json_object_object_get_ex(object, inside.key, &value))
			r = skm_policy_value_read(&inside, value, key, policy, err);
	}
	return r;
}

/* tcpmem and memory ask for something, or have no meaning. */
static int check_group(const struct skm_place *place, const struct skm_policy_group *group, const struct skm_policy *policy,
                       struct skm_err *err)
{
	if (group->first == SKM_KEY_TCPMEM_LIMIT && !skm_policy_has(policy, SKM_KEY_TCPMEM_LIMIT))
		return skm_place_fail(place, err, "limit is missing; write {\"limit\": \"64Mi\"}");
	if (group->first == SKM_KEY_MEMORY_MIN && !skm_policy_has_memory(policy))
		return skm_place_fail(place, err, "one of min, low, high, max is missing; write {\"low\": \"exe\"}");
	return 0;
}

static int read_groups(const struct skm_place *place, struct json_object *object, struct skm_policy *policy, struct skm_err *err)
{
	for (size_t i = 0; i < SKM_POLICY_GROUPS; i++) {
		struct skm_place inside = SKM_PLACE_KEY(place, skm_policy_groups[i].name);
		struct json_object *value;
		int r;

		if (!json_object_object_get_ex(object, inside.key, &value))
			continue;
		if (json_object_is_type(value, json_type_object))
			r = read_group(&inside, value, &skm_policy_groups[i], policy, err);
		else if (skm_policy_groups[i].first == SKM_KEY_TCPMEM_LIMIT) /* a size alone is short for its object */
			r = skm_policy_value_read(&inside, value, SKM_KEY_TCPMEM_LIMIT, policy, err);
		else
			r = skm_place_fail(&inside, err, "%s, wanted an object", skm_value_kind(value));
		if (r == 0)
			r = check_group(&inside, &skm_policy_groups[i], policy, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int skm_policy_read_asked(const struct skm_place *place, struct json_object *value, struct skm_policy *ret, struct skm_err *err)
{
	static const char *const known[] = {"tcpmem", "memory", "throttle", "pressure", "onError", NULL};
	struct skm_place on_error = SKM_PLACE_KEY(place, skm_policy_value_name(SKM_KEY_ON_ERROR));
	struct skm_policy policy = SKM_POLICY_INIT;
	struct json_object *word;
	int r = skm_value_object(place, value, EXAMPLE, err);

	if (r == 0)
		r = check_keys(place, value, known, err);
	if (r == 0)
		r = read_groups(place, value, &policy, err);
	if (r == 0 && json_object_object_get_ex(value, on_error.key, &word))
		r = skm_policy_value_read(&on_error, word, SKM_KEY_ON_ERROR, &policy, err);
	if (r < 0)
		return r;
	if (!skm_policy_has(&policy, SKM_KEY_TCPMEM_LIMIT) && !skm_policy_has_memory(&policy))
		return skm_place_fail(place, err, "tcpmem or memory is missing; " EXAMPLE);
	policy.source = ret->source;
	memcpy(policy.profile, ret->profile, sizeof(policy.profile));
	*ret = policy;
	return 0;
}

void skm_policy_write_asked(struct skm_writer *writer, const struct skm_policy *policy)
{
	for (size_t i = 0; i < SKM_POLICY_GROUPS; i++) {
		const struct skm_policy_group *group = &skm_policy_groups[i];

		if (!(policy->set & skm_policy_group_bits(group)))
			continue;
		skm_writer_object(writer, group->name);
		for (enum skm_policy_key key = group->first; key <= group->last; key++)
			if (skm_policy_has(policy, key))
				skm_policy_value_write(writer, key, policy);
		skm_writer_end(writer);
	}
	if (skm_policy_has(policy, SKM_KEY_ON_ERROR))
		skm_policy_value_write(writer, SKM_KEY_ON_ERROR, policy);
}
