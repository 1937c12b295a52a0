/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/fields.h"

#include "codec/json.h"
#include "codec/policy-value.h"
#include "model/request.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Integers live in members of either width. */
static uint64_t load(const struct skm_field *field, const void *member)
{
	uint32_t narrow;
	uint64_t wide;

	if (field->size == sizeof(wide)) {
		memcpy(&wide, member, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, member, sizeof(narrow));
	return narrow;
}

static void store(const struct skm_field *field, void *member, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	if (field->size == sizeof(value))
		memcpy(member, &value, sizeof(value));
	else
		memcpy(member, &narrow, sizeof(narrow));
}

static void write_uint(struct skm_writer *writer, const struct skm_field *field, const void *member)
{
	uint64_t value = load(field, member);

	if (field->nullable && value == field->none)
		skm_writer_null(writer, field->key);
	else
		skm_writer_uint(writer, field->key, value);
}

static void write_texts(struct skm_writer *writer, const struct skm_field *field, const void *base)
{
	const char *row = (const char *)base + field->offset;
	uint32_t count = *(const uint32_t *)((const char *)base + field->count_offset);

	skm_writer_array(writer, field->key);
	for (uint32_t i = 0; i < count && i < field->rows; i++)
		skm_writer_text(writer, NULL, row + i * field->size);
	skm_writer_end(writer);
}

static void write_field(struct skm_writer *writer, const struct skm_field *field, const void *base)
{
	const void *member = (const char *)base + field->offset;

	switch (field->kind) {
	case SKM_FIELD_VERSION:
		skm_writer_uint(writer, field->key, SKM_PROTOCOL_VERSION);
		break;
	case SKM_FIELD_U64:
	case SKM_FIELD_U32:
	case SKM_FIELD_PID:
		write_uint(writer, field, member);
		break;
	case SKM_FIELD_BOOL:
		skm_writer_bool(writer, field->key, *(const bool *)member);
		break;
	case SKM_FIELD_TEXT:
		skm_writer_text(writer, field->key, member);
		break;
	case SKM_FIELD_WORD:
		skm_writer_text(writer, field->key, skm_name_of(field->names, (unsigned int)load(field, member)));
		break;
	case SKM_FIELD_SHARE:
		skm_writer_share(writer, field->key, (uint32_t)load(field, member));
		break;
	case SKM_FIELD_POLICY:
		skm_policy_write(writer, field->key, member);
		break;
	case SKM_FIELD_TEXTS:
		write_texts(writer, field, base);
		break;
	case SKM_FIELD_OBJECT:
		skm_writer_object(writer, field->key);
		skm_fields_write(writer, field->inside, base);
		skm_writer_end(writer);
		break;
	}
}

void skm_fields_write(struct skm_writer *writer, const struct skm_fields *fields, const void *base)
{
	for (size_t i = 0; i < fields->count; i++)
		write_field(writer, &fields->fields[i], base);
}

static int read_uint(const struct skm_place *place, struct json_object *value, const struct skm_field *field, void *member,
                     struct skm_err *err)
{
	uint64_t max = field->kind == SKM_FIELD_U64 ? UINT64_MAX : field->kind == SKM_FIELD_U32 ? UINT32_MAX : INT_MAX;
	uint64_t number = field->none;
	int r = 0;

	if (value || !field->nullable)
		r = skm_value_uint(place, value, max, &number, err);
	if (r == 0)
		store(field, member, number);
	return r;
}

static int read_bool(const struct skm_place *place, struct json_object *value, bool *member, struct skm_err *err)
{
	if (!json_object_is_type(value, json_type_boolean))
		return skm_place_fail(place, err, "%s, wanted a boolean", skm_value_kind(value));
	*member = json_object_get_boolean(value);
	return 0;
}

static int read_word(const struct skm_place *place, struct json_object *value, const struct skm_field *field, void *member,
                     struct skm_err *err)
{
	char echo[SKM_ECHO_MAX];
	int found =
	        json_object_is_type(value, json_type_string) ? skm_name_find(field->names, json_object_get_string(value)) : -1;

	if (found < 0)
		return skm_place_fail(place, err, "%s is no word that is known here", skm_value_echo(value, echo));
	store(field, member, (uint64_t)found);
	return 0;
}

static int read_share(const struct skm_place *place, struct json_object *value, const struct skm_field *field, void *member,
                      struct skm_err *err)
{
	char echo[SKM_ECHO_MAX];
	double share = json_object_get_double(value);

	if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
		return skm_place_fail(place, err, "%s, wanted a number", skm_value_kind(value));
	if (!(share >= 0 && share <= (double)UINT32_MAX / 10000))
		return skm_place_fail(place, err, "%s is out of range", skm_value_echo(value, echo));
	store(field, member, (uint64_t)(share * 10000 + 0.5));
	return 0;
}

static int read_texts(const struct skm_place *place, struct json_object *array, const struct skm_field *field, void *base,
                      struct skm_err *err)
{
	char *row = (char *)base + field->offset;
	size_t count;

	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted an array", skm_value_kind(array));
	count = json_object_array_length(array);
	if (count > field->rows)
		return skm_place_fail(place, err, "%zu elements, wanted at most %zu", count, field->rows);
	for (size_t i = 0; i < count; i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		int r = skm_value_text(&inside, json_object_array_get_idx(array, i), row + i * field->size, field->size, err);

		if (r < 0)
			return r;
	}
	*(uint32_t *)((char *)base + field->count_offset) = (uint32_t)count;
	return 0;
}

static int read_field(const struct skm_place *place, struct json_object *value, const struct skm_field *field, void *base,
                      struct skm_err *err)
{
	void *member = (char *)base + field->offset;

	switch (field->kind) {
	case SKM_FIELD_VERSION:
		return 0; /* checked before all others */
	case SKM_FIELD_U64:
	case SKM_FIELD_U32:
	case SKM_FIELD_PID:
		return read_uint(place, value, field, member, err);
	case SKM_FIELD_BOOL:
		return read_bool(place, value, member, err);
	case SKM_FIELD_TEXT:
		return skm_value_text(place, value, member, field->size, err);
	case SKM_FIELD_WORD:
		return read_word(place, value, field, member, err);
	case SKM_FIELD_SHARE:
		return read_share(place, value, field, member, err);
	case SKM_FIELD_POLICY:
		return skm_policy_read(place, value, member, err);
	case SKM_FIELD_TEXTS:
		return read_texts(place, value, field, base, err);
	case SKM_FIELD_OBJECT:
		return skm_fields_read(place, value, field->inside, base, err);
	}
	return skm_place_fail(place, err, "no such kind of field");
}

static const struct skm_field *find_field(const struct skm_fields *fields, const char *key)
{
	for (size_t i = 0; i < fields->count; i++)
		if (strcmp(fields->fields[i].key, key) == 0)
			return &fields->fields[i];
	return NULL;
}

int skm_fields_check_version(const struct skm_place *place, struct json_object *object, struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, "version");
	struct json_object *value;
	uint64_t version = 0;
	int r;

	if (!json_object_object_get_ex(object, "version", &value))
		return skm_place_fail(place, err, "version is missing");
	r = skm_value_uint(&inside, value, UINT64_MAX, &version, err);
	if (r < 0 || version == SKM_PROTOCOL_VERSION)
		return r;
	return skm_err_set(err, EPROTO,
	                   "%s has version %" PRIu64 ", this program knows version %d; "
	                   "the hook, sockmemd and sockmem have to come from one release",
	                   skm_place_document(place), version, SKM_PROTOCOL_VERSION);
}

