/* SPDX-License-Identifier: Apache-2.0 */
/* What a container asked for: DESIGN.md, section 3. Plain data, no pointers, so that it can be copied and compared. */
#ifndef SKM_MODEL_POLICY_H
#define SKM_MODEL_POLICY_H

#include "base/units.h"
#include "model/names.h"

/* How the limit is held. v1 and hard are names of the design that this build does not enforce: a policy that asks for
 * them is refused with that reason. */
enum skm_mode {
	SKM_MODE_AUTO,
	SKM_MODE_SOFT,
	SKM_MODE_OBSERVE,
};
extern const struct skm_names skm_mode_names;

/* Where the policy came from. */
enum skm_policy_source {
	SKM_SOURCE_NONE,
	SKM_SOURCE_ANNOTATION_POLICY, /* io.sockmem.policy */
	SKM_SOURCE_ANNOTATION_TCPMEM, /* io.sockmem.tcpmem */
};
extern const struct skm_names skm_policy_source_names;

struct skm_policy {
	struct skm_size tcpmem_limit; /* bytes, a share of memory.max, or max: no limit */
	enum skm_mode mode;
	enum skm_policy_source source;
};

#define SKM_POLICY_INIT ((struct skm_policy){.tcpmem_limit = {.kind = SKM_SIZE_MAX}})

#define SKM_ANNOTATION_POLICY "io.sockmem.policy"
#define SKM_ANNOTATION_TCPMEM "io.sockmem.tcpmem"

/* Bounds of what is read from tenants: DESIGN.md, section 3. */
#define SKM_POLICY_TEXT_MAX (64 * 1024)
#define SKM_POLICY_DEPTH_MAX 8

/* A container id as runtimes take it: 1 to this many bytes, shown escaped, never used as a path. */
#define SKM_ID_MAX 1024

#endif
