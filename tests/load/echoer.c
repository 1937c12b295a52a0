/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include "echoer.h"

#include "net.h"
#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

int echoer_init(struct echoer *echoer, const char *bind, int family, uint16_t port)
{
	struct epoll_event event = {.events = EPOLLIN};

	*echoer = (struct echoer){.listener = -1, .epoll = -1};
	if (port == 0)
		return 0;
	echoer->listener = net_listen(bind, family, port);
	if (echoer->listener < 0)
		return echoer->listener;
	event.data.fd = echoer->listener;
	echoer->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (echoer->epoll < 0 || epoll_ctl(echoer->epoll, EPOLL_CTL_ADD, echoer->listener, &event) < 0) {
		complain("epoll: %s", strerror(errno));
		return -errno;
	}
	return 0;
}

static void welcome(struct echoer *echoer)
{
	/* A client that does not read its answers may hold up the process for no longer than this. */
	struct timeval patience = {.tv_sec = 1};
	int fd;

	while ((fd = accept4(echoer->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

		net_set_nodelay(fd);
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
		if (epoll_ctl(echoer->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
			close(fd);
			continue;
		}
		echoer->connections++;
	}
}

static void answer(struct echoer *echoer, int fd)
{
	static char buffer[65536];
	ssize_t got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT), put = 0;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	while (got > 0 && put < got) {
		ssize_t n = send(fd, buffer + put, (size_t)(got - put), MSG_NOSIGNAL);

		if (n < 0)
			got = -1;
		else
			put += n;
	}
	if (got <= 0)
		close(fd);
	else
		echoer->bytes += (uint64_t)got;
}

void echoer_serve(struct echoer *echoer)
{
	struct epoll_event events[64];
	int n;

	if (echoer->epoll < 0)
		return;
	n = epoll_wait(echoer->epoll, events, 64, 0);
	for (int i = 0; i < n; i++) {
		if (events[i].data.fd == echoer->listener)
			welcome(echoer);
		else
			answer(echoer, events[i].data.fd);
	}
}

void echoer_free(struct echoer *echoer)
{
	if (echoer->listener >= 0)
		close(echoer->listener);
	if (echoer->epoll >= 0)
		close(echoer->epoll);
}
