/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that tc.c puts together. For this room's own files. Everything is by ifindex in the namespace of the rtnl given. */
#ifndef SKM_ACTUATE_TC_PARTS_H
#define SKM_ACTUATE_TC_PARTS_H

#include "actuate/tc.h"
#include "probe/link.h"

#include <linux/pkt_sched.h>

/* Our marks. The kernel gives out handles from 8001: on, people take small ones. */
#define SKM_TC_HANDLE 0x736b0000u
#define SKM_TC_SMALL (SKM_TC_HANDLE | 0x5u) /* class of what is not bulk */
#define SKM_TC_BULK (SKM_TC_HANDLE | 0xbu)
#define SKM_TC_SMALL_LEAF 0x736c0000u
#define SKM_TC_BULK_LEAF 0x736d0000u
#define SKM_TC_SPLIT_LEAF 0x736e0000u /* of bulk, where GSO packets are split */
#define SKM_TC_FIRST_PRIO 0x736bu     /* of filters: IPv4, and the next one IPv6 */
#define SKM_TC_PRIOS 2u
#define SKM_TC_GROUP 0x736b6d /* of the ifb device: set with its creation, where an alias is not */

#define SKM_TC_INGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS)
#define SKM_TC_EGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)

/* No rate in practice (8.8 Tbit/s), for a class that must have one. */
#define SKM_TC_UNLIMITED (UINT64_C(1) << 40)

/* -- the htb: tc_tree.c */

/* Whether a root qdisc is ours; whether it is the kernel's default, which may be replaced (its handle is 0, and it comes back by
 * itself when ours goes). */
bool skm_tc_is_ours(const struct skm_qdisc *qdisc);
bool skm_tc_is_default(const struct skm_qdisc *qdisc);

struct skm_tc_rate {
	uint64_t rate; /* bytes per second */
	uint32_t burst_bytes;
	uint32_t split_bytes; /* larger GSO packets are cut up first; 0: none is */
};

/* The htb with its classes. only_bulk: all that comes is bulk, else what no filter knows is not. Fails without a trace.
 * Returns 0; -EEXIST where a foreign root qdisc is there; -EOPNOTSUPP, -ENODEV, -EIO, -errno. */
int skm_tc_tree_make(struct skm_rtnl *rtnl, int ifindex, bool only_bulk, const struct skm_tc_rate *rate, struct skm_err *err);

/* Changes the bulk class and reads it back. Returns 0; -ESTALE where there is no such class of ours, or one that
 * splits otherwise; -EIO; -errno. */
int skm_tc_tree_set_rate(struct skm_rtnl *rtnl, int ifindex, const struct skm_tc_rate *rate, struct skm_err *err);

/* Lets out what is queued and removes the htb, if it is ours. Returns 0, also where it is not there; -errno. */
int skm_tc_tree_remove(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err);

/* -- which packets are bulk: tc_rules.c */

/* Filters for both families below parent. redirect_ifindex: where bulk goes, and all else passes; 0: they name the two classes.
 * Returns 0; -EOPNOTSUPP; -errno. */
int skm_tc_rules_add(struct skm_rtnl *rtnl, int ifindex, uint32_t parent, uint32_t protocols, int redirect_ifindex,
                     struct skm_err *err);

/* Returns 0, also where there were none; -errno. */
int skm_tc_rules_remove(struct skm_rtnl *rtnl, int ifindex, uint32_t parent, struct skm_err *err);

/* -- the redirection: tc_ifb.c */

/* Our ifb device, made where there is none yet. Returns its ifindex; -EOPNOTSUPP where the kernel has no ifb; -errno. */
int skm_tc_ifb_make(struct skm_rtnl *rtnl, struct skm_err *err);
bool skm_tc_is_our_ifb(const struct skm_link *link);
int skm_tc_ifb_remove(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err);

/* Why a link's ingress is not free for a clsact of ours, in reason; empty where it is, or where it has ours. Returns 0; -errno.
 */
int skm_tc_ingress_refusal(struct skm_rtnl *rtnl, const struct skm_link *link, char reason[SKM_TC_REASON_MAX],
                           struct skm_err *err);

/* A clsact with our filters on a link; none is made where our filters are there already. Returns 0; -EEXIST where a clsact or
 * ingress of someone else has come between; -EOPNOTSUPP; -errno. */
int skm_tc_ingress_make(struct skm_rtnl *rtnl, int ifindex, int ifb_ifindex, uint32_t protocols, struct skm_err *err);

/* Our filters, and the clsact where nothing else is in it. ours_empty: it is ours also where it has no
 * filter at all. Returns 0; -errno. */
int skm_tc_ingress_remove(struct skm_rtnl *rtnl, int ifindex, bool ours_empty, struct skm_err *err);

/* -- where: tc_plan.c */

/* The links that lead out, and what they have received in all. Fills link_count, links, mtu and gso_max_bytes of the plan.
 * Returns 0; -ENODEV where there is none; -EOPNOTSUPP where there are too many. */
int skm_tc_choose_links(const struct skm_link *links, size_t count, struct skm_tc_plan *plan, uint64_t *ret_received_bytes,
                        struct skm_err *err);

/* The veth's other end where that is in the host's namespace. Returns 0 with *ret; -ENODEV where it is not; -errno. */
int skm_tc_host_side(const struct skm_tc_ends *ends, const struct skm_link *link, struct skm_link *ret, struct skm_err *err);

/* How many links of one namespace are looked at. */
#define SKM_TC_LOOK_AT_MAX 1024

#endif
