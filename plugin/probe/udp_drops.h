/* SPDX-License-Identifier: Apache-2.0 */
/* What a network namespace says of lost datagrams: /proc/net/snmp and snmp6. */
#ifndef SKM_PROBE_UDP_DROPS_H
#define SKM_PROBE_UDP_DROPS_H

#include "base/err.h"
#include "probe/netns.h"

#include <stdint.h>

/* UDP datagrams that the namespace's sockets have lost since it was made, IPv4 and IPv6: for a full receive buffer, or for
 * want of memory; each in one of the two (net/ipv4/udp.c, __udp_queue_rcv_skb and __udp_enqueue_schedule_skb: RcvbufErrors where
 * the queue is full, MemErrors, from 5.11 on, where no memory could be charged). Returns 0; -ENOENT where the kernel does not
 * count them; -EINVAL; -errno. */
struct skm_udp_drops {
	uint64_t rcvbuf_errors, mem_errors;
};
int skm_probe_netns_udp_drops(const struct skm_netns *netns, struct skm_udp_drops *ret, struct skm_err *err);

/* A number of /proc/net/snmp, where a line of names stands above one of numbers ("Udp: InDatagrams …"). Returns 0; -ENOENT
 * without such a name; -EINVAL. */
int skm_probe_snmp_value(const char *text, const char *proto, const char *name, uint64_t *ret);

/* A number of /proc/net/snmp6, "Udp6RcvbufErrors   3". Same results. */
int skm_probe_snmp6_value(const char *text, const char *name, uint64_t *ret);

#endif
