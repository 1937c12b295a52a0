/* SPDX-License-Identifier: Apache-2.0 */
/* Inside codec only: how each kind of value that a policy has stands in JSON, for both directions. */
#ifndef SKM_CODEC_POLICY_KIND_H
#define SKM_CODEC_POLICY_KIND_H

#include "base/units.h"
#include "codec/value.h"
#include "codec/writer.h"
#include "model/names.h"

enum skm_policy_kind {
	SKM_KIND_SIZE,        /* struct skm_size: a limit. An integer is bytes; else a text in the words of base/units.h */
	SKM_KIND_PROTECTION,  /* struct skm_size: an amount, which may be 0 or a multiple of the program's size */
	SKM_KIND_WORD,        /* an enum, by its name table */
	SKM_KIND_WORD_OR_NOT, /* the same; the enum's 0 is no word of the document, and null where a whole policy is written */
	SKM_KIND_BOOL,
	SKM_KIND_RATE,      /* uint64_t, bits per second; 0 is null where a whole policy is written */
	SKM_KIND_PERCENT,   /* uint32_t, permyriad */
	SKM_KIND_WINDOW,    /* uint64_t, microseconds, within what the kernel takes for a PSI trigger */
	SKM_KIND_PROTOCOLS, /* uint32_t, 1 << enum skm_protocol: a list of words */
};

/* Reads one value into member. Returns 0, or -EINVAL with the place, what is wrong and what would be right; member is untouched
 * on failure. names: for words. */
int skm_kind_read(enum skm_policy_kind kind, const struct skm_names *names, const struct skm_place *place,
                  struct json_object *value, void *member, struct skm_err *err);

void skm_kind_write(enum skm_policy_kind kind, const struct skm_names *names, struct skm_writer *writer, const char *key,
                    const void *member);

/* A size alone, for whoever has one outside a policy. */
int skm_kind_read_size(const struct skm_place *place, struct json_object *value, struct skm_size *ret, struct skm_err *err);

#endif
