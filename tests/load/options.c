/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "units.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void show_help(const struct verb_usage *usage)
{
	printf("sockload %s: %s\n\n", usage->name, usage->summary);
	for (const struct option_row *const *table = usage->tables; *table; table++) {
		for (const struct option_row *row = *table; row->name; row++) {
			char left[64];

			if (!row->help)
				continue;
			snprintf(left, sizeof left, "--%s %s", row->name, row->value ? row->value : "");
			printf("  %-24s %s\n", left, row->help);
		}
	}
	puts("\nSizes and rates (bytes/s): k M G are 10^3.., Ki Mi Gi 2^10... Times: us ms s m, else seconds.");
}

static const struct option_row *find(const struct verb_usage *usage, const char *name, size_t length)
{
	for (const struct option_row *const *table = usage->tables; *table; table++) {
		for (const struct option_row *row = *table; row->name; row++) {
			if (strlen(row->name) == length && memcmp(row->name, name, length) == 0)
				return row;
		}
	}
	return NULL;
}

static int set_port(const char *text, uint16_t *ret)
{
	uint64_t number;

	if (parse_count(text, &number) < 0 || number < 1 || number > 65535)
		return -EINVAL;
	*ret = (uint16_t)number;
	return 0;
}

static int set_family(const char *text, int *ret)
{
	if (strcmp(text, "4") != 0 && strcmp(text, "6") != 0)
		return -EINVAL;
	*ret = text[0] - '0';
	return 0;
}

static int set_nice(const char *text, int *ret)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text || *end != '\0' || number < -20 || number > 19)
		return -EINVAL;
	*ret = (int)number;
	return 0;
}

static int set_field(const struct option_row *row, void *field, const char *text)
{
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_COUNT:
		return parse_count(text, field);
	case OPTION_SIZE:
		return parse_size(text, field);
	case OPTION_TIME:
		return parse_time(text, field);
	case OPTION_SPAN:
		return parse_span(text, field);
	case OPTION_TEXT:
		*(const char **)field = text;
		return text[0] != '\0' ? 0 : -EINVAL;
	case OPTION_PORT:
		return set_port(text, field);
	case OPTION_FAMILY:
		return set_family(text, field);
	case OPTION_NICE:
		return set_nice(text, field);
	}
	return -EINVAL;
}

/* Takes one option with its value; returns how many words it used, or -EINVAL. */
static int take(const struct verb_usage *usage, void *base, int left, char **argv)
{
	const char *word = argv[0], *name = word + 2, *equals, *text;
	const struct option_row *row;
	int used = 1;

	if (strncmp(word, "--", 2) != 0) {
		complain("%s: unexpected '%s'", usage->name, word);
		return -EINVAL;
	}
	equals = strchr(name, '=');
	row = find(usage, name, equals ? (size_t)(equals - name) : strlen(name));
	if (!row) {
		complain("%s: no option '%s' (see sockload %s --help)", usage->name, word, usage->name);
		return -EINVAL;
	}
	text = equals ? equals + 1 : NULL;
	if (row->kind == OPTION_FLAG ? text != NULL : (!text && left < 2)) {
		complain("%s: --%s %s", usage->name, row->name, row->kind == OPTION_FLAG ? "takes no value" : "needs a value");
		return -EINVAL;
	}
	if (row->kind != OPTION_FLAG && !text) {
		text = argv[1];
		used = 2;
	}
	if (set_field(row, (char *)base + row->offset, text) < 0) {
		complain("%s: --%s: '%s' is not a valid %s", usage->name, row->name, text, row->value);
		return -EINVAL;
	}
	return used;
}

int options_parse(const struct verb_usage *usage, void *base, int argc, char **argv)
{
	for (int i = 0; i < argc;) {
		int used;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			show_help(usage);
			return OPTIONS_HELP_SHOWN;
		}
		used = take(usage, base, argc - i, argv + i);
		if (used < 0)
			return OPTIONS_BAD;
		i += used;
	}
	return OPTIONS_OK;
}
