/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/writer.h"

#include "codec/json.h"
#include "codec/utf8.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

struct skm_writer {
	struct json_object *open[DEPTH_MAX]; /* the root, which alone is owned, and what is open inside it */
	unsigned int depth;
	bool failed;
};

static struct skm_writer *new_writer(struct json_object *root)
{
	struct skm_writer *writer = calloc(1, sizeof(*writer));

	if (!writer || !root) {
		free(writer);
		json_object_put(root);
		return NULL;
	}
	writer->open[writer->depth++] = root;
	return writer;
}

struct skm_writer *skm_writer_new_object(void)
{
	return new_writer(json_object_new_object());
}

struct skm_writer *skm_writer_new_array(void)
{
	return new_writer(json_object_new_array());
}

/* Takes over value. A NULL value is JSON's null here. */
static bool add(struct skm_writer *writer, const char *key, struct json_object *value)
{
	struct json_object *into = writer->open[writer->depth - 1];
	int r;

	if (json_object_is_type(into, json_type_array))
		r = key ? -1 : json_object_array_add(into, value);
	else
		r = key ? json_object_object_add(into, key, value) : -1;
	if (r == 0)
		return true;
	json_object_put(value);
	writer->failed = true;
	return false;
}

/* The same where NULL means that the value could not be made. */
static bool add_made(struct skm_writer *writer, const char *key, struct json_object *value)
{
	if (!value)
		writer->failed = true;
	return value && add(writer, key, value);
}

void skm_writer_text(struct skm_writer *writer, const char *key, const char *text)
{
	if (!text)
		skm_writer_null(writer, key);
	else if (writer)
		add_made(writer, key, json_object_new_string(text));
}

void skm_writer_uint(struct skm_writer *writer, const char *key, uint64_t value)
{
	if (writer)
		add_made(writer, key, json_object_new_uint64(value));
}

void skm_writer_int(struct skm_writer *writer, const char *key, int64_t value)
{
	if (writer)
		add_made(writer, key, json_object_new_int64(value));
}

void skm_writer_bool(struct skm_writer *writer, const char *key, bool value)
{
	if (writer)
		add_made(writer, key, json_object_new_boolean(value));
}

void skm_writer_null(struct skm_writer *writer, const char *key)
{
	if (writer)
		add(writer, key, NULL);
}

void skm_writer_share(struct skm_writer *writer, const char *key, uint32_t permyriad)
{
	double value = (double)permyriad / 10000;
	char text[16];

	/* by integers: a double of its own accord would be written with 17 digits */
	snprintf(text, sizeof(text), "%u.%04u", permyriad / 10000, permyriad % 10000);
	if (writer)
		add_made(writer, key, json_object_new_double_s(value, text));
}

static void open_group(struct skm_writer *writer, const char *key, struct json_object *group)
{
	if (writer->depth == DEPTH_MAX) {
		json_object_put(group);
		writer->failed = true;
	} else if (add_made(writer, key, group)) {
		writer->open[writer->depth++] = group;
	}
}

void skm_writer_object(struct skm_writer *writer, const char *key)
{
	if (writer)
		open_group(writer, key, json_object_new_object());
}

void skm_writer_array(struct skm_writer *writer, const char *key)
{
	if (writer)
		open_group(writer, key, json_object_new_array());
}

void skm_writer_end(struct skm_writer *writer)
{
	if (writer && writer->depth > 1)
		writer->depth--;
}

char *skm_writer_finish(struct skm_writer *writer, bool pretty)
{
	char *text = NULL;

	if (!writer)
		return NULL;
	if (!writer->failed)
		text = skm_json_text(writer->open[0], pretty);
	json_object_put(writer->open[0]);
	free(writer);
	return text;
}

/* Writes one code point as JSON escapes. Returns the characters written, at most 12. */
static size_t escape(uint32_t point, char *out)
{
	if (point < 0x10000)
		return (size_t)sprintf(out, "\\u%04x", point);
	point -= 0x10000;
	return (size_t)sprintf(out, "\\u%04x\\u%04x", 0xd800 | point >> 10, 0xdc00 | (point & 0x3ff));
}

static size_t count_odd(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += (unsigned char)text[i] >= 0x7f;
	return count;
}

char *skm_json_text(struct json_object *value, bool pretty)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE | (pretty ? JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED : 0);
	size_t length = 0, at = 0, put = 0;
	const char *text = json_object_to_json_string_length(value, flags, &length);
	char *ascii = text ? malloc(length + count_odd(text, length) * 6 + 1) : NULL;

	if (!ascii)
		return NULL;
	while (at < length) {
		uint32_t point = '?';
		size_t bytes = skm_utf8_decode(text + at, length - at, &point);

		/* outside ASCII there are only the insides of strings, so escapes are right wherever they fall */
		if (point >= 0x7f)
			put += escape(point, ascii + put);
		else
			ascii[put++] = (char)point;
		at += bytes ? bytes : 1;
	}
	ascii[put] = '\0';
	return ascii;
}
