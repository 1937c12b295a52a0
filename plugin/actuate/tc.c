/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/tc.h"

#include "actuate/tc_parts.h"
#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

int skm_actuate_tc_open(int netns_fd, struct skm_tc_ends *ret, struct skm_err *err)
{
	int r;

	*ret = (struct skm_tc_ends){.netns_fd = netns_fd};
	r = skm_probe_rtnl_open(-1, &ret->host, err);
	return r == 0 ? skm_probe_rtnl_open(netns_fd, &ret->inside, err) : r;
}

void skm_actuate_tc_close(struct skm_tc_ends *ends)
{
	skm_probe_rtnl_close(ends->host);
	skm_probe_rtnl_close(ends->inside);
	*ends = SKM_TC_ENDS_INIT;
}

/* The link of a HOST_SIDE plan is still the one that it was. */
static int check_host_side(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, struct skm_err *err)
{
	struct skm_link link, host;
	int r = skm_probe_link(ends->inside, plan->links[0], &link, err);

	if (r == 0)
		r = skm_tc_host_side(ends, &link, &host, err);
	if (r == 0 && host.ifindex != plan->host_ifindex)
		r = skm_err_set(err, ENODEV, "the other end of %s is link %d now, not %d", link.name, host.ifindex,
		                plan->host_ifindex);
	return r;
}

/* An htb of ours gets the rate; one that is not whole (a kill between two messages) is made again. */
static int ensure_tree(struct skm_rtnl *rtnl, int ifindex, bool only_bulk, const struct skm_tc_rate *rate, bool *ret_made,
                       struct skm_err *err)
{
	struct skm_qdisc root;
	int r = skm_probe_qdisc(rtnl, ifindex, false, &root, err);

	*ret_made = false;
	if (r < 0)
		return r;
	if (skm_tc_is_ours(&root)) {
		r = skm_tc_tree_set_rate(rtnl, ifindex, rate, err);
		if (r != -ESTALE)
			return r;
		r = skm_tc_tree_remove(rtnl, ifindex, err);
		if (r < 0)
			return r;
	}
	r = skm_tc_tree_make(rtnl, ifindex, only_bulk, rate, err);
	*ret_made = r == 0;
	return r;
}

/* The htb with filters that tell bulk from the rest. */
static int shape_root(struct skm_rtnl *rtnl, int ifindex, uint32_t protocols, const struct skm_tc_rate *rate, struct skm_err *err)
{
	uint32_t ours = 0, others;
	bool made;
	int r = ensure_tree(rtnl, ifindex, false, rate, &made, err);

	if (r == 0 && !made)
		r = skm_probe_filters(rtnl, ifindex, SKM_TC_HANDLE, SKM_TC_FIRST_PRIO, SKM_TC_PRIOS, &ours, &others, NULL, err);
	if (r == 0 && ours == 0)
		r = skm_tc_rules_add(rtnl, ifindex, SKM_TC_HANDLE, protocols, 0, err);
	return r;
}

static int shape_by_ifb(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, uint32_t protocols,
                        const struct skm_tc_rate *rate, struct skm_err *err)
{
	bool made;
	int ifb = skm_tc_ifb_make(ends->inside, err), r;

	if (ifb == -EOPNOTSUPP)
		skm_err_wrap(err, "%s", plan->why_not);
	if (ifb < 0)
		return ifb;
	r = ensure_tree(ends->inside, ifb, true, rate, &made, err);
	for (uint32_t i = 0; i < plan->link_count && r == 0; i++)
		r = skm_tc_ingress_make(ends->inside, plan->links[i], ifb, protocols, err);
	return r;
}

static int apply_ingress(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, const struct skm_tc_want *want,
                         struct skm_err *err)
{
	const struct skm_tc_rate rate = {.rate = want->ingress, .burst_bytes = want->ingress_burst};
	int r;

	if (plan->where == SKM_TC_IFB)
		return shape_by_ifb(ends, plan, want->protocols, &rate, err);
	r = check_host_side(ends, plan, err);
	return r == 0 ? shape_root(ends->host, plan->host_ifindex, want->protocols, &rate, err) : r;
}

