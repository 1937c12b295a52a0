/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

struct suffix {
	const char *name;
	uint64_t factor;
};

static const struct suffix SUFFIXES[] = {
        {"", 1},
        {"Ki", SKM_KIB},
        {"Mi", SKM_MIB},
        {"Gi", SKM_GIB},
        {"Ti", SKM_GIB * 1024},
        {"k", 1000},
        {"M", 1000 * 1000},
        {"G", UINT64_C(1000) * 1000 * 1000},
        {"T", UINT64_C(1000) * 1000 * 1000 * 1000},
};

static const char GRAMMAR[] = "not a size; write bytes (67108864), Ki Mi Gi Ti, k M G T, \"12%\" or \"max\"";

/* A decimal number split at its point: digits / 10^decimals. At most 19 digits in all, so that it fits. */
struct decimal {
	uint64_t digits;
	uint64_t scale;
	size_t length; /* characters read */
};

static bool read_decimal(const char *text, size_t length, struct decimal *ret)
{
	struct decimal number = {.scale = 1};
	bool point = false;
	size_t digits = 0;

	for (; number.length < length; number.length++) {
		char c = text[number.length];

		if (c == '.' && !point && digits > 0) {
			point = true;
			continue;
		}
		if (c < '0' || c > '9')
			break;
		if (++digits > 19)
			return false;
		number.digits = number.digits * 10 + (uint64_t)(c - '0');
		if (point)
			number.scale *= 10;
	}
	if (digits == 0 || text[number.length - 1] == '.')
		return false;
	*ret = number;
	return true;
}

/* What people write that this grammar does not have: say what they probably meant. */
static const char *suffix_hint(const char *suffix, size_t length)
{
	if (length == 1 && *suffix == 'm')
		return "\"m\" is milli in Kubernetes and mebi in Docker; write Mi (or M for 10^6)";
	if (length == 1 && *suffix == 'K')
		return "\"K\" is not a suffix; write Ki (1024) or k (1000)";
	if (length == 1 && *suffix == 'g')
		return "\"g\" is not a suffix; write Gi (or G for 10^9)";
	if (length == 2 && suffix[1] == 'B')
		return "sizes have no B; write Ki Mi Gi Ti (binary) or k M G T (decimal)";
	if (length > 0 && (*suffix == 'e' || (*suffix == 'E' && length > 1 && suffix[1] != 'i')))
		return "exponents are not taken; write plain digits or a suffix";
	if (length > 0 && strchr("EPnu", *suffix))
		return "the suffixes E, P, n and u are not taken; use Ki Mi Gi Ti or k M G T";
	if (length > 0 && *suffix == ' ')
		return "no space is allowed in a size; write it as 64Mi";
	return GRAMMAR;
}

static int fail(int code, const char *reason, const char **ret_reason)
{
	*ret_reason = reason;
	return -code;
}

static int parse_percent(const struct decimal *number, struct skm_size *ret, const char **ret_reason)
{
	wide permyriad = (wide)number->digits * 100;

	if (permyriad % number->scale != 0)
		return fail(EINVAL, "a percentage has at most two decimals", ret_reason);
	permyriad /= number->scale;
	if (permyriad == 0 || permyriad > SKM_PERMYRIAD)
		return fail(ERANGE, "a percentage is above 0% and at most 100%", ret_reason);
	*ret = (struct skm_size){.kind = SKM_SIZE_PERCENT, .value = (uint64_t)permyriad};
	return 0;
}

static int parse_bytes(const struct decimal *number, uint64_t factor, struct skm_size *ret, const char **ret_reason)
{
	wide bytes = (wide)number->digits * factor;

	if (factor == 1 && number->scale != 1)
		return fail(EINVAL, "plain bytes are a whole number", ret_reason);
	if (bytes % number->scale != 0)
		return fail(EINVAL, "the size does not come out in whole bytes", ret_reason);
	bytes /= number->scale;
	if (bytes == 0)
		return fail(ERANGE, "a size of 0 is not taken; write \"max\" for no limit", ret_reason);
	if (bytes > INT64_MAX)
		return fail(ERANGE, "more than 2^63-1 bytes; write \"max\" for no limit", ret_reason);
	*ret = (struct skm_size){.kind = SKM_SIZE_BYTES, .value = (uint64_t)bytes};
	return 0;
}

int skm_size_parse(const char *text, size_t length, struct skm_size *ret, const char **ret_reason)
{
	struct decimal number;
	const char *suffix;
	size_t left;

	if (length == 0)
		return fail(EINVAL, "empty; write a size such as 64Mi, \"12%\" or \"max\"", ret_reason);
	if (length == 3 && memcmp(text, "max", 3) == 0) {
		*ret = (struct skm_size){.kind = SKM_SIZE_MAX};
		return 0;
	}
	if (*text == '-')
		return fail(EINVAL, "negative; write a size above 0, or \"max\" for no limit", ret_reason);
	if (*text == ' ' || text[length - 1] == ' ')
		return fail(EINVAL, "no space is allowed in a size; write it as 64Mi", ret_reason);
	if (!read_decimal(text, length, &number))
		return fail(EINVAL, GRAMMAR, ret_reason);
	suffix = text + number.length;
	left = length - number.length;
	if (left == 1 && *suffix == '%')
		return parse_percent(&number, ret, ret_reason);
	for (size_t i = 0; i < sizeof(SUFFIXES) / sizeof(*SUFFIXES); i++)
		if (strlen(SUFFIXES[i].name) == left && memcmp(SUFFIXES[i].name, suffix, left) == 0)
			return parse_bytes(&number, SUFFIXES[i].factor, ret, ret_reason);
	return fail(EINVAL, suffix_hint(suffix, left), ret_reason);
}

const char *skm_size_format(const struct skm_size *size, char buffer[SKM_SIZE_TEXT_MAX])
{
	static const struct suffix BINARY[] = {
	        {"Ti", SKM_GIB * 1024}, {"Gi", SKM_GIB}, {"Mi", SKM_MIB}, {"Ki", SKM_KIB}, {"", 1}};
	const struct suffix *unit = BINARY;

	if (size->kind == SKM_SIZE_MAX) {
		snprintf(buffer, SKM_SIZE_TEXT_MAX, "max");
	} else if (size->kind == SKM_SIZE_PROGRAM) {
		snprintf(buffer, SKM_SIZE_TEXT_MAX, size->value == 1 ? "exe" : "%" PRIu64 "*exe", size->value);
	} else if (size->kind == SKM_SIZE_PERCENT) {
		snprintf(buffer, SKM_SIZE_TEXT_MAX, "%g%%", (double)size->value / 100);
	} else {
		while (size->value % unit->factor != 0)
			unit++;
		snprintf(buffer, SKM_SIZE_TEXT_MAX, "%" PRIu64 "%s", size->value / unit->factor, unit->name);
	}
	return buffer;
}

const char *skm_bytes_human(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX])
{
	static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	/* 1023.95 and above would be printed as 1024.0 of the smaller unit */
	while (value >= 1023.95 && unit + 1 < sizeof(UNITS) / sizeof(*UNITS)) {
		value /= 1024;
		unit++;
	}
	snprintf(buffer, SKM_SIZE_TEXT_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", value, UNITS[unit]);
	return buffer;
}

uint64_t skm_scale(uint64_t value, uint64_t part, uint64_t whole)
{
	wide scaled = (wide)value * part / whole;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}
