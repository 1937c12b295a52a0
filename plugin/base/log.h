/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for an administrator, on stderr with a syslog priority prefix ("<6>") that journald reads. Only main and daemon code
 * logs. */
#ifndef SKM_BASE_LOG_H
#define SKM_BASE_LOG_H

#include <stdbool.h>
#include <syslog.h>

/* program: printed before each line. debug: whether LOG_DEBUG lines are written. to_syslog: lines go to syslog(3) as well. */
void skm_log_open(const char *program, bool debug, bool to_syslog);

/* priority: LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO or LOG_DEBUG. One line, no newline at its end;
 * control characters of the text are written as '?', so that no tenant writes lines of its own. */
void skm_log(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
