/* SPDX-License-Identifier: Apache-2.0 */
/* The OCI state that a runtime writes to a hook's stdin, as runc and crun write it (FACTS.md, section 3; CASES.md C06, C07). */
#ifndef SKM_CODEC_STATE_H
#define SKM_CODEC_STATE_H

#include "base/err.h"
#include "model/policy.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SKM_STATE_TEXT_MAX (1024 * 1024)
#define SKM_CONFIG_TEXT_MAX (4 * 1024 * 1024) /* a bundle's config.json: seccomp lists and mounts make it long */

struct skm_state {
	char id[SKM_ID_MAX + 1];
	char bundle[PATH_MAX]; /* absolute; "bundlePath" of older runtimes is taken too */
	char status[32];       /* creating, created, running, stopped */
	pid_t pid;             /* 0 where the key is absent, 0 or negative */
	bool has_annotations;  /* whether the state held an annotations object at all (else: read config.json) */
	/* The annotations that concern us; NULL where absent. The struct owns them. */
	char *annotation_policy;
	char *annotation_tcpmem;
};

#define SKM_STATE_INIT ((struct skm_state){0})

/* Parses a state document. id and bundle have to be there and not empty; status and pid need not; keys that do not concern us are
 * ignored, as the document is the runtime's. An annotation io.sockmem.* that this version does not know is refused, as ignoring
 * it would leave the container without the limit it asked for. ret is untouched on failure, else to be given to
 * skm_codec_state_free. Returns 0; -EINVAL (names what is missing or wrong, with the offset where the JSON is cut); -E2BIG;
 * -ENOMEM. */
int skm_codec_state_parse(const char *text, size_t length, struct skm_state *ret, struct skm_err *err);

/* Reads the annotations of a bundle's config.json text into state (those that are absent there stay as they are).
 * Returns 0; -EINVAL; -E2BIG; -ENOMEM. state is untouched on failure. */
int skm_codec_state_read_config(const char *text, size_t length, struct skm_state *state, struct skm_err *err);

void skm_codec_state_free(struct skm_state *state);

/* Which policy the annotations ask for, first match wins: io.sockmem.policy, io.sockmem.tcpmem.
 * Returns 1 with *ret (its source set), 0 where there is none, or a negative errno with err set (an invalid policy). */
int skm_codec_state_policy(const struct skm_state *state, struct skm_policy *ret, struct skm_err *err);

#endif
