/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/policy.h"

#include "codec/json.h"
#include "codec/policy-value.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define EXAMPLE "write {\"tcpmem\": \"64Mi\"}"

/* What DESIGN.md, section 3, has and this version does not, so that a policy that is right but early is told so. */
static const struct skm_words policy_words = {
        .known = (const char *const[]){"tcpmem", NULL},
        .later = (const char *const[]){"memory", "throttle", "pressure", "onError", NULL},
};
static const struct skm_words tcpmem_words = {
        .known = (const char *const[]){"limit", "mode", NULL},
        .later = (const char *const[]){"scope", NULL},
};
static const struct skm_words mode_words = {
        .known = (const char *const[]){"auto", "soft", "observe", NULL},
        .later = (const char *const[]){"hard", "v1", NULL},
};

/* A size in the words of base/units.h, with the place and the text put before its reason. */
static int parse_size(const struct skm_place *place, struct json_object *value, const char *text, size_t length,
                      struct skm_size *ret, struct skm_err *err)
{
	char echo[SKM_ECHO_MAX];
	const char *reason = "not a size";

	if (skm_size_parse(text, length, ret, &reason) < 0)
		return skm_place_fail(place, err, "%s: %s", skm_value_echo(value, echo), reason);
	return 0;
}

static int read_size(const struct skm_place *place, struct json_object *value, const char *right, struct skm_size *ret,
                     struct skm_err *err)
{
	const char *text = json_object_get_string(value);

	if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) > 0 &&
	    json_object_get_uint64(value) > INT64_MAX)
		return skm_place_fail(place, err, "%s: more than 2^63-1 bytes; write \"max\" for no limit", text);
	/* an integer goes through its digits, for one grammar and one set of reasons */
	if (json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_string))
		return parse_size(place, value, text, (size_t)strlen(text), ret, err);
	if (json_object_is_type(value, json_type_double))
		return skm_place_fail(place, err, "%s: bytes are an integer without point and exponent; %s", text, right);
	return skm_place_fail(place, err, "%s, wanted a size; %s", skm_value_kind(value), right);
}

static int read_mode(const struct skm_place *place, struct json_object *value, enum skm_mode *ret, struct skm_err *err)
{
	char echo[SKM_ECHO_MAX], hint[SKM_WORDS_TEXT_MAX];
	const char *word;
	int found;

	if (!json_object_is_type(value, json_type_string))
		return skm_place_fail(place, err, "%s, wanted a string; use auto, soft or observe", skm_value_kind(value));
	word = json_object_get_string(value);
	found = skm_name_find(&skm_mode_names, word);
	if (found >= 0) {
		*ret = (enum skm_mode)found;
		return 0;
	}
	skm_value_echo(value, echo);
	for (const char *const *later = mode_words.later; *later; later++)
		if (strcmp(word, *later) == 0)
			return skm_place_fail(place, err, "%s is not in this build; use auto, soft or observe", echo);
	return skm_place_fail(place, err, "%s is no mode; %s", echo, skm_words_hint(mode_words.known, word, hint));
}

static int read_tcpmem_object(const struct skm_place *place, struct json_object *object, struct skm_policy *policy,
                              struct skm_err *err)
{
	struct skm_place limit = SKM_PLACE_KEY(place, "limit"), mode = SKM_PLACE_KEY(place, "mode");
	struct json_object *value;
	int r = skm_value_check_keys(place, object, &tcpmem_words, err);

	if (r < 0)
		return r;
	if (!json_object_object_get_ex(object, "limit", &value))
		return skm_place_fail(place, err, "limit is missing; write {\"limit\": \"64Mi\"}");
	r = read_size(&limit, value, "write \"64Mi\", \"12%\", \"max\" or bytes", &policy->tcpmem_limit, err);
	if (r == 0 && json_object_object_get_ex(object, "mode", &value))
		r = read_mode(&mode, value, &policy->mode, err);
	return r;
}

static int read_policy(const struct skm_place *place, struct json_object *object, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_place tcpmem = SKM_PLACE_KEY(place, "tcpmem");
	struct skm_policy policy = SKM_POLICY_INIT;
	struct json_object *value;
	int r = skm_value_object(place, object, EXAMPLE, err);

	if (r == 0)
		r = skm_value_check_keys(place, object, &policy_words, err);
	if (r < 0)
		return r;
	if (!json_object_object_get_ex(object, "tcpmem", &value))
		return skm_place_fail(place, err, "tcpmem is missing; " EXAMPLE);
	if (json_object_is_type(value, json_type_object))
		r = read_tcpmem_object(&tcpmem, value, &policy, err);
	else
		r = read_size(&tcpmem, value, "write \"64Mi\", \"12%\", \"max\", bytes, or an object with limit and mode",
		              &policy.tcpmem_limit, err);
	if (r < 0)
		return r;
	ret->tcpmem_limit = policy.tcpmem_limit;
	ret->mode = policy.mode;
	return 0;
}

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
	return r < 0 ? r : read_policy(&root, document, ret, err);
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
	ret->tcpmem_limit = policy.tcpmem_limit;
	ret->mode = policy.mode;
	return 0;
}

static void write_tcpmem(struct skm_writer *writer, const struct skm_policy *policy)
{
	char limit[SKM_SIZE_TEXT_MAX];

	skm_writer_object(writer, "tcpmem");
	skm_writer_text(writer, "limit", skm_size_format(&policy->tcpmem_limit, limit));
	skm_writer_text(writer, "mode", skm_name_of(&skm_mode_names, policy->mode));
	skm_writer_end(writer);
}

char *skm_codec_policy_format(const struct skm_policy *policy)
{
	struct skm_writer *writer = skm_writer_new_object();

	write_tcpmem(writer, policy);
	return skm_writer_finish(writer, false);
}

void skm_policy_write(struct skm_writer *writer, const char *key, const struct skm_policy *policy)
{
	skm_writer_object(writer, key);
	write_tcpmem(writer, policy);
	skm_writer_text(writer, "source", skm_name_of(&skm_policy_source_names, policy->source));
	skm_writer_end(writer);
}

int skm_policy_read(const struct skm_place *place, struct json_object *value, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, "source");
	struct json_object *word = NULL;
	char echo[SKM_ECHO_MAX];
	int r, source = -1;

	if (json_object_is_type(value, json_type_object) && json_object_object_get_ex(value, "source", &word) &&
	    json_object_is_type(word, json_type_string))
		source = skm_name_find(&skm_policy_source_names, json_object_get_string(word));
	if (source < 0)
		return skm_place_fail(&inside, err, "%s is no source of a policy", skm_value_echo(word, echo));
	/* the rest is a policy as tenants write it, to whose keys source does not belong */
	json_object_object_del(value, "source");
	r = read_policy(place, value, ret, err);
	if (r == 0)
		ret->source = (enum skm_policy_source)source;
	return r;
}
