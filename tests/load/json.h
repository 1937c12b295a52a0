/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON object on one line, written as it is made. Keys are plain words of ours and are not escaped. */
#ifndef SOCKLOAD_JSON_H
#define SOCKLOAD_JSON_H

#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *file;
	int first; /* no comma before the next member */
};

void json_begin(struct json *json, FILE *file);
/* Ends the object and its line. 0 or a negative errno. */
int json_end(struct json *json);

void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* A NULL key is an element of an array. */
void json_uint(struct json *json, const char *key, uint64_t value);
void json_int(struct json *json, const char *key, int64_t value);
/* `digits` behind the point. */
void json_real(struct json *json, const char *key, double value, int digits);
void json_null(struct json *json, const char *key);
void json_text(struct json *json, const char *key, const char *value);

/* {"n", "min", "p50", "p99", "max", "common": [[value, count], ...]} of n values; sorts them. */
void json_distribution(struct json *json, const char *key, uint64_t *values, size_t n);

/* Nearest-rank percentile of sorted values, 0 of none. */
uint64_t percentile(const uint64_t *sorted, size_t n, unsigned percent);
void sort_u64(uint64_t *values, size_t n);

#endif
