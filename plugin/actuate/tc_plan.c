/* SPDX-License-Identifier: Apache-2.0 */
/* Where a container can be shaped. */
#include "actuate/tc_parts.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_kind(const struct skm_link *link, const char *kind)
{
	return strcmp(link->kind, kind) == 0;
}

/* Whether packets come into the namespace by this link and no other: a veth, macvlan or netkit whose other end is elsewhere, or
 * hardware that was moved in. What is stacked on a link of this namespace (vlan, bridge) gets what already came by that link, and
 * what a bridge or a bond holds comes by that. */
static bool leads_out(const struct skm_link *link)
{
	if (link->loopback || link->master != 0)
		return false;
	return link->other_nsid != SKM_LINK_NO_NSID || (link->kind[0] == '\0' && link->other_ifindex == 0) ||
	       is_kind(link, "bond") || is_kind(link, "team");
}

/* Second choice: what a process outside feeds, as slirp4netns and pasta do for a rootless container. Beside a link that leads out
 * it is a tunnel of the container's own. */
static bool may_lead_out(const struct skm_link *link)
{
	return !link->loopback && link->master == 0 && is_kind(link, "tun");
}

static int add_to_plan(struct skm_tc_plan *plan, const struct skm_link *link, uint64_t *received, struct skm_err *err)
{
	if (plan->link_count == SKM_TC_LINKS_MAX)
		return skm_err_set(err, EOPNOTSUPP, "more than %d links lead out of the network namespace", SKM_TC_LINKS_MAX);
	plan->links[plan->link_count++] = link->ifindex;
	*received += link->rx_bytes;
	if (link->mtu > plan->mtu)
		plan->mtu = link->mtu;
	if (link->gso_max_bytes > plan->gso_max_bytes)
		plan->gso_max_bytes = link->gso_max_bytes;
	return 0;
}

int skm_tc_choose_links(const struct skm_link *links, size_t count, struct skm_tc_plan *plan, uint64_t *ret_received_bytes,
                        struct skm_err *err)
{
	uint64_t received = 0;
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		if (leads_out(&links[i]))
			r = add_to_plan(plan, &links[i], &received, err);
	for (size_t i = 0; i < count && r == 0 && plan->link_count == 0; i++)
		if (may_lead_out(&links[i]))
			r = add_to_plan(plan, &links[i], &received, err);
	if (r == 0 && plan->link_count == 0)
		r = skm_err_set(err, ENODEV, "no link leads out of the network namespace");
	if (r == 0)
		*ret_received_bytes = received;
	return r;
}

static const struct skm_link *link_of(const struct skm_link *links, size_t count, int ifindex)
{
	for (size_t i = 0; i < count; i++)
		if (links[i].ifindex == ifindex)
			return &links[i];
	return NULL;
}

/* Both ends must name each other: a number alone is reused. The host's number for the container's namespace exists once a link
 * into it has been looked at (peernet2id_alloc, net/core/net_namespace.c), so the link comes first. */
int skm_tc_host_side(const struct skm_tc_ends *ends, const struct skm_link *link, struct skm_link *ret, struct skm_err *err)
{
	struct skm_link other;
	int32_t nsid;
	int r;

	if (!is_kind(link, "veth") || link->other_ifindex == 0 || link->other_nsid == SKM_LINK_NO_NSID)
		return skm_err_set(err, ENODEV, "%s has no other end outside", link->name);
	r = skm_probe_link(ends->host, link->other_ifindex, &other, err);
	if (r == 0)
		r = skm_probe_nsid(ends->host, ends->netns_fd, &nsid, err);
	if (r < 0)
		return r;
	if (!is_kind(&other, "veth") || nsid == SKM_LINK_NO_NSID || other.other_nsid != nsid ||
	    other.other_ifindex != link->ifindex)
		return skm_err_set(err, ENODEV, "the other end of %s is not in the host's network namespace", link->name);
	*ret = other;
	return 0;
}

