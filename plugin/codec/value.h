/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: values of a document that was read, with the place where each stands, so that every error can name it. */
#ifndef SKM_CODEC_VALUE_H
#define SKM_CODEC_VALUE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;

/* A place in a document, a chain on the callers' stacks. The outermost has no parent, and the document's name for a key. */
struct skm_place {
	const struct skm_place *parent;
	const char *key; /* NULL: an element of an array */
	size_t index;
};

#define SKM_PLACE_ROOT(name) ((struct skm_place){.key = (name)})
#define SKM_PLACE_KEY(parent_, key_) ((struct skm_place){.parent = (parent_), .key = (key_)})
#define SKM_PLACE_INDEX(parent_, index_) ((struct skm_place){.parent = (parent_), .index = (index_)})

/* Writes the path, "$.tcpmem.limit", a key that is no plain word as ["io.sockmem.policy"]. Returns buffer. A path too long is cut
 * with "…". */
#define SKM_PLACE_TEXT_MAX 160
const char *skm_place_path(const struct skm_place *place, char buffer[SKM_PLACE_TEXT_MAX]);

/* The document's name. */
const char *skm_place_document(const struct skm_place *place);

/* Sets "DOCUMENT: PATH: text" with EINVAL. Returns -EINVAL. */
int skm_place_fail(const struct skm_place *place, struct skm_err *err, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Writes a value, or a text as a JSON string, so that it can be shown: ASCII, escaped, at most 60 characters, then "…".
 * Returns buffer. */
#define SKM_ECHO_MAX 72
const char *skm_value_echo(struct json_object *value, char buffer[SKM_ECHO_MAX]);
const char *skm_text_echo(const char *text, size_t length, char buffer[SKM_ECHO_MAX]);

/* "a string", "an integer", … */
const char *skm_value_kind(struct json_object *value);

/* Each returns 0, or -EINVAL with err set; ret is untouched on failure. */

/* An integer from 0 to max. */
int skm_value_uint(const struct skm_place *place, struct json_object *value, uint64_t max, uint64_t *ret, struct skm_err *err);

/* A string of at most size - 1 bytes, into buffer. */
int skm_value_text(const struct skm_place *place, struct json_object *value, char *buffer, size_t size, struct skm_err *err);

int skm_value_object(const struct skm_place *place, struct json_object *value, const char *right, struct skm_err *err);

/* Refuses the first key of an object that is not among the known ones, a list that ends with NULL; a near miss gets its "did you
 * mean". */
int skm_value_check_keys(const struct skm_place *place, struct json_object *object, const char *const *known,
                         struct skm_err *err);

/* The word that was probably meant: at most two edits away, and not all of it wrong. NULL: none. */
const char *skm_words_nearest(const char *const *known, const char *word);

/* Writes "known here: a, b, c", with "; did you mean b?" where one is near. Returns buffer. */
#define SKM_WORDS_TEXT_MAX 200
const char *skm_words_hint(const char *const *known, const char *word, char buffer[SKM_WORDS_TEXT_MAX]);

#endif
