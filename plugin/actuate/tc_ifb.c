/* SPDX-License-Identifier: Apache-2.0 */
/* The way around where the host's side of a container is not ours to shape: an ifb device in its own namespace, to which filters
 * on the ingress of its links redirect what is bulk. All else never goes there. */
#include "actuate/tc_parts.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet6.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/tc.h>
#include <stdio.h>
#include <string.h>

#define NAME "skm-ifb%d" /* the kernel puts a free number in */
#define ALIAS "sockmem: bulk ingress"

bool skm_tc_is_our_ifb(const struct skm_link *link)
{
	return strcmp(link->kind, "ifb") == 0 && link->group == SKM_TC_GROUP;
}

/* Returns its ifindex; 0 where there is none; -errno. */
static int find_ifb(struct skm_rtnl *rtnl, bool *ret_up, struct skm_err *err)
{
	cleanup_free struct skm_link *links = NULL;
	size_t count;
	int r = skm_probe_links(rtnl, SKM_TC_LOOK_AT_MAX, &links, &count, err);

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!skm_tc_is_our_ifb(&links[i]))
			continue;
		*ret_up = links[i].up;
		return links[i].ifindex;
	}
	return r;
}

static int add_ifb(struct skm_rtnl *rtnl, struct skm_err *err)
{
	struct rtnl_link *link = rtnl_link_alloc();
	struct nl_msg *message = NULL;
	int r;

	if (link) {
		rtnl_link_set_name(link, NAME);
		rtnl_link_set_group(link, SKM_TC_GROUP);
		if (rtnl_link_set_type(link, "ifb") < 0 ||
		    rtnl_link_build_add_request(link, NLM_F_CREATE | NLM_F_EXCL, &message) < 0)
			message = NULL;
		rtnl_link_put(link);
	}
	r = skm_probe_rtnl_talk(rtnl, message, NULL, NULL, err);
	if (r == -EOPNOTSUPP)
		return skm_err_set(err, EOPNOTSUPP, "this kernel has no ifb device");
	if (r < 0)
		skm_err_wrap(err, "make an ifb device");
	return r;
}

/* plain: without what a kernel without IPv6 refuses. */
static struct nl_msg *up_request(int ifindex, bool plain)
{
	struct rtnl_link *link = rtnl_link_alloc(), *changes = rtnl_link_alloc();
	struct nl_msg *message = NULL;

	if (link && changes) {
		rtnl_link_set_ifindex(link, ifindex);
		rtnl_link_set_ifalias(changes, ALIAS);
		rtnl_link_set_flags(changes, IFF_UP);
		/* or it would get an address that programs may find and take for one of the container's */
		if (!plain)
			rtnl_link_inet6_set_addr_gen_mode(changes, IN6_ADDR_GEN_MODE_NONE);
		if (rtnl_link_build_change_request(link, changes, 0, &message) < 0)
			message = NULL;
	}
	if (link)
		rtnl_link_put(link);
	if (changes)
		rtnl_link_put(changes);
	return message;
}

static int bring_up(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	int r = skm_probe_rtnl_talk(rtnl, up_request(ifindex, false), NULL, NULL, err);

	if (r == -EAFNOSUPPORT || r == -EINVAL)
		r = skm_probe_rtnl_talk(rtnl, up_request(ifindex, true), NULL, NULL, err);
	if (r < 0)
		skm_err_wrap(err, "bring the ifb device up");
	return r;
}

int skm_tc_ifb_make(struct skm_rtnl *rtnl, struct skm_err *err)
{
	bool up = false;
	int r, ifindex = find_ifb(rtnl, &up, err);

	if (ifindex == 0) {
		r = add_ifb(rtnl, err);
		if (r < 0)
			return r;
		ifindex = find_ifb(rtnl, &up, err);
	}
	if (ifindex == 0)
		return skm_err_set(err, ENODEV, "the ifb device is gone as soon as it was made");
	if (ifindex < 0 || up)
		return ifindex;
	r = bring_up(rtnl, ifindex, err);
	return r < 0 ? r : ifindex;
}

int skm_tc_ifb_remove(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	struct rtnl_link *link = rtnl_link_alloc();
	struct nl_msg *message = NULL;
	int r;

	if (link) {
		rtnl_link_set_ifindex(link, ifindex);
		if (rtnl_link_build_delete_request(link, &message) < 0)
			message = NULL;
		rtnl_link_put(link);
	}
	r = skm_probe_rtnl_talk(rtnl, message, NULL, NULL, err);
	if (r < 0)
		skm_err_wrap(err, "remove the ifb device");
	return r;
}

/* What filters a clsact has, in both directions. */
struct contents {
	uint32_t ours, others;
};

