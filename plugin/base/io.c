/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

ssize_t skm_pread_text(int fd, char *buffer, size_t size)
{
	size_t length = 0;

	for (;;) {
		ssize_t got = pread(fd, buffer + length, size - 1 - length, (off_t)length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		length += (size_t)got;
		if (got == 0)
			break;
		if (length == size - 1)
			return -EFBIG;
	}
	buffer[length] = '\0';
	return (ssize_t)length;
}

ssize_t skm_read_text_at(int dirfd, const char *name, char *buffer, size_t size)
{
	cleanup_fd int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 ? -errno : skm_pread_text(fd, buffer, size);
}

int skm_read_to_end(int fd, size_t max, char **ret, size_t *ret_length)
{
	cleanup_free char *text = NULL;
	size_t room = 0, length = 0;

	for (;;) {
		ssize_t got;

		if (room - length < 2) {
			char *larger;

			room = room ? room * 2 : 4096;
			if (room > max + 2)
				room = max + 2;
			larger = realloc(text, room);
			if (!larger)
				return -ENOMEM;
			text = larger;
		}
		got = read(fd, text + length, room - length - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		length += (size_t)got;
		if (length > max)
			return -EFBIG;
	}
	text[length] = '\0';
	*ret = text;
	*ret_length = length;
	text = NULL;
	return 0;
}

int skm_pwrite_text(int fd, const char *text)
{
	size_t length = strlen(text);
	ssize_t put;

	do
		put = pwrite(fd, text, length, 0);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return -errno;
	return (size_t)put == length ? 0 : -EIO;
}

static int write_all(int fd, const char *data, size_t length)
{
	while (length > 0) {
		ssize_t put = write(fd, data, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		data += put;
		length -= (size_t)put;
	}
	return 0;
}

int skm_replace_file_at(int dirfd, const char *name, const void *data, size_t length, struct skm_err *err)
{
	cleanup_fd int fd = -1;
	char temporary[NAME_MAX + 1];
	int r;

	if (snprintf(temporary, sizeof(temporary), ".%s.new", name) >= (int)sizeof(temporary))
		return skm_err_set(err, ENAMETOOLONG, "%s: name too long", name);
	fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return skm_err_set_errno(err, errno, "create %s", temporary);
	r = write_all(fd, data, length);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(dirfd, temporary, dirfd, name) < 0)
		r = -errno;
	if (r == 0 && fsync(dirfd) < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(dirfd, temporary, 0);
		return skm_err_set_errno(err, -r, "write %s", name);
	}
	return 0;
}

int skm_open_dir_made(const char *path, struct skm_err *err)
{
	char part[PATH_MAX];
	int fd;

	if (strlen(path) >= sizeof(part))
		return skm_err_set(err, ENAMETOOLONG, "%s: path too long", path);
	strcpy(part, path);
	for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return skm_err_set_errno(err, errno, "make directory %s", part);
		if (!slash)
			break;
		*slash = '/';
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? skm_err_set_errno(err, errno, "open directory %s", path) : fd;
}
