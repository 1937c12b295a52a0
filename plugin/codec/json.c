/* SPDX-License-Identifier: Apache-2.0 */
/* Structure is read here, single strings and fractions are turned into values by json-c, and its objects are the tree.
 *
 * json-c's own reading of a whole document is no ground for a verdict on what a tenant wrote: in 0.16 even its strict flag
 * merges duplicate keys without a word, saturates integers, takes NaN and raw control characters, and replaces lone
 * surrogates; and later versions differ from it. */
#include "codec/json.h"

#include "codec/utf8.h"
#include "codec/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *text;
	size_t length, at;
	unsigned int depth;
	const struct skm_json_rules *rules;
	struct json_tokener *tokener;
	struct skm_err *err;
};

static int read_value(struct reader *reader, const struct skm_place *place, struct json_object **ret);

void skm_json_cleanup(struct json_object **value)
{
	json_object_put(*value);
}

static int out_of_memory(struct reader *reader)
{
	return skm_err_set(reader->err, ENOMEM, "%s: out of memory", reader->rules->name);
}

static int __attribute__((format(printf, 3, 4)))
broken(struct reader *reader, const struct skm_place *place, const char *format, ...)
{
	char path[SKM_PLACE_TEXT_MAX], text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return skm_err_set(reader->err, EINVAL, "%s: at byte %zu, in %s: %s", reader->rules->name, reader->at,
	                   skm_place_path(place, path), text);
}

/* Annotations are cut on their way more often than they are written cut (CASES.md, C13): say so. */
static int cut(struct reader *reader, const struct skm_place *place, const char *where)
{
	char path[SKM_PLACE_TEXT_MAX];

	return skm_err_set(reader->err, EINVAL, "%s: ends after %zu bytes, %s, in %s: it looks cut; %s", reader->rules->name,
	                   reader->length, where, skm_place_path(place, path),
	                   reader->rules->whole ? reader->rules->whole : "pass it whole");
}

static bool at_end(const struct reader *reader)
{
	return reader->at == reader->length;
}

/* The next byte; NUL at the end too, as a NUL is welcome nowhere. */
static char next(const struct reader *reader)
{
	return at_end(reader) ? '\0' : reader->text[reader->at];
}

static bool take(struct reader *reader, char c)
{
	if (at_end(reader) || next(reader) != c)
		return false;
	reader->at++;
	return true;
}

static void skip_space(struct reader *reader)
{
	while (!at_end(reader) && strchr(" \t\n\r", next(reader)) && next(reader) != '\0')
		reader->at++;
}

static int unexpected(struct reader *reader, const struct skm_place *place, const char *wanted)
{
	unsigned char c = (unsigned char)next(reader);
	char where[64];

	if (at_end(reader)) {
		snprintf(where, sizeof(where), "before %s", wanted);
		return cut(reader, place, where);
	}
	if (c == '\'')
		return broken(reader, place, "found a single quote, wanted %s; JSON takes double quotes only", wanted);
	if (c > ' ' && c < 0x7f)
		return broken(reader, place, "found '%c', wanted %s", c, wanted);
	return broken(reader, place, "found the byte 0x%02x, wanted %s", c, wanted);
}

/* Quotes suffer on the way through shells, CSV and templates (CASES.md, C13): say what seems to have happened to them. */
static int unexpected_key(struct reader *reader, const struct skm_place *place)
{
	static const char wanted[] = "a key in double quotes";

	if (next(reader) == '\\')
		return broken(reader, place, "found a backslash, wanted %s; these were escaped once too often on their way",
		              wanted);
	if (isalpha((unsigned char)next(reader)))
		return broken(reader, place, "found '%c', wanted %s; a shell or a template may have taken them", next(reader),
		              wanted);
	return unexpected(reader, place, wanted);
}

static int unexpected_after_key(struct reader *reader, const struct skm_place *place)
{
	if (!*place->key && (isalpha((unsigned char)next(reader)) || next(reader) == '"'))
		return broken(reader, place, "found '%c', wanted ':' after the key \"\"; the quotes are doubled: write each once",
		              next(reader));
	return unexpected(reader, place, "':' after the key");
}

