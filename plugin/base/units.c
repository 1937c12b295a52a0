/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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

static const struct suffix RATES[] = {
        {"Gbit", UINT64_C(1000) * 1000 * 1000},
        {"Mbit", 1000 * 1000},
        {"kbit", 1000},
        {"bit", 1},
};

static const struct suffix TIMES[] = {
        {"s", SKM_USEC_PER_SEC},
        {"ms", SKM_USEC_PER_MSEC},
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static const char GRAMMAR[] = "not a size; write bytes (67108864), Ki Mi Gi Ti, k M G T, \"12%\" or \"max\"";
static const char PERCENT_GRAMMAR[] = "not a percentage; write it as \"10%\"";
static const char RATE_GRAMMAR[] = "not a rate; write a number with bit, kbit, Mbit or Gbit (per second), such as 10Mbit";
static const char TIME_GRAMMAR[] = "not a time; write a whole number with ms or s, such as 500ms";
static const char PROGRAM_GRAMMAR[] = "write exe, or a whole number from 1 to 64 before it: 2*exe";
static const char PROGRAM_ELSEWHERE[] = "exe, the size of the program, is for memory.min and memory.low alone: it is an amount "
                                        "to protect, and no limit; write bytes, \"12%\" or \"max\"";

#define DIGITS_MAX 19 /* in all, so that they fit 64 bits */
static const char TOO_MANY_DIGITS[] = "more than 19 digits; write a larger unit";

/* A decimal number split at its point: digits / 10^decimals. */
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
		if (++digits > DIGITS_MAX)
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

/* Why read_decimal did not take it, where it begins like a number: digits beyond 64 bits, at least in what they mean. */
static bool has_too_many_digits(const char *text, size_t length)
{
	size_t digits = 0;

	for (size_t i = 0; i < length && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9')); i++)
		digits += text[i] != '.';
	return digits > DIGITS_MAX;
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

static const struct suffix *find_suffix(const struct suffix *table, size_t count, const char *text, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (is_word(text, length, table[i].name))
			return &table[i];
	return NULL;
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

/* takes_zero: for an amount, of which 0 is one. */
static int parse_bytes(const struct decimal *number, uint64_t factor, bool takes_zero, struct skm_size *ret,
                       const char **ret_reason)
{
	wide bytes = (wide)number->digits * factor;

	if (factor == 1 && number->scale != 1)
		return fail(EINVAL, "plain bytes are a whole number", ret_reason);
	if (bytes % number->scale != 0)
		return fail(EINVAL, "the size does not come out in whole bytes", ret_reason);
	bytes /= number->scale;
	if (bytes == 0 && !takes_zero)
		return fail(ERANGE, "a size of 0 is not taken; write \"max\" for no limit", ret_reason);
	if (bytes > INT64_MAX)
		return fail(ERANGE, "more than 2^63-1 bytes; write \"max\" for no limit", ret_reason);
	*ret = (struct skm_size){.kind = SKM_SIZE_BYTES, .value = (uint64_t)bytes};
	return 0;
}

static int parse_size(const char *text, size_t length, bool takes_zero, struct skm_size *ret, const char **ret_reason)
{
	struct decimal number;
	const struct suffix *suffix;

	if (length == 0)
		return fail(EINVAL, "empty; write a size such as 64Mi, \"12%\" or \"max\"", ret_reason);
	if (is_word(text, length, "max")) {
		*ret = (struct skm_size){.kind = SKM_SIZE_MAX};
		return 0;
	}
	if (*text == '-')
		return fail(EINVAL,
		            takes_zero ? "negative; write a size, or 0 to protect nothing"
		                       : "negative; write a size above 0, or \"max\" for no limit",
		            ret_reason);
	if (*text == ' ' || text[length - 1] == ' ')
		return fail(EINVAL, "no space is allowed in a size; write it as 64Mi", ret_reason);
	if (!read_decimal(text, length, &number))
		return fail(EINVAL, has_too_many_digits(text, length) ? TOO_MANY_DIGITS : GRAMMAR, ret_reason);
	text += number.length;
	length -= number.length;
	if (is_word(text, length, "%"))
		return parse_percent(&number, ret, ret_reason);
	suffix = find_suffix(SUFFIXES, COUNT(SUFFIXES), text, length);
	if (suffix)
		return parse_bytes(&number, suffix->factor, takes_zero, ret, ret_reason);
	return fail(EINVAL, suffix_hint(text, length), ret_reason);
}

/* Whether the text means to be a multiple of the program's size. */
static bool names_program(const char *text, size_t length)
{
	for (size_t i = 0; i + 3 <= length; i++)
		if (strncasecmp(text + i, "exe", 3) == 0)
			return true;
	return false;
}

int skm_size_parse(const char *text, size_t length, struct skm_size *ret, const char **ret_reason)
{
	if (names_program(text, length))
		return fail(EINVAL, PROGRAM_ELSEWHERE, ret_reason);
	return parse_size(text, length, false, ret, ret_reason);
}

int skm_protection_parse(const char *text, size_t length, struct skm_size *ret, const char **ret_reason)
{
	uint64_t times = 1;
	size_t at = 0;

	if (!names_program(text, length))
		return parse_size(text, length, true, ret, ret_reason);
	if (length > 4 && text[0] != '0' && text[length - 4] == '*')
		for (times = 0; at < length - 4 && at < 3 && text[at] >= '0' && text[at] <= '9'; at++)
			times = times * 10 + (uint64_t)(text[at] - '0');
	if (!is_word(text + at, length - at, at > 0 ? "*exe" : "exe"))
		return fail(EINVAL, PROGRAM_GRAMMAR, ret_reason);
	if (times > SKM_PROGRAM_TIMES_MAX)
		return fail(ERANGE, PROGRAM_GRAMMAR, ret_reason);
	*ret = (struct skm_size){.kind = SKM_SIZE_PROGRAM, .value = times};
	return 0;
}

int skm_percent_parse(const char *text, size_t length, uint32_t *ret_permyriad, const char **ret_reason)
{
	struct decimal number;
	struct skm_size size;
	int r;

	if (length < 2 || !read_decimal(text, length, &number) || !is_word(text + number.length, length - number.length, "%"))
		return fail(EINVAL, PERCENT_GRAMMAR, ret_reason);
	r = parse_percent(&number, &size, ret_reason);
	if (r == 0)
		*ret_permyriad = (uint32_t)size.value;
	return r;
}

static const char *rate_hint(const char *suffix, size_t length)
{
	if (length == 0)
		return "a rate without its unit; write 10Mbit, or bit for single bits per second";
	if (is_word(suffix, length, "bps") || (length == 4 && memcmp(suffix + 1, "bps", 3) == 0))
		return "bps is bytes to tc and bits to others; write bit, kbit, Mbit or Gbit";
	if (is_word(suffix, length, "mbit"))
		return "\"mbit\" is milli by the letter; write Mbit";
	if (is_word(suffix, length, "Tbit"))
		return "Tbit is not taken; write thousands of Gbit";
	if (length == 5 && memcmp(suffix + 1, "ibit", 4) == 0)
		return "rates count in powers of 1000; write kbit, Mbit or Gbit";
	return RATE_GRAMMAR;
}

int skm_rate_parse(const char *text, size_t length, uint64_t *ret_bits_per_sec, const char **ret_reason)
{
	struct decimal number;
	const struct suffix *suffix;
	wide bits;

	if (!read_decimal(text, length, &number))
		return fail(EINVAL, has_too_many_digits(text, length) ? TOO_MANY_DIGITS : RATE_GRAMMAR, ret_reason);
	text += number.length;
	length -= number.length;
	suffix = find_suffix(RATES, COUNT(RATES), text, length);
	if (!suffix)
		return fail(EINVAL, rate_hint(text, length), ret_reason);
	bits = (wide)number.digits * suffix->factor;
	if (bits % number.scale != 0)
		return fail(EINVAL, "the rate does not come out in whole bits", ret_reason);
	bits /= number.scale;
	if (bits == 0)
		return fail(ERANGE, "a rate of 0 stops everything; write a rate above 0, or leave the key out", ret_reason);
	if (bits > INT64_MAX)
		return fail(ERANGE, "more than 2^63-1 bits per second", ret_reason);
	*ret_bits_per_sec = (uint64_t)bits;
	return 0;
}

int skm_duration_parse(const char *text, size_t length, uint64_t *ret_usec, const char **ret_reason)
{
	struct decimal number;
	const struct suffix *suffix;
	wide usec;

	if (!read_decimal(text, length, &number))
		return fail(EINVAL, TIME_GRAMMAR, ret_reason);
	if (memchr(text, '.', number.length))
		return fail(EINVAL, "a time is a whole number; write 1500ms for 1.5 s", ret_reason);
	text += number.length;
	length -= number.length;
	suffix = find_suffix(TIMES, COUNT(TIMES), text, length);
	if (!suffix && length == 0)
		return fail(EINVAL, "a time without its unit; write ms or s after the number", ret_reason);
	if (!suffix)
		return fail(EINVAL, TIME_GRAMMAR, ret_reason);
	usec = (wide)number.digits * suffix->factor;
	if (usec > INT64_MAX)
		return fail(ERANGE, "more than 2^63-1 microseconds", ret_reason);
	*ret_usec = (uint64_t)usec;
	return 0;
}

/* By the largest unit of a table, largest first, that leaves a whole number. 0 has the last one. */
static const char *format_exactly(uint64_t value, const struct suffix *table, size_t count, char buffer[SKM_SIZE_TEXT_MAX])
{
	size_t i = 0;

	while (i + 1 < count && (value == 0 || value % table[i].factor != 0))
		i++;
	snprintf(buffer, SKM_SIZE_TEXT_MAX, "%" PRIu64 "%s", value / table[i].factor, table[i].name);
	return buffer;
}

const char *skm_percent_format(uint32_t permyriad, char buffer[SKM_SIZE_TEXT_MAX])
{
	snprintf(buffer, SKM_SIZE_TEXT_MAX, "%g%%", (double)permyriad / 100);
	return buffer;
}

const char *skm_rate_format(uint64_t bits_per_sec, char buffer[SKM_SIZE_TEXT_MAX])
{
	return format_exactly(bits_per_sec, RATES, COUNT(RATES), buffer);
}

const char *skm_duration_format(uint64_t usec, char buffer[SKM_SIZE_TEXT_MAX])
{
	return format_exactly(usec, TIMES, COUNT(TIMES), buffer);
}

const char *skm_size_format(const struct skm_size *size, char buffer[SKM_SIZE_TEXT_MAX])
{
	static const struct suffix BINARY[] = {
	        {"Ti", SKM_GIB * 1024}, {"Gi", SKM_GIB}, {"Mi", SKM_MIB}, {"Ki", SKM_KIB}, {"", 1}};

	if (size->kind == SKM_SIZE_MAX)
		snprintf(buffer, SKM_SIZE_TEXT_MAX, "max");
	else if (size->kind == SKM_SIZE_PROGRAM)
		snprintf(buffer, SKM_SIZE_TEXT_MAX, size->value == 1 ? "exe" : "%" PRIu64 "*exe", size->value);
	else if (size->kind == SKM_SIZE_PERCENT)
		return skm_percent_format((uint32_t)size->value, buffer);
	else
		return format_exactly(size->value, BINARY, COUNT(BINARY), buffer);
	return buffer;
}

const char *skm_bytes_human(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX])
{
	static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	/* 1023.95 and above would be printed as 1024.0 of the smaller unit */
	while (value >= 1023.95 && unit + 1 < COUNT(UNITS)) {
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
