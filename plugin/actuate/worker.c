/* SPDX-License-Identifier: Apache-2.0 */
/* The enforcer's side: starts the worker, talks to it, ends it. Nothing here waits. */
#include "actuate/worker.h"

#include "actuate/children.h"
#include "actuate/worker_wire.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int make_socket(int ret[2], struct skm_err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret) < 0)
		return skm_err_set_errno(err, errno, "make the worker's socket");
	/* only our end: the worker waits for its orders, the enforcer for nothing */
	if (fcntl(ret[0], F_SETFL, O_NONBLOCK) < 0)
		return skm_err_set_errno(err, errno, "set up the worker's socket");
	return 0;
}

static pid_t fork_worker(const int ends[2], int cgroup_fd, int netns_fd)
{
	pid_t parent = getpid(), pid = skm_actuate_children_fork();

	if (pid == 0)
		skm_actuate_worker_main(ends[1], cgroup_fd, netns_fd, parent);
	return pid;
}

int skm_actuate_worker_start(struct skm_worker *ret, int cgroup_fd, int netns_fd, struct skm_err *err)
{
	int ends[2] = {-1, -1}, pidfd, r;
	pid_t pid;

	r = make_socket(ends, err);
	if (r < 0)
		goto fail;
	pid = fork_worker(ends, cgroup_fd, netns_fd);
	if (pid < 0) {
		r = skm_err_set_errno(err, -pid, "start the worker");
		goto fail;
	}
	skm_close_fd(&ends[1]);
	/* not reaped yet, so the pid is still this child's */
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		r = skm_err_set_errno(err, errno, "open the worker's pidfd");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		goto fail;
	}
	*ret = (struct skm_worker){.pid = pid, .pidfd = pidfd, .fd = ends[0]};
	return 0;
fail:
	skm_close_fd(&ends[0]);
	skm_close_fd(&ends[1]);
	return r;
}

/* fd: sent along where it is not -1. */
static int send_order(const struct skm_worker *worker, const struct skm_worker_order *order, int fd, struct skm_err *err)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec data = {.iov_base = (void *)(uintptr_t)order, .iov_len = sizeof(*order)};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.align =
		        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	if (worker->fd < 0)
		return skm_err_set(err, EPIPE, "the worker is not running");
	if (sendmsg(worker->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	if (errno == ECONNRESET || errno == ENOTCONN)
		errno = EPIPE;
	return skm_err_set_errno(err, errno, "give the worker an order");
}

static int give_job(struct skm_worker *worker, const struct skm_worker_order *order, int fd, struct skm_err *err)
{
	int r;

	if (worker->busy)
		return skm_err_set(err, EBUSY, "the worker has a job under way");
	r = send_order(worker, order, fd, err);
	worker->busy = r == 0;
	return r;
}

int skm_actuate_worker_squeeze(struct skm_worker *worker, uint32_t above_bytes, uint32_t rcvbuf_bytes, struct skm_err *err)
{
	const struct skm_worker_order order = {
	        .kind = SKM_ORDER_SQUEEZE, .above_bytes = above_bytes, .rcvbuf_bytes = rcvbuf_bytes, .shared = worker->shared};

	return give_job(worker, &order, -1, err);
}

int skm_actuate_worker_count(struct skm_worker *worker, struct skm_err *err)
{
	const struct skm_worker_order order = {.kind = SKM_ORDER_COUNT, .shared = worker->shared};

	return give_job(worker, &order, -1, err);
}

static int write_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length > 0) {
		ssize_t put = write(fd, at, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		at += put;
		length -= (size_t)put;
	}
	return 0;
}

int skm_actuate_worker_restore(struct skm_worker *worker, const struct skm_socket_baseline *sockets, uint32_t count,
                               struct skm_err *err)
{
	const struct skm_worker_order order = {.kind = SKM_ORDER_RESTORE, .count = count};
	cleanup_fd int list = memfd_create("sockmem-baselines", MFD_CLOEXEC);
	int r = list < 0 ? -errno : write_all(list, sockets, count * sizeof(*sockets));

	if (r < 0)
		return skm_err_set_errno(err, -r, "write the list of sockets to restore");
	return give_job(worker, &order, list, err);
}

int skm_actuate_worker_go(struct skm_worker *worker, struct skm_err *err)
{
	const struct skm_worker_order order = {.kind = SKM_ORDER_GO, .batch = worker->batch};

	return send_order(worker, &order, -1, err);
}

static int take_report(struct skm_worker *worker, const struct skm_worker_report *report, size_t length,
                       struct skm_worker_message *ret, struct skm_err *err)
{
	const struct skm_worker_message *message = &report->message;

	if (length != sizeof(*report) || message->count > SKM_WORKER_BATCH)
		return skm_err_set(err, EPROTO, "the worker sent %zu bytes that are no report", length);
	if (message->news == SKM_NEWS_BASELINES)
		worker->batch = report->batch;
	if (message->news == SKM_NEWS_DONE)
		worker->busy = false;
	*ret = *message;
	return 0;
}

int skm_actuate_worker_receive(struct skm_worker *worker, struct skm_worker_message *ret, struct skm_err *err)
{
	struct skm_worker_report report;
	ssize_t length;

	do
		length = recv(worker->fd, &report, sizeof(report), MSG_DONTWAIT);
	while (length < 0 && errno == EINTR);
	if (length > 0)
		return take_report(worker, &report, (size_t)length, ret, err);
	if (length < 0 && errno == EAGAIN) {
		*ret = (struct skm_worker_message){.news = SKM_NEWS_NOTHING};
		return 0;
	}
	if (length < 0 && errno != ECONNRESET)
		return skm_err_set_errno(err, errno, "hear from the worker");
	worker->busy = false;
	*ret = (struct skm_worker_message){.news = SKM_NEWS_GONE};
	return 0;
}

void skm_actuate_worker_stop(struct skm_worker *worker)
{
	if (worker->pid > 0) {
		pidfd_send_signal(worker->pidfd, SIGKILL, NULL, 0);
		skm_actuate_children_leave(worker->pid);
	}
	skm_close_fd(&worker->pidfd);
	skm_close_fd(&worker->fd);
	*worker = SKM_WORKER_INIT;
}

void skm_actuate_worker_reap(void)
{
	skm_actuate_children_reap();
}
