/* SPDX-License-Identifier: Apache-2.0 */
/* The clock, the end signal and the one line that a failure prints. */
#ifndef SOCKLOAD_UTIL_H
#define SOCKLOAD_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_MSEC INT64_C(1000000)
#define NSEC_PER_SEC INT64_C(1000000000)

/* Exit codes of the program. */
enum { DONE = 0, FAILED = 1, USAGE = 2 };

/* Monotonic time in nanoseconds. */
int64_t now_nsec(void);

/* Seconds since 1970, to lay the output of several programs over one another. */
double unix_seconds(void);

static inline double to_seconds(int64_t nsec)
{
	return (double)nsec / (double)NSEC_PER_SEC;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline int64_t min_i64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Prints "sockload: ..." as one line on stderr. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* SIGTERM and SIGINT set a flag (also where this is process 1), SIGPIPE is ignored. */
void catch_signals(void);

/* True once SIGTERM or SIGINT came. Waits are short, so nobody needs to be woken for it. */
bool signalled(void);

/* Raises RLIMIT_NOFILE towards `files` as far as we may, and says what it is now. */
uint64_t raise_file_limit(uint64_t files);

/* Writes our pid into a file that appears complete. 0 or a negative errno, complained about. */
int write_ready_file(const char *path);

#endif
