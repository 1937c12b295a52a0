/* SPDX-License-Identifier: Apache-2.0 */
/* Children that write where the kernel may keep the writer: it ends with its parent and, by SIGALRM, when its time is over; a
 * signal ends the kernel's reclaim, and the value stands from the beginning of the write (since 5.12; before, memory.high from
 * its end). For this room's own files. */
#ifndef SKM_ACTUATE_MEMORY_WRITER_H
#define SKM_ACTUATE_MEMORY_WRITER_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* "max" or a plain decimal. buffer: at least 24 bytes. Returns it. */
const char *skm_actuate_memory_text(uint64_t bytes, char buffer[24]);

/* Writes text to fd, a file opened with O_NONBLOCK, in a child that is given `seconds`. Returns its pid or -errno with err set.
 * Its exit status is the write's errno. */
pid_t skm_actuate_memory_writer(int fd, const char *text, unsigned int seconds, struct skm_err *err);

/* The same for skm_actuate_memory_step_down; dirfds: the innermost cgroup first, at most 2. */
pid_t skm_actuate_memory_stepper(const int *dirfds, size_t count, uint64_t bytes, unsigned int seconds, struct skm_err *err);

#endif
