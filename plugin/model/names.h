/* SPDX-License-Identifier: Apache-2.0 */
/* Name tables of enums: one place where a number gets the word that JSON, tables and logs show. */
#ifndef SKM_MODEL_NAMES_H
#define SKM_MODEL_NAMES_H

#include <stddef.h>
#include <string.h>

struct skm_names {
	const char *const *names; /* indexed by the enum's value */
	size_t count;
};

/* "?" for a value outside the table. */
static inline const char *skm_name_of(const struct skm_names *table, unsigned int value)
{
	return value < table->count ? table->names[value] : "?";
}

/* The enum's value, or -1 where the table has no such name. */
static inline int skm_name_find(const struct skm_names *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (strcmp(table->names[i], name) == 0)
			return (int)i;
	return -1;
}

#endif
