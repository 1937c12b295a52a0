/* SPDX-License-Identifier: Apache-2.0 */
/* sockmemd: one thread, one loop; what it does for a container is the enforcer room's. */
#include "actuate/own_cgroup.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/priority.h"
#include "daemon/node.h"
#include "daemon/options.h"
#include "daemon/serve.h"
#include "ipc/ipc.h"
#include "model/request.h"
#include "probe/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

/* Before a burst's senders, after real-time work. */
#define NICE_ON_DEMAND (-10)
#define OOM_SCORE_ON_DEMAND "-900"
/* How long a new enforcer waits for the one before it to have put everything back. */
#define JOURNAL_WAIT_USEC (UINT64_C(10) * SKM_USEC_PER_SEC)
/* How often we look whether a process that has adopted us waits for us. */
#define PARENT_LOOK_USEC (UINT64_C(100) * SKM_USEC_PER_MSEC)

struct daemon {
	struct skm_daemon_options options;
	struct skm_daemon_node node;
	struct skm_server server;
	struct skm_watch signal_watch;
	int epoll_fd, signal_fd, run_dir;
	bool inherited; /* the listening socket is systemd's */
	bool settled;
	bool stop;
	bool was_last_child, awaited; /* who has adopted us waits for us; see look_at_parent */
	uint64_t look_due_usec;
	uint64_t empty_since_usec; /* 0 while there is a container */
};

