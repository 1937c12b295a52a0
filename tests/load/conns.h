/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a run, and the queue of those that can be served now. */
#ifndef SOCKLOAD_CONNS_H
#define SOCKLOAD_CONNS_H

#include "net.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conn_state {
	CONN_UNUSED, /* not dialled yet, or waiting for another try */
	CONN_DIALING,
	CONN_OPEN,
	CONN_CLOSED, /* by the peer, in order */
	CONN_RESET,  /* by an error */
	CONN_FAILED, /* never came to be */
};

struct conn {
	int fd; /* -1 when not open */
	enum conn_state state;
	bool queued, viewed;
	size_t next; /* in the ready queue */
	uint64_t bytes;
	int64_t dialed_nsec;
	struct tcp_view view; /* as last seen */
};

#define NO_CONN SIZE_MAX

struct conns {
	struct conn *all;
	size_t n, room;
	size_t open; /* in state CONN_OPEN */
	size_t ready_head, ready_tail, ready_n;
};

void conns_init(struct conns *conns);
void conns_free(struct conns *conns);

/* A new entry in state CONN_UNUSED; *ret is its number. -ENOMEM. */
int conns_add(struct conns *conns, size_t *ret);

/* The queue is first in, first out: this is what makes the service fair. Queueing twice does nothing. */
void conns_queue(struct conns *conns, size_t number);
/* NO_CONN if none is ready. */
size_t conns_next(struct conns *conns);

void conns_opened(struct conns *conns, size_t number);

/* Looks at the connection a last time, closes it and sets its state. */
void conns_end(struct conns *conns, size_t number, enum conn_state state);

/* Looks at every open connection. */
void conns_view(struct conns *conns);

size_t conns_count(const struct conns *conns, enum conn_state state);
uint64_t conns_acked(const struct conns *conns);

#endif
