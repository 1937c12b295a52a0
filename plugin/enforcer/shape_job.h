/* SPDX-License-Identifier: Apache-2.0 */
/* One errand of the tc actuator in a thread of its own: it may have to wait for the kernel's rtnl lock, which others hold for as
 * long as they like. Nothing is shared but the errand itself, and what it says when it is done. */
#ifndef SKM_ENFORCER_SHAPE_JOB_H
#define SKM_ENFORCER_SHAPE_JOB_H

#include "actuate/tc.h"
#include "base/err.h"
#include "control/shape.h"

#include <stdbool.h>
#include <stdint.h>

enum skm_shape_verb { SKM_SHAPE_LOOK, SKM_SHAPE_PLAN, SKM_SHAPE_APPLY, SKM_SHAPE_UPDATE, SKM_SHAPE_REMOVE };

struct skm_shape_order {
	enum skm_shape_verb verb;
	int netns_fd;            /* the container's; duplicated */
	bool made;               /* LOOK: the plan's class is there */
	struct skm_tc_plan plan; /* of all but PLAN */
	struct skm_tc_want want; /* APPLY, UPDATE */
};

struct skm_shape_result {
	int result; /* 0 or -errno, with err */
	struct skm_err err;
	struct skm_tc_plan plan;          /* PLAN */
	struct skm_tc_look look;          /* LOOK: before the sockets were listed */
	uint64_t received_after_bytes;    /* and afterwards: what came between may be in the sockets or not */
	struct skm_shape_socket *sockets; /* LOOK: every TCP socket of the namespace, ascending by cookie; the taker frees it */
	size_t socket_count;
	uint64_t when_usec; /* CLOCK_MONOTONIC at the links' counters */
	uint64_t cost_usec; /* of a processor: without what it waited for */
};

struct skm_shape_job;

/* Starts it. Returns 0 with *ret; -errno. */
int skm_shape_job_start(const struct skm_shape_order *order, struct skm_shape_job **ret, struct skm_err *err);

/* An eventfd that becomes readable when it is done; the job's own. */
int skm_shape_job_done_fd(const struct skm_shape_job *job);

/* Takes the result. Returns false while the job is not done. */
bool skm_shape_job_take(struct skm_shape_job *job, struct skm_shape_result *ret);

/* The caller's hands off it; it runs to its end all the same. */
void skm_shape_job_drop(struct skm_shape_job *job);

/* The last will of a container that has gone: when the job is done, everything of ours is removed from its namespace (noted: as
 * skm_actuate_tc_remove), and then its journal, the file `name` in journal_dir (duplicated). Returns 0; -EALREADY where the job
 * is done by now and does nothing more; -errno. The job stays the caller's to drop. */
int skm_shape_job_bequeath(struct skm_shape_job *job, const struct skm_tc_plan *noted, int journal_dir, const char *name);

#endif
