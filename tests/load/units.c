/* SPDX-License-Identifier: Apache-2.0 */
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

struct unit {
	const char *name;
	double factor;
};

static const struct unit sizes[] = {
        {"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0},
};

static const struct unit times[] = {
        {"", 1e9}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9},
};

/* A decimal number and a unit of the table; neither sign, exponent nor blank. */
static int parse_quantity(const char *text, const struct unit *units, size_t n, double *ret)
{
	size_t digits = strspn(text, "0123456789."), i;
	char number[32], *end;
	double value;

	if (digits == 0 || digits >= sizeof number)
		return -EINVAL;
	memcpy(number, text, digits);
	number[digits] = '\0';
	value = strtod(number, &end);
	if (*end != '\0')
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (strcmp(text + digits, units[i].name) == 0) {
			value *= units[i].factor;
			if (value >= 9e18)
				return -EINVAL;
			*ret = value;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_count(const char *text, uint64_t *ret)
{
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || digits > 18 || text[digits] != '\0')
		return -EINVAL;
	*ret = strtoull(text, NULL, 10);
	return 0;
}

int parse_size(const char *text, uint64_t *ret)
{
	double value;

	if (parse_quantity(text, sizes, LENGTH(sizes), &value) < 0)
		return -EINVAL;
	*ret = (uint64_t)value;
	return 0;
}

int parse_time(const char *text, int64_t *ret_nsec)
{
	double value;

	if (parse_quantity(text, times, LENGTH(times), &value) < 0)
		return -EINVAL;
	*ret_nsec = (int64_t)value;
	return 0;
}

int parse_span(const char *text, struct span *ret)
{
	const char *colon = strchr(text, ':');
	struct span span = {.to_nsec = INT64_MAX};
	char from[32];

	if (!colon || (size_t)(colon - text) >= sizeof from)
		return -EINVAL;
	memcpy(from, text, (size_t)(colon - text));
	from[colon - text] = '\0';
	if (parse_time(from, &span.from_nsec) < 0)
		return -EINVAL;
	if (colon[1] != '\0' && parse_time(colon + 1, &span.to_nsec) < 0)
		return -EINVAL;
	if (span.to_nsec <= span.from_nsec)
		return -EINVAL;
	*ret = span;
	return 0;
}
