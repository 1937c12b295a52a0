/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/children.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	pid_t *pids;
	size_t count, room;
} left;

pid_t skm_actuate_children_fork(void)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		return 0;
	if (pid < 0)
		pid = -errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static bool is_reaped(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0; /* its pid, or ECHILD: reaped by someone else */
}

void skm_actuate_children_leave(pid_t pid)
{
	if (is_reaped(pid))
		return;
	if (left.count == left.room) {
		size_t room = left.room ? left.room * 2 : 16;
		pid_t *larger = reallocarray(left.pids, room, sizeof(*larger));

		if (!larger)
			return; /* a zombie until the enforcer ends */
		left.pids = larger;
		left.room = room;
	}
	left.pids[left.count++] = pid;
}

void skm_actuate_children_reap(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < left.count; i++)
		if (!is_reaped(left.pids[i]))
			left.pids[kept++] = left.pids[i];
	left.count = kept;
	if (kept == 0) {
		free(left.pids);
		left.pids = NULL;
		left.room = 0;
	}
}
