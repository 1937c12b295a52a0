/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: changes to a JSON text that leave every other byte as it is. The text has to be one that skm_json_read took:
 * nothing is checked again. */
#ifndef SKM_CODEC_JSON_TEXT_H
#define SKM_CODEC_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A document that is changed step by step. Owned by the caller, who frees text. */
struct skm_json_doc {
	char *text; /* ends with NUL */
	size_t length;
};

struct skm_json_span {
	size_t begin, end;
};

/* The document's outermost value. */
struct skm_json_span skm_json_text_root(const struct skm_json_doc *doc);

/* The value of an object's member; where a key stands twice, of the last. Returns false where there is none, or the value is
 * null, or the span is no object. */
bool skm_json_text_find(const struct skm_json_doc *doc, struct skm_json_span object, const char *key, struct skm_json_span *ret);

/* Sets a member of an object to `value` (JSON text): one that is null is replaced, else it is added behind the last, in the
 * object's own spacing. The object must have no such member that is not null. Spans are no longer good afterwards.
 * Returns 0 or -ENOMEM (then nothing was changed). */
int skm_json_text_add_member(struct skm_json_doc *doc, struct skm_json_span object, const char *key, const char *value);

/* Adds an element behind the last one of an array. Returns as above. */
int skm_json_text_add_element(struct skm_json_doc *doc, struct skm_json_span array, const char *value);

/* Takes a member out, with the comma that is then one too many. Returns as above; 0 also where there is no such member. */
int skm_json_text_remove_member(struct skm_json_doc *doc, struct skm_json_span object, const char *key);

#endif
