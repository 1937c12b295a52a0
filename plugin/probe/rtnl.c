/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/rtnl.h"

#include "base/thread.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define RECEIVE_TIMEOUT_SEC 2
#define TRIES 4

struct skm_rtnl {
	struct nl_sock *sock;
	bool dead; /* an answer is still to come, and would be taken for that of the next request */
	/* of the request under way: */
	skm_rtnl_take take;
	void *data;
	bool acknowledged;
	int error;      /* of the kernel or of take, positive; 0: none */
	char text[160]; /* the kernel's sentence (NLMSGERR_ATTR_MSG), empty without one */
};

static int take_message(struct nl_msg *message, void *data)
{
	struct skm_rtnl *rtnl = data;
	int r = rtnl->take ? rtnl->take(message, rtnl->data) : 0;

	if (r == 0)
		return NL_OK;
	rtnl->error = -r;
	rtnl->dead = true; /* what is behind this message stays unread */
	return -NLE_FAILURE;
}

static int take_ack(struct nl_msg *message, void *data)
{
	(void)message;
	((struct skm_rtnl *)data)->acknowledged = true;
	return NL_STOP;
}

/* What the kernel says beside its errno: attributes behind the header of the request that failed, or behind all of that request
 * where it was not cut (NLM_F_CAPPED). */
static void keep_sentence(struct skm_rtnl *rtnl, const struct nlmsgerr *error)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)((const char *)error - NLMSG_HDRLEN);
	size_t skip = sizeof(*error), length = header->nlmsg_len - NLMSG_HDRLEN;
	struct nlattr *attr;

	if (!(header->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(header->nlmsg_flags & NLM_F_CAPPED))
		skip += error->msg.nlmsg_len - NLMSG_HDRLEN;
	if (skip >= length)
		return;
	attr = nla_find((const struct nlattr *)(const void *)((const char *)error + NLMSG_ALIGN(skip)), (int)(length - skip),
	                NLMSGERR_ATTR_MSG);
	if (attr)
		snprintf(rtnl->text, sizeof(rtnl->text), "%.*s", nla_len(attr), (const char *)nla_data(attr));
}

static int take_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *data)
{
	struct skm_rtnl *rtnl = data;

	(void)from;
	rtnl->error = -error->error;
	keep_sentence(rtnl, error);
	return NL_STOP;
}

static int set_up(struct skm_rtnl *rtnl)
{
	const struct timeval timeout = {.tv_sec = RECEIVE_TIMEOUT_SEC};
	int on = 1, fd;

	errno = EIO; /* libnl keeps the system's own */
	if (nl_connect(rtnl->sock, NETLINK_ROUTE) < 0)
		return -errno;
	fd = nl_socket_get_fd(rtnl->sock);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
		return -errno;
	/* without these two there are no sentences: nothing else changes */
	setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	if (nl_socket_modify_cb(rtnl->sock, NL_CB_VALID, NL_CB_CUSTOM, take_message, rtnl) < 0 ||
	    nl_socket_modify_cb(rtnl->sock, NL_CB_ACK, NL_CB_CUSTOM, take_ack, rtnl) < 0 ||
	    nl_socket_modify_err_cb(rtnl->sock, NL_CB_CUSTOM, take_error, rtnl) < 0)
		return -ENOMEM;
	return 0;
}

static int make(struct skm_rtnl **ret)
{
	struct skm_rtnl *rtnl = calloc(1, sizeof(*rtnl));
	int r = -ENOMEM;

	if (rtnl)
		rtnl->sock = nl_socket_alloc();
	if (rtnl && rtnl->sock)
		r = set_up(rtnl);
	if (r < 0) {
		skm_probe_rtnl_close(rtnl);
		return r;
	}
	*ret = rtnl;
	return 0;
}

struct visit {
	int netns_fd;
	struct skm_rtnl *rtnl;
	bool entered;
	int result;
};

static void *visit_netns(void *data)
{
	struct visit *visit = data;

	visit->entered = setns(visit->netns_fd, CLONE_NEWNET) == 0;
	visit->result = visit->entered ? make(&visit->rtnl) : -errno;
	return NULL;
}

/* A socket belongs to the namespace that it is made in: a thread goes there, so that the caller need not. It takes none of the
 * process's signals. */
