/* SPDX-License-Identifier: Apache-2.0 */
/* How many sockets a container has. In a network namespace of its own the kernel's count is read at each look. In one that has
 * others' sockets too (the host's, a pod's) that count is all of theirs, and a fair cap made of it would be too small; there the
 * socket worker counts those that were made in the container's cgroup, now and then: a dump of the namespace costs what all its
 * sockets cost. */
#ifndef SKM_ENFORCER_CENSUS_H
#define SKM_ENFORCER_CENSUS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_container;

struct skm_census {
	bool known;
	uint32_t sockets; /* at the last count */
	uint32_t in_use;  /* of the whole namespace, then */
	uint64_t tried_usec, took_usec;
};

/* The sockets as far as they are known: those of the last count and, since whose the new ones are is not known yet, all that the
 * namespace has got since; in the host's, where others come and go, only the former. 0 before the first count there.
 * Returns 0 or -errno. */
int skm_census_read(struct skm_container *container, uint32_t *ret, struct skm_err *err);

/* Whether the worker is to count now. */
bool skm_census_is_due(const struct skm_container *container, uint64_t now_usec);

/* The worker has counted, which took it this long; or has failed to. */
void skm_census_took(struct skm_container *container, uint32_t sockets, uint64_t took_usec);
void skm_census_failed(struct skm_container *container);

#endif
