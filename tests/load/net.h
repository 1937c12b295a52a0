/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets by literal address: no resolver, so that a static binary in a bare root works. */
#ifndef SOCKLOAD_NET_H
#define SOCKLOAD_NET_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} sa;
	socklen_t length;
};

/* An IPv4 or IPv6 literal ("fe80::1%3" takes the scope as a number or an interface). -EINVAL if it is neither. */
int address_parse(const char *text, uint16_t port, struct address *ret);

/*
 * The address to listen on: `bind` if given, else any address of the family (4, 6, or 0 for both by one IPv6 socket;
 * IPv4 alone where the kernel has no IPv6). Returns a non-blocking listener, or a negative errno, complained about.
 */
int net_listen(const char *bind, int family, uint16_t port);

/* The same for datagrams, not listening. */
int net_bind_udp(const char *bind, int family, uint16_t port);

/* Starts a non-blocking connect. Returns the descriptor or a negative errno; the outcome comes by EPOLLOUT. */
int net_dial(const struct address *address);

/* What became of that connect: 0 or a negative errno. */
int net_dial_result(int fd);

/* Sets SO_RCVBUF and SO_SNDBUF where not 0. */
void net_set_buffers(int fd, uint64_t rcvbuf, uint64_t sndbuf);

void net_set_nodelay(int fd);

/* What the kernel says about a TCP connection. */
struct tcp_view {
	uint64_t rcvbuf, sndbuf, acked_bytes;
	uint32_t retransmits;
	uint8_t rcv_wscale, snd_wscale;
};

/* 0 or a negative errno. */
int net_view(int fd, struct tcp_view *ret);

#endif
