/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's one line for a person, and where it goes so that it is seen. */
#ifndef SKM_HOOK_COMPLAIN_H
#define SKM_HOOK_COMPLAIN_H

#include "hook/paths.h"

/* Stands before the reason where a container is made without what was to be enforced (onError: warn). */
#define SKM_HOOK_NOT_ENFORCED "not enforced, and made all the same (onError: warn): "

/* Opens /dev/null where a standard descriptor is closed, so that no file of ours ever becomes somebody's stderr. Call it first.
 */
void skm_hook_open_standard(void);

/* Says one line: to stderr; where that leads nowhere (crun gives a hook /dev/null) to the runtime's own stderr and its log; to
 * syslog; to the hook's log. Never waits, never fails. id: the container's, "" where it is not known. Both may hold a tenant's
 * bytes: all but printable ASCII is escaped. */
void skm_hook_complain(const struct skm_hook_paths *paths, const char *id, const char *text);

/* The same for what is only a warning: the line is marked as not enforced. Since runc drops the stderr of a hook that succeeds, a
 * pipe is not taken for a place where somebody reads: the line goes to the runtime's own stderr too. */
void skm_hook_warn(const struct skm_hook_paths *paths, const char *id, const char *text);

/* A line at debug level, to syslog only. */
void skm_hook_debug(const char *id, const char *text);

#endif
