/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/link.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/net_namespace.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/route/class.h>
#include <netlink/route/link.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/htb.h>
#include <netlink/route/tc.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* What a kernel that does not say has: GSO_LEGACY_MAX_SIZE, include/linux/netdevice.h. */
#define GSO_MAX_BYTES_DEFAULT 65536u

/* -- links ---------------------------------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static void fill_link(struct rtnl_link *from, struct skm_link *ret)
{
	unsigned int flags = rtnl_link_get_flags(from);

	*ret = (struct skm_link){
	        .ifindex = rtnl_link_get_ifindex(from),
	        .up = flags & IFF_UP,
	        .loopback = flags & IFF_LOOPBACK,
	        .group = rtnl_link_get_group(from),
	        .master = rtnl_link_get_master(from),
	        .other_ifindex = rtnl_link_get_link(from),
	        .other_nsid = SKM_LINK_NO_NSID,
	        .mtu = rtnl_link_get_mtu(from),
	        .gso_max_bytes = GSO_MAX_BYTES_DEFAULT,
	        .rx_bytes = rtnl_link_get_stat(from, RTNL_LINK_RX_BYTES),
	};
	copy_text(ret->name, sizeof(ret->name), rtnl_link_get_name(from));
	copy_text(ret->kind, sizeof(ret->kind), rtnl_link_get_type(from));
	copy_text(ret->alias, sizeof(ret->alias), rtnl_link_get_ifalias(from));
	rtnl_link_get_link_netnsid(from, &ret->other_nsid);
	rtnl_link_get_gso_max_size(from, &ret->gso_max_bytes);
	if (ret->other_ifindex == ret->ifindex && ret->other_nsid == SKM_LINK_NO_NSID)
		ret->other_ifindex = 0;
}

struct link_list {
	struct skm_link *links;
	size_t count, room, max;
	int result;
};

static int append_link(struct link_list *list, struct rtnl_link *link)
{
	if (list->count == list->max)
		return -E2BIG;
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 8;
		struct skm_link *larger = reallocarray(list->links, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		list->links = larger;
		list->room = room;
	}
	fill_link(link, &list->links[list->count++]);
	return 0;
}

static void parsed_link(struct nl_object *object, void *data)
{
	struct link_list *list = data;

	if (list->result == 0)
		list->result = append_link(list, (struct rtnl_link *)object);
}

/* libnl's own parser makes the object; what it does not understand is passed over. */
static int take_link(struct nl_msg *message, void *data)
{
	struct link_list *list = data;

	if (nlmsg_hdr(message)->nlmsg_type == RTM_NEWLINK)
		SKM_IGNORE(nl_msg_parse(message, parsed_link, list));
	return list->result;
}

static void restart_links(void *data)
{
	struct link_list *list = data;

	list->count = 0;
	list->result = 0;
}

int skm_probe_links(struct skm_rtnl *rtnl, size_t max, struct skm_link **ret, size_t *ret_count, struct skm_err *err)
{
	struct link_list list = {.max = max};
	const struct ifinfomsg header = {.ifi_family = AF_UNSPEC};
	int r = skm_probe_rtnl_dump(rtnl, RTM_GETLINK, &header, sizeof(header), take_link, restart_links, &list, err);

	if (r < 0) {
		free(list.links);
		if (r == -E2BIG)
			return skm_err_set(err, E2BIG, "there are more than %zu links in the network namespace", max);
		skm_err_wrap(err, "list the links");
		return r;
	}
	*ret = list.links;
	*ret_count = list.count;
	return 0;
}

static struct nl_msg *request(int type, int flags, const void *header, size_t length)
{
	struct nl_msg *message = nlmsg_alloc_simple(type, flags);

	if (message && nlmsg_append(message, (void *)(uintptr_t)header, length, NLMSG_ALIGNTO) < 0) {
		nlmsg_free(message);
		return NULL;
	}
	return message;
}

int skm_probe_link(struct skm_rtnl *rtnl, int ifindex, struct skm_link *ret, struct skm_err *err)
{
	const struct ifinfomsg header = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex};
	struct link_list list = {.max = 1};
	int r = skm_probe_rtnl_talk(rtnl, request(RTM_GETLINK, 0, &header, sizeof(header)), take_link, &list, err);

	if (r == 0 && list.count == 0)
		r = skm_err_set(err, ENODEV, "no such link");
	if (r == 0)
		*ret = list.links[0];
	else
		skm_err_wrap(err, "look at link %d", ifindex);
	free(list.links);
	return r;
}

