/* SPDX-License-Identifier: Apache-2.0 */
/* How many sockets a container has. In a network namespace of its own the kernel's count is read at each look. In one that has
 * others' sockets too (the host's, a pod's) that count is all of theirs, and a fair cap made of it would be too small; there the
 * socket worker counts those that were made in the container's cgroup, now and then: a dump of the namespace costs what all its
 * sockets cost. */
#ifndef SKM_ENFORCER_CENSUS_H
#define SKM_ENFORCER_CENSUS_H

#include "base/err.h"
#include "model/demand.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_container;

struct skm_census {
	bool known;
	uint32_t sockets; /* at the last count */
	uint32_t in_use;  /* of the whole namespace, then */
	bool was_near;    /* that count was begun when a cap was near, or in force */
	uint64_t tried_usec, cpu_usec;
	struct skm_demands demands;
	uint64_t demands_usec, demands_sock_bytes; /* when they were as that, and what the sockets held; 0: never */
};

/* The sockets as far as they are known: those of the last count and, since whose the new ones are is not known yet, all that the
 * namespace has got since; in the host's, where others come and go, only the former. 0 before the first count there.
 * Returns 0 or -errno. */
int skm_census_read(struct skm_container *container, uint32_t *ret, struct skm_err *err);

/* Whether the worker is to count now. All counting keeps its budget, but for one count when a cap comes near: the one before it
 * may be of long ago, and 0. In a namespace of its own only what the sockets ask for is looked at, before a cap and only while
 * they grow slowly: in a burst the worker has other things to do, and while it squeezes it sees them anyway. */
bool skm_census_is_due(const struct skm_container *container, uint64_t now_usec);

/* What the sockets ask for, as the newest dump showed it: NULL where there is none, where it is too old, or where they hold much
 * more since: then idle ones have woken up. */
const struct skm_demands *skm_census_demands(const struct skm_container *container, uint64_t sock_bytes, uint64_t now_usec);
void skm_census_saw(struct skm_container *container, const struct skm_demands *demands);

/* The worker is about to count; has counted, for which it used so much of a processor (not of the time: the first count of a host
 * loads the kernel's module, and in a flood it waits for its turn, which cost nobody anything); or has failed to. */
void skm_census_began(struct skm_container *container);
void skm_census_took(struct skm_container *container, uint32_t sockets, uint64_t cpu_usec);
void skm_census_failed(struct skm_container *container);

#endif
