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

/* Tells the others that hold the ancestor of entry i what was written there; their journals are saved. */
void skm_propagate_sync(struct skm_container *container, uint32_t i);

/* Whether it is this container that looks after the ancestor of entry i, of all that hold it. */
bool skm_propagate_looks_after(const struct skm_container *container, uint32_t i);

/* Keeps the ancestor's entry of a container (id) that was found ended, for skm_propagate_settle. */
void skm_propagate_orphan(const char *id, const struct skm_memory_baseline *baseline);

/* At the end of recovery: every ancestor gets what those that live need, or its baseline. */
void skm_propagate_settle(struct skm_registry *registry);

#endif
