/* SPDX-License-Identifier: Apache-2.0 */
/* One round of ending connections, in a thread of its own: it waits for locks that a tenant's program may hold. */
#ifndef SKM_ENFORCER_DESTROY_JOB_H
#define SKM_ENFORCER_DESTROY_JOB_H

#include "base/err.h"
#include "control/destroy.h"
#include "probe/sock_diag.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_destroy_order {
	int netns_fd, cgroup_fd; /* duplicated */
	uint64_t excess_bytes;   /* what is to be freed */
	bool dry;                /* only says whom it would take */
};

struct skm_destroyed {
	struct skm_diag_socket socket; /* as it was before */
	uint64_t freed_bytes;          /* of its send queue, by a second look; dry: what it holds */
};

struct skm_destroy_result {
	int result; /* 0 or -errno, with err; what went before it is in the list all the same */
	struct skm_err err;
	struct skm_destroyed list[SKM_DESTROY_MAX];
	size_t count;
	uint64_t cost_usec; /* of a processor */
};

struct skm_destroy_job;

/* Starts it. Returns 0 with *ret; -errno. */
int skm_destroy_job_start(const struct skm_destroy_order *order, struct skm_destroy_job **ret, struct skm_err *err);

/* An eventfd that becomes readable when it is done; the job's own. */
int skm_destroy_job_done_fd(const struct skm_destroy_job *job);

/* Copies the result. Returns false while the job is not done. */
bool skm_destroy_job_take(struct skm_destroy_job *job, struct skm_destroy_result *ret);

/* The caller's hands off it: it ends no further connection. */
void skm_destroy_job_drop(struct skm_destroy_job *job);

#endif
