/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static struct {
	const char *program;
	bool debug, to_syslog, to_journal;
} log_state = {.program = "sockmem"};

void skm_log_open(const char *program, bool debug, bool to_syslog)
{
	log_state.program = program;
	log_state.debug = debug;
	log_state.to_syslog = to_syslog;
	log_state.to_journal = !isatty(STDERR_FILENO);
	if (to_syslog)
		openlog(program, LOG_PID, LOG_DAEMON);
}

void skm_log(int priority, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (priority == LOG_DEBUG && !log_state.debug)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (log_state.to_journal)
		dprintf(STDERR_FILENO, "<%d>%s: %s\n", priority, log_state.program, text);
	else
		dprintf(STDERR_FILENO, "%s: %s\n", log_state.program, text);
	if (log_state.to_syslog)
		syslog(priority, "%s", text);
}
