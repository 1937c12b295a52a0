/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of one network namespace. Its sysctls have one value each, so that there is one baseline, one value of ours, and
 * one hand of someone else's: whoever comes second takes over what is known and never reads our own values as a baseline. */
#ifndef SKM_ENFORCER_NETNS_GROUP_H
#define SKM_ENFORCER_NETNS_GROUP_H

#include "base/err.h"
#include "control/rate.h"
#include "model/journal.h"
#include "probe/netns.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_container;
struct skm_registry;

struct skm_netns_group {
	struct skm_netns_group *next;
	struct skm_netns netns;
	bool writable;    /* netns was opened to be written */
	uint32_t members; /* containers whose namespace it is */
	uint32_t writers; /* of them, those for which its sysctls are written */
	char baseline[SKM_NETNS_KEYS][SKM_NETNS_TEXT_MAX];
	char written[SKM_NETNS_KEYS][SKM_NETNS_TEXT_MAX]; /* empty: the baseline stands */
	bool foreign[SKM_NETNS_KEYS];                     /* someone else wrote it: left alone from then on */
	struct skm_write_rate rate[SKM_NETNS_KEYS];
	bool backed_off[SKM_NETNS_KEYS]; /* a write failed: not tried again until the baseline is put back */
};

/* Takes the container into its namespace's group, which is made where it is the first, and as a writer where it writes sysctls.
 * Reads; writes nothing. Returns 0; -errno of reading the namespace's files. */
int skm_netns_group_join(struct skm_container *container, int netns_fd, struct skm_err *err);

/* After container->writes_sysctls has changed: makes the container a writer (the first one reads the baselines), or puts back
 * what stands for it alone. Returns 0 or -errno; the container is no writer then. */
int skm_netns_group_update(struct skm_container *container, struct skm_err *err);

/* The container goes, or writes no more. Writes nothing: skm_apply_restore_netns comes first. */
void skm_netns_group_leave(struct skm_container *container);

/* After a start: gives the group of a container that has just joined the baselines of its journal, if no other gave them yet.
 * What stands in the namespace is then ours. */
void skm_netns_group_inherit(struct skm_container *container, const struct skm_journal *journal);

/* Whether another container's sockets are in the namespace too, so that its counters are not this container's. */
bool skm_netns_group_is_shared(const struct skm_container *container);

/* Whether sysctls of the namespace are written for a container that is held. */
bool skm_netns_group_has_writer(struct skm_registry *registry, uint64_t inode);

#endif
