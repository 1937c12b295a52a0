/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of bulk load. serve, drain, blast, push and stream are the same run: connections that are accepted or
 * dialled, and data that is read or written.
 */
#ifndef SOCKLOAD_ENGINE_H
#define SOCKLOAD_ENGINE_H

#include "dialer.h"
#include "echoer.h"
#include "memory.h"
#include "transfer.h"

struct engine {
	const struct settings *settings;
	int listener, epoll; /* epoll watches the data connections, by edges */
	struct conns conns;
	struct dialer dialer;
	struct echoer echoer;
	struct memory memory;
	struct meter meter;
	struct transfer transfer;

	double start_unix;
	int64_t start_nsec;    /* listening, or dialling */
	int64_t open_nsec;     /* every dialled connection is open; 0 before that */
	int64_t transfer_nsec; /* data may flow; 0 before that */
	int64_t end_nsec;
	bool growing, announced, stopped;
	uint64_t accepted, accept_failures;
	uint64_t acked_from, acked_to; /* by the peers, at the edges of the measured window */
	bool acked_from_known, acked_to_known;
	const char *ended_by;
};

/* Runs to the end and prints the report. Returns an exit code. */
int engine_main(const struct settings *settings);

/* The report, one JSON object. 0 or a negative errno. */
int engine_report(struct engine *engine);

#endif
