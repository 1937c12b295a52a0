/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/log_file.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define LOCK_ATTEMPTS 10

static bool lock_soon(int fd)
{
	for (int i = 0; i < LOCK_ATTEMPTS; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		SKM_IGNORE(poll(NULL, 0, 1)); /* a pause of 1 ms */
	}
	return false;
}

/* Keeps the newer half, from the beginning of a line. Returns the new size, or -1 where the file could not be cut. */
static off_t drop_older_half(int fd, off_t size)
{
	char half[SKM_HOOK_LOG_MAX / 2 + 1];
	ssize_t got = pread(fd, half, sizeof(half) - 1, size - (off_t)(sizeof(half) - 1));
	const char *begin = NULL;
	off_t kept;

	if (got > 0) {
		half[got] = '\0';
		begin = strchr(half, '\n');
	}
	kept = begin ? got - (begin + 1 - half) : 0;
	if (kept > 0 && pwrite(fd, begin + 1, (size_t)kept, 0) != kept)
		return -1;
	return ftruncate(fd, kept) < 0 ? -1 : kept;
}

void skm_hook_log_append(const char *run_dir, const char *name, const char *line)
{
	cleanup_fd int dir = skm_open_dir_made(run_dir, NULL);
	cleanup_fd int fd = -1;
	char text[2048], stamp[32];
	time_t now = time(NULL);
	struct stat st;
	struct tm parts;
	int length;

	if (dir < 0 || !gmtime_r(&now, &parts) || !strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &parts))
		return;
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || !lock_soon(fd) || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	length = snprintf(text, sizeof(text), "%s %s\n", stamp, line);
	if (st.st_size + length > SKM_HOOK_LOG_MAX)
		st.st_size = drop_older_half(fd, st.st_size);
	if (st.st_size >= 0)
		SKM_IGNORE(pwrite(fd, text, (size_t)length, st.st_size) < 0); /* a full disk: the other places have the line */
}
