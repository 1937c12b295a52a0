/* SPDX-License-Identifier: Apache-2.0 */
/* A table for people, aligned by display columns. Every cell is escaped: no caller can forget it. */
#ifndef SKM_CLI_TABLE_H
#define SKM_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct skm_column {
	const char *title;
	bool right;    /* numbers */
	bool flexible; /* may be cut, with "...", where the table is wider than the terminal */
};

struct skm_table;

/* columns: kept by the caller for the table's life. NULL: out of memory. */
struct skm_table *skm_table_new(const struct skm_column *columns, size_t count);

/* Adds a row of `count` texts, which are copied. A failure (out of memory) is kept for skm_table_print. */
void skm_table_add(struct skm_table *table, const char *const *cells);

/* width: of the terminal in columns; 0: nothing is cut. Returns 0 or -ENOMEM. The caller checks `out`. */
int skm_table_print(const struct skm_table *table, FILE *out, unsigned int width);

void skm_table_free(struct skm_table *table);

/* The width of the terminal that stdout is; 0 where it is none. */
unsigned int skm_table_terminal_width(void);

#endif
