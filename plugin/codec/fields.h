/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: one table describes how a struct stands in JSON, and serves both directions. Reading is strict: every field
 * has to be there and no other may be. */
#ifndef SKM_CODEC_FIELDS_H
#define SKM_CODEC_FIELDS_H

#include "base/err.h"
#include "codec/value.h"
#include "codec/writer.h"
#include "model/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum skm_field_kind {
	SKM_FIELD_VERSION, /* SKM_PROTOCOL_VERSION, no member of the struct; first in its table */
	SKM_FIELD_U64,
	SKM_FIELD_U32,
	SKM_FIELD_PID, /* pid_t, never negative */
	SKM_FIELD_BOOL,
	SKM_FIELD_TEXT,  /* char[size] */
	SKM_FIELD_WORD,  /* an enum, by its name table */
	SKM_FIELD_SHARE, /* uint32_t permyriad, a number with up to four decimals in JSON */
	SKM_FIELD_POLICY,
	SKM_FIELD_TEXTS,  /* char[rows][size], and how many of the rows are in use, uint32_t at count_offset: an array of texts */
	SKM_FIELD_OBJECT, /* an object in JSON whose fields are members of the same struct */
};

struct skm_fields;

struct skm_field {
	const char *key;
	enum skm_field_kind kind;
	size_t offset, size, rows, count_offset;
	const struct skm_names *names;
	const struct skm_fields *inside;
	bool nullable; /* U64: the value `none` is null in JSON */
	uint64_t none;
};

struct skm_fields {
	const struct skm_field *fields;
	size_t count;
};

/* type: the struct; member: where in it. The key is written out, so that a member can be renamed without a new format. */
#define SKM_VERSION_FIELD                                                                                                        \
	{                                                                                                                        \
		.key = "version", .kind = SKM_FIELD_VERSION                                                                      \
	}
#define SKM_MEMBER_FIELD(kind_, key_, type, member)                                                                              \
	.key = (key_), .kind = (kind_), .offset = offsetof(type, member), .size = sizeof(((type *)NULL)->member)
#define SKM_U64(key, type, member)                                                                                               \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_U64, key, type, member)                                                               \
	}
#define SKM_U64_OR_NULL(key, type, member, none_)                                                                                \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_U64, key, type, member), .nullable = true, .none = (none_)                            \
	}
#define SKM_U32(key, type, member)                                                                                               \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_U32, key, type, member)                                                               \
	}
#define SKM_PID(key, type, member)                                                                                               \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_PID, key, type, member)                                                               \
	}
#define SKM_BOOL(key, type, member)                                                                                              \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_BOOL, key, type, member)                                                              \
	}
#define SKM_TEXT(key, type, member)                                                                                              \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_TEXT, key, type, member)                                                              \
	}
#define SKM_WORD(key, type, member, names_)                                                                                      \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_WORD, key, type, member), .names = &(names_)                                          \
	}
#define SKM_SHARE(key, type, member)                                                                                             \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_SHARE, key, type, member)                                                             \
	}
#define SKM_POLICY(key, type, member)                                                                                            \
	{                                                                                                                        \
		SKM_MEMBER_FIELD(SKM_FIELD_POLICY, key, type, member)                                                            \
	}
#define SKM_TEXTS(key_, type, member, count_member)                                                                              \
	{                                                                                                                        \
		.key = (key_), .kind = SKM_FIELD_TEXTS, .offset = offsetof(type, member),                                        \
		.size = sizeof(((type *)NULL)->member[0]),                                                                       \
		.rows = sizeof(((type *)NULL)->member) / sizeof(((type *)NULL)->member[0]),                                      \
		.count_offset = offsetof(type, count_member),                                                                    \
	}
#define SKM_OBJECT(key_, inside_)                                                                                                \
	{                                                                                                                        \
		.key = (key_), .kind = SKM_FIELD_OBJECT, .inside = &(inside_)                                                    \
	}

#define SKM_FIELDS(table)                                                                                                        \
	{                                                                                                                        \
		(table), sizeof(table) / sizeof(*(table))                                                                        \
	}

/* Writes base's members into the object in which the writer stands. */
void skm_fields_write(struct skm_writer *writer, const struct skm_fields *fields, const void *base);

/* Reads an object into base, whose other members are left alone. Where it fails, base may have been written in part.
 * Returns 0; -EPROTO where the version is another; -EINVAL. */
int skm_fields_read(const struct skm_place *place, struct json_object *object, const struct skm_fields *fields, void *base,
                    struct skm_err *err);

/* An array of structs of `size` bytes each. *ret: the caller frees it (never NULL, an empty array too). Returns as above, or
 * -ENOMEM. */
int skm_fields_read_array(const struct skm_place *place, struct json_object *array, const struct skm_fields *fields, size_t size,
                          void **ret, size_t *ret_count, struct skm_err *err);

/* Of a text: a journal with the baselines of 250,000 sockets. */
#define SKM_FIELDS_TEXT_MAX (16 * 1024 * 1024)

/* The same with a text around it: a whole document that is one object, or an array of them. name: of the document, in errors.
 * Also -E2BIG over SKM_FIELDS_TEXT_MAX. */
int skm_fields_parse(const char *text, size_t length, const char *name, const struct skm_fields *fields, void *base,
                     struct skm_err *err);
int skm_fields_parse_array(const char *text, size_t length, const char *name, const struct skm_fields *fields, size_t size,
                           void **ret, size_t *ret_count, struct skm_err *err);

/* Reads the text of a document of our own for those above. Returns as skm_json_read. */
int skm_fields_read_text(const char *text, size_t length, const char *name, struct json_object **ret, struct skm_err *err);

/* A whole document that is one object. The caller frees it; NULL: out of memory. */
char *skm_fields_format(const struct skm_fields *fields, const void *base, bool pretty);

/* The version alone, for an object that is otherwise read by hand. Returns 0; -EPROTO; -EINVAL where there is none. */
int skm_fields_check_version(const struct skm_place *place, struct json_object *object, struct skm_err *err);

#endif
