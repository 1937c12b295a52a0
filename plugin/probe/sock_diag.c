/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/sock_diag.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The kernel fills a dump's messages ahead of the reader: room for some 5,000 sockets of about 200 bytes. */
#define RECEIVE_BUFFER_BYTES (1 << 20)
/* A dump's message has up to 32 KiB (netlink_dump, net/netlink/af_netlink.c), if the reader's buffer can take it. */
#define MESSAGE_BUFFER_BYTES (1 << 16)
#define TRIES 4
/* SYN_RECV would bring requests in, which have no buffers; neither has a TIME_WAIT. */
#define STATES                                                                                                                   \
	(1u << TCP_ESTABLISHED | 1u << TCP_SYN_SENT | 1u << TCP_FIN_WAIT1 | 1u << TCP_FIN_WAIT2 | 1u << TCP_CLOSE |              \
	 1u << TCP_CLOSE_WAIT | 1u << TCP_LAST_ACK | 1u << TCP_CLOSING)

/* More cgroups than this are sorted out here: the kernel would ask them one by one for each socket. */
#define FILTER_CGROUPS_MAX 32

struct dump {
	const struct skm_diag_cgroups *only;
	bool idle; /* ask how long each has not sent */
	struct skm_diag_socket *sockets;
	size_t count, room;
};

/* One term of "cgroup is A or B or …" in the kernel's filter language (inet_diag_bc_run, net/ipv4/inet_diag.c): where the
 * condition holds, on to the jump, which leads to the end of the program: taken. Where not, past the jump to the next term;
 * behind the last that is 4 bytes past the end: left out. The audit wants every target to lie on the way of the "yes". */
struct filter_term {
	struct inet_diag_bc_op condition;
	uint32_t id[2]; /* a 64-bit id, aligned to 4 bytes */
	struct inet_diag_bc_op jump;
};

#define TERM_BYTES sizeof(struct filter_term)
#define CONDITION_BYTES offsetof(struct filter_term, jump)

/* Returns the program's length; 0: no filter. */
static size_t make_filter(const struct skm_diag_cgroups *only, struct filter_term terms[FILTER_CGROUPS_MAX])
{
	if (!only || only->count == 0 || only->count > FILTER_CGROUPS_MAX)
		return 0;
	for (size_t i = 0; i < only->count; i++) {
		size_t left = only->count * TERM_BYTES - i * TERM_BYTES;

		terms[i] = (struct filter_term){
		        .condition = {.code = INET_DIAG_BC_CGROUP_COND, .yes = CONDITION_BYTES, .no = TERM_BYTES},
		        .jump = {.code = INET_DIAG_BC_JMP,
		                 .yes = sizeof(struct inet_diag_bc_op),
		                 .no = (unsigned short)(left - CONDITION_BYTES - sizeof(struct inet_diag_bc_op))},
		};
		memcpy(terms[i].id, &only->ids[i], sizeof(terms[i].id));
	}
	/* behind the last condition the program ends: no jump, and its "no" leads 4 bytes past the end */
	return only->count * TERM_BYTES - sizeof(struct inet_diag_bc_op);
}

