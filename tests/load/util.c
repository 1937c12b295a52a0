/* SPDX-License-Identifier: Apache-2.0 */
#include "util.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t end_requested;

int64_t now_nsec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

double unix_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / (double)NSEC_PER_SEC;
}

void complain(const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	fprintf(stderr, "sockload: %s\n", line);
}

static void on_end(int number)
{
	(void)number;
	end_requested = 1;
}

void catch_signals(void)
{
	struct sigaction end = {.sa_handler = on_end}, ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGINT, &end, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
}

bool signalled(void)
{
	return end_requested != 0;
}

uint64_t raise_file_limit(uint64_t files)
{
	struct rlimit now, wanted;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return 0;
	if (now.rlim_cur >= files)
		return now.rlim_cur;
	wanted.rlim_cur = files;
	wanted.rlim_max = now.rlim_max > files ? now.rlim_max : files;
	if (setrlimit(RLIMIT_NOFILE, &wanted) == 0)
		return files;
	/* Not privileged: as far as the hard limit. */
	wanted.rlim_cur = wanted.rlim_max = now.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &wanted) == 0 ? now.rlim_max : now.rlim_cur;
}

int write_ready_file(const char *path)
{
	char draft[PATH_MAX];
	FILE *file;
	int r = 0;

	if (snprintf(draft, sizeof draft, "%s.tmp", path) >= (int)sizeof draft) {
		complain("ready file: the name is too long");
		return -ENAMETOOLONG;
	}
	file = fopen(draft, "we");
	if (!file || fprintf(file, "%ld\n", (long)getpid()) < 0)
		r = -errno;
	if (file && fclose(file) != 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(draft, path) < 0)
		r = -errno;
	if (r < 0)
		complain("ready file %s: %s", path, strerror(-r));
	return r;
}