static int make_inside(struct visit *visit)
{
	int r = skm_thread_run(visit_netns, visit);

	return r < 0 ? r : visit->result;
}

int skm_probe_rtnl_open(int netns_fd, struct skm_rtnl **ret, struct skm_err *err)
{
	struct visit visit = {.netns_fd = netns_fd, .entered = true};
	int r = netns_fd < 0 ? make(&visit.rtnl) : make_inside(&visit);

	if (r < 0)
		return skm_err_set_errno(err, -r, "%s",
		                         visit.entered ? "open a rtnetlink socket" : "enter the container's network namespace");
	*ret = visit.rtnl;
	return 0;
}

void skm_probe_rtnl_close(struct skm_rtnl *rtnl)
{
	if (rtnl && rtnl->sock)
		nl_socket_free(rtnl->sock);
	free(rtnl);
}

static void begin(struct skm_rtnl *rtnl, skm_rtnl_take take, void *data)
{
	rtnl->take = take;
	rtnl->data = data;
	rtnl->acknowledged = false;
	rtnl->error = 0;
	rtnl->text[0] = '\0';
}

/* nl_error: libnl's, negative. The kernel's own number, or take's, is the better one where there is one. */
static int fail(struct skm_rtnl *rtnl, int nl_error, struct skm_err *err)
{
	int code = rtnl->error;

	if (code != 0 && rtnl->text[0])
		return skm_err_set_errno(err, code, "the kernel says \"%s\"", rtnl->text);
	if (code == 0 && nl_error == -NLE_AGAIN) {
		rtnl->dead = true;
		return skm_err_set(err, ETIMEDOUT, "no answer of rtnetlink within %d s", RECEIVE_TIMEOUT_SEC);
	}
	if (code == 0 && nl_error == -NLE_DUMP_INTR)
		return skm_err_set(err, EINTR, "the kernel's list changed while it was read, %d times", TRIES);
	if (code == 0)
		return skm_err_set(err, nl_error == -NLE_NOMEM ? ENOMEM : EIO, "rtnetlink: %s", nl_geterror(nl_error));
	return skm_err_set_errno(err, code, "rtnetlink");
}

static int refuse_dead(const struct skm_rtnl *rtnl, struct skm_err *err)
{
	return rtnl->dead ? skm_err_set(err, EPIPE, "an earlier request on this rtnetlink socket was never answered") : 0;
}

int skm_probe_rtnl_talk(struct skm_rtnl *rtnl, struct nl_msg *message, skm_rtnl_take take, void *data, struct skm_err *err)
{
	int r = refuse_dead(rtnl, err);

	if (r == 0 && !message)
		r = skm_err_set(err, ENOMEM, "out of memory for a rtnetlink request");
	if (r < 0) {
		nlmsg_free(message);
		return r;
	}
	begin(rtnl, take, data);
	r = nl_send_auto(rtnl->sock, message); /* adds NLM_F_ACK */
	nlmsg_free(message);
	/* an answer and its acknowledgement are two messages, and libnl reads one at a time */
	while (r >= 0 && !rtnl->acknowledged)
		r = nl_recvmsgs_default(rtnl->sock);
	return r < 0 ? fail(rtnl, r, err) : 0;
}

int skm_probe_rtnl_dump(struct skm_rtnl *rtnl, int type, const void *header, size_t length, skm_rtnl_take take,
                        void (*restart)(void *data), void *data, struct skm_err *err)
{
	int r = refuse_dead(rtnl, err);

	if (r < 0)
		return r;
	r = -NLE_DUMP_INTR;
	for (int try = 0; try < TRIES && r == -NLE_DUMP_INTR; try++) {
		if (restart)
			restart(data);
		begin(rtnl, take, data);
		r = nl_send_simple(rtnl->sock, type, NLM_F_DUMP, (void *)(uintptr_t)header, length);
		/* read to its end also where it was interrupted: libnl says so only then */
		if (r >= 0)
			r = nl_recvmsgs_default(rtnl->sock);
		if (r < 0 && r != -NLE_DUMP_INTR)
			return fail(rtnl, r, err);
	}
	return r < 0 ? fail(rtnl, r, err) : 0;
}
