/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/socket_buffer.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/socket.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

/* include/uapi/asm-generic/socket.h and linux/socket.h since 5.15 */
#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif
/* include/uapi/linux/pidfd.h since 6.9 */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

static int open_process(struct skm_taker *taker, pid_t pid, bool thread)
{
	if (taker->pidfd >= 0 && taker->pid == pid && taker->thread == thread)
		return 0;
	skm_actuate_taker_close(taker);
	taker->pidfd = pidfd_open(pid, thread ? PIDFD_THREAD : 0);
	taker->pid = pid;
	taker->thread = thread;
	if (taker->pidfd >= 0)
		return 0;
	return thread && errno == EINVAL ? -EOPNOTSUPP : -errno;
}

static bool has_cookie(int socket, uint64_t wanted)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &length) == 0 && cookie == wanted;
}

int skm_actuate_socket_take(struct skm_taker *taker, const struct skm_held_socket *held, struct skm_err *err)
{
	cleanup_fd int socket = -1;
	int r = open_process(taker, held->pid, held->thread);

	if (r == 0) {
		socket = pidfd_getfd(taker->pidfd, held->fd, 0);
		r = socket < 0 ? -errno : 0;
	}
	if (r == -ESRCH || r == -EBADF || r == -EINVAL || (r == 0 && !has_cookie(socket, held->cookie)))
		return skm_err_set(err, ESTALE, "process %d let the socket go", held->pid);
	if (r == -EOPNOTSUPP)
		return skm_err_set(err, EOPNOTSUPP,
		                   "thread %d has descriptors of its own, which no kernel before 6.9 lets us take", held->pid);
	if (r < 0)
		return skm_err_set_errno(err, -r, "take a socket of process %d", held->pid);
	return skm_steal_fd(&socket);
}

void skm_actuate_taker_close(struct skm_taker *taker)
{
	skm_close_fd(&taker->pidfd);
}

static int get_number(int socket, int option, const char *name, uint32_t *ret, struct skm_err *err)
{
	socklen_t length = sizeof(*ret);

	if (getsockopt(socket, SOL_SOCKET, option, ret, &length) < 0)
		return skm_err_set_errno(err, errno, "read %s", name);
	return 0;
}

static int set_number(int socket, int option, const char *name, uint32_t value, struct skm_err *err)
{
	if (setsockopt(socket, SOL_SOCKET, option, &value, sizeof(value)) < 0)
		return skm_err_set_errno(err, errno, "set %s to %u", name, value);
	return 0;
}

int skm_actuate_socket_look(int socket, struct skm_socket_baseline *ret, struct skm_err *err)
{
	int r = get_number(socket, SO_RCVBUF, "SO_RCVBUF", &ret->rcvbuf, err);

	if (r == 0)
		r = get_number(socket, SO_SNDBUF, "SO_SNDBUF", &ret->sndbuf, err);
	if (r == 0)
		r = get_number(socket, SO_BUF_LOCK, "SO_BUF_LOCK", &ret->buf_lock, err);
	return r;
}

bool skm_actuate_socket_lingers(int socket)
{
	struct linger linger = {0};
	socklen_t length = sizeof(linger);

	return getsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, &length) == 0 && linger.l_onoff && linger.l_linger > 0;
}

int skm_actuate_socket_squeeze(int socket, uint32_t side, uint32_t bytes, uint32_t *ret, struct skm_err *err)
{
	bool send = side == SKM_SIDE_SEND;
	/* the kernel doubles what it is given (__sock_set_rcvbuf and SO_SNDBUFFORCE, net/core/sock.c) */
	int r = send ? set_number(socket, SO_SNDBUFFORCE, "SO_SNDBUFFORCE", bytes / 2, err)
	             : set_number(socket, SO_RCVBUFFORCE, "SO_RCVBUFFORCE", bytes / 2, err);

	if (r < 0)
		return r;
	return send ? get_number(socket, SO_SNDBUF, "SO_SNDBUF", ret, err) : get_number(socket, SO_RCVBUF, "SO_RCVBUF", ret, err);
}

int skm_actuate_socket_restore(int socket, uint32_t sides, const struct skm_socket_baseline *baseline, struct skm_err *err)
{
	uint32_t ours, lock = 0;
	int r = 0;

	if (sides & SKM_SIDE_RECEIVE)
		r = skm_actuate_socket_squeeze(socket, SKM_SIDE_RECEIVE, baseline->rcvbuf, &ours, err);
	if (r == 0 && sides & SKM_SIDE_SEND)
		r = skm_actuate_socket_squeeze(socket, SKM_SIDE_SEND, baseline->sndbuf, &ours, err);
	/* read after the write: whether the program has locked the other buffer meanwhile is the program's */
	if (r == 0)
		r = get_number(socket, SO_BUF_LOCK, "SO_BUF_LOCK", &lock, err);
	if (r < 0)
		return r;
	lock = (lock & ~sides) | (baseline->buf_lock & sides);
	return set_number(socket, SO_BUF_LOCK, "SO_BUF_LOCK", lock, err);
}
