/* SPDX-License-Identifier: Apache-2.0 */
/* A network namespace of the test's own. */
#ifndef SKM_NETNS_H
#define SKM_NETNS_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether this process may make network namespaces; asked in a child, so that the process stays where it is. */
static inline int skm_test_may_netns(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWNET) == 0 ? 0 : 1);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Moves the process into a new network namespace with the loopback up. Exits 77 (skipped) where that is not allowed. */
static inline void skm_test_enter_new_netns(void)
{
	if (unshare(CLONE_NEWNET) < 0) {
		fprintf(stderr, "skipped: no right to make a network namespace\n");
		exit(77);
	}
	if (system("ip link set lo up") != 0) {
		fprintf(stderr, "ip link set lo up failed\n");
		exit(1);
	}
}

#endif
