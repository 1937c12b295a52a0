/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/policy.h"

#include "codec/json.h"
#include "codec/policy-value.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define EXAMPLE "write {\"tcpmem\": \"64Mi\"}"

/* A size without JSON around it, where an object was wanted: a likely mix-up of the two annotations. */
static bool is_bare_size(const char *text, size_t length)
{
	struct skm_size size;
	const char *reason;

	return skm_size_parse(text, length, &size, &reason) == 0;
}

int skm_codec_policy_parse(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	const struct skm_json_rules rules = {
	        .name = name,
	        .right = EXAMPLE ", or leave it out",
	        .whole = "pass it whole, or name a policy of the node file with " SKM_ANNOTATION_PROFILE,
	        .text_max = SKM_POLICY_TEXT_MAX,
	        .depth_max = SKM_POLICY_DEPTH_MAX,
	};
	const struct skm_place root = SKM_PLACE_ROOT(name);
	cleanup_json struct json_object *document = NULL;
	int r;

	if (is_bare_size(text, length))
		return skm_err_set(err, EINVAL, "%s: %.*s is a size alone, wanted a JSON object; " EXAMPLE ", or use %s", name,
		                   (int)length, text, SKM_ANNOTATION_TCPMEM);
	r = skm_json_read(text, length, &rules, &document, err);
	if (r < 0)
		return r;
	if (json_object_is_type(document, json_type_string) && strchr(json_object_get_string(document), '{'))
		return skm_place_fail(&root, err,
		                      "JSON inside a string: it was quoted once too often on its way; pass the object itself");
	return skm_policy_read_asked(&root, document, ret, err);
}

int skm_codec_tcpmem_parse(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT;
	const char *reason = "not a size";
	char echo[SKM_ECHO_MAX];

	if (length > SKM_POLICY_TEXT_MAX)
		return skm_err_set(err, E2BIG, "%s: %zu bytes long; a size such as 64Mi is short", name, length);
	if (skm_size_parse(text, length, &policy.tcpmem_limit, &reason) < 0) {
		skm_text_echo(text, length, echo);
		if (length > 0 && (*text == '{' || *text == '"' || *text == '['))
			return skm_err_set(err, EINVAL, "%s: %s: JSON belongs in %s; write a size alone, without quotes: 64Mi",
			                   name, echo, SKM_ANNOTATION_POLICY);
		return skm_err_set(err, EINVAL, "%s: %s: %s", name, echo, reason);
	}
	policy.set = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	policy.source = ret->source;
	memcpy(policy.profile, ret->profile, sizeof(policy.profile));
	*ret = policy;
	return 0;
}

char *skm_codec_policy_format(const struct skm_policy *policy)
{
	struct skm_writer *writer = skm_writer_new_object();

	skm_policy_write_asked(writer, policy);
	return skm_writer_finish(writer, false);
}

void skm_codec_policy_write(struct skm_writer *writer, const char *key, const struct skm_policy *policy)
{
	skm_policy_write(writer, key, policy);
}
