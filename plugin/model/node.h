/* SPDX-License-Identifier: Apache-2.0 */
/* The node file, /etc/sockmem/sockmem.json: what a node's administrator allows and defaults. DESIGN.md, section 3. */
#ifndef SKM_MODEL_NODE_H
#define SKM_MODEL_NODE_H

#include "model/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKM_NODE_FILE "/etc/sockmem/sockmem.json"
#define SKM_NODE_TEXT_MAX (1024 * 1024)

struct skm_node_profile {
	char name[SKM_PROFILE_MAX + 1];
	struct skm_policy policy; /* its source is SKM_SOURCE_ANNOTATION_PROFILE, its profile this name */
};

struct skm_node {
	bool has_defaults;
	struct skm_policy defaults;        /* its source is SKM_SOURCE_NODE_DEFAULTS */
	struct skm_node_profile *profiles; /* owned */
	size_t profile_count;
	/* At most these may an annotation ask for: SKM_KEY_BIT of TCPMEM_LIMIT, MEMORY_MIN, LOW, HIGH, MAX in ceilings. Bytes or
	 * a share of memory.max. */
	uint32_t ceilings;
	struct skm_size tcpmem_ceiling, memory_ceiling[SKM_MEMORY_FILES];
	/* Which values annotations may set, by SKM_KEY_BIT. lower_only: those that may only lower what the runtime set
	 * (memory.high, memory.max where no allow list was written). */
	uint32_t allow, lower_only;
	bool destroy;
	char metrics[128];          /* an address; empty: none */
	enum skm_on_error on_error; /* for policies that do not say */
};

/* Without an allow list: all but what takes from neighbours (min, low, propagate, destroy). */
#define SKM_ALLOW_DEFAULT                                                                                                        \
	((SKM_KEY_BIT(SKM_POLICY_KEYS) - 1) & ~(SKM_KEY_BIT(SKM_KEY_MEMORY_MIN) | SKM_KEY_BIT(SKM_KEY_MEMORY_LOW) |              \
	                                        SKM_KEY_BIT(SKM_KEY_MEMORY_PROPAGATE) | SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY)))
#define SKM_LOWER_ONLY_DEFAULT (SKM_KEY_BIT(SKM_KEY_MEMORY_HIGH) | SKM_KEY_BIT(SKM_KEY_MEMORY_MAX))

/* A node without a file. */
#define SKM_NODE_INIT ((struct skm_node){.allow = SKM_ALLOW_DEFAULT, .lower_only = SKM_LOWER_ONLY_DEFAULT})

#endif
