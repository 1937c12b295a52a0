/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's file for one container: what stood before sockmem first wrote, so that any later enforcer can put it back. */
#ifndef SKM_CODEC_JOURNAL_H
#define SKM_CODEC_JOURNAL_H

#include "base/err.h"
#include "model/journal.h"

#include <stddef.h>

/* The caller frees; NULL: out of memory. */
char *skm_codec_journal_format(const struct skm_journal *journal);

/* ret: untouched on failure; on success give it to skm_codec_journal_free. Returns 0; -EPROTO (another version); -EINVAL;
 * -ENOMEM. */
int skm_codec_journal_parse(const char *text, size_t length, struct skm_journal *ret, struct skm_err *err);

void skm_codec_journal_free(struct skm_journal *journal);

#endif
