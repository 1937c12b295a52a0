/* SPDX-License-Identifier: Apache-2.0 */
/* From a decision to the host: writes what moved by more than its grain, and puts everything back. */
#ifndef SKM_ENFORCER_APPLY_H
#define SKM_ENFORCER_APPLY_H

#include "enforcer/container.h"

/* Writes the namespace's sysctls for the container's decision: only keys whose value changes, each compared first with what
 * sockmem (or the baseline) left there. Another value is a foreign write: it becomes the baseline, is told, and the key is left
 * alone from then on. Failures are told as events. */
void skm_apply_netns(struct skm_container *container);

/* Puts every sysctl back to its baseline. */
void skm_apply_restore_netns(struct skm_container *container);

#endif
