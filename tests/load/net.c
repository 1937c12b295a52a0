/* SPDX-License-Identifier: Apache-2.0 */
#include "net.h"

#include "util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel cuts it to net.core.somaxconn. */
#define BACKLOG 65535

static int parse_v6(const char *text, struct sockaddr_in6 *ret)
{
	const char *percent = strchr(text, '%');
	size_t length = percent ? (size_t)(percent - text) : strlen(text);
	char literal[INET6_ADDRSTRLEN];

	if (length >= sizeof literal)
		return -EINVAL;
	memcpy(literal, text, length);
	literal[length] = '\0';
	if (inet_pton(AF_INET6, literal, &ret->sin6_addr) != 1)
		return -EINVAL;
	if (percent) {
		ret->sin6_scope_id = if_nametoindex(percent + 1);
		if (ret->sin6_scope_id == 0)
			ret->sin6_scope_id = (uint32_t)strtoul(percent + 1, NULL, 10);
		if (ret->sin6_scope_id == 0)
			return -EINVAL;
	}
	return 0;
}

int address_parse(const char *text, uint16_t port, struct address *ret)
{
	struct address address = {.length = sizeof(struct sockaddr_in)};

	if (inet_pton(AF_INET, text, &address.sa.v4.sin_addr) == 1) {
		address.sa.v4.sin_family = AF_INET;
		address.sa.v4.sin_port = htons(port);
	} else {
		address.length = sizeof(struct sockaddr_in6);
		address.sa.v6.sin6_family = AF_INET6;
		address.sa.v6.sin6_port = htons(port);
		if (parse_v6(text, &address.sa.v6) < 0)
			return -EINVAL;
	}
	*ret = address;
	return 0;
}

/* A bound socket of `type`; `only_v6` keeps IPv4 out of an IPv6 socket. */
static int bound_socket(const struct address *address, int type, int only_v6)
{
	int family = address->sa.any.sa_family, one = 1, r;
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) < 0)
		goto fail;
	if (bind(fd, &address->sa.any, address->length) < 0)
		goto fail;
	if (type == SOCK_STREAM && listen(fd, BACKLOG) < 0)
		goto fail;
	return fd;
fail:
	r = -errno;
	close(fd);
	return r;
}

static int open_bound(const char *text, int family, uint16_t port, int type)
{
	const char *where = text ? text : family == 4 ? "0.0.0.0" : "::";
	struct address address;
	int fd;

	if (address_parse(where, port, &address) < 0) {
		complain("'%s' is neither an IPv4 nor an IPv6 address", where);
		return -EINVAL;
	}
	fd = bound_socket(&address, type, family == 6 || text != NULL);
	if ((fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL) && !text && family == 0) {
		address_parse("0.0.0.0", port, &address);
		fd = bound_socket(&address, type, 0);
	}
	if (fd < 0)
		complain("cannot listen on %s port %u: %s", where, port, strerror(-fd));
	return fd;
}

int net_listen(const char *bind, int family, uint16_t port)
{
	return open_bound(bind, family, port, SOCK_STREAM);
}

int net_bind_udp(const char *bind, int family, uint16_t port)
{
	return open_bound(bind, family, port, SOCK_DGRAM);
}

int net_dial(const struct address *address)
{
	int fd = socket(address->sa.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	if (connect(fd, &address->sa.any, address->length) == 0 || errno == EINPROGRESS)
		return fd;
	r = -errno;
	close(fd);
	return r;
}

int net_dial_result(int fd)
{
	int error = 0;
	socklen_t length = sizeof error;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
		return -errno;
	return -error;
}

void net_set_buffers(int fd, uint64_t rcvbuf, uint64_t sndbuf)
{
	int receive = (int)min_u64(rcvbuf, INT32_MAX / 2), send = (int)min_u64(sndbuf, INT32_MAX / 2);

	if (receive > 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive, sizeof receive);
	if (send > 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send, sizeof send);
}

void net_set_nodelay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int buffer_size(int fd, int option, uint64_t *ret)
{
	int value = 0;
	socklen_t length = sizeof value;

	if (getsockopt(fd, SOL_SOCKET, option, &value, &length) < 0)
		return -errno;
	*ret = (uint64_t)value;
	return 0;
}

int net_view(int fd, struct tcp_view *ret)
{
	struct tcp_info info;
	struct tcp_view view;
	socklen_t length = sizeof info;
	int r;

	memset(&info, 0, sizeof info);
	r = buffer_size(fd, SO_RCVBUF, &view.rcvbuf);
	if (r < 0)
		return r;
	r = buffer_size(fd, SO_SNDBUF, &view.sndbuf);
	if (r < 0)
		return r;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
		return -errno;
	view.rcv_wscale = info.tcpi_rcv_wscale;
	view.snd_wscale = info.tcpi_snd_wscale;
	view.acked_bytes = info.tcpi_bytes_acked;
	view.retransmits = info.tcpi_total_retrans;
	*ret = view;
	return 0;
}
