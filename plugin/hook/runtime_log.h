/* SPDX-License-Identifier: Apache-2.0 */
/* The log file that a runtime was given. Under podman and CRI-O crun's stderr is the container's own, and what is shown to a
 * person when the making of a container fails is what stands in this file. */
#ifndef SKM_HOOK_RUNTIME_LOG_H
#define SKM_HOOK_RUNTIME_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Finds --log FILE (or --log=FILE) and --log-format in a command line as /proc/PID/cmdline has it (words ended by NUL, length
 * bytes in all). Returns the file's name, which points into cmdline, or NULL; *ret_json: whether the format is json. */
const char *skm_hook_runtime_log_find(const char *cmdline, size_t length, bool *ret_json);

/* Appends the line to the log of process pid where that is crun and has one. line: printable ASCII. Never waits, never fails. */
void skm_hook_runtime_log_append(pid_t pid, const char *line);

#endif
