/* SPDX-License-Identifier: Apache-2.0 */
/* The htb: a class for bulk with a rate, and one for all else that is served first. An htb and not a tbf: it lets packets of
 * every size through (a tbf drops what is larger than its burst), and a change of its rate fills no bucket (htb_change_class and
 * tbf_change in net/sched, 6.1 to 7.3). */
#include "actuate/tc_parts.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <netlink/netlink.h>
#include <netlink/msg.h>
#include <netlink/route/class.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/fifo.h>
#include <netlink/route/qdisc/fq_codel.h>
#include <netlink/route/qdisc/htb.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/tc.h>
#include <string.h>
#include <time.h>

/* How long packets may stand in the bulk queue before the first is dropped, in microseconds: ten times what fq_codel takes for a
 * router's link, because this queue is there to stand for a while. Starting points. */
#define CODEL_TARGET_USEC 50000
#define CODEL_INTERVAL_USEC 500000
#define CODEL_LIMIT_PACKETS 10240

/* Without fq_codel in the kernel. */
#define FIFO_LIMIT_BYTES (4 << 20)
/* The default would be the link's queue length, which is 32 on an ifb and may be 0: then one packet. */
#define SMALL_LIMIT_PACKETS 10000

/* The tbf that splits is far faster than any rate that needs it, so that it only splits; and slow enough for its ticks of 64 ns
 * to be less than a byte. */
#define SPLITTER_BYTES_PER_SEC 12500000
#define SPLITTER_LIMIT_BYTES (1 << 20)

#define QUANTUM_BYTES 60000 /* only says how classes of one priority share: there is one of each */

#define DRAIN_USEC 50000
#define DRAIN_STEP_USEC 2000

bool skm_tc_is_ours(const struct skm_qdisc *qdisc)
{
	return strcmp(qdisc->kind, "htb") == 0 && qdisc->handle == SKM_TC_HANDLE &&
	       (qdisc->default_class == TC_H_MIN(SKM_TC_SMALL) || qdisc->default_class == TC_H_MIN(SKM_TC_BULK));
}

bool skm_tc_is_default(const struct skm_qdisc *qdisc)
{
	return qdisc->handle == 0;
}

/* NULL: out of memory. */
static struct rtnl_qdisc *new_qdisc(int ifindex, uint32_t parent, uint32_t handle, const char *kind)
{
	struct rtnl_qdisc *qdisc = rtnl_qdisc_alloc();

	if (!qdisc)
		return NULL;
	rtnl_tc_set_ifindex(TC_CAST(qdisc), ifindex);
	rtnl_tc_set_parent(TC_CAST(qdisc), parent);
	rtnl_tc_set_handle(TC_CAST(qdisc), handle);
	if (rtnl_tc_set_kind(TC_CAST(qdisc), kind) < 0) {
		rtnl_qdisc_put(qdisc);
		return NULL;
	}
	return qdisc;
}

/* qdisc: consumed. The kernel answers ENOENT for a kind that it does not have. */
static int add_qdisc(struct skm_rtnl *rtnl, struct rtnl_qdisc *qdisc, const char *kind, int ifindex, struct skm_err *err)
{
	struct nl_msg *message = NULL;
	int r;

	if (qdisc && rtnl_qdisc_build_add_request(qdisc, NLM_F_CREATE | NLM_F_EXCL, &message) < 0)
		message = NULL;
	if (qdisc)
		rtnl_qdisc_put(qdisc);
	r = skm_probe_rtnl_talk(rtnl, message, NULL, NULL, err);
	if (r == -ENOENT)
		return skm_err_set(err, EOPNOTSUPP, "this kernel has no %s qdisc", kind);
	if (r < 0)
		skm_err_wrap(err, "add a %s qdisc to link %d", kind, ifindex);
	return r;
}

static int add_root(struct skm_rtnl *rtnl, int ifindex, bool only_bulk, struct skm_err *err)
{
	struct rtnl_qdisc *qdisc = new_qdisc(ifindex, TC_H_ROOT, SKM_TC_HANDLE, "htb");

	if (qdisc)
		rtnl_htb_set_defcls(qdisc, TC_H_MIN(only_bulk ? SKM_TC_BULK : SKM_TC_SMALL));
	return add_qdisc(rtnl, qdisc, "htb", ifindex, err);
}

static struct nl_msg *class_request(int ifindex, uint32_t classid, const struct skm_tc_rate *rate, int flags)
{
	struct rtnl_class *class = rtnl_class_alloc();
	struct nl_msg *message = NULL;