/* Programs on the host's side may hand packets to the container's end past the root qdisc (bpf_redirect_peer). */
static int bypass_refusal(const struct skm_tc_ends *ends, const struct skm_link *host, char *reason, struct skm_err *err)
{
	static const uint32_t PARENTS[] = {SKM_TC_INGRESS, SKM_TC_EGRESS};
	bool programs = skm_probe_link_has_tcx(host->ifindex);

	for (size_t i = 0; i < sizeof(PARENTS) / sizeof(*PARENTS) && !programs; i++) {
		uint32_t ours, others, bpf;
		int r = skm_probe_filters(ends->host, host->ifindex, PARENTS[i], SKM_TC_FIRST_PRIO, SKM_TC_PRIOS, &ours, &others,
		                          &bpf, err);

		if (r < 0)
			return r;
		programs = bpf > 0;
	}
	if (programs)
		snprintf(reason, SKM_TC_REASON_MAX, "BPF programs on %s may bypass its queue", host->name);
	return 0;
}

/* Fills where and host_ifindex, or why_not. */
static int try_host_side(const struct skm_tc_ends *ends, const struct skm_link *link, struct skm_tc_plan *plan,
                         struct skm_err *err)
{
	struct skm_err why = SKM_ERR_INIT;
	struct skm_link host;
	struct skm_qdisc root;
	int r = skm_tc_host_side(ends, link, &host, &why);

	if (r == -ENODEV) {
		if (!is_kind(link, "veth"))
			snprintf(plan->why_not, sizeof(plan->why_not), "%s is no veth", link->name);
		else
			snprintf(plan->why_not, sizeof(plan->why_not),
			         "the other end of %s is not in the host's network namespace", link->name);
		return 0;
	}
	if (r < 0) {
		if (err)
			*err = why;
		return r;
	}
	r = skm_probe_qdisc(ends->host, host.ifindex, false, &root, err);
	if (r == 0)
		r = bypass_refusal(ends, &host, plan->why_not, err);
	if (r < 0)
		return r;
	if (!skm_tc_is_default(&root) && !skm_tc_is_ours(&root))
		snprintf(plan->why_not, sizeof(plan->why_not), "%s has a root qdisc of someone else (%s %x:)", host.name,
		         root.kind, root.handle >> 16);
	if (plan->why_not[0])
		return 0;
	plan->where = SKM_TC_HOST_SIDE;
	plan->host_ifindex = host.ifindex;
	return 0;
}

static int try_ifb(const struct skm_tc_ends *ends, const struct skm_link *links, size_t count, struct skm_tc_plan *plan,
                   struct skm_err *err)
{
	char reason[SKM_TC_REASON_MAX];

	for (uint32_t i = 0; i < plan->link_count; i++) {
		int r = skm_tc_ingress_refusal(ends->inside, link_of(links, count, plan->links[i]), reason, err);

		if (r < 0)
			return r;
		if (reason[0])
			return skm_err_set(err, EOPNOTSUPP, "%s, and %s", plan->why_not, reason);
	}
	plan->where = SKM_TC_IFB;
	return 0;
}

static int plan_egress(const struct skm_tc_ends *ends, const struct skm_link *links, size_t count, struct skm_tc_plan *plan,
                       struct skm_err *err)
{
	plan->egress = true;
	for (uint32_t i = 0; i < plan->link_count; i++) {
		struct skm_qdisc root;
		int r = skm_probe_qdisc(ends->inside, plan->links[i], false, &root, err);

		if (r < 0)
			return r;
		if (skm_tc_is_default(&root) || skm_tc_is_ours(&root))
			continue;
		plan->egress = false;
		snprintf(plan->why_no_egress, sizeof(plan->why_no_egress), "%s has a root qdisc of someone else (%s %x:)",
		         link_of(links, count, plan->links[i])->name, root.kind, root.handle >> 16);
	}
	return 0;
}

int skm_actuate_tc_plan(const struct skm_tc_ends *ends, struct skm_tc_plan *ret, struct skm_err *err)
{
	cleanup_free struct skm_link *links = NULL;
	struct skm_tc_plan plan = {0};
	uint64_t received;
	size_t count;
	int r = skm_probe_links(ends->inside, SKM_TC_LOOK_AT_MAX, &links, &count, err);

	if (r == 0)
		r = skm_tc_choose_links(links, count, &plan, &received, err);
	if (r < 0)
		return r;
	if (plan.link_count == 1)
		r = try_host_side(ends, link_of(links, count, plan.links[0]), &plan, err);
	else
		snprintf(plan.why_not, sizeof(plan.why_not), "%u links lead out of the network namespace", plan.link_count);
	if (r == 0 && plan.where == SKM_TC_NOWHERE)
		r = try_ifb(ends, links, count, &plan, err);
	if (r == 0)
		r = plan_egress(ends, links, count, &plan, err);
	if (r == 0)
		*ret = plan;
	return r;
}
