/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes a container's bulk traffic in the last step, where its policy turns tc on. Never waits: each errand runs in a thread
 * (shape_job.h). */
#ifndef SKM_ENFORCER_SHAPE_H
#define SKM_ENFORCER_SHAPE_H

#include "actuate/tc.h"
#include "control/shape.h"
#include "enforcer/shape_job.h"
#include "enforcer/watch.h"
#include "model/journal.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_container;

struct skm_shaper {
	struct skm_shape_job *job; /* NULL: none is under way */
	enum skm_shape_verb verb;
	struct skm_watch watch;
	uint64_t job_usec; /* when it was given */
	bool late_told;
	uint64_t next_look_usec, next_change_usec, next_removal_usec; /* not before */
	int failed_removals;                                          /* in a row */
	bool adopted;                                                 /* an earlier enforcer's is still there */
	bool backed_off;                                              /* someone else's hand: left alone from then on */
	bool shut;                                                    /* the container is let go: nothing is begun any more */

	struct skm_tc_plan plan; /* of what is there, or is being made */
	bool made;               /* all of it is there */
	uint64_t rate;           /* in force */
	bool observed;           /* observe mode: this step's rate was told */

	struct skm_drain drain;
	struct skm_shape_socket *sockets; /* of the last look; owned */
	size_t socket_count;
	uint64_t received_bytes; /* when the sockets had been listed: counted no byte twice, some not at all */
	uint64_t look_usec;      /* when that was; 0: none to compare with */
};

/* At each look at the container: looks how fast its programs read, shapes, gives another rate, or takes all of it away, one
 * errand at a time. */
void skm_shape_run(struct skm_container *container, uint64_t now_usec);

/* After journal.shape came from an earlier enforcer: all of it is taken away at the next look, and made again if need be. */
void skm_shape_adopt(struct skm_container *container);

/* Where there will be no later look: begins to take all of it away, for one container after the other, then waits for each until
 * one deadline (CLOCK_MONOTONIC). wait: returns whether nothing is left. */
void skm_shape_remove_begin(struct skm_container *container);
bool skm_shape_remove_wait(struct skm_container *container, uint64_t deadline_usec);

/* The container ends: what is still there is taken away in the background, which then drops its journal too. Returns whether that
 * is so; else nothing is there and the journal is the caller's to drop. */
bool skm_shape_bequeath(struct skm_container *container);

/* The same for a container that has ended while no enforcer ran, or cannot be adopted. Waits. netns_fd: -1 where its namespace
 * cannot be reached: then what is on the host's side. */
void skm_shape_restore(const struct skm_journal *journal, int netns_fd);

/* Frees what the shaper holds; a job under way runs to its end. */
void skm_shape_free(struct skm_container *container);

#endif
