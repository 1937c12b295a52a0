/* SPDX-License-Identifier: Apache-2.0 */
/* Which packets are bulk, as u32 filters: the one classifier that every kernel with tc has, and the fields that it needs are at
 * fixed places. The first rule that fits decides; what no rule knows is not bulk.
 *
 * Length counts before anything else: below 128 bytes are all pure acknowledgements with every option there is (60 + 60 bytes of
 * IPv4), probes and questions to DNS. A fragment is judged by its own length and the protocol that its header names; only the
 * first one has ports and flags, so rules that look at those ask for offset 0. No rule looks past the end of a packet that can
 * reach it: u32 then passes over all its rules (u32_classify, net/sched/cls_u32.c). */
#include "actuate/tc_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/act/mirred.h>
#include <netlink/route/action.h>
#include <netlink/route/classifier.h>
#include <netlink/route/cls/u32.h>
#include <netlink/route/tc.h>

/* A 32-bit word of the packet: its offset from the network header, what it must hold, and which bits of it. Host order. */
struct key {
	uint32_t offset, value, mask;
};

#define KEYS_MAX 4

struct rule {
	uint32_t protocol; /* only where the policy has it: 1 << enum skm_protocol; 0: always */
	bool bulk;
	struct key keys[KEYS_MAX]; /* all of them must fit; a mask of 0 ends them */
};

#define TCP (UINT32_C(1) << SKM_PROTOCOL_TCP)
#define UDP (UINT32_C(1) << SKM_PROTOCOL_UDP)

/* IPv4. A length of 0 is BIG TCP (kernel 6.3). */
#define V4_LENGTH_0 0, 0, 0x0000ffff
#define V4_BELOW_128 0, 0, 0x0000ff80
#define V4_BELOW_512 0, 0, 0x0000fe00
#define V4_NO_OPTIONS 0, 0x05000000, 0x0f000000
#define V4_FIRST 4, 0, 0x00001fff
#define V4_TCP 8, 0x00060000, 0x00ff0000
#define V4_UDP 8, 0x00110000, 0x00ff0000
#define V4_FROM_DNS 20, 0x00350000, 0xffff0000
#define V4_TO_DNS 20, 0x00000035, 0x0000ffff
#define V4_SYN 32, 0x00020000, 0x00020000

/* A SYN may carry data (TCP fast open). An answer of DNS has up to 512 bytes, and more where the client said so (RFC 6891). */
static const struct rule V4_RULES[] = {
        {TCP, true, {{V4_LENGTH_0}, {V4_TCP}}},
        {0, false, {{V4_BELOW_128}}},
        {TCP, false, {{V4_NO_OPTIONS}, {V4_FIRST}, {V4_TCP}, {V4_SYN}}},
        {TCP, true, {{V4_TCP}}},
        {UDP, false, {{V4_BELOW_512}, {V4_UDP}}},
        {UDP, false, {{V4_NO_OPTIONS}, {V4_FIRST}, {V4_UDP}, {V4_FROM_DNS}}},
        {UDP, false, {{V4_NO_OPTIONS}, {V4_FIRST}, {V4_UDP}, {V4_TO_DNS}}},
        {UDP, true, {{V4_UDP}}},
};

/* IPv6: the payload's length, and the next header. BIG TCP has a length of 0, with its true one in hop-by-hop options
 * (kernel 5.19) or nowhere. */
#define V6_BIG(header) 4, (header) << 8, 0xffffff00
#define V6_BELOW_128 4, 0, 0xff800000
#define V6_BELOW_512 4, 0, 0xfe000000
#define V6_NEXT(header) 4, (header) << 8, 0x0000ff00
#define V6_FROM_DNS 40, 0x00350000, 0xffff0000
#define V6_TO_DNS 40, 0x00000035, 0x0000ffff
#define V6_SYN 52, 0x00020000, 0x00020000
/* The header behind one of these is named in its first byte: hop-by-hop and destination options, routing, fragment. */
#define V6_THEN(header) 40, (uint32_t)(header) << 24, 0xff000000

static const struct rule V6_RULES[] = {
        {TCP, true, {{V6_BIG(6)}}},
        {TCP, true, {{V6_BIG(0)}, {V6_THEN(6)}}},
        {0, false, {{V6_BELOW_128}}},
        {TCP, false, {{V6_NEXT(6)}, {V6_SYN}}},
        {TCP, true, {{V6_NEXT(6)}}},
        {TCP, true, {{V6_NEXT(0)}, {V6_THEN(6)}}},
        {TCP, true, {{V6_NEXT(43)}, {V6_THEN(6)}}},
        {TCP, true, {{V6_NEXT(44)}, {V6_THEN(6)}}},
        {TCP, true, {{V6_NEXT(60)}, {V6_THEN(6)}}},
        {UDP, false, {{V6_BELOW_512}, {V6_NEXT(17)}}},
        {UDP, false, {{V6_NEXT(17)}, {V6_FROM_DNS}}},
        {UDP, false, {{V6_NEXT(17)}, {V6_TO_DNS}}},
        {UDP, true, {{V6_NEXT(17)}}},
        {UDP, true, {{V6_NEXT(0)}, {V6_THEN(17)}}},
        {UDP, true, {{V6_NEXT(43)}, {V6_THEN(17)}}},
        {UDP, true, {{V6_NEXT(44)}, {V6_THEN(17)}}},
        {UDP, true, {{V6_NEXT(60)}, {V6_THEN(17)}}},
};