static int take_nsid(struct nl_msg *message, void *data)
{
	struct nlattr *attr;

	if (nlmsg_hdr(message)->nlmsg_type != RTM_NEWNSID)
		return 0;
	attr = nlmsg_find_attr(nlmsg_hdr(message), sizeof(struct rtgenmsg), NETNSA_NSID);
	if (attr)
		*(int32_t *)data = nla_get_s32(attr);
	return 0;
}

int skm_probe_nsid(struct skm_rtnl *rtnl, int netns_fd, int32_t *ret, struct skm_err *err)
{
	const struct rtgenmsg header = {.rtgen_family = AF_UNSPEC};
	struct nl_msg *message = request(RTM_GETNSID, 0, &header, sizeof(header));
	int32_t nsid = SKM_LINK_NO_NSID;
	int r;

	if (message && nla_put_u32(message, NETNSA_FD, (uint32_t)netns_fd) < 0) {
		nlmsg_free(message);
		message = NULL;
	}
	r = skm_probe_rtnl_talk(rtnl, message, take_nsid, &nsid, err);
	if (r == 0)
		*ret = nsid;
	else
		skm_err_wrap(err, "ask for the number of the container's network namespace");
	return r;
}

/* -- queueing disciplines and classes ------------------------------------------------------------------------------- */

static void parsed_qdisc(struct nl_object *object, void *data)
{
	struct skm_qdisc *qdisc = data;
	struct rtnl_qdisc *from = (struct rtnl_qdisc *)object;

	copy_text(qdisc->kind, sizeof(qdisc->kind), rtnl_tc_get_kind(TC_CAST(from)));
	qdisc->handle = rtnl_tc_get_handle(TC_CAST(from));
	qdisc->default_class = strcmp(qdisc->kind, "htb") == 0 ? rtnl_htb_get_defcls(from) : 0;
}

static int take_qdisc(struct nl_msg *message, void *data)
{
	if (nlmsg_hdr(message)->nlmsg_type == RTM_NEWQDISC)
		SKM_IGNORE(nl_msg_parse(message, parsed_qdisc, data));
	return 0;
}

/* One qdisc, not the list: the kernel has no list of one link's, and a node has thousands. NLM_F_ECHO, for the answer to come to
 * us and not only to those who listen to changes (rtnetlink_send, net/core/rtnetlink.c). */
int skm_probe_qdisc(struct skm_rtnl *rtnl, int ifindex, bool ingress, struct skm_qdisc *ret, struct skm_err *err)
{
	const struct tcmsg header = {
	        .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = ingress ? TC_H_CLSACT : TC_H_ROOT};
	struct skm_qdisc qdisc = {0};
	struct skm_err own = SKM_ERR_INIT;
	int r = skm_probe_rtnl_talk(rtnl, request(RTM_GETQDISC, NLM_F_ECHO, &header, sizeof(header)), take_qdisc, &qdisc, &own);

	/* ENOENT: none; EINVAL: one that the kernel shows nobody (tc_qdisc_dump_ignore, net/sched/sch_api.c) */
	if (r == -ENOENT || r == -EINVAL)
		r = 0;
	if (r == 0) {
		*ret = qdisc;
		return 0;
	}
	if (err)
		*err = own;
	skm_err_wrap(err, "read the %s qdisc of link %d", ingress ? "ingress" : "root", ifindex);
	return r;
}

struct class_search {
	uint32_t classid;
	uint32_t leaf; /* of the message at hand: libnl keeps it to itself */
	bool found;
	struct skm_htb_class class;
};

static void parsed_class(struct nl_object *object, void *data)
{
	struct class_search *search = data;
	struct rtnl_class *from = (struct rtnl_class *)object;
	struct rtnl_tc *tc = TC_CAST(from);
	uint64_t rate, ceil;

	if (rtnl_tc_get_handle(tc) != search->classid || rtnl_htb_get_rate64(from, &rate) < 0 ||
	    rtnl_htb_get_ceil64(from, &ceil) < 0)
		return;
	search->found = true;
	search->class = (struct skm_htb_class){
	        .rate_bytes_per_sec = rate,
	        .ceil_bytes_per_sec = ceil,
	        .leaf = search->leaf,
	        .burst_bytes = rtnl_htb_get_rbuffer(from),
	        .sent_bytes = rtnl_tc_get_stat(tc, RTNL_TC_BYTES),
	        .drops = rtnl_tc_get_stat(tc, RTNL_TC_DROPS),
	        .backlog_bytes = (uint32_t)rtnl_tc_get_stat(tc, RTNL_TC_BACKLOG),
	};
}

