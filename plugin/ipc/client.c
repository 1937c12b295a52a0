/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/ipc.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "codec/message.h"
#include "ipc/packet.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

int skm_ipc_connect(const char *path, struct skm_err *err)
{
	cleanup_fd int fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return skm_err_set(err, ENAMETOOLONG, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	/* Non-blocking, because connect() waits for room in the queue of a daemon that no longer accepts. */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return skm_err_set_errno(err, errno, "make a socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return skm_err_set_errno(err, errno, "connect to the enforcer at %s", path);
	return skm_steal_fd(&fd);
}

/* Waits for events on fd. Returns 0, -ETIMEDOUT or -errno. */
static int wait_for(int fd, short events, uint64_t deadline_usec)
{
	for (;;) {
		struct pollfd wanted = {.fd = fd, .events = events};
		uint64_t now = skm_now_usec();
		struct timespec left = {0};
		int r;

		if (now >= deadline_usec)
			return -ETIMEDOUT;
		left.tv_sec = (time_t)((deadline_usec - now) / 1000000);
		left.tv_nsec = (long)((deadline_usec - now) % 1000000) * 1000;
		r = ppoll(&wanted, 1, &left, NULL);
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

static int send_request(int fd, const struct skm_request *request, uint64_t deadline_usec, struct skm_err *err)
{
	cleanup_free char *text = skm_codec_request_format(request);
	size_t length, fd_count = 0;
	int r;

	if (!text)
		return skm_err_set(err, ENOMEM, "out of memory");
	for (size_t i = 0; i < SKM_FD_COUNT; i++)
		fd_count += request->fds[i] >= 0;
	if (fd_count != 0 && fd_count != SKM_FD_COUNT)
		return skm_err_set(err, EINVAL, "a request carries %d descriptors or none, not %zu", SKM_FD_COUNT, fd_count);
	length = strlen(text);
	if (length > SKM_REQUEST_MAX)
		return skm_err_set(err, EMSGSIZE, "a request of %zu bytes is over %d", length, SKM_REQUEST_MAX);
	while ((r = skm_packet_send(fd, text, length, request->fds, fd_count)) == -EAGAIN) {
		r = wait_for(fd, POLLOUT, deadline_usec);
		if (r < 0)
			break;
	}
	if (r == -ETIMEDOUT)
		return skm_err_set(err, ETIMEDOUT, "the enforcer (sockmemd) takes no requests: none was taken in time");
	if (r == -EPIPE || r == -ECONNRESET)
		return skm_err_set(err, ECONNRESET, "the enforcer (sockmemd) closed the connection");
	return r < 0 ? skm_err_set_errno(err, -r, "send a request to the enforcer") : 0;
}

/* The text of a large answer, from its memfd. */
static int read_large(int fd, char **ret, size_t *ret_length, struct skm_err *err)
{
	cleanup_free char *text = NULL;
	struct stat st;
	size_t length = 0;

	if (fstat(fd, &st) < 0)
		return skm_err_set_errno(err, errno, "look at a large answer");
	if (!S_ISREG(st.st_mode) || st.st_size > SKM_PACKET_MAX)
		return skm_err_set(err, EPROTO, "the enforcer's answer is no text of at most %d bytes", SKM_PACKET_MAX);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return skm_err_set(err, ENOMEM, "out of memory");
	while (length < (size_t)st.st_size) {
		ssize_t got = pread(fd, text + length, (size_t)st.st_size - length, (off_t)length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return skm_err_set_errno(err, got < 0 ? errno : EPROTO, "read a large answer");
		length += (size_t)got;
	}
	text[length] = '\0';
	*ret = text;
	*ret_length = length;
	text = NULL;
	return 0;
}

static int open_answer(const char *text, size_t length, struct skm_packet *packet, char **ret_data, struct skm_err *err)
{
	cleanup_free char *large = NULL;
	int r;

	if (packet->fd_count == 0)
		return skm_codec_answer_parse(text, length, ret_data, err);
	r = packet->fd_count == 1 ? read_large(packet->fds[0], &large, &length, err)
	                          : skm_err_set(err, EPROTO, "the enforcer's answer came with %zu descriptors", packet->fd_count);
	skm_packet_close_fds(packet);
	return r < 0 ? r : skm_codec_answer_parse(large, length, ret_data, err);
}

/* With the time that was left for it: little, where the caller used up the rest before, as a hook that started the enforcer. */
static int no_answer(uint64_t begin_usec, uint64_t deadline_usec, struct skm_err *err)
{
	uint64_t left_usec = deadline_usec > begin_usec ? deadline_usec - begin_usec : 0;
	uint64_t left_msec = (left_usec + SKM_USEC_PER_MSEC - 1) / SKM_USEC_PER_MSEC;
	char left[SKM_SIZE_TEXT_MAX];

	return skm_err_set(err, ETIMEDOUT,
	                   "the enforcer (sockmemd) took the request but did not answer within %s, which is what was left for it",
	                   skm_duration_format((left_msec ? left_msec : 1) * SKM_USEC_PER_MSEC, left));
}

int skm_ipc_call(int fd, const struct skm_request *request, uint64_t deadline_usec, char **ret_data, struct skm_err *err)
{
	cleanup_free char *buffer = malloc(SKM_ANSWER_INLINE_MAX);
	struct skm_packet packet;
	uint64_t begin = skm_now_usec();
	int r;

	if (!buffer)
		return skm_err_set(err, ENOMEM, "out of memory");
	r = send_request(fd, request, deadline_usec, err);
	if (r < 0)
		return r;
	while ((r = skm_packet_receive(fd, buffer, SKM_ANSWER_INLINE_MAX, &packet)) == -EAGAIN) {
		r = wait_for(fd, POLLIN, deadline_usec);
		if (r < 0)
			break;
	}
	if (r == -ETIMEDOUT)
		return no_answer(begin, deadline_usec, err);
	if (r == 0 || r == -ECONNRESET)
		return skm_err_set(err, ECONNRESET, "the enforcer (sockmemd) closed the connection without an answer");
	if (r == -EMSGSIZE || r == -EINVAL)
		return skm_err_set(err, EPROTO, "the enforcer's answer is larger than any that this version knows");
	if (r < 0)
		return skm_err_set_errno(err, -r, "receive the enforcer's answer");
	return open_answer(buffer, packet.length, &packet, ret_data, err);
}
