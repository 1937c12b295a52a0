/* SPDX-License-Identifier: Apache-2.0 */
/* Links, and what hangs on them of traffic control, read through libnl-route-3. Always by ifindex: names change. */
#ifndef SKM_PROBE_LINK_H
#define SKM_PROBE_LINK_H

#include "base/err.h"
#include "probe/rtnl.h"

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SKM_LINK_NO_NSID (-1)
#define SKM_LINK_ALIAS_MAX 64

struct skm_link {
	int ifindex;
	char name[IFNAMSIZ];
	char kind[IFNAMSIZ]; /* "veth", "macvlan", …; empty: a device of hardware, or the loopback */
	char alias[SKM_LINK_ALIAS_MAX];
	bool up, loopback;
	uint32_t group;     /* IFLA_GROUP; 0 unless someone set it */
	int master;         /* ifindex of the bridge or bond that holds it; 0: none */
	int other_ifindex;  /* IFLA_LINK: a veth's other end, a macvlan's lower device; 0: none, or itself */
	int32_t other_nsid; /* the namespace that other_ifindex is of, as seen from here; SKM_LINK_NO_NSID: this one */
	uint32_t mtu;       /* bytes of a packet without its Ethernet header */
	uint32_t gso_max_bytes;
	uint64_t rx_bytes;
};

/* Every link of the socket's namespace. The caller frees *ret. Returns 0; -E2BIG where there are more than max; else as
 * skm_probe_rtnl_dump. */
int skm_probe_links(struct skm_rtnl *rtnl, size_t max, struct skm_link **ret, size_t *ret_count, struct skm_err *err);

/* One link. Returns 0; -ENODEV where there is none with that ifindex; else as skm_probe_rtnl_talk. */
int skm_probe_link(struct skm_rtnl *rtnl, int ifindex, struct skm_link *ret, struct skm_err *err);

/* The number that the socket's namespace has for another one: SKM_LINK_NO_NSID where it has none yet (a link into it gets one
 * when it is looked at). Returns 0; else as skm_probe_rtnl_talk. */
int skm_probe_nsid(struct skm_rtnl *rtnl, int netns_fd, int32_t *ret, struct skm_err *err);

/* A queueing discipline. */
struct skm_qdisc {
	char kind[IFNAMSIZ];    /* empty: none there */
	uint32_t handle;        /* 0: the kernel's default one */
	uint32_t default_class; /* of an htb; 0 for all others */
};

/* The one at the root of a link, or with ingress true its ingress or clsact one. ret->kind is empty where there is none (or only
 * a built-in one, as on a link that is down). Returns 0; -ENODEV; else as skm_probe_rtnl_talk. */
int skm_probe_qdisc(struct skm_rtnl *rtnl, int ifindex, bool ingress, struct skm_qdisc *ret, struct skm_err *err);

/* A class of an htb. */
struct skm_htb_class {
	uint64_t rate_bytes_per_sec, ceil_bytes_per_sec;
	uint32_t leaf;        /* handle of the qdisc that hangs on it */
	uint64_t burst_bytes; /* as the kernel rounded it to its ticks */
	uint64_t sent_bytes, drops;
	uint32_t backlog_bytes;
};

/* Returns 0; -ENOENT where the link has no such class; else as skm_probe_rtnl_dump. */
int skm_probe_htb_class(struct skm_rtnl *rtnl, int ifindex, uint32_t classid, struct skm_htb_class *ret, struct skm_err *err);

/* Filters of one parent (a qdisc's handle, or TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS or _EGRESS)), counted by priority: in those
 * from first_prio on, `prios` of them, and in all others. ret_bpf: programs among the others; may be NULL.
 * Returns 0; else as skm_probe_rtnl_dump. */
int skm_probe_filters(struct skm_rtnl *rtnl, int ifindex, uint32_t parent, uint16_t first_prio, uint16_t prios, uint32_t *ret_in,
                      uint32_t *ret_other, uint32_t *ret_bpf, struct skm_err *err);

/* Whether BPF programs hang on a link of the calling thread's own namespace by tcx (kernel 6.6): they are no filters.
 * False where the kernel has no tcx or does not tell. */
bool skm_probe_link_has_tcx(int ifindex);

#endif
