/* SPDX-License-Identifier: Apache-2.0 */
/* The files that are written for one container: journal.memory, and beside each entry what is open. For enforcer/memory*.c and
 * propagate.c. */
#ifndef SKM_ENFORCER_MEMORY_SET_H
#define SKM_ENFORCER_MEMORY_SET_H

#include "enforcer/container.h"

/* The entry for a file of a cgroup, or -1. */
int skm_memory_set_find(const struct skm_container *container, uint64_t cgroup_inode, enum skm_memory_file file);

/* Adds one, with what stands there as its baseline. dirfd: of the cgroup at path, borrowed. Returns its index or -errno. */
int skm_memory_set_add(struct skm_container *container, int dirfd, const char *path, enum skm_memory_file file, bool ancestor,
                       struct skm_err *err);

/* Opens the cgroup of entry i, which came from a journal. Returns 0; -ENODEV where it is gone, or is another one; -errno. */
int skm_memory_set_open(struct skm_container *container, uint32_t i, struct skm_err *err);

/* Takes entry i out, or all from i on. */
void skm_memory_set_remove(struct skm_container *container, uint32_t i);
void skm_memory_set_truncate(struct skm_container *container, uint32_t i);

/* What the file of entry i shows. Returns 0; -ENODEV; -errno. */
int skm_memory_set_read(const struct skm_container *container, uint32_t i, uint64_t *ret, struct skm_err *err);

/* Writes it, and counts. Returns as skm_actuate_memory_write. */
int skm_memory_set_write(struct skm_container *container, uint32_t i, uint64_t bytes, struct skm_err *err);

/* Whether `now` is what we wrote, or had written before that. */
bool skm_memory_set_is_ours(const struct skm_container *container, const struct skm_memory_baseline *entry, uint64_t now);

/* bytes as the kernel keeps them. */
uint64_t skm_memory_set_kept(const struct skm_container *container, uint64_t bytes);

/* Puts the baseline of an entry back that no container holds any more, where ours still stands: of the container id, for the log.
 * A memory.max that would come below what is in use is left. */
void skm_memory_set_restore(const char *id, const struct skm_memory_baseline *baseline);

/* "max" or "64.0 MiB". */
const char *skm_memory_text(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX]);

/* "memory.low", or "memory.low of /sys/fs/cgroup/a" where it is not the container's own. buffer: at least SKM_MEMORY_NAME_MAX. */
#define SKM_MEMORY_NAME_MAX 128
const char *skm_memory_set_name(const struct skm_container *container, uint32_t i, char buffer[SKM_MEMORY_NAME_MAX]);

#endif
