/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes a container's bulk traffic by tc, through libnl-route-3. Everything made here carries a mark of ours (a fixed handle, a
 * device group, fixed filter priorities), so that after a kill -9 it is known again; nothing of anyone else is ever replaced,
 * changed or removed.
 *
 * Bulk is what the policy's protocols send in large packets. All else (ACKs, SYNs, probes, DNS, ARP, other protocols) has a class
 * of its own that is served first and has no rate, or does not come by at all.
 *
 *   host side   htb at the root of the veth's end in the host's namespace
 *   ifb         in the container's namespace: clsact on each link that leads out, whose filters redirect bulk to one ifb device,
 *               which has the htb
 *   egress      htb at the root of each link that leads out
 *
 * Every function may wait for the kernel's rtnl lock (probe/rtnl.h): call them where that holds up nobody. */
#ifndef SKM_ACTUATE_TC_H
#define SKM_ACTUATE_TC_H

#include "base/err.h"
#include "model/policy.h"
#include "probe/rtnl.h"

#include <stdbool.h>
#include <stdint.h>

#define SKM_TC_LINKS_MAX 16
#define SKM_TC_REASON_MAX 160

/* The two namespaces, for as long as it is open. */
struct skm_tc_ends {
	struct skm_rtnl *host;   /* of the calling thread's own namespace, which must be the host's */
	struct skm_rtnl *inside; /* of the container's */
	int netns_fd;            /* borrowed */
};

#define SKM_TC_ENDS_INIT ((struct skm_tc_ends){.netns_fd = -1})

/* Returns 0; -errno. Close it also after a failure. */
int skm_actuate_tc_open(int netns_fd, struct skm_tc_ends *ret, struct skm_err *err);
void skm_actuate_tc_close(struct skm_tc_ends *ends);

enum skm_tc_where { SKM_TC_NOWHERE, SKM_TC_HOST_SIDE, SKM_TC_IFB };

/* Where a container can be shaped, by ifindex. Plain data. */
struct skm_tc_plan {
	enum skm_tc_where where; /* of ingress */
	int host_ifindex;        /* HOST_SIDE: of the veth's end in the host's namespace */
	int links[SKM_TC_LINKS_MAX];
	uint32_t link_count;             /* links of the container's namespace that lead out of it */
	uint32_t mtu, gso_max_bytes;     /* the largest of them */
	bool egress;                     /* the root of each link is free, or ours */
	char why_not[SKM_TC_REASON_MAX]; /* why not the host side, where it is the ifb */
	char why_no_egress[SKM_TC_REASON_MAX];
};

/* Looks where the container can be shaped. Writes nothing. Returns 0; -ENODEV where no link leads out of the namespace (yet);
 * -EOPNOTSUPP with the reason where ingress cannot be shaped here; -errno. */
int skm_actuate_tc_plan(const struct skm_tc_ends *ends, struct skm_tc_plan *ret, struct skm_err *err);

struct skm_tc_want {
	uint64_t ingress, egress;             /* bytes per second of bulk; 0: not shaped */
	uint32_t ingress_burst, egress_burst; /* bytes */
	uint32_t egress_split;                /* bytes; larger GSO packets are cut up before they count; 0: none is */
	uint32_t protocols;                   /* 1 << enum skm_protocol: whose large packets are bulk */
};

/* Makes what the plan and the rates ask for. What of it is there already and is ours stays, queue and all, and gets the rate: so
 * a plan with more links than before adds those. What is not asked for stays as it is. Each rate is read back. On failure all
 * that is ours is taken away again. Returns 0; -EOPNOTSUPP where the kernel lacks a part (named); -EEXIST where someone else's
 * qdisc has come between; -ENODEV where a link has gone or is another one now; -EIO where the kernel holds another rate than was
 * written; -errno. */
int skm_actuate_tc_apply(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, const struct skm_tc_want *want,
                         struct skm_err *err);

/* Gives new rates to what apply has made, in one message each: no packet is dropped or held up for it, and no bucket is filled.
 * Makes nothing. Returns 0; -ESTALE where what apply made is gone or replaced, or does not split what is to be split now;
 * -ENODEV, -EIO, -errno as above. */
int skm_actuate_tc_update(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, const struct skm_tc_want *want,
                          struct skm_err *err);

/* Removes the htb of a host's link that a plan named, if it is ours: where the container's namespace cannot be reached any more,
 * and yet lives. ifindex: in the host's namespace. Returns 0, also where it is not there; -errno. */
int skm_actuate_tc_remove_host(int ifindex, struct skm_err *err);

/* Removes all that carries our marks in the container's namespace and on the host side of its veths, after letting out what is
 * queued (at most 50 ms). noted: the plan that apply was called with, as a journal has it, or NULL: a clsact without any filter
 * has no mark, and is ours on the links of such a plan only. Returns 0, also where there was nothing; else the first failure,
 * after all has been tried. */
int skm_actuate_tc_remove(const struct skm_tc_ends *ends, const struct skm_tc_plan *noted, struct skm_err *err);

/* What the ingress class has let through. */
struct skm_tc_seen {
	uint64_t rate, sent_bytes, drops;
	uint32_t backlog_bytes;
};

struct skm_tc_look {
	uint64_t received_bytes; /* by the links that lead out; where an ifb holds bulk up: past that, bulk alone */
	bool links_changed;      /* they are no longer those of the plan, or have another MTU */
	struct skm_tc_seen seen; /* with a plan */
};

/* Looks at the links, and with a plan at what was made of it. Asks for lists only and changes nothing. plan: what apply has made;
 * NULL: nothing. Returns 0; -ESTALE where the class is not there any more; -ENODEV where no link leads out; -errno. */
int skm_actuate_tc_look(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, struct skm_tc_look *ret,
                        struct skm_err *err);

#endif
