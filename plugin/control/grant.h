/* SPDX-License-Identifier: Apache-2.0 */
/* From what was asked to what is in force: the node's profiles and defaults, its allow list and its ceilings (DESIGN.md, section
 * 3). Pure. */
#ifndef SKM_CONTROL_GRANT_H
#define SKM_CONTROL_GRANT_H

#include "base/err.h"
#include "model/node.h"
#include "model/report.h"

#include <stdbool.h>
#include <stdint.h>

/* A policy as this node grants it. */
struct skm_grant {
	struct skm_policy policy; /* whole: a profile and the defaults are filled in. Its sizes stand as they were asked */
	struct skm_in_force in_force[SKM_IN_FORCE_COUNT];
	enum skm_policy_source sources[SKM_POLICY_KEYS]; /* of each value; none: built in */
};

/* What sizes are taken from. */
struct skm_grant_facts {
	uint64_t memory_max_bytes, memory_high_bytes; /* as the runtime set them; UINT64_MAX: none */
	uint64_t program_bytes;                       /* 0: not known */
};

/* Whether a policy of that source is a tenant's, which the node's ceilings bound. */
bool skm_control_is_tenants(enum skm_policy_source source);

/* First half, which needs nothing of the container: fills in a profile or the node's defaults (throttle.destroy as far as the
 * node has it on), and refuses what annotations may not set here. ret: untouched on failure; its sizes are for
 * skm_control_grant_sizes. Returns 0; -EINVAL where the policy is not allowed (each key named) or names no profile of the node
 * (the known ones named); -ENODATA for the node's defaults where it has none. */
int skm_control_grant_policy(const struct skm_node *node, const struct skm_policy *asked, struct skm_grant *ret,
                             struct skm_err *err);

/* Second half: every size of grant->policy in bytes, cut to the node's ceilings where a tenant asked, and memory.high and
 * memory.max to the runtime's own where an annotation may only lower them. A percentage is of memory.max as it will stand; that
 * of memory.max itself, of the runtime's. An annotation without a limit asks for none, which a ceiling cuts as any other.
 * grant: untouched on failure. Returns 0; -EOPNOTSUPP where a percentage has no memory.max or a multiple of the program no
 * size to start from, or -ERANGE where it comes to 0 bytes: these are valid policies that this container cannot have. */
int skm_control_grant_sizes(const struct skm_node *node, const struct skm_grant_facts *facts, struct skm_grant *grant,
                            struct skm_err *err);

/* The administrator's change of the limit alone: all else of the grant stays, whatever the node file says by now.
 * memory_max_bytes of facts: what a percentage is of. grant: untouched on failure. Returns as skm_control_grant_sizes. */
int skm_control_grant_limit(const struct skm_size *limit, const struct skm_grant_facts *facts, struct skm_grant *grant,
                            struct skm_err *err);

#endif
