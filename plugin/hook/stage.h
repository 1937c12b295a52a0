/* SPDX-License-Identifier: Apache-2.0 */
/* Which moment of a container's life the hook was called at. */
#ifndef SKM_HOOK_STAGE_H
#define SKM_HOOK_STAGE_H

#include "base/err.h"
#include "codec/state.h"

enum skm_hook_task { SKM_HOOK_REGISTER, SKM_HOOK_RELEASE };

/* argument: the stage as the hook's argument names it, or NULL: then the state says it (FACTS.md, section 3: createRuntime comes
 * with `creating` or `created` and a pid, poststop with `stopped` and none).
 * Returns 0; -EINVAL for a stage that the hook is of no use in, and for a pid that cannot be the container's; err says what to
 * do. */
int skm_hook_task_of(const char *argument, const struct skm_state *state, enum skm_hook_task *ret, struct skm_err *err);

#endif
