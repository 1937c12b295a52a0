/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes as policies write them: the Kubernetes quantity grammar, cut to what a memory limit can mean (DESIGN.md, section 3). */
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

/* Writes the shortest exact form: "64Mi", "67108865", "12.5%", "max", "2*exe". buffer: at least SKM_SIZE_TEXT_MAX. Returns
 * buffer. */
#define SKM_SIZE_TEXT_MAX 32
const char *skm_size_format(const struct skm_size *size, char buffer[SKM_SIZE_TEXT_MAX]);

/* Writes bytes for people, three digits or so, binary units: "31.9 MiB", "512 B". buffer: at least SKM_SIZE_TEXT_MAX. */
const char *skm_bytes_human(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX]);

/* value × part / whole in 128 bits, so that it cannot overflow on the way; whole must not be 0. Saturates at UINT64_MAX. */
uint64_t skm_scale(uint64_t value, uint64_t part, uint64_t whole);

#endif