int skm_fields_read(const struct skm_place *place, struct json_object *object, const struct skm_fields *fields, void *base,
                    struct skm_err *err)
{
	int r = skm_value_object(place, object, "it is written by sockmem itself", err);

	if (r == 0 && fields->fields[0].kind == SKM_FIELD_VERSION)
		r = skm_fields_check_version(place, object, err);
	for (size_t i = 0; r == 0 && i < fields->count; i++) {
		struct skm_place inside = SKM_PLACE_KEY(place, fields->fields[i].key);
		struct json_object *value;

		if (!json_object_object_get_ex(object, inside.key, &value))
			return skm_place_fail(place, err, "%s is missing", inside.key);
		r = read_field(&inside, value, &fields->fields[i], base, err);
	}
	if (r < 0)
		return r;
	json_object_object_foreach(object, key, unused)
	{
		struct skm_place inside = SKM_PLACE_KEY(place, key);

		(void)unused;
		if (!find_field(fields, key))
			return skm_place_fail(&inside, err, "unknown key");
	}
	return 0;
}

int skm_fields_read_array(const struct skm_place *place, struct json_object *array, const struct skm_fields *fields, size_t size,
                          void **ret, size_t *ret_count, struct skm_err *err)
{
	size_t count;
	char *items;

	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted an array", skm_value_kind(array));
	count = json_object_array_length(array);
	items = calloc(count + 1, size);
	if (!items)
		return skm_err_set(err, ENOMEM, "%s: out of memory", skm_place_document(place));
	for (size_t i = 0; i < count; i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		int r = skm_fields_read(&inside, json_object_array_get_idx(array, i), fields, items + i * size, err);

		if (r < 0) {
			free(items);
			return r;
		}
	}
	*ret = items;
	*ret_count = count;
	return 0;
}

int skm_fields_read_text(const char *text, size_t length, const char *name, struct json_object **ret, struct skm_err *err)
{
	const struct skm_json_rules rules = {
	        .name = name,
	        .right = "it is written by sockmem itself",
	        .text_max = SKM_FIELDS_TEXT_MAX,
	        .depth_max = 16,
	};

	return skm_json_read(text, length, &rules, ret, err);
}

int skm_fields_parse(const char *text, size_t length, const char *name, const struct skm_fields *fields, void *base,
                     struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT(name);
	cleanup_json struct json_object *document = NULL;
	int r = skm_fields_read_text(text, length, name, &document, err);

	return r < 0 ? r : skm_fields_read(&root, document, fields, base, err);
}

int skm_fields_parse_array(const char *text, size_t length, const char *name, const struct skm_fields *fields, size_t size,
                           void **ret, size_t *ret_count, struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT(name);
	cleanup_json struct json_object *document = NULL;
	int r = skm_fields_read_text(text, length, name, &document, err);

	return r < 0 ? r : skm_fields_read_array(&root, document, fields, size, ret, ret_count, err);
}

char *skm_fields_format(const struct skm_fields *fields, const void *base, bool pretty)
{
	struct skm_writer *writer = skm_writer_new_object();

	skm_fields_write(writer, fields, base);
	return skm_writer_finish(writer, pretty);
}