/* Has json-c make the value of one token that was checked already. */
static int convert(struct reader *reader, size_t start, struct json_object **ret)
{
	struct json_object *value;

	json_tokener_reset(reader->tokener);
	value = json_tokener_parse_ex(reader->tokener, reader->text + start, (int)(reader->at - start));
	/* a number has no end of its own: the NUL tells json-c that this was all */
	if (!value && json_tokener_get_error(reader->tokener) == json_tokener_continue)
		value = json_tokener_parse_ex(reader->tokener, "", 1);
	if (!value)
		return out_of_memory(reader);
	*ret = value;
	return 0;
}

/* A string without escapes, which was checked already. json-c's tokener sets the locale for each token, which was three quarters
 * of the time that reading a config.json took (callgrind). */
static int copy_string(struct reader *reader, size_t start, struct json_object **ret)
{
	struct json_object *value = json_object_new_string_len(reader->text + start + 1, (int)(reader->at - start - 2));

	if (!value)
		return out_of_memory(reader);
	*ret = value;
	return 0;
}

/* Four hex digits: the value, or -1. */
static int32_t hex4(const char *text, size_t length)
{
	char digits[5] = "";

	if (length < 4)
		return -1;
	memcpy(digits, text, 4);
	return strspn(digits, "0123456789abcdefABCDEF") == 4 ? (int32_t)strtol(digits, NULL, 16) : -1;
}

/* Whether the text ends before the string does and before `wanted` bytes are there. */
static bool ends_within(const struct reader *reader, size_t wanted)
{
	size_t left = reader->length - reader->at;

	return left < wanted && !memchr(reader->text + reader->at, '"', left);
}

/* After \u: one unit, or the two of a surrogate pair. */
static int read_unicode_escape(struct reader *reader, const struct skm_place *place)
{
	int32_t unit = hex4(reader->text + reader->at, reader->length - reader->at), second = -1;

	if (unit < 0)
		return ends_within(reader, 4) ? cut(reader, place, "inside an escape")
		                              : broken(reader, place, "\\u takes four hex digits");
	if (unit == 0)
		return broken(reader, place, "\\u0000, a NUL character, is not taken");
	reader->at += 4;
	if (unit < 0xd800 || unit > 0xdfff)
		return 0;
	if (unit < 0xdc00 && ends_within(reader, 6))
		return cut(reader, place, "inside an escape");
	if (take(reader, '\\') && take(reader, 'u'))
		second = hex4(reader->text + reader->at, reader->length - reader->at);
	if (unit >= 0xdc00 || second < 0xdc00 || second > 0xdfff)
		return broken(reader, place, "\\u%04x is half a surrogate pair", (unsigned int)unit);
	reader->at += 4;
	return 0;
}

static int read_escape(struct reader *reader, const struct skm_place *place)
{
	if (at_end(reader))
		return cut(reader, place, "inside an escape");
	if (take(reader, 'u'))
		return read_unicode_escape(reader, place);
	if (next(reader) == '\0' || !strchr("\"\\/bfnrt", next(reader)))
		return broken(reader, place, "no such escape in JSON; a backslash itself is written \\\\");
	reader->at++;
	return 0;
}

static int read_character(struct reader *reader, const struct skm_place *place)
{
	unsigned char c = (unsigned char)next(reader);
	size_t left = reader->length - reader->at, bytes;
	uint32_t point;

	if (c == '\0')
		return broken(reader, place, "a NUL byte");
	if (c < ' ')
		return broken(reader, place, "a control character (0x%02x) inside a string; write it as \\u%04x", c, c);
	if (c < 0x80) {
		reader->at++;
		return 0;
	}
	bytes = skm_utf8_decode(reader->text + reader->at, left, &point);
	if (bytes == 0 && skm_utf8_length(c) > left)
		return cut(reader, place, "inside a character");
	if (bytes == 0)
		return broken(reader, place, "the byte 0x%02x is no UTF-8", c);
	reader->at += bytes;
	return 0;
}

