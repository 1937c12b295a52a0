/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(SKM_PACKET_FDS * sizeof(int))];
};

int skm_packet_send(int fd, const char *data, size_t length, const int *fds, size_t fd_count)
{
	union control control = {0};
	struct iovec part = {.iov_base = (char *)data, .iov_len = length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (fd_count > SKM_PACKET_FDS)
		return -EINVAL;
	if (fd_count > 0) {
		struct cmsghdr *header = &control.align;

		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	}
	do
		sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *message, struct skm_packet *ret)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int got;

			memcpy(&got, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
			if (ret->fd_count < SKM_PACKET_FDS)
				ret->fds[ret->fd_count++] = got;
			else
				close(got);
		}
	}
}

int skm_packet_receive(int fd, char *buffer, size_t size, struct skm_packet *ret)
{
	union control control;
	struct iovec part = {.iov_base = buffer, .iov_len = size};
	struct msghdr message = {
	        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
	ssize_t got;

	do
		got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	*ret = (struct skm_packet){.length = (size_t)got};
	take_fds(&message, ret);
	if (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		skm_packet_close_fds(ret);
		return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : -EINVAL;
	}
	if (got == 0) /* the end, or an empty packet, which none of ours is */
		skm_packet_close_fds(ret);
	return got > 0;
}

void skm_packet_close_fds(struct skm_packet *packet)
{
	for (size_t i = 0; i < packet->fd_count; i++)
		close(packet->fds[i]);
	packet->fd_count = 0;
}
