/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of document that sockmem reads, each judged by the very parser that reads it. */
#ifndef SKM_CODEC_CHECK_H
#define SKM_CODEC_CHECK_H

#include "base/err.h"
#include "model/names.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>

enum skm_document {
	SKM_DOCUMENT_POLICY,  /* io.sockmem.policy: JSON */
	SKM_DOCUMENT_TCPMEM,  /* io.sockmem.tcpmem: a size alone */
	SKM_DOCUMENT_PROFILE, /* io.sockmem.profile: the name of a policy of the node file */
	SKM_DOCUMENT_NODE,    /* the node file */
	SKM_DOCUMENT_STATE,   /* the OCI state that a runtime gives a hook */
	SKM_DOCUMENT_CONFIG,  /* a bundle's config.json */
	SKM_DOCUMENT_LIST,    /* what `sockmem list --json` prints, and so on */
	SKM_DOCUMENT_INSPECT,
	SKM_DOCUMENT_EVENTS,
	SKM_DOCUMENT_RECORD,  /* an ended container's file */
	SKM_DOCUMENT_JOURNAL, /* a live container's baselines */
};
extern const struct skm_names skm_document_names; /* "policy", … */

/* How long a document of that kind may be, in bytes. */
size_t skm_codec_check_max(enum skm_document kind);

/* Judges a document.
 * name: how errors call it.
 * ret: where not NULL, the policy that it holds or asks for: of state and config, with its source. Untouched where there is none.
 * Returns 1 where *ret is set, 0 where the document is valid and is about no policy; the parser's own errno: -EINVAL, -E2BIG,
 * -EPROTO for sockmem's own documents of another version, -ENOMEM. */
int skm_codec_check(enum skm_document kind, const char *text, size_t length, const char *name, struct skm_policy *ret,
                    struct skm_err *err);

#endif
