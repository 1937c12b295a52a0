/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <errno.h>
#include <stdlib.h>

/* A distribution names this many of its most common values. */
#define COMMON_MAX 8

static void lead(struct json *json, const char *key)
{
	if (!json->first)
		fputs(", ", json->file);
	json->first = 0;
	if (key)
		fprintf(json->file, "\"%s\": ", key);
}

void json_begin(struct json *json, FILE *file)
{
	json->file = file;
	json->first = 1;
	fputc('{', file);
}

int json_end(struct json *json)
{
	fputs("}\n", json->file);
	if (fflush(json->file) != 0 || ferror(json->file))
		return errno ? -errno : -EIO;
	return 0;
}

void json_open(struct json *json, const char *key, char bracket)
{
	lead(json, key);
	fputc(bracket, json->file);
	json->first = 1;
}

void json_close(struct json *json, char bracket)
{
	fputc(bracket, json->file);
	json->first = 0;
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
	lead(json, key);
	fprintf(json->file, "%llu", (unsigned long long)value);
}

void json_int(struct json *json, const char *key, int64_t value)
{
	lead(json, key);
	fprintf(json->file, "%lld", (long long)value);
}

void json_real(struct json *json, const char *key, double value, int digits)
{
	lead(json, key);
	fprintf(json->file, "%.*f", digits, __builtin_isfinite(value) ? value : 0.0);
}

void json_null(struct json *json, const char *key)
{
	lead(json, key);
	fputs("null", json->file);
}

void json_text(struct json *json, const char *key, const char *value)
{
	lead(json, key);
	fputc('"', json->file);
	for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(json->file, "\\%c", *c);
		else if (*c < 0x20 || *c > 0x7e)
			fprintf(json->file, "\\u%04x", *c);
		else
			fputc(*c, json->file);
	}
	fputc('"', json->file);
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

void sort_u64(uint64_t *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof *values, by_value);
}

uint64_t percentile(const uint64_t *sorted, size_t n, unsigned percent)
{
	size_t rank = (n * percent + 99) / 100;

	if (n == 0)
		return 0;
	return sorted[rank > 0 ? rank - 1 : 0];
}

struct tally {
	uint64_t value, count;
};

/* Keeps the list in falling order of count. */
static void insert_tally(struct tally *common, size_t *n, struct tally one)
{
	size_t at = *n;

	while (at > 0 && common[at - 1].count < one.count)
		at--;
	if (at >= COMMON_MAX)
		return;
	if (*n < COMMON_MAX)
		(*n)++;
	for (size_t i = *n - 1; i > at; i--)
		common[i] = common[i - 1];
	common[at] = one;
}

void json_distribution(struct json *json, const char *key, uint64_t *values, size_t n)
{
	struct tally common[COMMON_MAX] = {0};
	size_t n_common = 0, start = 0;

	sort_u64(values, n);
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && values[i + 1] == values[i])
			continue;
		insert_tally(common, &n_common, (struct tally){values[i], i + 1 - start});
		start = i + 1;
	}
	json_open(json, key, '{');
	json_uint(json, "n", n);
	json_uint(json, "min", n > 0 ? values[0] : 0);
	json_uint(json, "p50", percentile(values, n, 50));
	json_uint(json, "p99", percentile(values, n, 99));
	json_uint(json, "max", n > 0 ? values[n - 1] : 0);
	json_open(json, "common", '[');
	for (size_t i = 0; i < n_common; i++) {
		json_open(json, NULL, '[');
		json_uint(json, NULL, common[i].value);
		json_uint(json, NULL, common[i].count);
		json_close(json, ']');
	}
	json_close(json, ']');
	json_close(json, '}');
}