static void signal_ready(struct skm_watch *watch, uint32_t events)
{
	struct daemon *daemon = SKM_WATCH_OWNER(watch, struct daemon, signal_watch);
	struct signalfd_siginfo info;

	(void)events;
	if (read(daemon->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
		daemon->stop = true;
	if (info.ssi_signo == SIGHUP)
		skm_daemon_node_reload(&daemon->node, daemon->run_dir);
}

static int watch_signals(struct daemon *daemon, struct skm_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD); /* wakes the loop, which reaps */
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	daemon->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (daemon->signal_fd < 0)
		return skm_err_set_errno(err, errno, "signalfd");
	daemon->signal_watch.ready = signal_ready;
	return skm_watch_add(daemon->epoll_fd, daemon->signal_fd, EPOLLIN, &daemon->signal_watch, err);
}

/* What a systemd unit gives, done by ourselves. None of it is needed to hold a limit: a failure is said and lived with. */
static void settle_in(void)
{
	cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	struct skm_err err = SKM_ERR_INIT;
	int r;

	if (skm_actuate_own_cgroup("sockmem", &err) < 0)
		skm_log(LOG_NOTICE, "no cgroup of its own: %s", err.text);
	if (setpriority(PRIO_PROCESS, 0, NICE_ON_DEMAND) < 0)
		skm_log(LOG_NOTICE, "priority %d refused: %s", NICE_ON_DEMAND, strerror(errno));
	r = skm_priority_prompt();
	if (r < 0)
		skm_log(LOG_NOTICE, "real-time priority refused: %s", strerror(-r));
	if (fd < 0 || skm_pwrite_text(fd, OOM_SCORE_ON_DEMAND) < 0)
		skm_log(LOG_NOTICE, "oom_score_adj %s refused", OOM_SCORE_ON_DEMAND);
}

/* The socket first: whoever loses the race for it leaves before it touches a journal. */
static int open_daemon(struct daemon *daemon, struct skm_err *err)
{
	cleanup_fd int journal_dir = -1, ended_dir = -1;
	struct skm_host host;
	int r;

	daemon->run_dir = skm_open_dir_made(SKM_RUN_DIR, err);
	if (daemon->run_dir < 0)
		return daemon->run_dir;
	daemon->server.listen_fd = skm_ipc_listen_inherited(err);
	daemon->inherited = daemon->server.listen_fd >= 0;
	if (daemon->server.listen_fd == -ENOENT)
		daemon->server.listen_fd = skm_ipc_listen(SKM_SOCKET_PATH, err);
	if (daemon->server.listen_fd < 0)
		return daemon->server.listen_fd;
	journal_dir = skm_open_dir_made(SKM_JOURNAL_DIR, err);
	ended_dir = journal_dir < 0 ? -1 : skm_open_dir_made(SKM_ENDED_DIR, err);
	if (ended_dir < 0)
		return -err->code;
	daemon->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (daemon->epoll_fd < 0)
		return skm_err_set_errno(err, errno, "epoll_create1");
	r = watch_signals(daemon, err);
	if (r == 0)
		r = skm_probe_host("", &host, err);
	if (r < 0)
		return r;
	daemon->server.epoll_fd = daemon->epoll_fd;
	daemon->server.started_realtime_usec = skm_realtime_usec();
	r = skm_registry_open(&daemon->server.registry, daemon->epoll_fd, &host, skm_steal_fd(&journal_dir),
	                      skm_steal_fd(&ended_dir), err);
	if (r < 0)
		return r;
	daemon->node.path = daemon->options.config;
	skm_daemon_node_start(&daemon->node, daemon->run_dir);
	skm_registry_use_node(daemon->server.registry, &daemon->node.node);
	daemon->server.node = &daemon->node;
	return 0;
}

/* When an empty enforcer leaves; UINT64_MAX while it has a container or may stay. */
static uint64_t idle_due(struct daemon *daemon, uint64_t now_usec)
{
	if (skm_registry_count(daemon->server.registry) > 0 || daemon->options.idle_usec == 0) {
		daemon->empty_since_usec = 0;
		return UINT64_MAX;
	}
	if (daemon->empty_since_usec == 0)
		daemon->empty_since_usec = now_usec;
	return daemon->empty_since_usec + daemon->options.idle_usec;
}

/* Whether the thread whose folder in /proc is below dirfd has no child but perhaps us. */
static bool has_only_us(int dirfd, const char *thread)
{
	char path[NAME_MAX + sizeof("/children")], text[64];
	char *end;

	snprintf(path, sizeof(path), "%s/children", thread);
	if (skm_read_text_at(dirfd, path, text, sizeof(text)) < 0)
		return false;
	return text[0] == '\0' || (strtol(text, &end, 10) == getpid() && end[strspn(end, " \n")] == '\0');
}

/* Whether that process has no child but us. Needs CONFIG_PROC_CHILDREN, as distributions have it; without it: no. */
static bool are_last_child(pid_t parent)
{
	char path[64];
	cleanup_dir DIR *threads = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)parent);
	threads = opendir(path);
	if (!threads)
		return false;
	for (const struct dirent *entry = readdir(threads); entry; entry = readdir(threads))
		if (entry->d_name[0] != '.' && !has_only_us(dirfd(threads), entry->d_name))
			return false;
	return true;
}

/* `crun run` and podman's conmon adopt every orphan below them (PR_SET_CHILD_SUBREAPER), so us too where a hook of theirs started
 * us, and end only when their last child has; nothing gets us out of there but our end. crun, our runtime itself, keeps its
 * caller waiting: we leave, and its poststop hook, which it runs then, starts another enforcer where containers are left. A
 * conmon that waits keeps nobody, so we leave only where we hold nothing.
 * Sets daemon->awaited; returns when to look again, UINT64_MAX where there is nothing to look for. */
static uint64_t look_at_parent(struct daemon *daemon, uint64_t now_usec)
{
	pid_t parent = getppid();
	bool last;

	if (daemon->options.runtime == 0 || parent <= 1 ||
	    (parent != daemon->options.runtime && skm_registry_count(daemon->server.registry) > 0)) {
		daemon->was_last_child = false;
		return UINT64_MAX;
	}
	if (now_usec < daemon->look_due_usec)
		return daemon->look_due_usec;
	last = are_last_child(parent);
	daemon->awaited = last && daemon->was_last_child; /* twice: between two of its own steps it may look so */
	daemon->was_last_child = last;
	daemon->look_due_usec = now_usec + PARENT_LOOK_USEC;
	return daemon->look_due_usec;
}