	if (!class)
		return NULL;
	rtnl_tc_set_ifindex(TC_CAST(class), ifindex);
	rtnl_tc_set_parent(TC_CAST(class), SKM_TC_HANDLE);
	rtnl_tc_set_handle(TC_CAST(class), classid);
	if (rtnl_tc_set_kind(TC_CAST(class), "htb") < 0 || rtnl_htb_set_rate64(class, rate->rate) < 0 ||
	    rtnl_htb_set_ceil64(class, rate->rate) < 0 || rtnl_htb_set_rbuffer(class, rate->burst_bytes) < 0 ||
	    rtnl_htb_set_cbuffer(class, rate->burst_bytes) < 0 || rtnl_htb_set_quantum(class, QUANTUM_BYTES) < 0 ||
	    rtnl_htb_set_prio(class, classid == SKM_TC_BULK ? 1 : 0) < 0 ||
	    rtnl_class_build_add_request(class, flags, &message) < 0)
		message = NULL;
	rtnl_class_put(class);
	return message;
}

/* flags: 0 changes one that is there. */
static int set_class(struct skm_rtnl *rtnl, int ifindex, uint32_t classid, const struct skm_tc_rate *rate, int flags,
                     struct skm_err *err)
{
	int r = skm_probe_rtnl_talk(rtnl, class_request(ifindex, classid, rate, flags), NULL, NULL, err);

	if (r < 0)
		skm_err_wrap(err, "%s a class with %" PRIu64 " bytes/s on link %d", flags ? "add" : "change", rate->rate,
		             ifindex);
	return r;
}

static int add_fq_codel(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	struct rtnl_qdisc *qdisc = new_qdisc(ifindex, SKM_TC_BULK, SKM_TC_BULK_LEAF, "fq_codel");

	if (qdisc) {
		rtnl_qdisc_fq_codel_set_limit(qdisc, CODEL_LIMIT_PACKETS);
		rtnl_qdisc_fq_codel_set_target(qdisc, CODEL_TARGET_USEC);
		rtnl_qdisc_fq_codel_set_interval(qdisc, CODEL_INTERVAL_USEC);
	}
	return add_qdisc(rtnl, qdisc, "fq_codel", ifindex, err);
}

/* kind: "pfifo" with a limit of packets, or "bfifo" of bytes. */
static int add_fifo(struct skm_rtnl *rtnl, int ifindex, uint32_t classid, uint32_t handle, const char *kind, int limit,
                    struct skm_err *err)
{
	struct rtnl_qdisc *qdisc = new_qdisc(ifindex, classid, handle, kind);

	if (qdisc)
		rtnl_qdisc_fifo_set_limit(qdisc, limit);
	return add_qdisc(rtnl, qdisc, kind, ifindex, err);
}

static int add_small(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	static const struct skm_tc_rate UNLIMITED = {.rate = SKM_TC_UNLIMITED, .burst_bytes = UINT32_C(1) << 30};
	int r = set_class(rtnl, ifindex, SKM_TC_SMALL, &UNLIMITED, NLM_F_CREATE | NLM_F_EXCL, err);

	if (r == 0)
		r = add_fifo(rtnl, ifindex, SKM_TC_SMALL, SKM_TC_SMALL_LEAF, "pfifo", SMALL_LIMIT_PACKETS, err);
	return r;
}

static int read_back(struct skm_rtnl *rtnl, int ifindex, uint64_t rate, struct skm_err *err)
{
	struct skm_htb_class now;
	int r = skm_probe_htb_class(rtnl, ifindex, SKM_TC_BULK, &now, err);

	if (r < 0)
		return r;
	if (now.rate_bytes_per_sec != rate || now.ceil_bytes_per_sec != rate)
		return skm_err_set(err, EIO,
		                   "the kernel took a rate of %" PRIu64 " and a ceiling of %" PRIu64
		                   " bytes/s on link %d where %" PRIu64 " was written",
		                   now.rate_bytes_per_sec, now.ceil_bytes_per_sec, ifindex, rate);
	return 0;
}

/* An htb lets a packet of any size through and waits afterwards: at a slow rate one GSO packet is more than a fifth of a second's
 * worth. A tbf cuts up what is larger than its burst (tbf_segment, net/sched/sch_tbf.c). */
static int add_splitter(struct skm_rtnl *rtnl, int ifindex, uint32_t split_bytes, struct skm_err *err)
{
	struct rtnl_qdisc *qdisc = new_qdisc(ifindex, SKM_TC_BULK, SKM_TC_SPLIT_LEAF, "tbf");

	if (qdisc) {
		/* libnl rounds down to microseconds: less than 13 bytes */
		rtnl_qdisc_tbf_set_rate(qdisc, SPLITTER_BYTES_PER_SEC, (int)split_bytes + 16, 0);
		rtnl_qdisc_tbf_set_limit(qdisc, SPLITTER_LIMIT_BYTES);
	}
	return add_qdisc(rtnl, qdisc, "tbf", ifindex, err);
}

