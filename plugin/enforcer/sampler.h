/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at one container when it is due, decides, and has the decision applied. */
#ifndef SKM_ENFORCER_SAMPLER_H
#define SKM_ENFORCER_SAMPLER_H

#include "enforcer/container.h"

/* When the container wants to be looked at next (CLOCK_MONOTONIC microseconds). */
uint64_t skm_sampler_due(const struct skm_container *container);

/* Looks, decides and applies; containers: how many share the node's one per cent.
 * Returns 0; -ENODEV where the cgroup is gone (the container has ended). */
int skm_sampler_look(struct skm_container *container, uint64_t now_usec, uint32_t containers);

/* Reads memory.events and tells of new OOM kills. */
void skm_sampler_check_oom(struct skm_container *container);

#endif
