/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/value.h"

#include "base/cleanup.h"
#include "codec/json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>

/* As skm_err_set does it, so that a cut is seen. */
static const char CUT_MARK[] = "\xe2\x80\xa6";

static void append(char *buffer, size_t size, const char *text)
{
	size_t have = strlen(buffer), more = strlen(text);

	if (have + more < size)
		memcpy(buffer + have, text, more + 1);
	else if (have + sizeof(CUT_MARK) <= size)
		memcpy(buffer + have, CUT_MARK, sizeof(CUT_MARK));
	else
		memcpy(buffer + size - sizeof(CUT_MARK), CUT_MARK, sizeof(CUT_MARK));
}

static bool is_plain_word(const char *key)
{
	if (!isalpha((unsigned char)*key) && *key != '_')
		return false;
	for (; *key; key++)
		if (!isalnum((unsigned char)*key) && *key != '_')
			return false;
	return true;
}

static void append_place(const struct skm_place *place, char *buffer)
{
	char part[SKM_ECHO_MAX + 8], echo[SKM_ECHO_MAX];

	if (!place->parent) {
		snprintf(buffer, SKM_PLACE_TEXT_MAX, "$");
		return;
	}
	append_place(place->parent, buffer);
	if (!place->key)
		snprintf(part, sizeof(part), "[%zu]", place->index);
	else if (is_plain_word(place->key) && strlen(place->key) < SKM_ECHO_MAX)
		snprintf(part, sizeof(part), ".%s", place->key);
	else
		snprintf(part, sizeof(part), "[%s]", skm_text_echo(place->key, strlen(place->key), echo));
	append(buffer, SKM_PLACE_TEXT_MAX, part);
}

const char *skm_place_path(const struct skm_place *place, char buffer[SKM_PLACE_TEXT_MAX])
{
	append_place(place, buffer);
	return buffer;
}

const char *skm_place_document(const struct skm_place *place)
{
	while (place->parent)
		place = place->parent;
	return place->key;
}

int skm_place_fail(const struct skm_place *place, struct skm_err *err, const char *format, ...)
{
	char path[SKM_PLACE_TEXT_MAX], text[SKM_ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return skm_err_set(err, EINVAL, "%s: %s: %s", skm_place_document(place), skm_place_path(place, path), text);
}

const char *skm_value_echo(struct json_object *value, char buffer[SKM_ECHO_MAX])
{
	cleanup_free char *text = skm_json_text(value, false);
	const size_t shown = 60;

	if (!text)
		snprintf(buffer, SKM_ECHO_MAX, "?");
	else if (strlen(text) <= shown)
		snprintf(buffer, SKM_ECHO_MAX, "%s", text);
	else
		snprintf(buffer, SKM_ECHO_MAX, "%.*s%s", (int)shown, text, CUT_MARK);
	return buffer;
}

const char *skm_text_echo(const char *text, size_t length, char buffer[SKM_ECHO_MAX])
{
	cleanup_json struct json_object *value = json_object_new_string_len(text, length > 128 ? 128 : (int)length);

	return skm_value_echo(value, buffer);
}

const char *skm_value_kind(struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_null:
		return "null";
	case json_type_boolean:
		return "a boolean";
	case json_type_double:
		return "a number that is not written as an integer";
	case json_type_int:
		return "an integer";
	case json_type_object:
		return "an object";
	case json_type_array:
		return "an array";
	case json_type_string:
		return "a string";
	}
	return "a value";
}

int skm_value_uint(const struct skm_place *place, struct json_object *value, uint64_t max, uint64_t *ret, struct skm_err *err)
{
	char echo[SKM_ECHO_MAX];

	if (!json_object_is_type(value, json_type_int))
		return skm_place_fail(place, err, "%s, wanted an integer", skm_value_kind(value));
	if (json_object_get_int64(value) < 0 || json_object_get_uint64(value) > max)
		return skm_place_fail(place, err, "%s is out of range; wanted 0 to %" PRIu64, skm_value_echo(value, echo), max);
	*ret = json_object_get_uint64(value);
	return 0;
}

int skm_value_text(const struct skm_place *place, struct json_object *value, char *buffer, size_t size, struct skm_err *err)
{
	size_t length;

	if (!json_object_is_type(value, json_type_string))
		return skm_place_fail(place, err, "%s, wanted a string", skm_value_kind(value));
	length = (size_t)json_object_get_string_len(value);
	if (length >= size)
		return skm_place_fail(place, err, "a string of %zu bytes; at most %zu are taken", length, size - 1);
	memcpy(buffer, json_object_get_string(value), length + 1);
	return 0;
}

int skm_value_object(const struct skm_place *place, struct json_object *value, const char *right, struct skm_err *err)
{
	if (!json_object_is_type(value, json_type_object))
		return skm_place_fail(place, err, "%s, wanted an object; %s", skm_value_kind(value), right);
	return 0;
}

#define WORD_MAX 24

/* Levenshtein's distance without regard to case, or WORD_MAX where a word is longer than any of ours. */
static size_t edits_between(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1], rows = strlen(a), columns = strlen(b);

	if (rows > WORD_MAX || columns > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= columns; j++)
		row[j] = j;
	for (size_t i = 1; i <= rows; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= columns; j++) {
			bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
			size_t best = diagonal + !same;

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[columns];
}

const char *skm_words_nearest(const char *const *known, const char *word)
{
	const char *nearest = NULL;
	size_t fewest = 3; /* two edits: a letter wrong and one missing, or two letters swapped */

	for (const char *const *one = known; *one; one++) {
		size_t edits = edits_between(*one, word);

		if (edits < fewest && edits < strlen(word)) { /* some of what was written has to be right */
			fewest = edits;
			nearest = *one;
		}
	}
	return nearest;
}

const char *skm_words_hint(const char *const *known, const char *word, char buffer[SKM_WORDS_TEXT_MAX])
{
	const char *nearest = skm_words_nearest(known, word);

	snprintf(buffer, SKM_WORDS_TEXT_MAX, "known here: ");
	for (const char *const *one = known; *one; one++) {
		if (one != known)
			append(buffer, SKM_WORDS_TEXT_MAX, ", ");
		append(buffer, SKM_WORDS_TEXT_MAX, *one);
	}
	if (nearest) {
		append(buffer, SKM_WORDS_TEXT_MAX, "; did you mean ");
		append(buffer, SKM_WORDS_TEXT_MAX, nearest);
		append(buffer, SKM_WORDS_TEXT_MAX, "?");
	}
	return buffer;
}

static bool is_among(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

int skm_value_check_keys(const struct skm_place *place, struct json_object *object, const char *const *known, struct skm_err *err)
{
	char hint[SKM_WORDS_TEXT_MAX];

	json_object_object_foreach(object, key, value)
	{
		struct skm_place inside = SKM_PLACE_KEY(place, key);

		(void)value;
		if (!is_among(known, key))
			return skm_place_fail(&inside, err, "unknown key; %s", skm_words_hint(known, key, hint));
	}
	return 0;
}
