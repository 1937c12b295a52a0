/* SPDX-License-Identifier: Apache-2.0 */
/* The memory controller's files of one container: a policy's min, low, high and max, at both levels where a runtime nests two
 * cgroups, and what its ancestors need for its protection to count (propagate.h). */
#ifndef SKM_ENFORCER_MEMORY_H
#define SKM_ENFORCER_MEMORY_H

#include "base/err.h"
#include "control/memory.h"
#include "model/journal.h"

struct skm_container;
struct skm_registry;

/* Beside one entry of journal.memory. */
struct skm_memory_entry {
	int dirfd, fd; /* the cgroup; the file, for reading */
	struct skm_memory_backoff backoff;
	uint64_t want; /* while a policy is applied */
	bool drop;     /* then: our hands off it afterwards */
	bool taken;    /* someone else's stricter value stands, and was told */
};

struct skm_memory {
	struct skm_memory_entry *entries; /* as many as journal.memory has; owned */
	uint64_t own_inode;               /* of the innermost cgroup that is the container's */
	uint64_t next_check_usec;         /* 0: nothing is looked after yet */
	uint64_t next_protection_usec;
	uint64_t stepping_until_usec; /* memory.max is on its way down */
};

/* Brings the files to what container->report says: in_force, limit_bytes (memory.high is written as high + limit) and
 * policy.propagate; a file that the policy has no more gets its baseline back. All of it or nothing: what was written before a
 * failure is undone, in reverse. Baselines are in the journal, on disk, before the first write; each value is read back.
 * A policy with mode observe is not applied, and listed as skipped.
 * force: memory.max may be lowered below what is in use: begun here, in steps, and done some seconds later.
 * Returns 0; -EINVAL where min <= low <= high <= max does not hold; -EBUSY where memory.max would come below what is in use
 * (the figures named) without force; -ENODEV where the cgroup is gone; what skm_actuate_memory_write says. */
int skm_memory_apply(struct skm_container *container, bool force, struct skm_err *err);

/* Puts every baseline back where our value still stands, and lowers the ancestors to what others need. What cannot be put back
 * is told. The journal is not saved: the container is let go. */
void skm_memory_give_back(struct skm_container *container);

/* What the runtime itself set: of the container's own cgroups the least baseline, where ours stands now, or what someone else
 * wrote since. now: what was read, for a file that is none of ours. */
uint64_t skm_memory_runtimes(const struct skm_container *container, enum skm_memory_file file, uint64_t now);

/* After journal.memory came from an earlier enforcer: opens its cgroups; entries of those that are gone are dropped. What does
 * not stand any more is put back by the next check. */
void skm_memory_adopt(struct skm_container *container);

/* The same for a container that cannot be adopted or has ended: what is to be put back waits until it is known who else has it.
 */
void skm_memory_restore(const struct skm_journal *journal);

/* At the end of recovery: puts that back, and gives every ancestor what those below it need that live. */
void skm_memory_settle_all(struct skm_registry *registry);

/* When the container wants skm_memory_check next, CLOCK_MONOTONIC microseconds; UINT64_MAX: never. */
uint64_t skm_memory_due(const struct skm_container *container);

/* Looks whether our values stand (once a second, a read a file), puts back or takes over what others wrote, and now and then
 * computes the protection again. */
void skm_memory_check(struct skm_container *container, uint64_t now_usec);

/* Computes report.protection and reads memory.max again. Takes as long as reading every sibling of every ancestor. */
void skm_memory_refresh(struct skm_container *container);

/* Frees what container->memory and journal.memory hold; writes nothing. */
void skm_memory_free(struct skm_container *container);

#endif