/* At the opening quote. */
static int read_string(struct reader *reader, const struct skm_place *place, struct json_object **ret)
{
	size_t start = reader->at++;
	bool as_it_is = true;

	while (!take(reader, '"')) {
		int r;

		if (at_end(reader))
			return cut(reader, place, "inside a string");
		if (take(reader, '\\')) {
			as_it_is = false;
			r = read_escape(reader, place);
		} else {
			r = read_character(reader, place);
		}
		if (r < 0)
			return r;
	}
	return as_it_is ? copy_string(reader, start, ret) : convert(reader, start, ret);
}

static size_t skip_digits(struct reader *reader)
{
	size_t start = reader->at;

	while (next(reader) >= '0' && next(reader) <= '9')
		reader->at++;
	return reader->at - start;
}

static int make_integer(struct reader *reader, const struct skm_place *place, size_t start, struct json_object **ret)
{
	char digits[24];
	size_t length = reader->at - start;
	struct json_object *value;

	if (length < sizeof(digits)) {
		memcpy(digits, reader->text + start, length);
		digits[length] = '\0';
		errno = 0;
		if (*digits == '-')
			value = json_object_new_int64(strtoll(digits, NULL, 10));
		else
			value = json_object_new_uint64(strtoull(digits, NULL, 10));
		if (!value)
			return out_of_memory(reader);
		if (errno == 0) {
			*ret = value;
			return 0;
		}
		json_object_put(value);
	}
	reader->at = start;
	return broken(reader, place, "an integer beyond 64 bits; at most 9223372036854775807 makes sense");
}

static int read_number(struct reader *reader, const struct skm_place *place, struct json_object **ret)
{
	size_t start = reader->at;
	bool integer = true;

	take(reader, '-');
	if (take(reader, '0')) {
		if (next(reader) >= '0' && next(reader) <= '9')
			return broken(reader, place, "a number with a leading 0; leave the 0 out");
	} else if (skip_digits(reader) == 0) {
		return unexpected(reader, place, "a digit");
	}
	if (take(reader, '.')) {
		integer = false;
		if (skip_digits(reader) == 0)
			return unexpected(reader, place, "a digit after the point");
	}
	if (take(reader, 'e') || take(reader, 'E')) {
		integer = false;
		if (!take(reader, '-'))
			take(reader, '+');
		if (skip_digits(reader) == 0)
			return unexpected(reader, place, "the digits of an exponent");
	}
	return integer ? make_integer(reader, place, start, ret) : convert(reader, start, ret);
}

static int read_literal(struct reader *reader, const struct skm_place *place, struct json_object **ret)
{
	static const char *const LITERALS[] = {"null", "true", "false"};
	size_t left = reader->length - reader->at;

	for (size_t i = 0; i < 3; i++) {
		size_t length = strlen(LITERALS[i]);

		if (left > 0 && left < length && memcmp(reader->text + reader->at, LITERALS[i], left) == 0)
			return cut(reader, place, "inside a word");
		if (left < length || memcmp(reader->text + reader->at, LITERALS[i], length) != 0)
			continue;
		reader->at += length;
		*ret = i == 0 ? NULL : json_object_new_boolean(i == 1);
		return i > 0 && !*ret ? out_of_memory(reader) : 0;
	}
	return unexpected(reader, place, "a value (a string takes double quotes)");
}

/* Whether a key that stands twice is a fault in this kind of document. */
static bool has_to_be_unique(const struct skm_json_rules *rules, const char *key)
{
	if (!rules->unique_keys)
		return true;
	for (const char *const *unique = rules->unique_keys; *unique; unique++) {
		size_t length = strlen(*unique);
		bool is_beginning = (*unique)[length - 1] == '.';

		if (is_beginning ? strncmp(*unique, key, length) == 0 : strcmp(*unique, key) == 0)
			return true;
	}
	return false;
}

