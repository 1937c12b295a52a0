/* SPDX-License-Identifier: Apache-2.0 */
/* The last resort, where node and policy both allow it: connections whose send queues hold the memory are ended, a few a second,
 * while the sockets hold more than the limit. Never waits: each round runs in a thread (destroy_job.h). */
#ifndef SKM_ENFORCER_DESTROY_H
#define SKM_ENFORCER_DESTROY_H

#include "enforcer/destroy_job.h"
#include "enforcer/watch.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_container;

struct skm_destroyer {
	struct skm_destroy_job *job; /* NULL: none is under way */
	struct skm_watch watch;
	uint64_t since_usec; /* the sockets are above the limit in the last step; 0: they are not */
	uint64_t next_usec;  /* no round before */
	uint64_t job_usec;   /* when the one under way was begun */
	bool late_told;
	bool observed; /* observe mode: it was told whom it would take */
};

/* At each look at the container. */
void skm_destroy_run(struct skm_container *container, uint64_t now_usec);

/* Before the container is freed: a round under way ends no further connection. */
void skm_destroy_close(struct skm_container *container);

#endif
