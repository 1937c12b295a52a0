/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's own log, which survives where the runtime hides a hook's stderr and no system log runs. */
#ifndef SKM_HOOK_LOG_FILE_H
#define SKM_HOOK_LOG_FILE_H

/* The file never grows beyond this; then its older half is dropped. */
#define SKM_HOOK_LOG_MAX (64 * 1024)

/* Appends "TIME LINE\n" (UTC) to the file `name` below run_dir, making both where they are missing. Never waits long: a line is
 * lost where other hooks hold the file's lock for over 10 ms. Never fails. */
void skm_hook_log_append(const char *run_dir, const char *name, const char *line);

#endif
