/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle's config.json with sockmem in it. */
#ifndef SKM_CODEC_BUNDLE_EDIT_H
#define SKM_CODEC_BUNDLE_EDIT_H

#include "base/err.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct skm_bundle_edited {
	char *text; /* the whole document, every byte but those of the changes as it was. Owned */
	size_t length;
	bool create_added, poststop_added; /* else they stood there already */
	bool has_kernel_tcp;               /* it stood there; where convert was wanted, it was taken out */
	bool annotated;                    /* what it said is now in io.sockmem.tcpmem */
	uint64_t kernel_tcp_bytes;         /* what it said; 0: no limit */
	bool has_policy;                   /* the annotations asked for one before: */
	struct skm_policy policy;
};

#define SKM_BUNDLE_EDITED_INIT ((struct skm_bundle_edited){0})

/* Adds the hook to hooks.createRuntime and hooks.poststop where it does not stand there (or at prestart) yet. hook: its absolute
 * path. convert: takes linux.resources.memory.kernelTCP out, and puts a limit that it holds into the annotation io.sockmem.tcpmem
 * unless one of io.sockmem.policy, .profile and .tcpmem is there.
 * ret: untouched on failure, else for skm_codec_bundle_edited_free.
 * Returns 0; -EINVAL for a document that is no bundle's, with the place; for an annotation that the hook would refuse; and where
 * another file called sockmem-hook is a hook of it already; -E2BIG; -ENOMEM. */
int skm_codec_bundle_edit(const char *text, size_t length, const char *hook, bool convert, struct skm_bundle_edited *ret,
                          struct skm_err *err);

void skm_codec_bundle_edited_free(struct skm_bundle_edited *edited);

#endif
