/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/input.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/stat.h>

/* Waits until fd can be read without blocking, or is at its end. Returns 0 or -errno. */
static int wait_readable(int fd, uint64_t deadline_usec, struct skm_err *err)
{
	for (;;) {
		struct pollfd wanted = {.fd = fd, .events = POLLIN};
		uint64_t now = skm_now_usec();
		int r;

		if (now >= deadline_usec)
			return skm_err_set(err, ETIMEDOUT, "the runtime did not end the container's state on stdin in time");
		r = poll(&wanted, 1, (int)((deadline_usec - now + 999) / 1000));
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return skm_err_set_errno(err, errno, "wait for the container's state on stdin");
	}
}

/* Reads what is there, once. Returns the length, 0 at the end, or -errno. */
static ssize_t read_some(int fd, char *into, size_t room)
{
	ssize_t got;

	do
		got = read(fd, into, room);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

int skm_hook_read_state(int fd, uint64_t deadline_usec, struct skm_state *ret, struct skm_err *err)
{
	const size_t size = SKM_STATE_TEXT_MAX + 1;
	cleanup_free char *text = malloc(size); /* untouched pages of it cost nothing */
	size_t length = 0;
	ssize_t got;

	if (!text)
		return skm_err_set(err, ENOMEM, "out of memory");
	do {
		int r = wait_readable(fd, deadline_usec, err);

		if (r < 0)
			return r;
		got = read_some(fd, text + length, size - length);
		if (got < 0)
			return skm_err_set_errno(err, (int)-got, "read the container's state on stdin");
		length += (size_t)got;
		if (length == size)
			return skm_err_set(err, E2BIG, "the container's state on stdin is over %d bytes", SKM_STATE_TEXT_MAX);
	} while (got > 0);
	if (length == 0)
		return skm_err_set(err, EINVAL, "stdin is empty: an OCI runtime writes the container's state (JSON) there");
	text[length] = '\0';
	return skm_codec_state_parse(text, length, ret, err);
}

int skm_hook_read_bundle(const char *bundle, struct skm_bundle *ret, struct skm_err *err)
{
	cleanup_fd int fd = -1;
	cleanup_free char *text = NULL;
	char path[PATH_MAX + sizeof("/config.json")];
	struct stat st;
	size_t length;
	int r;

	snprintf(path, sizeof(path), "%s/config.json", bundle);
	/* Non-blocking: a fifo of that name must not hold up the runtime. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return skm_err_set_errno(err, errno, "open %s", path);
	if (!S_ISREG(st.st_mode))
		return skm_err_set(err, EINVAL, "%s is no regular file", path);
	r = skm_read_to_end(fd, SKM_BUNDLE_TEXT_MAX, &text, &length);
	if (r == -EFBIG)
		return skm_err_set(err, E2BIG, "%s is over %d bytes", path, SKM_BUNDLE_TEXT_MAX);
	if (r < 0)
		return skm_err_set_errno(err, -r, "read %s", path);
	r = skm_codec_bundle_parse(text, length, ret, err);
	return r < 0 ? skm_err_wrap(err, "bundle %s", bundle) : 0; /* the parser names config.json itself */
}
