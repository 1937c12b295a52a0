/* SPDX-License-Identifier: Apache-2.0 */
/* Opens connections: at a rate, patiently while the listener is not there yet. */
#ifndef SOCKLOAD_DIALER_H
#define SOCKLOAD_DIALER_H

#include "conns.h"
#include "settings.h"

struct dialer {
	const struct settings *settings;
	struct conns *conns;
	struct address address;
	int epoll;
	uint32_t events; /* watched from the dial on; the data of an event is the number of the connection */
	int64_t start_nsec, retry_at_nsec;
	size_t started;   /* first tries so far */
	size_t waiting;   /* to be tried again */
	bool anyone_home; /* a connection came to be at least once */
	uint64_t retries, failures;
	int last_error;
};

/* 0 or a negative errno, complained about. */
int dialer_init(struct dialer *dialer, const struct settings *settings, struct conns *conns, int epoll, uint32_t events,
                int64_t now);

/* Dials what is due. Returns 1 while there is more to come. */
int dialer_step(struct dialer *dialer, int64_t now);

/* Takes the outcome of a dial from an event; true if the connection is open now. */
bool dialer_finish(struct dialer *dialer, size_t number, int64_t now);

/* Every connection is open or has failed for good. */
bool dialer_done(const struct dialer *dialer);

#endif
