/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle's config.json (the OCI runtime specification's) says that concerns us. */
#ifndef SKM_CODEC_BUNDLE_H
#define SKM_CODEC_BUNDLE_H

#include "base/err.h"
#include "codec/annotations.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKM_BUNDLE_TEXT_MAX (4 * 1024 * 1024) /* seccomp lists and mounts make it long */

struct skm_bundle {
	struct skm_annotations annotations;
	uint64_t kernel_tcp_bytes; /* linux.resources.memory.kernelTCP; 0: none is set, or none is wanted */
	char root[PATH_MAX];       /* root.path as it is written; empty: not known */
	/* What starts the container. NULL where it is not there, or not as we know it. Owned. */
	char *program; /* process.args[0] */
	char *path;    /* PATH of process.env */
	char *cwd;     /* process.cwd */
	/* podman's own container of a pod. It has no annotation of its own, only podman's command for it (seen in 4.3.1). */
	bool is_infra;
};

#define SKM_BUNDLE_INIT ((struct skm_bundle){0})

/* Parses a config.json. Only annotations and kernelTCP are judged, and keys of ours that stand twice: the rest is the runtime's.
 * kernelTCP: bytes; -1 and 0 are none, as is what the v1 kernel shows for none (2^63 less a page).
 * ret: untouched on failure, else to be given to skm_codec_bundle_free. Returns 0; -EINVAL; -E2BIG; -ENOMEM. */
int skm_codec_bundle_parse(const char *text, size_t length, struct skm_bundle *ret, struct skm_err *err);

void skm_codec_bundle_free(struct skm_bundle *bundle);

/* Which policy the bundle alone asks for: its annotations, else kernelTCP. A pod's own container asks for none.
 * Returns 1 with *ret; 0; as skm_codec_annotations_policy. */
int skm_codec_bundle_policy(const struct skm_bundle *bundle, struct skm_policy *ret, struct skm_err *err);

/* kernelTCP as a policy. bytes: not 0. */
struct skm_policy skm_codec_kernel_tcp_policy(uint64_t bytes);

#endif