static const struct family {
	uint16_t ethertype;
	const struct rule *rules;
	size_t count;
} FAMILIES[SKM_TC_PRIOS] = {
        {ETH_P_IP, V4_RULES, sizeof(V4_RULES) / sizeof(*V4_RULES)},
        {ETH_P_IPV6, V6_RULES, sizeof(V6_RULES) / sizeof(*V6_RULES)},
};

/* NULL: out of memory. */
static struct rtnl_cls *new_filter(int ifindex, uint32_t parent, unsigned int family)
{
	struct rtnl_cls *filter = rtnl_cls_alloc();

	if (!filter)
		return NULL;
	rtnl_tc_set_ifindex(TC_CAST(filter), ifindex);
	rtnl_tc_set_parent(TC_CAST(filter), parent);
	rtnl_cls_set_prio(filter, (uint16_t)(SKM_TC_FIRST_PRIO + family));
	rtnl_cls_set_protocol(filter, FAMILIES[family].ethertype);
	if (rtnl_tc_set_kind(TC_CAST(filter), "u32") < 0) {
		rtnl_cls_put(filter);
		return NULL;
	}
	return filter;
}

static int add_redirect(struct rtnl_cls *filter, int ifindex)
{
	struct rtnl_act *action = rtnl_act_alloc();
	int r;

	if (!action)
		return -NLE_NOMEM;
	r = rtnl_tc_set_kind(TC_CAST(action), "mirred");
	if (r == 0)
		r = rtnl_mirred_set_action(action, TCA_EGRESS_REDIR);
	if (r == 0)
		r = rtnl_mirred_set_policy(action, TC_ACT_STOLEN);
	if (r == 0)
		r = rtnl_mirred_set_ifindex(action, (uint32_t)ifindex);
	if (r == 0)
		r = rtnl_u32_add_action(filter, action);
	rtnl_act_put(action);
	return r;
}

static int fill_filter(struct rtnl_cls *filter, const struct rule *rule, int redirect_ifindex)
{
	int r = rtnl_u32_set_cls_terminal(filter);

	for (size_t i = 0; i < KEYS_MAX && rule->keys[i].mask != 0 && r == 0; i++)
		r = rtnl_u32_add_key(filter, htonl(rule->keys[i].value), htonl(rule->keys[i].mask), (int)rule->keys[i].offset, 0);
	if (r == 0 && redirect_ifindex == 0)
		r = rtnl_u32_set_classid(filter, rule->bulk ? SKM_TC_BULK : SKM_TC_SMALL);
	if (r == 0 && redirect_ifindex != 0 && rule->bulk)
		r = add_redirect(filter, redirect_ifindex);
	return r;
}

/* place: of the rule, from 1: u32 asks its rules in the order of their numbers. */
static struct nl_msg *filter_request(int ifindex, uint32_t parent, unsigned int family, unsigned int place, int redirect_ifindex)
{
	struct rtnl_cls *filter = new_filter(ifindex, parent, family);
	struct nl_msg *message = NULL;

	if (!filter)
		return NULL;
	rtnl_u32_set_handle(filter, 0, 0, (int)place);
	if (fill_filter(filter, &FAMILIES[family].rules[place - 1], redirect_ifindex) < 0 ||
	    rtnl_cls_build_add_request(filter, NLM_F_CREATE | NLM_F_EXCL, &message) < 0)
		message = NULL;
	rtnl_cls_put(filter);
	return message;
}

static int add_family(struct skm_rtnl *rtnl, int ifindex, uint32_t parent, uint32_t protocols, unsigned int family,
                      int redirect_ifindex, struct skm_err *err)
{
	for (unsigned int place = 1; place <= FAMILIES[family].count; place++) {
		uint32_t needs = FAMILIES[family].rules[place - 1].protocol;
		int r;

		if (needs != 0 && !(needs & protocols))
			continue;
		r = skm_probe_rtnl_talk(rtnl, filter_request(ifindex, parent, family, place, redirect_ifindex), NULL, NULL, err);
		if (r == -ENOENT)
			return skm_err_set(err, EOPNOTSUPP, "this kernel has no %s",
			                   redirect_ifindex ? "u32 classifier or no mirred action" : "u32 classifier");
		if (r < 0) {
			skm_err_wrap(err, "add a filter to link %d", ifindex);
			return r;
		}
	}
	return 0;
}

int skm_tc_rules_add(struct skm_rtnl *rtnl, int ifindex, uint32_t parent, uint32_t protocols, int redirect_ifindex,
                     struct skm_err *err)
{
	int r = 0;

	for (unsigned int family = 0; family < SKM_TC_PRIOS && r == 0; family++)
		r = add_family(rtnl, ifindex, parent, protocols, family, redirect_ifindex, err);
	return r;
}

int skm_tc_rules_remove(struct skm_rtnl *rtnl, int ifindex, uint32_t parent, struct skm_err *err)
{
	int result = 0;

	for (unsigned int family = 0; family < SKM_TC_PRIOS; family++) {
		struct rtnl_cls *filter = new_filter(ifindex, parent, family);
		struct nl_msg *message = NULL;
		struct skm_err own = SKM_ERR_INIT;
		int r;

		/* without a handle: all of the priority, if it is u32's */
		if (filter && rtnl_cls_build_delete_request(filter, 0, &message) < 0)
			message = NULL;
		if (filter)
			rtnl_cls_put(filter);
		r = skm_probe_rtnl_talk(rtnl, message, NULL, NULL, &own);
		if (r == 0 || r == -ENOENT || result < 0)
			continue;
		result = r;
		if (err)
			*err = own;
		skm_err_wrap(err, "remove the filters of link %d", ifindex);
	}
	return result;
}
