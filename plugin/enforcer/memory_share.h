/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the memory controller that several containers have: an ancestor that each of them needs, or the cgroup of a pod that
 * is each one's own (tcpmem.scope pod). All that have one know the same baseline and what was written last; one of them looks
 * after it, and the last one gives it back. For enforcer/memory*.c and propagate.c. */
#ifndef SKM_ENFORCER_MEMORY_SHARE_H
#define SKM_ENFORCER_MEMORY_SHARE_H

#include "enforcer/container.h"

/* A container's entry for the same file of the same ancestor, or NULL; NULL for a file that is a container's own. */
struct skm_memory_baseline *skm_memory_shared_entry(const struct skm_container *container,
                                                    const struct skm_memory_baseline *baseline);

/* Gives a new entry i what the others know: what stood before the first of all wrote is every one's baseline. */
void skm_memory_share_baseline(struct skm_container *container, uint32_t i);

/* Tells the others what was written to the file of entry i; their journals are saved. */
void skm_memory_share_written(struct skm_container *container, uint32_t i);

/* Whether it is this container that looks after the file of entry i, of all that have it. */
bool skm_memory_looks_after(const struct skm_container *container, uint32_t i);

/* Keeps an entry of a container (id) that nobody holds any more, for skm_memory_settle. */
void skm_memory_orphan(const char *id, const struct skm_memory_baseline *baseline);

/* Whether `now` is what any container, held or orphaned, has written to the file of entry i. */
bool skm_memory_is_anyones(const struct skm_container *container, uint32_t i, uint64_t now);

/* Puts back what was orphaned and no container has. */
void skm_memory_settle(struct skm_registry *registry);

#endif
