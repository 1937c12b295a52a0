/* SPDX-License-Identifier: Apache-2.0 */
#include "meter.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

/* A run longer than this keeps its total but no longer series. */
#define SERIES_MAX 86400

void meter_start(struct meter *meter, int64_t now)
{
	if (meter->running)
		return;
	meter->running = true;
	meter->zero_nsec = meter->last_nsec = now;
}

int64_t meter_age(const struct meter *meter, int64_t now)
{
	return meter->running ? now - meter->zero_nsec : 0;
}

static void add_to_series(struct meter *meter, size_t second, uint64_t bytes)
{
	if (second >= SERIES_MAX)
		return;
	if (second >= meter->n_seconds) {
		size_t n = second + 60;
		uint64_t *seconds = reallocarray(meter->seconds, n, sizeof *seconds);

		if (!seconds)
			return;
		memset(seconds + meter->n_seconds, 0, (n - meter->n_seconds) * sizeof *seconds);
		meter->seconds = seconds;
		meter->n_seconds = n;
	}
	meter->seconds[second] += bytes;
}

void meter_add(struct meter *meter, int64_t now, uint64_t bytes)
{
	int64_t age = now - meter->zero_nsec;

	meter->bytes += bytes;
	meter->last_nsec = now;
	add_to_series(meter, (size_t)(age / NSEC_PER_SEC), bytes);
	/* Left open: what moves at the end of an interval was earned within it. */
	if (age > meter->window.from_nsec && age <= meter->window.to_nsec)
		meter->window_bytes += bytes;
}

void meter_free(struct meter *meter)
{
	free(meter->seconds);
	meter->seconds = NULL;
	meter->n_seconds = 0;
}

double meter_window_seconds(const struct meter *meter)
{
	int64_t end = min_i64(meter->last_nsec - meter->zero_nsec, meter->window.to_nsec);

	return end > meter->window.from_nsec ? to_seconds(end - meter->window.from_nsec) : 0;
}

static double per_second(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes / seconds : 0;
}

void meter_report(const struct meter *meter, struct json *json)
{
	double seconds = to_seconds(meter->last_nsec - meter->zero_nsec);
	size_t used = meter->running ? (size_t)seconds + 1 : 0;

	json_uint(json, "bytes", meter->bytes);
	json_real(json, "data_seconds", seconds, 6);
	json_real(json, "rate", per_second(meter->bytes, seconds), 0);
	if (meter->window.to_nsec > 0) {
		json_open(json, "window", '{');
		json_real(json, "from", to_seconds(meter->window.from_nsec), 3);
		json_real(json, "seconds", meter_window_seconds(meter), 6);
		json_uint(json, "bytes", meter->window_bytes);
		json_real(json, "rate", per_second(meter->window_bytes, meter_window_seconds(meter)), 0);
		json_close(json, '}');
	}
	json_open(json, "series", '[');
	for (size_t i = 0; i < used && i < meter->n_seconds; i++)
		json_uint(json, NULL, meter->seconds[i]);
	json_close(json, ']');
}
