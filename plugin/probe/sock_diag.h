/* SPDX-License-Identifier: Apache-2.0 */
/* TCP sockets of the calling thread's network namespace by NETLINK_SOCK_DIAG (libnl-3). Called by the socket worker, which lives
 * in the namespace. */
#ifndef SKM_PROBE_SOCK_DIAG_H
#define SKM_PROBE_SOCK_DIAG_H

#include "base/err.h"

#include <linux/inet_diag.h>
#include <stddef.h>
#include <stdint.h>

struct skm_diag_socket {
	uint64_t cookie;
	uint32_t inode;                                   /* 0: no program holds it (orphans, accept queue) */
	uint8_t state;                                    /* TCP_ESTABLISHED, … of <netinet/tcp.h> */
	uint32_t rmem_alloc, rcvbuf, wmem_queued, sndbuf; /* bytes, SK_MEMINFO_* */
	uint32_t unread_bytes;                            /* of data, received in order and not read yet */
	uint64_t cgroup_id; /* of the cgroup it was made in; 0: the kernel does not say (before 5.8) */
	uint32_t idle_msec; /* skm_probe_sock_diag_idle: since it last sent data */
	uint8_t family;     /* AF_INET, AF_INET6 */
	struct inet_diag_sockid id;
};

/* Cgroups by their ids, which on 64 bits are the inodes of their directories. ids: ascending. */
struct skm_diag_cgroups {
	const uint64_t *ids;
	size_t count;
};

/* All TCP sockets but listeners, TIME_WAIT and half-open requests, IPv4 and IPv6, each once, by cookie. The caller frees *ret
 * (NULL without a socket). only: those that were made in one of these cgroups (an accepted one in its listener's), sorted out by
 * the kernel as far as it goes; NULL: all. Exact: sockets of a cgroup's descendants are those of other cgroups.
 * A dump that the kernel interrupted (NLM_F_DUMP_INTR) is tried again, at most 3 times.
 * Returns 0; -EINTR where it was interrupted each time; -ENOMEM; -errno. */
int skm_probe_sock_diag(const struct skm_diag_cgroups *only, struct skm_diag_socket **ret, size_t *ret_count,
                        struct skm_err *err);

/* The same with idle_msec. Waits for each socket's lock (tcp_get_info, net/ipv4/tcp.c), which its program may hold for as long as
 * it likes: where that holds up nobody. */
int skm_probe_sock_diag_idle(const struct skm_diag_cgroups *only, struct skm_diag_socket **ret, size_t *ret_count,
                             struct skm_err *err);

#endif
