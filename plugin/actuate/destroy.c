/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/destroy.h"

#include "actuate/cgroup_ids.h"
#include "base/cleanup.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

int skm_actuate_destroy_list(int cgroup_fd, struct skm_diag_socket **ret, size_t *ret_count, struct skm_err *err)
{
	cleanup_free uint64_t *ids = NULL;
	struct skm_diag_cgroups only = {0};
	int r = skm_actuate_cgroup_ids(cgroup_fd, &ids, &only.count, err);

	only.ids = ids;
	return r < 0 ? r : skm_probe_sock_diag_idle(&only, ret, ret_count, err);
}

/* libnl turns the kernel's errors into fewer of its own: this keeps the kernel's. */
static int take_error(struct sockaddr_nl *from, struct nlmsgerr *message, void *data)
{
	(void)from;
	*(int *)data = message->error;
	return NL_STOP;
}

/* Returns 0 or libnl's negative error; *ret: the kernel's answer, 0 or -errno. */
static int ask(struct nl_sock *sock, const struct skm_diag_socket *socket, int *ret)
{
	struct inet_diag_req_v2 request = {
	        .sdiag_family = socket->family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u, .id = socket->id};
	struct nl_msg *message = nlmsg_alloc_simple(SOCK_DESTROY, 0);
	int r = message ? nlmsg_append(message, &request, sizeof(request), NLMSG_ALIGNTO) : -NLE_NOMEM;

	if (r == 0)
		r = nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, take_error, ret);
	if (r == 0)
		r = nl_connect(sock, NETLINK_SOCK_DIAG);
	if (r == 0)
		r = nl_send_auto(sock, message);
	nlmsg_free(message);
	if (r >= 0)
		r = nl_wait_for_ack(sock);
	return *ret < 0 ? 0 : r;
}

int skm_actuate_destroy(const struct skm_diag_socket *socket, struct skm_err *err)
{
	struct nl_sock *sock = nl_socket_alloc();
	int answer = 0, r = sock ? ask(sock, socket, &answer) : -NLE_NOMEM;

	nl_socket_free(sock);
	if (r < 0)
		return skm_err_set(err, r == -NLE_NOMEM ? ENOMEM : EIO, "destroy a connection by sock_diag: %s", nl_geterror(r));
	if (answer == -EOPNOTSUPP)
		return skm_err_set(err, EOPNOTSUPP, "this kernel cannot end connections (it has no INET_DIAG_DESTROY)");
	return answer < 0 ? skm_err_set_errno(err, -answer, "destroy a connection by sock_diag") : 0;
}