static int add_leaf(struct skm_rtnl *rtnl, int ifindex, uint32_t split_bytes, struct skm_err *err)
{
	int r = split_bytes > 0 ? add_splitter(rtnl, ifindex, split_bytes, err) : add_fq_codel(rtnl, ifindex, err);

	if (r == -EOPNOTSUPP)
		r = add_fifo(rtnl, ifindex, SKM_TC_BULK, SKM_TC_BULK_LEAF, "bfifo", FIFO_LIMIT_BYTES, err);
	return r;
}

static int add_bulk(struct skm_rtnl *rtnl, int ifindex, const struct skm_tc_rate *rate, struct skm_err *err)
{
	int r = set_class(rtnl, ifindex, SKM_TC_BULK, rate, NLM_F_CREATE | NLM_F_EXCL, err);

	if (r == 0)
		r = add_leaf(rtnl, ifindex, rate->split_bytes, err);
	if (r == 0)
		r = read_back(rtnl, ifindex, rate->rate, err);
	return r;
}

static int delete_root(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	struct rtnl_qdisc *qdisc = new_qdisc(ifindex, TC_H_ROOT, SKM_TC_HANDLE, "htb");
	struct nl_msg *message = NULL;
	int r;

	if (qdisc && rtnl_qdisc_build_delete_request(qdisc, &message) < 0)
		message = NULL;
	if (qdisc)
		rtnl_qdisc_put(qdisc);
	r = skm_probe_rtnl_talk(rtnl, message, NULL, NULL, err);
	if (r < 0)
		skm_err_wrap(err, "remove the htb of link %d", ifindex);
	return r;
}

int skm_tc_tree_make(struct skm_rtnl *rtnl, int ifindex, bool only_bulk, const struct skm_tc_rate *rate, struct skm_err *err)
{
	int r = add_root(rtnl, ifindex, only_bulk, err);

	if (r < 0)
		return r;
	/* until there are classes and filters, all passes by the htb's direct queue */
	if (!only_bulk)
		r = add_small(rtnl, ifindex, err);
	if (r == 0)
		r = add_bulk(rtnl, ifindex, rate, err);
	if (r < 0)
		SKM_IGNORE(delete_root(rtnl, ifindex, NULL)); /* the first failure is told */
	return r;
}

int skm_tc_tree_set_rate(struct skm_rtnl *rtnl, int ifindex, const struct skm_tc_rate *rate, struct skm_err *err)
{
	struct skm_htb_class bulk;
	struct skm_qdisc root;
	int r = skm_probe_qdisc(rtnl, ifindex, false, &root, err);

	if (r < 0)
		return r;
	if (!skm_tc_is_ours(&root))
		return skm_err_set(err, ESTALE, "the root qdisc of link %d is no longer sockmem's but %s %x:", ifindex,
		                   root.kind[0] ? root.kind : "none", root.handle >> 16);
	r = skm_probe_htb_class(rtnl, ifindex, SKM_TC_BULK, &bulk, err);
	if (r == -ENOENT)
		return skm_err_set(err, ESTALE, "the class of bulk traffic on link %d is gone", ifindex);
	if (r == 0 && (rate->split_bytes > 0) != (bulk.leaf == SKM_TC_SPLIT_LEAF))
		return skm_err_set(err, ESTALE, "the queue of bulk traffic on link %d is of another kind", ifindex);
	if (r == 0)
		r = set_class(rtnl, ifindex, SKM_TC_BULK, rate, 0, err);
	return r == 0 ? read_back(rtnl, ifindex, rate->rate, err) : r;
}

/* What is queued would be dropped with the qdisc. */
static void let_out(struct skm_rtnl *rtnl, int ifindex)
{
	static const struct skm_tc_rate UNLIMITED = {.rate = SKM_TC_UNLIMITED, .burst_bytes = UINT32_C(1) << 30};
	const struct timespec step = {.tv_nsec = DRAIN_STEP_USEC * 1000};
	uint64_t deadline = skm_now_usec() + DRAIN_USEC;
	struct skm_htb_class bulk;

	if (skm_probe_htb_class(rtnl, ifindex, SKM_TC_BULK, &bulk, NULL) < 0 || bulk.backlog_bytes == 0 ||
	    set_class(rtnl, ifindex, SKM_TC_BULK, &UNLIMITED, 0, NULL) < 0)
		return;
	while (skm_now_usec() < deadline && skm_probe_htb_class(rtnl, ifindex, SKM_TC_BULK, &bulk, NULL) == 0 &&
	       bulk.backlog_bytes > 0)
		nanosleep(&step, NULL);
}

int skm_tc_tree_remove(struct skm_rtnl *rtnl, int ifindex, struct skm_err *err)
{
	struct skm_qdisc root;
	int r = skm_probe_qdisc(rtnl, ifindex, false, &root, err);

	if (r < 0 || !skm_tc_is_ours(&root))
		return r;
	let_out(rtnl, ifindex);
	return delete_root(rtnl, ifindex, err);
}