/* One event a time: handling it may free what a second one points to. */
static void wait_and_handle(struct daemon *daemon, uint64_t due_usec)
{
	uint64_t now = skm_now_usec(), wait = due_usec > now ? due_usec - now : 0;
	struct timespec timeout = {.tv_sec = (time_t)(wait / SKM_USEC_PER_SEC),
	                           .tv_nsec = (long)(wait % SKM_USEC_PER_SEC) * 1000};
	struct epoll_event event;

	if (epoll_pwait2(daemon->epoll_fd, &event, 1, due_usec == UINT64_MAX ? NULL : &timeout, NULL) == 1) {
		struct skm_watch *watch = event.data.ptr;

		watch->ready(watch, event.events);
	}
}

static void run(struct daemon *daemon)
{
	while (!daemon->stop) {
		uint64_t now = skm_now_usec();
		uint64_t due = skm_registry_run(daemon->server.registry, now);
		uint64_t idle = idle_due(daemon, now), look = look_at_parent(daemon, now);

		if (now >= idle)
			return;
		if (daemon->awaited) {
			skm_log(LOG_INFO, "process %d, which has adopted us, waits for us to end: leaving", (int)getppid());
			return;
		}
		if (look < idle)
			idle = look;
		wait_and_handle(daemon, due < idle ? due : idle);
		if (!daemon->settled && (daemon->server.requests > 0 || skm_registry_count(daemon->server.registry) > 0)) {
			/* after the first answer: the hook that started us waits for it, with a container behind it. Or with
			 * what was adopted: a poststop hook starts us and asks for nothing. */
			settle_in();
			daemon->settled = true;
		}
	}
}

/* Some fourteen descriptors a container: the soft limit of 1,024 would end at seventy. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		skm_log(LOG_NOTICE, "RLIMIT_NOFILE %llu refused: %s", (unsigned long long)limit.rlim_max, strerror(errno));
}

/* An enforcer that leaves gives its socket up first and then puts values back: who follows it waits, or each would take the
 * other's writes for foreign. The lock goes with the process. Returns its descriptor, or -1 where it could not be had. */
static int wait_for_journal(void)
{
	cleanup_fd int fd = open(SKM_RUN_DIR "/journal.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	uint64_t deadline = skm_now_usec() + JOURNAL_WAIT_USEC;

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || skm_now_usec() > deadline) {
			skm_log(LOG_WARNING, "the enforcer before this one still holds the journal: going on without it");
			return -1;
		}
		usleep(5000);
	}
	return skm_steal_fd(&fd);
}

int main(int argc, char **argv)
{
	struct daemon daemon = {.epoll_fd = -1, .signal_fd = -1, .run_dir = -1, .server.listen_fd = -1};
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int journal_lock = -1;
	int r = skm_daemon_options_parse(argc, argv, &daemon.options);

	if (r >= 0)
		return r;
	umask(077);
	skm_log_open("sockmemd", daemon.options.debug, daemon.options.on_demand);
	r = open_daemon(&daemon, &err);
	if (r == -EADDRINUSE)
		return 0; /* another one holds the socket: as good */
	daemon.settled = !daemon.options.on_demand;
	if (r == 0) {
		raise_descriptors();
		journal_lock = wait_for_journal();
		skm_registry_recover(daemon.server.registry);
		r = skm_serve_start(&daemon.server, &err);
	}
	if (r < 0) {
		skm_log(LOG_ERR, "%s", err.text);
		return 1;
	}
	run(&daemon);
	if (!daemon.inherited)
		unlink(SKM_SOCKET_PATH); /* before the last look at it: a hook that comes now starts another enforcer */
	skm_registry_close(daemon.server.registry, !daemon.awaited);
	return 0;
}
