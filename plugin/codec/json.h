/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: the one strict reader of JSON text. */
#ifndef SKM_CODEC_JSON_H
#define SKM_CODEC_JSON_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct json_object;

struct skm_json_rules {
	const char *name;  /* of the document, in errors */
	const char *right; /* what would be right, for a text that is no such document at all */
	const char *whole; /* what to do about a text that is cut; NULL: "pass it whole" */
	size_t text_max;
	unsigned int depth_max; /* objects and arrays inside each other; at most 64, for the stack's sake */
	/* The keys that may not stand twice in one object, ended by NULL; NULL: none may. One that ends with '.' stands for all
	 * that begin with it. Of other keys the last one counts. */
	const char *const *unique_keys;
};

/* Reads a whole document: RFC 8259 to the letter, in UTF-8, no byte after it, no key twice, no NUL not even as \u0000, integers
 * exact or refused (what is no integer is a double).
 * ret: untouched on failure, else a reference for the caller to put (NULL is JSON's null).
 * Returns 0; -EINVAL with the byte offset and the path; -E2BIG; -ENOMEM. */
int skm_json_read(const char *text, size_t length, const struct skm_json_rules *rules, struct json_object **ret,
                  struct skm_err *err);

/* The value as JSON text in ASCII, as skm_writer_finish describes it. The caller frees; NULL: out of memory. */
char *skm_json_text(struct json_object *value, bool pretty);

/* For a variable that holds a reference. */
#define cleanup_json __attribute__((cleanup(skm_json_cleanup)))
void skm_json_cleanup(struct json_object **value);

#endif
