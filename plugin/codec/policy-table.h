/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: every value of a policy, how it stands in JSON and in which object. */
#ifndef SKM_CODEC_POLICY_TABLE_H
#define SKM_CODEC_POLICY_TABLE_H

#include "codec/value.h"
#include "codec/writer.h"
#include "model/policy.h"

/* The objects in which the values stand. onError alone stands beside them. */
struct skm_policy_group {
	const char *name;
	enum skm_policy_key first, last;
};
#define SKM_POLICY_GROUPS 4
#define SKM_POLICY_GROUP_VALUES_MAX 8
extern const struct skm_policy_group skm_policy_groups[SKM_POLICY_GROUPS];

/* SKM_KEY_BIT of all its values. */
uint32_t skm_policy_group_bits(const struct skm_policy_group *group);

/* The value's name in its object: "limit" for tcpmem.limit. */
const char *skm_policy_value_name(enum skm_policy_key key);

/* Whether a whole policy may have null in its place. */
bool skm_policy_value_may_be_null(enum skm_policy_key key);

/* Reads one value into the policy and marks it as set. Returns 0, or -EINVAL with policy untouched. */
int skm_policy_value_read(const struct skm_place *place, struct json_object *value, enum skm_policy_key key,
                          struct skm_policy *policy, struct skm_err *err);

/* Writes it with its name; null where the policy does not have it and it may be null. */
void skm_policy_value_write(struct skm_writer *writer, enum skm_policy_key key, const struct skm_policy *policy);

#endif
