/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a container whose policy is valid but cannot be enforced here. */
#ifndef SKM_HOOK_ON_ERROR_H
#define SKM_HOOK_ON_ERROR_H

#include "model/policy.h"

#include <stdbool.h>

/* Whether the container is made all the same: as the policy's onError says, else that of the node file, else only where the
 * container itself asked for nothing (the node's defaults). Reads the node file, of which a profile and the defaults are parts;
 * one that cannot be read says nothing. */
bool skm_hook_goes_on(const struct skm_policy *policy, const char *node_file);

#endif
