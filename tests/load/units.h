/* SPDX-License-Identifier: Apache-2.0 */
/* What people write on a command line: sizes, times and spans of time. Each returns 0, or -EINVAL. */
#ifndef SOCKLOAD_UNITS_H
#define SOCKLOAD_UNITS_H

#include <stdint.h>

/* From `from` up to `to`, in nanoseconds; an open end is INT64_MAX. */
struct span {
	int64_t from_nsec, to_nsec;
};

/* A plain decimal integer. */
int parse_count(const char *text, uint64_t *ret);

/* "1500", "64Ki", "1.5M": k M G are powers of 1000, Ki Mi Gi of 1024. Also for rates in bytes/s. */
int parse_size(const char *text, uint64_t *ret);

/* "5ms", "1.5s", "2m", "100us"; without a unit it is seconds. */
int parse_time(const char *text, int64_t *ret_nsec);

/* "1s:3s", "2s:" (to the end). */
int parse_span(const char *text, struct span *ret);

#endif
