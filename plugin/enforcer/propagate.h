/* SPDX-License-Identifier: Apache-2.0 */
/* A protection counts only as far as every ancestor protects too (probe/protection.h). With policy.propagate each ancestor's
 * memory.low is raised to what the containers below it that asked for this need together, up to the boundary of delegation
 * (probe/ancestry.h); memory.min only of the pod. An ancestor that has more keeps it. */
#ifndef SKM_ENFORCER_PROPAGATE_H
#define SKM_ENFORCER_PROPAGATE_H

#include "enforcer/container.h"

/* Sets want and drop of the container's entries for ancestors, and adds those that are missing. outermost: its own cgroup that is
 * nearest to the root, and its path. Where an ancestor is not ours to write this is listed as skipped. Returns 0; -errno. */
int skm_propagate_plan(struct skm_container *container, int outermost, const char *path, struct skm_err *err);

/* What stays to be protected in the ancestor of entry i without this container: its baseline, or more. */
uint64_t skm_propagate_without(const struct skm_container *container, uint32_t i);

/* At the end of recovery: every ancestor gets what those that live need. */
void skm_propagate_settle(struct skm_registry *registry);

#endif
