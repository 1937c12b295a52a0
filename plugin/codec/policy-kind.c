/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/policy-kind.h"

#include "model/policy.h"

#include <json-c/json.h>
#include <limits.h>
#include <string.h>

/* kernel/sched/psi.c, psi_trigger_create: WINDOW_MIN_US and WINDOW_MAX_US; others are EINVAL there. */
#define WINDOW_MIN_USEC (500 * SKM_USEC_PER_MSEC)
#define WINDOW_MAX_USEC (10 * SKM_USEC_PER_SEC)

typedef int (*size_parser)(const char *text, size_t length, struct skm_size *ret, const char **ret_reason);

static int read_size(const struct skm_place *place, struct json_object *value, size_parser parse, struct skm_size *ret,
                     struct skm_err *err)
{
	const char *text = json_object_get_string(value), *reason = "not a size";
	const char *right = parse == skm_protection_parse ? "write \"64Mi\", \"12%\", \"exe\", \"max\" or bytes"
	                                                  : "write \"64Mi\", \"12%\", \"max\" or bytes";
	char echo[SKM_ECHO_MAX];

	if (json_object_is_type(value, json_type_double))
		return skm_place_fail(place, err, "%s: bytes are an integer without point and exponent; %s", text, right);
	if (!json_object_is_type(value, json_type_int) && !json_object_is_type(value, json_type_string))
		return skm_place_fail(place, err, "%s, wanted a size; %s", skm_value_kind(value), right);
	/* it may have more digits than the grammar takes, and the reason would then be about grammar */
	if (json_object_is_type(value, json_type_int) && json_object_get_uint64(value) > INT64_MAX)
		return skm_place_fail(place, err, "%s: more than 2^63-1 bytes; write \"max\" for no limit", text);
	/* an integer goes through its digits, for one grammar and one set of reasons */
	if (parse(text, strlen(text), ret, &reason) < 0)
		return skm_place_fail(place, err, "%s: %s", skm_value_echo(value, echo), reason);
	return 0;
}

int skm_kind_read_size(const struct skm_place *place, struct json_object *value, struct skm_size *ret, struct skm_err *err)
{
	return read_size(place, value, skm_size_parse, ret, err);
}

/* Where a text was wanted and is not there. */
static int check_text(const struct skm_place *place, struct json_object *value, const char *right, struct skm_err *err)
{
	if (json_object_is_type(value, json_type_string))
		return 0;
	return skm_place_fail(place, err, "%s, wanted a string; %s", skm_value_kind(value), right);
}

/* The words of a table from `first` on, ended by NULL. */
#define TABLE_WORDS_MAX 8
static void list_words(const struct skm_names *names, unsigned int first, const char *ret[TABLE_WORDS_MAX + 1])
{
	size_t count = 0;

	for (size_t i = first; i < names->count && count < TABLE_WORDS_MAX; i++)
		ret[count++] = names->names[i];
	ret[count] = NULL;
}

static int read_word(const struct skm_place *place, struct json_object *value, const struct skm_names *names, unsigned int first,
                     unsigned int *ret, struct skm_err *err)
{
	char echo[SKM_ECHO_MAX], hint[SKM_WORDS_TEXT_MAX];
	const char *words[TABLE_WORDS_MAX + 1];
	int found, r;

	list_words(names, first, words);
	r = check_text(place, value, skm_words_hint(words, "", hint), err);
	if (r < 0)
		return r;
	found = skm_name_find(names, json_object_get_string(value));
	if (found >= (int)first) {
		*ret = (unsigned int)found;
		return 0;
	}
	return skm_place_fail(place, err, "%s: unknown word; %s", skm_value_echo(value, echo),
	                      skm_words_hint(words, json_object_get_string(value), hint));
}

static int read_bool(const struct skm_place *place, struct json_object *value, bool *ret, struct skm_err *err)
{
	if (!json_object_is_type(value, json_type_boolean))
		return skm_place_fail(place, err, "%s, wanted a boolean; write true or false, without quotes",
		                      skm_value_kind(value));
	*ret = json_object_get_boolean(value);
	return 0;
}

static int read_rate(const struct skm_place *place, struct json_object *value, uint64_t *ret, struct skm_err *err)
{
	const char *text, *reason = "not a rate";
	char echo[SKM_ECHO_MAX];
	int r = check_text(place, value, "write a rate with its unit, \"10Mbit\"", err);

	if (r < 0)
		return r;
	text = json_object_get_string(value);
	if (skm_rate_parse(text, strlen(text), ret, &reason) < 0)
		return skm_place_fail(place, err, "%s: %s", skm_value_echo(value, echo), reason);
	return 0;
}

