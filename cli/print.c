/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include "base/cleanup.h"
#include "escape.h"

#include <stdarg.h>
#include <stdio.h>

static void put_escaped(FILE *out, const char *text)
{
	cleanup_free char *escaped = skm_cli_escape(text, skm_cli_terminal_is_utf8());

	fputs(escaped ? escaped : "(out of memory)", out);
}

enum skm_exit skm_cli_fail(enum skm_exit status, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fputs("sockmem: ", stderr);
	put_escaped(stderr, text);
	fputc('\n', stderr);
	return status;
}

enum skm_exit skm_cli_print_json(char *text)
{
	cleanup_free char *owned = text;

	if (!owned)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	puts(owned);
	return SKM_EXIT_OK;
}

void skm_cli_put(const char *text)
{
	put_escaped(stdout, text);
}
