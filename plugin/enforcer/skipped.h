/* SPDX-License-Identifier: Apache-2.0 */
/* What of a container's policy is not applied, and why. Whoever finds such a thing calls skm_container_skip (container.h). */
#ifndef SKM_ENFORCER_SKIPPED_H
#define SKM_ENFORCER_SKIPPED_H

#include "enforcer/container.h"

/* Lists what the policy asks for in so many words and this build has no actuator for. */
void skm_skipped_list_policy(struct skm_container *container);

/* The container's start is told: from here on each skip is told at once, those until here now. */
void skm_skipped_begin(struct skm_container *container);

#endif
