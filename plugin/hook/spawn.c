/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/spawn.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What the children say through the pipe. Small enough to be written in one piece. */
struct word {
	enum { WORD_PID, WORD_FAILED } kind;
	int value; /* the daemon's pid, or the errno of what failed */
};

/* Where the pipe is in the child once everything else is closed. */
#define STATUS_FD 3

static void say(int fd, int kind, int value)
{
	struct word word = {kind, value};

	SKM_IGNORE(write(fd, &word, sizeof(word)) < 0); /* the reader has given up: nobody is left to tell */
}

static void default_signals(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Leaves descriptors 0 to 2 on /dev/null and the status pipe. */
static int only_null_and_status(int status)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	if (status != STATUS_FD && dup3(status, STATUS_FD, O_CLOEXEC) < 0)
		return -errno;
	if (close_range(STATUS_FD + 1, ~0U, 0) < 0)
		return -errno;
	return 0;
}

/* The environment is clean: what a runtime's caller has in its own must not change how the node's enforcer behaves. The test
 * program's daemon needs the test's. */
static char **daemon_environment(void)
{
#ifdef SKM_TEST_PATHS
	return environ;
#else
	static char *clean[] = {(char *)"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};

	return clean;
#endif
}

/* In the grandchild: becomes the daemon or says why not. */
static _Noreturn void become(const char *program, int status, pid_t runtime)
{
	char runtime_pid[16];
	char *const argv[] = {(char *)"sockmemd", (char *)"--on-demand", (char *)"--runtime", runtime_pid, NULL};
	int r = only_null_and_status(status);

	snprintf(runtime_pid, sizeof(runtime_pid), "%d", (int)runtime);
	if (r == 0)
		status = STATUS_FD;
	umask(077);
	default_signals();
	if (r == 0 && chdir("/") < 0)
		r = -errno;
	if (r == 0) {
		execve(program, argv, daemon_environment());
		r = -errno;
	}
	say(status, WORD_FAILED, -r);
	_exit(127);
}

/* In the child: a session of its own, then a second fork, so that the daemon leads no session and can never get a terminal. */
static _Noreturn void detach(const char *program, int status, pid_t runtime)
{
	pid_t pid;

	setsid();
	pid = fork();
	if (pid == 0)
		become(program, status, runtime);
	if (pid < 0)
		say(status, WORD_FAILED, errno);
	else
		say(status, WORD_PID, pid);
	_exit(0);
}

/* Reads what the children say until the pipe closes, which execve() does. Returns a pidfd or -errno. */
static int listen_to(int status, const char *program, uint64_t deadline_usec, struct skm_err *err)
{
	cleanup_fd int pidfd = -1;
	struct word word;

	for (;;) {
		struct pollfd wanted = {.fd = status, .events = POLLIN};
		uint64_t now = skm_now_usec();
		ssize_t got;

		if (now >= deadline_usec)
			return skm_err_set(err, ETIMEDOUT, "start the enforcer %s: it was not executed in time", program);
		if (poll(&wanted, 1, (int)((deadline_usec - now + 999) / 1000)) <= 0)
			continue;
		got = read(status, &word, sizeof(word));
		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			break;
		if (got != sizeof(word))
			return skm_err_set(err, EIO, "start the enforcer %s: its starter said nothing sensible", program);
		if (word.kind == WORD_FAILED)
			return skm_err_set_errno(err, word.value, "start the enforcer %s", program);
		pidfd = (int)syscall(SYS_pidfd_open, word.value, 0);
	}
	/* Without a pidfd it was executed, has ended and was reaped meanwhile; or its starter was killed. */
	return pidfd >= 0 ? skm_steal_fd(&pidfd) : skm_err_set(err, ESRCH, "start the enforcer %s: it ended at once", program);
}

int skm_hook_spawn(const char *program, uint64_t deadline_usec, struct skm_err *err)
{
	cleanup_fd int reader = -1;
	int ends[2], r;
	pid_t pid, runtime = getppid();

	if (pipe2(ends, O_CLOEXEC) < 0)
		return skm_err_set_errno(err, errno, "start the enforcer %s: make a pipe", program);
	reader = ends[0];
	pid = fork();
	if (pid == 0)
		detach(program, ends[1], runtime);
	r = errno;
	close(ends[1]);
	if (pid < 0)
		return skm_err_set_errno(err, r, "start the enforcer %s: fork", program);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return listen_to(reader, program, deadline_usec, err);
}
