/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors opened inside a container's network namespace by a thread that enters it, so that the caller never does.
 * A /proc/sys/net or /proc/net file stays bound to the namespace it was opened in. */
#ifndef SKM_PROBE_NETNS_H
#define SKM_PROBE_NETNS_H

#include "base/err.h"
#include "model/journal.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_netns {
	uint64_t inode;
	int sysctl[SKM_NETNS_KEYS];    /* O_RDWR, or O_RDONLY where write is false or is not allowed */
	int read_only[SKM_NETNS_KEYS]; /* the errno where it is not allowed; else 0 */
	int sockstat, sockstat6;       /* sockstat6: -1 without IPv6 */
	int snmp, snmp6;               /* likewise; snmp: -1 where it cannot be opened */
};

#define SKM_NETNS_INIT ((struct skm_netns){.sysctl = {-1, -1, -1}, .sockstat = -1, .sockstat6 = -1, .snmp = -1, .snmp6 = -1})

/* write: the sysctls are to be written; those that must not be (EACCES, EPERM, EROFS) are opened to be read.
 * The sockstat descriptors keep the namespace, and the links in it, alive until they are closed (single_open_net,
 * fs/proc/proc_net.c); the sysctls do not: of a namespace that has gone they read -ENOENT. ret: untouched on failure. Returns 0;
 * -EPERM or -ENOENT where a sysctl is not there for us (named); -errno. */
int skm_probe_netns_open(int netns_fd, bool write, struct skm_netns *ret, struct skm_err *err);
void skm_probe_netns_close(struct skm_netns *netns);

/* TCP sockets in use, IPv4 and IPv6 added up (listeners included, TIME_WAIT not). Returns 0; -EINVAL on garbage; -errno. */
int skm_probe_netns_tcp_in_use(const struct skm_netns *netns, uint32_t *ret, struct skm_err *err);

/* The number after `proto: inuse` ("TCP", "TCP6") in the text of sockstat or sockstat6. Returns 0; -ENOENT; -EINVAL. */
int skm_probe_sockstat_in_use(const char *text, const char *proto, uint32_t *ret);

/* A sysctl's text, its trailing newline removed, tabs kept. ret: SKM_NETNS_TEXT_MAX. Returns 0; -EINVAL where it is not
 * one or three numbers; -errno. */
int skm_probe_netns_read(const struct skm_netns *netns, enum skm_netns_key key, char ret[SKM_NETNS_TEXT_MAX],
                         struct skm_err *err);

/* "4096 131072 6291456" in three numbers. Returns 0 or -EINVAL. */
int skm_probe_triple(const char *text, uint64_t ret[3]);

#endif
