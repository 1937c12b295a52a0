/* SPDX-License-Identifier: Apache-2.0 */
/* What a container's annotations say, in the state that the runtime gives a hook and in the bundle's config.json alike. */
#ifndef SKM_CODEC_ANNOTATIONS_H
#define SKM_CODEC_ANNOTATIONS_H

#include "base/err.h"
#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>

struct skm_annotation {
	char *key, *text;
};

struct skm_annotations {
	bool present;                 /* there was an object of annotations, be it empty */
	struct skm_annotation *asked; /* those called io.sockmem.*; owned, with their texts */
	size_t count;
	char *container_name; /* how the CRI calls the container in its pod; NULL where no CRI does. Owned */
	bool is_sandbox;      /* the CRI's own container of a pod, which none of the pod's programs runs in */
	bool is_podmans;      /* podman made the container */
};

#define SKM_ANNOTATIONS_INIT ((struct skm_annotations){0})

void skm_codec_annotations_free(struct skm_annotations *annotations);

/* Moves into `into` what it does not have; the rest stays with `from`. Returns 0 or -ENOMEM (then nothing was moved). */
int skm_codec_annotations_fill(struct skm_annotations *into, struct skm_annotations *from);

/* Which policy they ask for, first match wins: io.sockmem.policy.container.NAME of this container, io.sockmem.policy,
 * io.sockmem.profile (then ret->profile is all that is set: the node's daemon knows the rest), io.sockmem.tcpmem. What they say
 * of other containers of the pod is left to those.
 * Returns 1 with *ret (its source set); 0 where they ask for none; -EINVAL, -E2BIG for an invalid policy, and where one is for a
 * container by name but no CRI says how this one is called; -ENOMEM. */
int skm_codec_annotations_policy(const struct skm_annotations *annotations, struct skm_policy *ret, struct skm_err *err);

/* Inside codec only: the value of a document's member "annotations". One io.sockmem.* that this version does not know is refused,
 * as ignoring it would leave the container without what it asked for. ret: for skm_codec_annotations_free, untouched on failure.
 * Returns 0, -EINVAL or -ENOMEM. */
struct json_object;
struct skm_place;
int skm_annotations_read(const struct skm_place *place, struct json_object *value, struct skm_annotations *ret,
                         struct skm_err *err);

#endif
