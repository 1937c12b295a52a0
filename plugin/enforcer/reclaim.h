/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaims a container's memory in steps, in a thread of its own: a write of memory.reclaim may block for seconds. */
#ifndef SKM_ENFORCER_RECLAIM_H
#define SKM_ENFORCER_RECLAIM_H

#include "base/err.h"
#include "enforcer/watch.h"

#include <stdint.h>

struct skm_container;
struct skm_reclaim_job;

struct skm_reclaimer {
	struct skm_reclaim_job *job; /* NULL: none is under way */
	struct skm_watch watch;
	uint64_t next_usec; /* the last step asks for none before */
};

/* Starts to reclaim `bytes`; the result comes as an event and in the report. Returns 0; -EBUSY while one is under way; -ENOENT
 * before kernel 5.19; -errno. */
int skm_reclaim_start(struct skm_container *container, uint64_t bytes, struct skm_err *err);

/* In the last step, where memory.max is near and the policy lets it: starts one. */
void skm_reclaim_run(struct skm_container *container, uint64_t now_usec);

/* Refreshes the report of one that is under way. */
void skm_reclaim_refresh(struct skm_container *container);

/* Before the container is freed: the thread ends on its own. */
void skm_reclaim_close(struct skm_container *container);

#endif
