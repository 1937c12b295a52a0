/* SPDX-License-Identifier: Apache-2.0 */
/* What a load run is told on its command line. Zero means "not set" everywhere. */
#ifndef SOCKLOAD_SETTINGS_H
#define SOCKLOAD_SETTINGS_H

#include "units.h"

#include <stdbool.h>
#include <stdint.h>

/* Which way the bulk data goes, seen from this program. */
enum direction { READS, WRITES };

struct settings {
	const char *verb;
	enum direction direction;

	/* Who connects: `to` dials, else we listen. */
	const char *to, *bind;
	uint16_t port, echo_port;
	int family;
	bool accept;
	uint64_t connections;
	int64_t retry_nsec;
	uint64_t ramp; /* connections a second */

	/* How the data flows. */
	uint64_t rate, rate_each; /* bytes/s: over all, and per connection */
	uint64_t chunk;           /* bytes of one read or write */
	uint64_t rcvbuf, sndbuf;

	/* When. */
	int64_t start_delay_nsec, duration_nsec, idle_nsec, stay_nsec, omit_nsec;
	struct span stop, measure; /* from the first data on; to_nsec 0 is not set */
	bool until_closed;

	/* Beside the sockets. */
	uint64_t anon;
	int64_t anon_over_nsec, anon_delay_nsec;

	const char *ready_file, *out;
};

#endif