static int read_member(struct reader *reader, const struct skm_place *place, struct json_object *object)
{
	cleanup_json struct json_object *name = NULL;
	struct json_object *value = NULL;
	struct skm_place inside = {.parent = place};
	size_t start = reader->at;
	int r;

	if (next(reader) != '"')
		return unexpected_key(reader, place);
	r = read_string(reader, place, &name);
	if (r < 0)
		return r;
	inside.key = json_object_get_string(name);
	if (json_object_object_get_ex(object, inside.key, NULL) && has_to_be_unique(reader->rules, inside.key)) {
		reader->at = start;
		return broken(reader, &inside, "this key stands twice; keep one of the two");
	}
	skip_space(reader);
	if (!take(reader, ':'))
		return unexpected_after_key(reader, &inside);
	skip_space(reader);
	r = read_value(reader, &inside, &value);
	if (r < 0)
		return r;
	if (json_object_object_add(object, inside.key, value) < 0) {
		json_object_put(value);
		return out_of_memory(reader);
	}
	return 0;
}

static int read_element(struct reader *reader, const struct skm_place *place, struct json_object *array)
{
	struct skm_place inside = {.parent = place, .index = json_object_array_length(array)};
	struct json_object *value = NULL;
	int r = read_value(reader, &inside, &value);

	if (r < 0)
		return r;
	if (json_object_array_add(array, value) < 0) {
		json_object_put(value);
		return out_of_memory(reader);
	}
	return 0;
}

/* After the opening bracket: members or elements up to the closing one. */
static int read_inside(struct reader *reader, const struct skm_place *place, struct json_object *group, char close)
{
	bool is_object = close == '}';

	skip_space(reader);
	if (take(reader, close))
		return 0;
	for (;;) {
		int r = is_object ? read_member(reader, place, group) : read_element(reader, place, group);

		if (r < 0)
			return r;
		skip_space(reader);
		if (take(reader, close))
			return 0;
		if (!take(reader, ','))
			return unexpected(reader, place, is_object ? "',' or '}'" : "',' or ']'");
		skip_space(reader);
		if (next(reader) == close)
			return broken(reader, place, "a comma before '%c'; leave the comma out", close);
	}
}

static int read_group(struct reader *reader, const struct skm_place *place, struct json_object **ret)
{
	bool is_object = next(reader) == '{';
	struct json_object *group;
	int r;

	if (reader->depth == reader->rules->depth_max)
		return broken(reader, place, "nested deeper than %u", reader->rules->depth_max);
	group = is_object ? json_object_new_object() : json_object_new_array();
	if (!group)
		return out_of_memory(reader);
	reader->at++;
	reader->depth++;
	r = read_inside(reader, place, group, is_object ? '}' : ']');
	reader->depth--;
	if (r < 0)
		json_object_put(group);
	else
		*ret = group;
	return r;
}

static int read_value(struct reader *reader, const struct skm_place *place, struct json_object **ret)
{
	char c = next(reader);

	if (at_end(reader))
		return cut(reader, place, "before a value");
	if (c == '{' || c == '[')
		return read_group(reader, place, ret);
	if (c == '"')
		return read_string(reader, place, ret);
	if (c == '-' || (c >= '0' && c <= '9'))
		return read_number(reader, place, ret);
	return read_literal(reader, place, ret);
}

static int read_document(struct reader *reader, struct json_object **ret)
{
	struct skm_place root = SKM_PLACE_ROOT(reader->rules->name);
	struct json_object *value = NULL;
	int r;

	skip_space(reader);
	if (at_end(reader))
		return skm_err_set(reader->err, EINVAL, "%s: %s; %s", reader->rules->name,
		                   reader->length == 0 ? "empty" : "nothing but spaces", reader->rules->right);
	r = read_value(reader, &root, &value);
	if (r < 0)
		return r;
	skip_space(reader);
	if (!at_end(reader)) {
		json_object_put(value);
		return broken(reader, &root, "text after the end of the document; leave it out");
	}
	*ret = value;
	return 0;
}

int skm_json_read(const char *text, size_t length, const struct skm_json_rules *rules, struct json_object **ret,
                  struct skm_err *err)
{
	struct reader reader = {.text = text, .length = length, .rules = rules, .err = err};
	int r;

	if (length > rules->text_max)
		return skm_err_set(err, E2BIG, "%s: %zu bytes long; at most %zu are taken", rules->name, length, rules->text_max);
	reader.tokener = json_tokener_new();
	if (!reader.tokener)
		return out_of_memory(&reader);
	r = read_document(&reader, ret);
	json_tokener_free(reader.tokener);
	return r;
}
