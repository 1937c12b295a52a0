/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, rates and times as policies write them. Sizes have the Kubernetes quantity grammar, cut to what a memory limit can mean
 * (DESIGN.md, section 3). */
#ifndef SKM_BASE_UNITS_H
#define SKM_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#define SKM_KIB UINT64_C(1024)
#define SKM_MIB (SKM_KIB * 1024)
#define SKM_GIB (SKM_MIB * 1024)
#define SKM_USEC_PER_SEC UINT64_C(1000000)
#define SKM_USEC_PER_MSEC UINT64_C(1000)
#define SKM_PERMYRIAD UINT64_C(10000)

enum skm_size_kind {
	SKM_SIZE_BYTES,
	SKM_SIZE_PERCENT, /* of the container's memory.max, in permyriad: "12.5%" is 1250 */
	SKM_SIZE_MAX,     /* no limit */
	SKM_SIZE_PROGRAM  /* that many times the size of the container's program file: "exe", "2*exe" */
};

struct skm_size {
	enum skm_size_kind kind;
	uint64_t value; /* bytes, permyriad, or times; 0 for max */
};

/* Parses all of `text` (length bytes, need not end in NUL): "64Mi", "64M", "67108864", "1.5Gi", "12%", "max".
 * A fraction is allowed before a suffix and has to come out in whole bytes.
 * ret: untouched on failure.
 * Returns 0; -EINVAL with *ret_reason set to what is wrong and what would be right (a constant string);
 * -ERANGE, likewise, for more than INT64_MAX bytes, zero, or a percentage not in (0, 100]. */
int skm_size_parse(const char *text, size_t length, struct skm_size *ret, const char **ret_reason);

/* The same for memory.min and memory.low, which may also be 0 (nothing is protected), or "exe" and "2*exe": that many times the
 * size of the container's program file, a whole number from 1 to SKM_PROGRAM_TIMES_MAX. */
#define SKM_PROGRAM_TIMES_MAX 64
int skm_protection_parse(const char *text, size_t length, struct skm_size *ret, const char **ret_reason);

/* A percentage alone, "12.5%", in permyriad. Returns as above. */
int skm_percent_parse(const char *text, size_t length, uint32_t *ret_permyriad, const char **ret_reason);

/* A rate: a number with bit, kbit, Mbit or Gbit, per second, by powers of 1000. A fraction has to come out in whole bits.
 * Returns as above; -ERANGE for 0 and for more than INT64_MAX. */
int skm_rate_parse(const char *text, size_t length, uint64_t *ret_bits_per_sec, const char **ret_reason);

/* A time: a whole number with ms or s. Returns as above; -ERANGE for more than INT64_MAX. */
int skm_duration_parse(const char *text, size_t length, uint64_t *ret_usec, const char **ret_reason);

/* Writes the shortest exact form: "64Mi", "67108865", "12.5%", "max", "2*exe". buffer: at least SKM_SIZE_TEXT_MAX. Returns
 * buffer. */
#define SKM_SIZE_TEXT_MAX 32
const char *skm_size_format(const struct skm_size *size, char buffer[SKM_SIZE_TEXT_MAX]);
const char *skm_percent_format(uint32_t permyriad, char buffer[SKM_SIZE_TEXT_MAX]);
const char *skm_rate_format(uint64_t bits_per_sec, char buffer[SKM_SIZE_TEXT_MAX]);
const char *skm_duration_format(uint64_t usec, char buffer[SKM_SIZE_TEXT_MAX]); /* usec: whole milliseconds */

/* Writes bytes for people, three digits or so, binary units: "31.9 MiB", "512 B". buffer: at least SKM_SIZE_TEXT_MAX. */
const char *skm_bytes_human(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX]);

/* value × part / whole in 128 bits, so that it cannot overflow on the way; whole must not be 0. Saturates at UINT64_MAX. */
uint64_t skm_scale(uint64_t value, uint64_t part, uint64_t whole);

#endif
