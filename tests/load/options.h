/* SPDX-License-Identifier: Apache-2.0 */
/* Long options from tables, so that parsing and --help cannot disagree. */
#ifndef SOCKLOAD_OPTIONS_H
#define SOCKLOAD_OPTIONS_H

#include <stddef.h>

/* The kind says what the field at `offset` is. */
enum option_kind {
	OPTION_FLAG,   /* bool, takes no value */
	OPTION_COUNT,  /* uint64_t */
	OPTION_SIZE,   /* uint64_t, bytes or bytes/s */
	OPTION_TIME,   /* int64_t, nanoseconds */
	OPTION_SPAN,   /* struct span */
	OPTION_TEXT,   /* const char *, into argv */
	OPTION_PORT,   /* uint16_t, 1 to 65535 */
	OPTION_FAMILY, /* int: 4 or 6 */
	OPTION_NICE,   /* int: -20 to 19 */
};

struct option_row {
	const char *name; /* without the dashes; NULL ends a table */
	enum option_kind kind;
	size_t offset;
	const char *value; /* how --help names the value */
	const char *help;  /* NULL: another name of the option above, not shown */
};

struct verb_usage {
	const char *name;
	const char *summary;
	const struct option_row *const *tables; /* NULL ends the list */
};

enum { OPTIONS_OK, OPTIONS_HELP_SHOWN, OPTIONS_BAD };

/* Fills the struct at `base` from argv (which starts behind the verb). A mistake is one line on stderr. */
int options_parse(const struct verb_usage *usage, void *base, int argc, char **argv);

#endif
