/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include "escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define GAP 2 /* spaces between two columns */

/* A flexible column keeps at least this: the 12 characters by which people know an id. */
#define FLEXIBLE_MIN 12

#define CUT "..."

struct skm_table {
	const struct skm_column *columns;
	size_t count, rows;
	char **cells; /* escaped, row by row; the first row holds the titles */
	bool failed;  /* out of memory on the way */
	bool utf8;
};

struct skm_table *skm_table_new(const struct skm_column *columns, size_t count)
{
	struct skm_table *table = calloc(1, sizeof(*table));
	const char **titles = calloc(count, sizeof(*titles));

	if (table && titles) {
		*table = (struct skm_table){.columns = columns, .count = count, .utf8 = skm_cli_terminal_is_utf8()};
		for (size_t i = 0; i < count; i++)
			titles[i] = columns[i].title;
		skm_table_add(table, titles);
	} else {
		free(table);
		table = NULL;
	}
	free(titles);
	return table;
}

void skm_table_add(struct skm_table *table, const char *const *cells)
{
	char **larger = reallocarray(table->cells, (table->rows + 1) * table->count, sizeof(*larger));

	if (!larger) {
		table->failed = true;
		return;
	}
	table->cells = larger;
	for (size_t i = 0; i < table->count; i++) {
		char *escaped = skm_cli_escape(cells[i], table->utf8);

		larger[table->rows * table->count + i] = escaped;
		if (!escaped)
			table->failed = true;
	}
	table->rows++;
}

static void measure(const struct skm_table *table, unsigned int *widths)
{
	for (size_t i = 0; i < table->rows * table->count; i++) {
		unsigned int columns = skm_cli_columns(table->cells[i]);

		if (columns > widths[i % table->count])
			widths[i % table->count] = columns;
	}
}

/* Narrows flexible columns, the last one first, until the table fits. */
static void fit(const struct skm_table *table, unsigned int *widths, unsigned int width)
{
	unsigned int all = 0;

	for (size_t i = 0; i < table->count; i++)
		all += widths[i] + (i ? GAP : 0);
	for (size_t i = table->count; i-- > 0 && all > width;) {
		unsigned int least = FLEXIBLE_MIN, excess = all - width;

		if (!table->columns[i].flexible || widths[i] <= least)
			continue;
		if (excess > widths[i] - least)
			excess = widths[i] - least;
		widths[i] -= excess;
		all -= excess;
	}
}

/* The bytes of text that fit in width columns, of which they use *ret_used. Cuts between characters; where it cuts one of our
 * own \xNN, that is harmless. */
static size_t bytes_that_fit(const char *text, unsigned int width, unsigned int *ret_used)
{
	size_t done = 0;

	*ret_used = 0;
	while (text[done]) {
		char part[8] = {text[done]};
		size_t bytes = 1;
		unsigned int columns;

		for (; (text[done + bytes] & 0xc0) == 0x80 && bytes < sizeof(part) - 1; bytes++)
			part[bytes] = text[done + bytes];
		columns = skm_cli_columns(part);
		if (*ret_used + columns > width)
			break;
		*ret_used += columns;
		done += bytes;
	}
	return done;
}

static void print_cell(FILE *out, const char *text, unsigned int width, bool right, bool last)
{
	unsigned int columns = skm_cli_columns(text);
	int padding = columns < width ? (int)(width - columns) : 0;

	if (columns > width) {
		unsigned int used;
		size_t bytes = bytes_that_fit(text, width - (unsigned int)strlen(CUT), &used);

		fprintf(out, "%.*s" CUT "%*s", (int)bytes, text, (int)(width - used - strlen(CUT)), "");
		return;
	}
	if (right)
		fprintf(out, "%*s", padding, "");
	fputs(text, out);
	if (!right && !last)
		fprintf(out, "%*s", padding, "");
}

int skm_table_print(const struct skm_table *table, FILE *out, unsigned int width)
{
	unsigned int *widths;

	if (table->failed)
		return -ENOMEM;
	widths = calloc(table->count, sizeof(*widths));
	if (!widths)
		return -ENOMEM;
	measure(table, widths);
	if (width > 0)
		fit(table, widths, width);
	for (size_t row = 0; row < table->rows; row++) {
		for (size_t i = 0; i < table->count; i++) {
			bool last = i + 1 == table->count;

			print_cell(out, table->cells[row * table->count + i], widths[i], table->columns[i].right, last);
			fputs(last ? "\n" : "  ", out);
		}
	}
	free(widths);
	return 0;
}

void skm_table_free(struct skm_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->rows * table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

unsigned int skm_table_terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}
