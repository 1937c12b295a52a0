/* SPDX-License-Identifier: Apache-2.0 */
/* Counts bytes over time. Time zero is the first data, not the start of the program. */
#ifndef SOCKLOAD_METER_H
#define SOCKLOAD_METER_H

#include "json.h"
#include "units.h"

#include <stdbool.h>

struct meter {
	bool running;
	int64_t zero_nsec, last_nsec; /* first data there; last data moved */
	uint64_t bytes;
	struct span window; /* relative to zero; to_nsec 0: none wanted */
	uint64_t window_bytes;
	uint64_t *seconds; /* bytes per second since zero */
	size_t n_seconds;
};

void meter_start(struct meter *meter, int64_t now);
void meter_add(struct meter *meter, int64_t now, uint64_t bytes);
void meter_free(struct meter *meter);

/* Nanoseconds since zero, 0 before it. */
int64_t meter_age(const struct meter *meter, int64_t now);

/* Seconds of the measured window that have passed up to the last byte. */
double meter_window_seconds(const struct meter *meter);

/* bytes, reading_seconds, rate, window {...} where one was asked for, and series. */
void meter_report(const struct meter *meter, struct json *json);

#endif