static int apply_egress(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, const struct skm_tc_want *want,
                        struct skm_err *err)
{
	const struct skm_tc_rate rate = {
	        .rate = want->egress, .burst_bytes = want->egress_burst, .split_bytes = want->egress_split};
	int r = 0;

	if (!plan->egress)
		return skm_err_set(err, EOPNOTSUPP, "%s", plan->why_no_egress);
	for (uint32_t i = 0; i < plan->link_count && r == 0; i++)
		r = shape_root(ends->inside, plan->links[i], want->protocols, &rate, err);
	return r;
}

int skm_actuate_tc_apply(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, const struct skm_tc_want *want,
                         struct skm_err *err)
{
	int r = want->ingress > 0 ? apply_ingress(ends, plan, want, err) : 0;

	if (r == 0 && want->egress > 0)
		r = apply_egress(ends, plan, want, err);
	if (r < 0)
		SKM_IGNORE(skm_actuate_tc_remove(ends, plan, NULL)); /* the first failure is told */
	return r;
}

/* Our ifb, or -ESTALE. */
static int find_our_ifb(struct skm_rtnl *rtnl, struct skm_err *err)
{
	cleanup_free struct skm_link *links = NULL;
	size_t count;
	int r = skm_probe_links(rtnl, SKM_TC_LOOK_AT_MAX, &links, &count, err);

	for (size_t i = 0; r == 0 && i < count; i++)
		if (skm_tc_is_our_ifb(&links[i]))
			return links[i].ifindex;
	return r < 0 ? r : skm_err_set(err, ESTALE, "the ifb device is gone");
}

/* Where the ingress class is. Returns its ifindex and *ret_rtnl; -errno. */
static int ingress_place(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, struct skm_rtnl **ret_rtnl,
                         struct skm_err *err)
{
	int r;

	if (plan->where == SKM_TC_IFB) {
		*ret_rtnl = ends->inside;
		return find_our_ifb(ends->inside, err);
	}
	*ret_rtnl = ends->host;
	r = check_host_side(ends, plan, err);
	return r < 0 ? r : plan->host_ifindex;
}

int skm_actuate_tc_update(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, const struct skm_tc_want *want,
                          struct skm_err *err)
{
	const struct skm_tc_rate in = {.rate = want->ingress, .burst_bytes = want->ingress_burst};
	const struct skm_tc_rate out = {
	        .rate = want->egress, .burst_bytes = want->egress_burst, .split_bytes = want->egress_split};
	struct skm_rtnl *rtnl;
	int r = 0;

	if (want->ingress > 0) {
		int ifindex = ingress_place(ends, plan, &rtnl, err);

		r = ifindex < 0 ? ifindex : skm_tc_tree_set_rate(rtnl, ifindex, &in, err);
	}
	for (uint32_t i = 0; i < plan->link_count && r == 0 && want->egress > 0; i++)
		r = skm_tc_tree_set_rate(ends->inside, plan->links[i], &out, err);
	return r;
}

/* Keeps the first failure. What has gone meanwhile is removed well enough. */
static void note(int r, const struct skm_err *what, int *result, struct skm_err *err)
{
	if (r >= 0 || r == -ENODEV || *result < 0)
		return;
	*result = r;
	if (err)
		*err = *what;
}

static bool is_noted(const struct skm_tc_plan *noted, int ifindex)
{
	for (uint32_t i = 0; noted && noted->where == SKM_TC_IFB && i < noted->link_count; i++)
		if (noted->links[i] == ifindex)
			return true;
	return false;
}

static void clear_link(const struct skm_tc_ends *ends, const struct skm_link *link, const struct skm_tc_plan *noted, int *result,
                       struct skm_err *err)
{
	bool ours_empty = is_noted(noted, link->ifindex);
	struct skm_err what = SKM_ERR_INIT;
	struct skm_link host;

	if (skm_tc_is_our_ifb(link))
		return;
	note(skm_tc_ingress_remove(ends->inside, link->ifindex, ours_empty, &what), &what, result, err);
	note(skm_tc_tree_remove(ends->inside, link->ifindex, &what), &what, result, err);
	if (skm_tc_host_side(ends, link, &host, &what) == 0)
		note(skm_tc_tree_remove(ends->host, host.ifindex, &what), &what, result, err);
}