static int look_inside(struct skm_rtnl *rtnl, int ifindex, struct contents *ret, struct skm_err *err)
{
	static const uint32_t PARENTS[] = {SKM_TC_INGRESS, SKM_TC_EGRESS};
	struct contents sum = {0};

	for (size_t i = 0; i < sizeof(PARENTS) / sizeof(*PARENTS); i++) {
		uint32_t ours, others;
		int r = skm_probe_filters(rtnl, ifindex, PARENTS[i], SKM_TC_FIRST_PRIO, SKM_TC_PRIOS, &ours, &others, NULL, err);

		if (r < 0)
			return r;
		sum.ours += ours;
		sum.others += others;
	}
	*ret = sum;
	return 0;
}

int skm_tc_ingress_refusal(struct skm_rtnl *rtnl, const struct skm_link *link, char reason[SKM_TC_REASON_MAX],
                           struct skm_err *err)
{
	struct skm_qdisc qdisc;
	struct contents contents;
	int r = skm_probe_qdisc(rtnl, link->ifindex, true, &qdisc, err);

	reason[0] = '\0';
	if (r < 0 || !qdisc.kind[0])
		return r;
	r = look_inside(rtnl, link->ifindex, &contents, err);
	if (r == 0 && (strcmp(qdisc.kind, "clsact") != 0 || contents.ours == 0))
		snprintf(reason, SKM_TC_REASON_MAX, "%s has an ingress qdisc of someone else (%s)", link->name, qdisc.kind);
	return r;
}

/* NULL: out of memory. */
static struct rtnl_qdisc *new_clsact(int ifindex)
{
	struct rtnl_qdisc *qdisc = rtnl_qdisc_alloc();

	if (!qdisc)
		return NULL;
	rtnl_tc_set_ifindex(TC_CAST(qdisc), ifindex);
	rtnl_tc_set_parent(TC_CAST(qdisc), TC_H_CLSACT);
	rtnl_tc_set_handle(TC_CAST(qdisc), TC_H_MAKE(TC_H_CLSACT, 0));
	if (rtnl_tc_set_kind(TC_CAST(qdisc), "clsact") < 0) {
		rtnl_qdisc_put(qdisc);
		return NULL;
	}
	return qdisc;
}

static int add_clsact(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	struct rtnl_qdisc *qdisc = new_clsact(ifindex);
	struct nl_msg *message = NULL;
	int r;

	if (qdisc && rtnl_qdisc_build_add_request(qdisc, NLM_F_CREATE | NLM_F_EXCL, &message) < 0)
		message = NULL;
	if (qdisc)
		rtnl_qdisc_put(qdisc);
	r = skm_probe_rtnl_talk(rtnl, message, NULL, NULL, err);
	if (r == -ENOENT)
		return skm_err_set(err, EOPNOTSUPP, "this kernel has no clsact qdisc");
	if (r < 0)
		skm_err_wrap(err, "add a clsact qdisc to link %d", ifindex);
	return r;
}

static int delete_clsact(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	struct rtnl_qdisc *qdisc = new_clsact(ifindex);
	struct nl_msg *message = NULL;
	int r;

	if (qdisc && rtnl_qdisc_build_delete_request(qdisc, &message) < 0)
		message = NULL;
	if (qdisc)
		rtnl_qdisc_put(qdisc);
	r = skm_probe_rtnl_talk(rtnl, message, NULL, NULL, err);
	if (r < 0)
		skm_err_wrap(err, "remove the clsact qdisc of link %d", ifindex);
	return r;
}

int skm_tc_ingress_make(struct skm_rtnl *rtnl, int ifindex, int ifb_ifindex, uint32_t protocols, struct skm_err *err)
{
	struct contents contents;
	int r = look_inside(rtnl, ifindex, &contents, err);

	if (r < 0 || contents.ours > 0)
		return r;
	r = add_clsact(rtnl, ifindex, err);
	if (r < 0)
		return r;
	r = skm_tc_rules_add(rtnl, ifindex, SKM_TC_INGRESS, protocols, ifb_ifindex, err);
	if (r < 0)
		SKM_IGNORE(skm_tc_ingress_remove(rtnl, ifindex, true, NULL)); /* the first failure is told */
	return r;
}

int skm_tc_ingress_remove(struct skm_rtnl *rtnl, int ifindex, bool ours_empty, struct skm_err *err)
{
	struct skm_qdisc qdisc;
	struct contents contents;
	int r = skm_probe_qdisc(rtnl, ifindex, true, &qdisc, err);

	if (r < 0 || strcmp(qdisc.kind, "clsact") != 0)
		return r;
	r = look_inside(rtnl, ifindex, &contents, err);
	if (r == 0 && contents.ours > 0) {
		ours_empty = true;
		r = skm_tc_rules_remove(rtnl, ifindex, SKM_TC_INGRESS, err);
	}
	/* who has put filters beside ours keeps them, and the clsact with them */
	if (r == 0 && contents.others == 0 && ours_empty)
		r = delete_clsact(rtnl, ifindex, err);
	return r;
}
