/* SPDX-License-Identifier: Apache-2.0 */
/* The OCI state that a runtime writes to a hook's stdin, as runc and crun write it (FACTS.md, section 3; CASES.md C06, C07). */
#ifndef SKM_CODEC_STATE_H
#define SKM_CODEC_STATE_H

#include "base/err.h"
#include "codec/annotations.h"

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

#define SKM_STATE_TEXT_MAX (1024 * 1024)

struct skm_state {
	char id[SKM_ID_MAX + 1];
	char bundle[PATH_MAX]; /* absolute; "bundlePath" of older runtimes is taken too */
	char status[32];       /* creating, created, running, stopped */
	pid_t pid;             /* 0 where the key is absent, 0 or negative */
	struct skm_annotations annotations;
};

#define SKM_STATE_INIT ((struct skm_state){0})

/* Parses a state document. id and bundle have to be there and not empty; status and pid need not; keys that do not concern us are
 * ignored, as the document is the runtime's. ret is untouched on failure, else to be given to skm_codec_state_free.
 * Returns 0; -EINVAL (names what is missing or wrong, with the offset where the JSON is cut); -E2BIG; -ENOMEM. */
int skm_codec_state_parse(const char *text, size_t length, struct skm_state *ret, struct skm_err *err);

void skm_codec_state_free(struct skm_state *state);

#endif