static void clear_ifb(const struct skm_tc_ends *ends, const struct skm_link *link, int *result, struct skm_err *err)
{
	struct skm_err what = SKM_ERR_INIT;

	if (!skm_tc_is_our_ifb(link))
		return;
	note(skm_tc_tree_remove(ends->inside, link->ifindex, &what), &what, result, err);
	note(skm_tc_ifb_remove(ends->inside, link->ifindex, &what), &what, result, err);
}

int skm_actuate_tc_remove(const struct skm_tc_ends *ends, const struct skm_tc_plan *noted, struct skm_err *err)
{
	cleanup_free struct skm_link *links = NULL;
	size_t count;
	int result = 0, r = skm_probe_links(ends->inside, SKM_TC_LOOK_AT_MAX, &links, &count, err);

	if (r < 0)
		return r;
	/* nothing is redirected any more before the device that it goes to is taken away */
	for (size_t i = 0; i < count; i++)
		clear_link(ends, &links[i], noted, &result, err);
	for (size_t i = 0; i < count; i++)
		clear_ifb(ends, &links[i], &result, err);
	return result;
}

int skm_actuate_tc_remove_host(int ifindex, struct skm_err *err)
{
	struct skm_rtnl *host;
	struct skm_link link;
	int r = skm_probe_rtnl_open(-1, &host, err);

	if (r < 0)
		return r;
	r = skm_probe_link(host, ifindex, &link, err);
	if (r == 0 && strcmp(link.kind, "veth") == 0)
		r = skm_tc_tree_remove(host, ifindex, err);
	skm_probe_rtnl_close(host);
	return r == -ENODEV ? 0 : r;
}

static bool has_changed(const struct skm_tc_plan *was, const struct skm_tc_plan *is)
{
	if (was->link_count != is->link_count || was->mtu != is->mtu || was->gso_max_bytes != is->gso_max_bytes)
		return true;
	return memcmp(was->links, is->links, is->link_count * sizeof(*is->links)) != 0;
}

static int see_class(struct skm_rtnl *rtnl, int ifindex, struct skm_tc_seen *ret, struct skm_err *err)
{
	struct skm_htb_class class;
	int r = skm_probe_htb_class(rtnl, ifindex, SKM_TC_BULK, &class, err);

	if (r == -ENOENT || r == -ENODEV)
		return skm_err_set(err, ESTALE, "the class of bulk traffic on link %d is gone", ifindex);
	if (r == 0)
		*ret = (struct skm_tc_seen){.rate = class.rate_bytes_per_sec,
		                            .sent_bytes = class.sent_bytes,
		                            .drops = class.drops,
		                            .backlog_bytes = class.backlog_bytes};
	return r;
}

static int see_made(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, const struct skm_link *links, size_t count,
                    struct skm_tc_look *look, struct skm_err *err)
{
	int r;

	if (plan->where == SKM_TC_HOST_SIDE)
		return see_class(ends->host, plan->host_ifindex, &look->seen, err);
	for (size_t i = 0; i < count; i++) {
		if (!skm_tc_is_our_ifb(&links[i]))
			continue;
		r = see_class(ends->inside, links[i].ifindex, &look->seen, err);
		look->received_bytes = look->seen.sent_bytes;
		return r;
	}
	return skm_err_set(err, ESTALE, "the ifb device is gone");
}

int skm_actuate_tc_look(const struct skm_tc_ends *ends, const struct skm_tc_plan *plan, struct skm_tc_look *ret,
                        struct skm_err *err)
{
	cleanup_free struct skm_link *links = NULL;
	struct skm_tc_plan now = {0};
	struct skm_tc_look look = {0};
	size_t count;
	int r = skm_probe_links(ends->inside, SKM_TC_LOOK_AT_MAX, &links, &count, err);

	if (r == 0)
		r = skm_tc_choose_links(links, count, &now, &look.received_bytes, err);
	if (r == 0 && plan) {
		look.links_changed = has_changed(plan, &now);
		r = see_made(ends, plan, links, count, &look, err);
	}
	if (r == 0)
		*ret = look;
	return r;
}
