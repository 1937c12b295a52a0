/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force of one container: what the node granted, in its report and its journal. */
#ifndef SKM_ENFORCER_GRANT_H
#define SKM_ENFORCER_GRANT_H

#include "control/grant.h"
#include "enforcer/container.h"

/* What the container has. */
struct skm_grant skm_grant_of(const struct skm_container *container);

/* Makes it the container's: report and journal, in memory. */
void skm_grant_put(struct skm_container *container, const struct skm_grant *grant);

/* What sizes are taken from, as it stands now. Returns 0; -ENODEV where the cgroup is gone; -errno. */
int skm_grant_facts(const struct skm_container *container, struct skm_grant_facts *ret, struct skm_err *err);

/* Tells what was cut, and what config.json says otherwise. */
void skm_grant_tell(struct skm_container *container);

#endif
