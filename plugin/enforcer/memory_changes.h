/* SPDX-License-Identifier: Apache-2.0 */
/* What has to be written so that every entry shows what it is wanted to. For enforcer/memory*.c. */
#ifndef SKM_ENFORCER_MEMORY_CHANGES_H
#define SKM_ENFORCER_MEMORY_CHANGES_H

#include "actuate/memory_file.h"
#include "enforcer/container.h"

/* A container's own cgroups: one, or the two that a runtime nests. */
#define SKM_MEMORY_LEVELS_MAX 2

struct skm_memory_changes {
	struct skm_memory_change *list; /* owned by the caller, room for every entry */
	size_t count;
	struct skm_memory_cgroup stepped[SKM_MEMORY_LEVELS_MAX]; /* memory.max goes down there by steps */
	size_t stepped_count;
	uint64_t stepped_bytes;
};

/* Adds what entry i needs, if anything. force: memory.max may come below what is in use, by steps. Returns 0; -EBUSY where it
 * would without force; -ENODEV where the cgroup is gone; -errno. */
int skm_memory_changes_add(struct skm_container *container, uint32_t i, bool force, struct skm_memory_changes *changes,
                           struct skm_err *err);

/* Tells of one that was written. */
void skm_memory_changes_tell(struct skm_container *container, const struct skm_memory_change *change);

#endif
