/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's side: what the child makes of itself after the fork, and its loop. */
#include "actuate/worker_jobs.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Where the child's descriptors go: behind stdin, stdout and stderr. */
enum { FD_SOCKET = 3, FD_CGROUP, FD_NETNS, FD_FREE };

static void wake(int signal)
{
	(void)signal; /* only ends a close that waits */
}

static void reset_signals(void)
{
	static const int IGNORED[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
	struct sigaction on_alarm = {.sa_handler = wake}; /* no SA_RESTART */
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	for (size_t i = 0; i < sizeof(IGNORED) / sizeof(*IGNORED); i++)
		signal(IGNORED[i], SIG_IGN);
	sigaction(SIGALRM, &on_alarm, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int open_null(void)
{
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* Moves the three descriptors to their places and closes all others. Through numbers above the places, so that none is
 * overwritten before it was moved. */
static int keep_descriptors(int socket, int cgroup_fd, int netns_fd, struct skm_err *err)
{
	int kept[FD_FREE] = {open_null(), open_null(), open_null(), socket, cgroup_fd, netns_fd};

	for (int place = 0; place < FD_FREE; place++) {
		kept[place] = fcntl(kept[place], F_DUPFD_CLOEXEC, FD_FREE);
		if (kept[place] < 0 && place >= FD_SOCKET)
			return skm_err_set_errno(err, errno, "keep the worker's descriptors");
	}
	for (int place = 0; place < FD_FREE; place++)
		if (kept[place] < 0 || dup3(kept[place], place, O_CLOEXEC) < 0)
			close(place); /* no /dev/null: then nothing */
	if (close_range(FD_FREE, ~0U, 0) < 0)
		return skm_err_set_errno(err, errno, "close the enforcer's descriptors");
	return 0;
}

static int enter_netns(struct skm_err *err)
{
	int r = setns(FD_NETNS, CLONE_NEWNET);

	if (r < 0)
		r = skm_err_set_errno(err, errno, "enter the container's network namespace");
	close(FD_NETNS);
	return r;
}

/* One order, and the descriptor that came with it (or -1). Returns false where the enforcer has closed its end. */
static bool receive_order(struct skm_worker_order *ret, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec data = {.iov_base = ret, .iov_len = sizeof(*ret)};
	struct msghdr message = {
	        .msg_iov = &data, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *header;
	ssize_t length;

	*ret_fd = -1;
	do
		length = recvmsg(FD_SOCKET, &message, MSG_CMSG_CLOEXEC);
	while (length < 0 && errno == EINTR);
	if (length != sizeof(*ret))
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
	return true;
}

/* list: consumed. */
static void run_restore(struct skm_worker_child *child, uint32_t count, int list, struct skm_worker_message *done)
{
	cleanup_fd int fd = list;
	cleanup_free struct skm_socket_baseline *sockets = calloc((size_t)count + 1, sizeof(*sockets));
	size_t bytes = count * sizeof(*sockets);

	if (!sockets || pread(fd, sockets, bytes, 0) != (ssize_t)bytes) {
		snprintf(done->trouble, sizeof(done->trouble), "read the list of sockets to restore: %s", strerror(errno));
		return;
	}
	skm_actuate_job_restore(child, sockets, count, done);
}

static enum skm_worker_job job_of(enum skm_worker_order_kind kind)
{
	if (kind == SKM_ORDER_COUNT)
		return SKM_WORKER_COUNT;
	return kind == SKM_ORDER_RESTORE ? SKM_WORKER_RESTORE : SKM_WORKER_SQUEEZE;
}

/* fd: the list of a RESTORE, consumed; else -1. */
static void run_order(struct skm_worker_child *child, const struct skm_worker_order *order, int fd, const struct skm_err *setup)
{
	struct skm_worker_report report = {.message.news = SKM_NEWS_DONE};
	struct skm_worker_message *done = &report.message;
	uint64_t start_usec = skm_now_usec(), cpu_start_usec = skm_cpu_usec();

	if (order->kind == SKM_ORDER_GO)
		return; /* late: the job it was for has ended */
	done->job = job_of(order->kind);
	if (setup->code != 0) {
		skm_worker_note_trouble(done, setup);
		skm_close_fd(&fd);
	} else if (order->kind == SKM_ORDER_RESTORE) {
		run_restore(child, order->count, fd, done);
	} else if (order->kind == SKM_ORDER_COUNT) {
		skm_actuate_job_count(child, order, done);
	} else {
		skm_actuate_job_squeeze(child, order, done);
	}
	done->took_usec = skm_now_usec() - start_usec;
	done->cpu_usec = skm_cpu_usec() - cpu_start_usec;
	if (send(FD_SOCKET, &report, sizeof(report), MSG_NOSIGNAL) < 0)
		_exit(1);
}

_Noreturn void skm_actuate_worker_main(int socket, int cgroup_fd, int netns_fd, pid_t parent)
{
	struct skm_worker_child child = {.socket = FD_SOCKET, .cgroup = FD_CGROUP};
	struct skm_worker_order order;
	struct skm_err setup = SKM_ERR_INIT;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it ended before the line above: no signal will come */
		_exit(1);
	prctl(PR_SET_NAME, "sockmem-worker");
	reset_signals();
	if (keep_descriptors(socket, cgroup_fd, netns_fd, &setup) < 0)
		_exit(1);
	SKM_IGNORE(enter_netns(&setup)); /* each job says so */
	while (receive_order(&order, &fd))
		run_order(&child, &order, fd, &setup);
	_exit(0);
}
