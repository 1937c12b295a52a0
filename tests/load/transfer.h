/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes over the connections that are ready, one chunk each in turn. */
#ifndef SOCKLOAD_TRANSFER_H
#define SOCKLOAD_TRANSFER_H

#include "conns.h"
#include "meter.h"
#include "pace.h"
#include "settings.h"

struct transfer {
	const struct settings *settings;
	struct conns *conns;
	struct meter *meter;
	struct pace pace;
	unsigned char *buffer;
	int64_t starved_nsec, idle_since_nsec; /* how long credit was there and no data */
};

/* 0 or -ENOMEM. */
int transfer_init(struct transfer *transfer, const struct settings *settings, struct conns *conns, struct meter *meter);

/* Moves what may go now. Returns 1 if it could go on at once, 0 if it is to wait for a tick or an event. */
int transfer_run(struct transfer *transfer, int64_t now);

void transfer_free(struct transfer *transfer);

#endif