static int read_percent(const struct skm_place *place, struct json_object *value, uint32_t *ret, struct skm_err *err)
{
	const char *text, *reason = "not a percentage";
	char echo[SKM_ECHO_MAX];
	int r = check_text(place, value, "write a percentage, \"10%\"", err);

	if (r < 0)
		return r;
	text = json_object_get_string(value);
	if (skm_percent_parse(text, strlen(text), ret, &reason) < 0)
		return skm_place_fail(place, err, "%s: %s", skm_value_echo(value, echo), reason);
	return 0;
}

static int read_window(const struct skm_place *place, struct json_object *value, uint64_t *ret, struct skm_err *err)
{
	const char *text, *reason = "not a time";
	char echo[SKM_ECHO_MAX];
	uint64_t usec = 0;
	int r = check_text(place, value, "write a time with its unit, \"1s\"", err);

	if (r < 0)
		return r;
	text = json_object_get_string(value);
	if (skm_duration_parse(text, strlen(text), &usec, &reason) < 0)
		return skm_place_fail(place, err, "%s: %s", skm_value_echo(value, echo), reason);
	if (usec < WINDOW_MIN_USEC || usec > WINDOW_MAX_USEC)
		return skm_place_fail(place, err, "%s: out of range; the kernel takes 500ms to 10s", skm_value_echo(value, echo));
	*ret = usec;
	return 0;
}

static int read_protocols(const struct skm_place *place, struct json_object *array, uint32_t *ret, struct skm_err *err)
{
	uint32_t protocols = 0;

	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted a list; write [\"tcp\"]", skm_value_kind(array));
	if (json_object_array_length(array) == 0)
		return skm_place_fail(place, err, "an empty list; write [\"tcp\"], or leave the key out");
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		unsigned int protocol = 0;
		int r = read_word(&inside, json_object_array_get_idx(array, i), &skm_protocol_names, 0, &protocol, err);

		if (r < 0)
			return r;
		if (protocols & UINT32_C(1) << protocol)
			return skm_place_fail(&inside, err, "\"%s\" stands twice; keep one of the two",
			                      skm_name_of(&skm_protocol_names, protocol));
		protocols |= UINT32_C(1) << protocol;
	}
	*ret = protocols;
	return 0;
}

int skm_kind_read(enum skm_policy_kind kind, const struct skm_names *names, const struct skm_place *place,
                  struct json_object *value, void *member, struct skm_err *err)
{
	switch (kind) {
	case SKM_KIND_SIZE:
		return read_size(place, value, skm_size_parse, member, err);
	case SKM_KIND_PROTECTION:
		return read_size(place, value, skm_protection_parse, member, err);
	case SKM_KIND_WORD:
		return read_word(place, value, names, 0, member, err);
	case SKM_KIND_WORD_OR_NOT:
		return read_word(place, value, names, 1, member, err);
	case SKM_KIND_BOOL:
		return read_bool(place, value, member, err);
	case SKM_KIND_RATE:
		return read_rate(place, value, member, err);
	case SKM_KIND_PERCENT:
		return read_percent(place, value, member, err);
	case SKM_KIND_WINDOW:
		return read_window(place, value, member, err);
	case SKM_KIND_PROTOCOLS:
		return read_protocols(place, value, member, err);
	}
	return skm_place_fail(place, err, "no such kind of value");
}

static void write_protocols(struct skm_writer *writer, const char *key, uint32_t protocols)
{
	skm_writer_array(writer, key);
	for (unsigned int i = 0; i < skm_protocol_names.count; i++)
		if (protocols & UINT32_C(1) << i)
			skm_writer_text(writer, NULL, skm_name_of(&skm_protocol_names, i));
	skm_writer_end(writer);
}

void skm_kind_write(enum skm_policy_kind kind, const struct skm_names *names, struct skm_writer *writer, const char *key,
                    const void *member)
{
	char buffer[SKM_SIZE_TEXT_MAX];
	const char *text = NULL; /* null */

	switch (kind) {
	case SKM_KIND_SIZE:
	case SKM_KIND_PROTECTION:
		text = skm_size_format(member, buffer);
		break;
	case SKM_KIND_WORD:
		text = skm_name_of(names, *(const unsigned int *)member);
		break;
	case SKM_KIND_WORD_OR_NOT:
		if (*(const unsigned int *)member != 0)
			text = skm_name_of(names, *(const unsigned int *)member);
		break;
	case SKM_KIND_RATE:
		if (*(const uint64_t *)member != 0)
			text = skm_rate_format(*(const uint64_t *)member, buffer);
		break;
	case SKM_KIND_PERCENT:
		text = skm_percent_format(*(const uint32_t *)member, buffer);
		break;
	case SKM_KIND_WINDOW:
		text = skm_duration_format(*(const uint64_t *)member, buffer);
		break;
	case SKM_KIND_BOOL:
		skm_writer_bool(writer, key, *(const bool *)member);
		return;
	case SKM_KIND_PROTOCOLS:
		write_protocols(writer, key, *(const uint32_t *)member);
		return;
	}
	skm_writer_text(writer, key, text);
}