static int take_class(struct nl_msg *message, void *data)
{
	const struct tcmsg *header = nlmsg_data(nlmsg_hdr(message));

	if (nlmsg_hdr(message)->nlmsg_type != RTM_NEWTCLASS || !nlmsg_valid_hdr(nlmsg_hdr(message), sizeof(*header)))
		return 0;
	((struct class_search *)data)->leaf = header->tcm_info;
	SKM_IGNORE(nl_msg_parse(message, parsed_class, data));
	return 0;
}

static void restart_class(void *data)
{
	((struct class_search *)data)->found = false;
}

int skm_probe_htb_class(struct skm_rtnl *rtnl, int ifindex, uint32_t classid, struct skm_htb_class *ret, struct skm_err *err)
{
	/* of the one qdisc: someone else's may have thousands (tc_dump_tclass_qdisc, net/sched/sch_api.c) */
	const struct tcmsg header = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = TC_H_MAJ(classid)};
	struct class_search search = {.classid = classid};
	int r = skm_probe_rtnl_dump(rtnl, RTM_GETTCLASS, &header, sizeof(header), take_class, restart_class, &search, err);

	if (r == 0 && !search.found)
		r = skm_err_set(err, ENOENT, "there is no such class");
	if (r == 0)
		*ret = search.class;
	else
		skm_err_wrap(err, "read class %x:%x of link %d", classid >> 16, TC_H_MIN(classid), ifindex);
	return r;
}

/* -- filters and programs ------------------------------------------------------------------------------------------- */

struct filter_count {
	uint16_t first_prio, prios;
	uint32_t in, other, bpf;
};

static int take_filter(struct nl_msg *message, void *data)
{
	struct filter_count *count = data;
	struct nlmsghdr *header = nlmsg_hdr(message);
	const struct tcmsg *filter = nlmsg_data(header);
	struct nlattr *kind;
	uint32_t prio;

	if (header->nlmsg_type != RTM_NEWTFILTER || !nlmsg_valid_hdr(header, sizeof(*filter)))
		return 0;
	prio = filter->tcm_info >> 16;
	if (prio >= count->first_prio && prio < (uint32_t)count->first_prio + count->prios) {
		count->in++;
		return 0;
	}
	count->other++;
	kind = nlmsg_find_attr(header, sizeof(*filter), TCA_KIND);
	if (kind && nla_strcmp(kind, "bpf") == 0)
		count->bpf++;
	return 0;
}

static void restart_filters(void *data)
{
	struct filter_count *count = data;

	count->in = count->other = count->bpf = 0;
}

int skm_probe_filters(struct skm_rtnl *rtnl, int ifindex, uint32_t parent, uint16_t first_prio, uint16_t prios, uint32_t *ret_in,
                      uint32_t *ret_other, uint32_t *ret_bpf, struct skm_err *err)
{
	const struct tcmsg header = {.tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = parent};
	struct filter_count count = {.first_prio = first_prio, .prios = prios};
	int r = skm_probe_rtnl_dump(rtnl, RTM_GETTFILTER, &header, sizeof(header), take_filter, restart_filters, &count, err);

	if (r < 0) {
		skm_err_wrap(err, "read the filters of link %d", ifindex);
		return r;
	}
	*ret_in = count.in;
	*ret_other = count.other;
	if (ret_bpf)
		*ret_bpf = count.bpf;
	return 0;
}

/* BPF_TCX_INGRESS and BPF_TCX_EGRESS of kernel 6.6, which the headers of Debian 12 do not have yet. */
static const uint32_t TCX_TYPES[] = {46, 47};

bool skm_probe_link_has_tcx(int ifindex)
{
	for (size_t i = 0; i < sizeof(TCX_TYPES) / sizeof(*TCX_TYPES); i++) {
		union bpf_attr attr = {0};

		/* target_fd and target_ifindex are one field */
		attr.query.target_fd = (uint32_t)ifindex;
		attr.query.attach_type = TCX_TYPES[i];
		if (syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) == 0 && attr.query.prog_cnt > 0)
			return true;
	}
	return false;
}
