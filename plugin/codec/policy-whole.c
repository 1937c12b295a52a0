/* SPDX-License-Identifier: Apache-2.0 */
/* A policy as sockmem's own documents have it: every value, with where it came from. */
#include "codec/policy-table.h"
#include "codec/policy-value.h"

#include <json-c/json.h>
#include <string.h>

void skm_policy_write(struct skm_writer *writer, const char *key, const struct skm_policy *policy)
{
	skm_writer_object(writer, key);
	for (size_t i = 0; i < SKM_POLICY_GROUPS; i++) {
		skm_writer_object(writer, skm_policy_groups[i].name);
		for (enum skm_policy_key one = skm_policy_groups[i].first; one <= skm_policy_groups[i].last; one++)
			skm_policy_value_write(writer, one, policy);
		skm_writer_end(writer);
	}
	skm_policy_value_write(writer, SKM_KEY_ON_ERROR, policy);
	skm_writer_text(writer, "source", skm_name_of(&skm_policy_source_names, policy->source));
	skm_writer_text(writer, "profile", policy->profile);
	skm_writer_array(writer, "set");
	for (enum skm_policy_key one = 0; one < SKM_POLICY_KEYS; one++)
		if (skm_policy_has(policy, one))
			skm_writer_text(writer, NULL, skm_name_of(&skm_policy_key_names, one));
	skm_writer_end(writer);
	skm_writer_end(writer);
}

/* Reads one value, of which null says that the policy does not have it. */
static int read_value(const struct skm_place *place, struct json_object *value, enum skm_policy_key key, bool is_set,
                      struct skm_policy *policy, struct skm_err *err)
{
	bool is_memory = key >= SKM_KEY_MEMORY_MIN && key <= SKM_KEY_MEMORY_MAX;

	if (value && is_memory && !is_set)
		return skm_place_fail(place, err, "a value that set does not name");
	/* a person may write bytes as an integer, sockmem never does */
	if (json_object_is_type(value, json_type_int))
		return skm_place_fail(place, err, "an integer, which no value here is");
	if (value || is_set || !skm_policy_value_may_be_null(key))
		return skm_policy_value_read(place, value, key, policy, err);
	return 0;
}

static int read_object(const struct skm_place *place, struct json_object *object, enum skm_policy_key first,
                       enum skm_policy_key last, uint32_t set, struct skm_policy *policy, struct skm_err *err)
{
	for (enum skm_policy_key key = first; key <= last; key++) {
		struct skm_place inside = SKM_PLACE_KEY(place, skm_policy_value_name(key));
		struct json_object *value;
		int r;

		if (!json_object_object_get_ex(object, inside.key, &value))
			return skm_place_fail(place, err, "%s is missing", inside.key);
		r = read_value(&inside, value, key, set & SKM_KEY_BIT(key), policy, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An object with `count` members, of which each is read: one more is unknown. */
static int read_group(const struct skm_place *place, struct json_object *whole, const struct skm_policy_group *group,
                      uint32_t set, struct skm_policy *policy, struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, group->name);
	struct json_object *object = NULL;
	int r;

	if (!json_object_object_get_ex(whole, inside.key, &object))
		return skm_place_fail(place, err, "%s is missing", inside.key);
	r = skm_value_object(&inside, object, "it is written by sockmem itself", err);
	if (r == 0)
		r = read_object(&inside, object, group->first, group->last, set, policy, err);
	if (r == 0 && json_object_object_length(object) != (int)(group->last - group->first + 1))
		r = skm_place_fail(&inside, err, "unknown keys");
	return r;
}

static int read_set(const struct skm_place *place, struct json_object *array, uint32_t *ret, struct skm_err *err)
{
	uint32_t set = 0;

	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted an array", skm_value_kind(array));
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		struct json_object *word = json_object_array_get_idx(array, i);
		char echo[SKM_ECHO_MAX];
		int key = json_object_is_type(word, json_type_string)
		                  ? skm_name_find(&skm_policy_key_names, json_object_get_string(word))
		                  : -1;

		if (key < 0 || set & SKM_KEY_BIT(key))
			return skm_place_fail(&inside, err, "%s is no key of a policy, or stands twice",
			                      skm_value_echo(word, echo));
		set |= SKM_KEY_BIT(key);
	}
	*ret = set;
	return 0;
}

static int read_source(const struct skm_place *place, struct json_object *word, enum skm_policy_source *ret, struct skm_err *err)
{
	char echo[SKM_ECHO_MAX];
	int source = json_object_is_type(word, json_type_string)
	                     ? skm_name_find(&skm_policy_source_names, json_object_get_string(word))
	                     : -1;

	if (source < 0)
		return skm_place_fail(place, err, "%s is no source of a policy", skm_value_echo(word, echo));
	*ret = (enum skm_policy_source)source;
	return 0;
}

/* source, profile and set, which a person's policy does not have. */
static int read_origin(const struct skm_place *place, struct json_object *whole, struct skm_policy *policy, struct skm_err *err)
{
	struct skm_place source = SKM_PLACE_KEY(place, "source"), profile = SKM_PLACE_KEY(place, "profile"),
	                 set = SKM_PLACE_KEY(place, "set");
	struct json_object *value;
	int r;

	json_object_object_get_ex(whole, source.key, &value);
	r = read_source(&source, value, &policy->source, err);
	if (r < 0)
		return r;
	json_object_object_get_ex(whole, profile.key, &value);
	r = skm_value_text(&profile, value, policy->profile, sizeof(policy->profile), err);
	if (r < 0)
		return r;
	json_object_object_get_ex(whole, set.key, &value);
	return read_set(&set, value, &policy->set, err);
}

int skm_policy_read(const struct skm_place *place, struct json_object *value, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT;
	uint32_t set;
	int r = skm_value_object(place, value, "it is written by sockmem itself", err);

	if (r == 0)
		r = read_origin(place, value, &policy, err);
	if (r < 0)
		return r;
	set = policy.set;
	for (size_t i = 0; r == 0 && i < SKM_POLICY_GROUPS; i++)
		r = read_group(place, value, &skm_policy_groups[i], set, &policy, err);
	if (r == 0)
		r = read_object(place, value, SKM_KEY_ON_ERROR, SKM_KEY_ON_ERROR, set, &policy, err);
	if (r < 0)
		return r;
	if (json_object_object_length(value) != SKM_POLICY_GROUPS + 4)
		return skm_place_fail(place, err, "unknown keys");
	policy.set = set;
	*ret = policy;
	return 0;
}
