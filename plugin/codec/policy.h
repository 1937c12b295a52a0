/* SPDX-License-Identifier: Apache-2.0 */
/* The one strict parser of policies, used by the hook, the daemon and the CLI alike. */
#ifndef SKM_CODEC_POLICY_H
#define SKM_CODEC_POLICY_H

#include "base/err.h"
#include "model/policy.h"

#include <stddef.h>

/* Parses the text of io.sockmem.policy (a JSON object).
 * name: how the document is called in errors ("annotation io.sockmem.policy", "POLICY").
 * ret: untouched on failure; else set in full but for source and profile, which are left for the caller.
 * Errors name the document, the place ($.tcpmem.limit, or the byte offset where JSON itself is broken), what is wrong and
 * what would be right. Returns 0; -EINVAL for every fault of the document; -E2BIG over SKM_POLICY_TEXT_MAX bytes; -ENOMEM. */
int skm_codec_policy_parse(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err);

/* Parses the short form, io.sockmem.tcpmem: a size alone, no JSON and no quotes. Errors as above. */
int skm_codec_tcpmem_parse(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err);

/* The values that are set as canonical JSON text, one line, that the parser reads back to the same policy. The caller frees it;
 * NULL: out of memory. */
char *skm_codec_policy_format(const struct skm_policy *policy);

/* Writes the whole policy as a member of the object in which the writer stands: every value, with its source, as reports have it
 * (schemas/inspect.schema.json, $defs/policy). */
struct skm_writer;
void skm_codec_policy_write(struct skm_writer *writer, const char *key, const struct skm_policy *policy);

#endif