static int by_id(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static bool is_wanted(const struct skm_diag_cgroups *only, uint64_t cgroup_id)
{
	return !only || (only->count > 0 && bsearch(&cgroup_id, only->ids, only->count, sizeof(cgroup_id), by_id));
}

static int append(struct dump *dump, const struct skm_diag_socket *one)
{
	if (dump->count == dump->room) {
		size_t room = dump->room ? dump->room * 2 : 256;
		struct skm_diag_socket *larger = reallocarray(dump->sockets, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		dump->sockets = larger;
		dump->room = room;
	}
	dump->sockets[dump->count++] = *one;
	return 0;
}

/* How long ago data was sent; 0 where the kernel does not say. */
static uint32_t idle_of(struct nlmsghdr *header)
{
	struct nlattr *attr = nlmsg_find_attr(header, sizeof(struct inet_diag_msg), INET_DIAG_INFO);
	struct tcp_info info = {0};

	if (attr)
		nla_memcpy(&info, attr, sizeof(info));
	return info.tcpi_last_data_sent;
}

static int take_message(struct nl_msg *message, void *data)
{
	struct nlmsghdr *header = nlmsg_hdr(message);
	struct dump *dump = data;
	const struct inet_diag_msg *socket;
	struct skm_diag_socket one;
	struct nlattr *attr, *cgroup;
	uint32_t memory[SK_MEMINFO_VARS] = {0};

	if (header->nlmsg_type != SOCK_DIAG_BY_FAMILY || !nlmsg_valid_hdr(header, sizeof(*socket)))
		return NL_SKIP;
	socket = nlmsg_data(header);
	attr = nlmsg_find_attr(header, sizeof(*socket), INET_DIAG_SKMEMINFO);
	/* a TIME_WAIT in disguise (its substate is FIN_WAIT2) has none; older kernels have fewer values */
	if (!attr || nla_len(attr) < (int)((SK_MEMINFO_WMEM_QUEUED + 1) * sizeof(*memory)))
		return NL_SKIP;
	nla_memcpy(memory, attr, sizeof(memory));
	cgroup = nlmsg_find_attr(header, sizeof(*socket), INET_DIAG_CGROUP_ID);
	one = (struct skm_diag_socket){
	        .cookie = (uint64_t)socket->id.idiag_cookie[1] << 32 | socket->id.idiag_cookie[0],
	        .inode = socket->idiag_inode,
	        .state = socket->idiag_state,
	        .unread_bytes = socket->idiag_rqueue, /* rcv_nxt - copied_seq: tcp_diag_get_info, net/ipv4/tcp_diag.c */
	        .rmem_alloc = memory[SK_MEMINFO_RMEM_ALLOC],
	        .rcvbuf = memory[SK_MEMINFO_RCVBUF],
	        .wmem_queued = memory[SK_MEMINFO_WMEM_QUEUED],
	        .sndbuf = memory[SK_MEMINFO_SNDBUF],
	        .cgroup_id = cgroup ? nla_get_u64(cgroup) : 0,
	        .family = socket->idiag_family,
	        .id = socket->id,
	};
	if (!is_wanted(dump->only, one.cgroup_id))
		return NL_SKIP;
	if (dump->idle)
		one.idle_msec = idle_of(header);
	return append(dump, &one) < 0 ? -NLE_NOMEM : NL_OK;
}

/* libnl's error numbers are its own. */
static int to_errno(int nl_error)
{
	switch (nl_error < 0 ? -nl_error : nl_error) {
	case NLE_NOMEM:
		return ENOMEM;
	case NLE_DUMP_INTR:
	case NLE_INTR:
		return EINTR;
	case NLE_PERM:
	case NLE_NOACCESS:
		return EPERM;
	case NLE_OBJ_NOTFOUND:
		return ENOENT;
	default:
		return EIO;
	}
}

static int send_request(struct nl_sock *sock, uint8_t family, const struct dump *dump)
{
	struct filter_term filter[FILTER_CGROUPS_MAX];
	struct inet_diag_req_v2 request = {
	        .sdiag_family = family,
	        .sdiag_protocol = IPPROTO_TCP,
	        .idiag_ext = (uint8_t)(1 << (INET_DIAG_SKMEMINFO - 1) | (dump->idle ? 1 << (INET_DIAG_INFO - 1) : 0)),
	        .idiag_states = STATES,
	};
	size_t length = make_filter(dump->only, filter);
	struct nl_msg *message = nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	int r;

	if (!message)
		return -NLE_NOMEM;
	r = nlmsg_append(message, &request, sizeof(request), NLMSG_ALIGNTO);
	if (r == 0 && length > 0)
		r = nla_put(message, INET_DIAG_REQ_BYTECODE, (int)length, filter);
	if (r == 0)
		r = nl_send_auto(sock, message);
	nlmsg_free(message);
	return r < 0 ? r : 0;
}

/* Both families into dump. Returns 0 or libnl's negative error. */
static int dump_families(struct nl_sock *sock, struct dump *dump)
{
	static const uint8_t FAMILIES[] = {AF_INET, AF_INET6};

	dump->count = 0;
	for (size_t i = 0; i < sizeof(FAMILIES); i++) {
		int r = send_request(sock, FAMILIES[i], dump);

		if (r == 0)
			r = nl_recvmsgs_default(sock);
		if (r < 0)
			return r;
	}
	return 0;
}

static int connect_socket(struct nl_sock *sock, struct dump *dump)
{
	int size = RECEIVE_BUFFER_BYTES, r = nl_connect(sock, NETLINK_SOCK_DIAG);

	if (r < 0)
		return r;
	nl_socket_disable_auto_ack(sock);
	/* without the right to force it the kernel takes what rmem_max allows: a smaller buffer only makes more rounds */
	if (setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(nl_socket_get_fd(sock), SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	r = nl_socket_set_msg_buf_size(sock, MESSAGE_BUFFER_BYTES);
	if (r == 0)
		r = nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, take_message, dump);
	return r;
}

static int run_dump(struct dump *dump)
{
	int r = -NLE_DUMP_INTR;

	for (int try = 0; try < TRIES && r == -NLE_DUMP_INTR; try++) {
		/* a socket for each try: what an interrupted dump may have left behind goes with it */
		struct nl_sock *sock = nl_socket_alloc();

		if (!sock)
			return -NLE_NOMEM;
		r = connect_socket(sock, dump);
		if (r == 0)
			r = dump_families(sock, dump);
		nl_socket_free(sock);
	}
	return r;
}

static int by_cookie(const void *a, const void *b)
{
	uint64_t left = ((const struct skm_diag_socket *)a)->cookie, right = ((const struct skm_diag_socket *)b)->cookie;

	return (left > right) - (left < right);
}

/* A dump walks hash tables that change under it (and IPV6_ADDRFORM moves a socket from one family to the other): a socket can
 * come twice. */
static void drop_doubles(struct dump *dump)
{
	size_t kept = 0;

	if (dump->count == 0)
		return;
	qsort(dump->sockets, dump->count, sizeof(*dump->sockets), by_cookie);
	for (size_t i = 1; i < dump->count; i++)
		if (dump->sockets[i].cookie != dump->sockets[kept].cookie)
			dump->sockets[++kept] = dump->sockets[i];
	dump->count = kept + 1;
}

static int list(struct dump *dump, struct skm_diag_socket **ret, size_t *ret_count, struct skm_err *err)
{
	int r = run_dump(dump);

	if (r < 0) {
		free(dump->sockets);
		return skm_err_set(err, to_errno(r), "list the sockets by sock_diag: %s", nl_geterror(r));
	}
	drop_doubles(dump);
	*ret = dump->sockets;
	*ret_count = dump->count;
	return 0;
}

int skm_probe_sock_diag(const struct skm_diag_cgroups *only, struct skm_diag_socket **ret, size_t *ret_count, struct skm_err *err)
{
	struct dump dump = {.only = only};

	return list(&dump, ret, ret_count, err);
}

int skm_probe_sock_diag_idle(const struct skm_diag_cgroups *only, struct skm_diag_socket **ret, size_t *ret_count,
                             struct skm_err *err)
{
	struct dump dump = {.only = only, .idle = true};

	return list(&dump, ret, ret_count, err);
}
