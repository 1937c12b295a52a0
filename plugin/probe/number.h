/* SPDX-License-Identifier: Apache-2.0 */
/* Strict decimal numbers, as the kernel prints them. For this room's own files. */
#ifndef SKM_PROBE_NUMBER_H
#define SKM_PROBE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Reads digits at *text and moves it past them. False, with *text and *ret untouched, where there is no digit or the number has
 * more than 64 bits. What follows the digits is the caller's to judge. */
static inline bool skm_probe_digits(const char **text, uint64_t *ret)
{
	const char *c = *text;
	uint64_t number = 0;

	if (*c < '0' || *c > '9')
		return false;
	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, (uint64_t)(*c - '0'), &number))
			return false;
	*text = c;
	*ret = number;
	return true;
}

#endif
