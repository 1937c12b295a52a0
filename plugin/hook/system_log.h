/* SPDX-License-Identifier: Apache-2.0 */
/* One line to the system log without ever waiting: syslog(3) blocks where the log's reader is stuck, and the hook has 2 s. */
#ifndef SKM_HOOK_SYSTEM_LOG_H
#define SKM_HOOK_SYSTEM_LOG_H

/* priority: LOG_ERR, LOG_DEBUG, … Nothing happens where no system log listens. */
void skm_hook_system_log(int priority, const char *line);

#endif
