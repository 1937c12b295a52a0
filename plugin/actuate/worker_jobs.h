/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's two jobs. For this room's own files. */
#ifndef SKM_ACTUATE_WORKER_JOBS_H
#define SKM_ACTUATE_WORKER_JOBS_H

#include "actuate/worker_wire.h"

#include <stddef.h>
#include <stdio.h>

/* What this worker last made of a socket, 0 for a side that it never set: a buffer that differs from it later is the program's
 * own wish. */
struct skm_own_write {
	uint64_t cookie;
	uint32_t rcvbuf, sndbuf;
};

struct skm_worker_child {
	int socket, cgroup;
	uint32_t batch;
	struct skm_own_write *writes;
	size_t write_count, write_room;
	size_t sorted_count; /* of writes: by cookie, from earlier jobs; behind them those of this job */
};

/* The first trouble of a job is kept, cut to what the message takes. */
static inline void skm_worker_note_trouble(struct skm_worker_message *done, const struct skm_err *err)
{
	if (!done->trouble[0])
		snprintf(done->trouble, sizeof(done->trouble), "%.*s", (int)sizeof(done->trouble) - 1, err->text);
}

/* Each fills in the sums and, on failure, the trouble of done. */
void skm_actuate_job_squeeze(struct skm_worker_child *child, const struct skm_worker_order *order,
                             struct skm_worker_message *done);

void skm_actuate_job_count(struct skm_worker_child *child, const struct skm_worker_order *order, struct skm_worker_message *done);

/* sockets: sorted by this function. */
void skm_actuate_job_restore(struct skm_worker_child *child, struct skm_socket_baseline *sockets, size_t count,
                             struct skm_worker_message *done);

#endif
