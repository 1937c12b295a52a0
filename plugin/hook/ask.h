/* SPDX-License-Identifier: Apache-2.0 */
/* What a container asks for, and whether it is one to ask at all. */
#ifndef SKM_HOOK_ASK_H
#define SKM_HOOK_ASK_H

#include "base/err.h"
#include "codec/bundle.h"
#include "codec/state.h"

#include <stdbool.h>

struct skm_hook_asked {
	struct skm_policy policy;
	uint64_t kernel_tcp_bytes; /* of config.json, beside a policy that wins over it; 0: nothing */
	const char *why_nothing;   /* where nothing was found: a constant, for people */
	bool by_nobody;            /* what failed was looked for on the node's behalf: the container itself asked for nothing */
};

/* Finds the policy, first match wins: the annotations of the state and those of config.json that are missing there, kernelTCP of
 * config.json, the node's defaults where node_defaults is set and node_file is there. A pod's own container (the CRI's sandbox,
 * podman's infra container) asks for nothing.
 * bundle: config.json as far as it could be read, for skm_codec_bundle_free; what makes it unreadable is an error only where
 * nothing else tells what the container asks for, and is *ret_aside else (empty: none).
 * Returns 1 with ret->policy; 0 where there is nothing to do; -EINVAL, -E2BIG, -ENOMEM, -errno with err set. */
int skm_hook_ask(struct skm_state *state, bool node_defaults, const char *node_file, struct skm_bundle *bundle,
                 struct skm_hook_asked *ret, struct skm_err *ret_aside, struct skm_err *err);

/* The size of the container's program in bytes; 0 where it is not known. bundle_path: where root.path starts from. */
uint64_t skm_hook_program_bytes(const struct skm_bundle *bundle, const char *bundle_path);

#endif
