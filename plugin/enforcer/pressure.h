/* SPDX-License-Identifier: Apache-2.0 */
/* A container's reclaim pressure: from the counters of its cgroup and those above it, and from PSI. */
#ifndef SKM_ENFORCER_PRESSURE_H
#define SKM_ENFORCER_PRESSURE_H

#include "control/pressure.h"
#include "enforcer/watch.h"
#include "model/sample.h"
#include "probe/pressure.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_container;

struct skm_pressure_gauge {
	struct skm_pressure_files files;
	struct skm_pressure_window windows[SKM_PRESSURE_LEVELS_MAX];
	enum skm_pressure level;
	uint64_t next_usec; /* the counters are not read before */
	uint32_t cost_usec; /* what the last reading took */
	struct skm_watch watch;
	int trigger;                        /* PSI's; -1: none, the total is sampled */
	uint64_t total_usec, total_at_usec; /* where PSI's window began */
	uint32_t some_permyriad;            /* of the last full window */
	uint64_t triggered_until_usec;
};

#define SKM_PRESSURE_GAUGE_INIT ((struct skm_pressure_gauge){.files = SKM_PRESSURE_FILES_INIT, .trigger = -1})

/* Opens the files and sets the PSI trigger; what a host does not have is done without, and on cgroup v1 all of it. */
void skm_pressure_open(struct skm_container *container);
void skm_pressure_close(struct skm_container *container);

/* Fills in the sample's pressure. Reads little: nothing where the sockets hold too little to be throttled for it, the counters
 * at most every 250 ms and within the share of the node's one per cent; containers: how many share that. */
void skm_pressure_sample(struct skm_container *container, uint32_t containers, struct skm_sample *sample);

/* Tells it that memory of the container is reclaimed on our own account. */
void skm_pressure_own_reclaim(struct skm_container *container, uint64_t now_usec);

#endif
