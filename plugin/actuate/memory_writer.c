/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/memory_writer.h"

#include "actuate/children.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/units.h"
#include "base/priority.h"
#include "probe/memcg.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CGROUPS_MAX 2

/* The files of one cgroup as the stepper has them: descriptors. RECLAIM: -1 before kernel 5.19. */
enum { CURRENT, MAX, RECLAIM, FILES };
#define KEPT_MAX (CGROUPS_MAX * FILES)

/* Left to the last write, which kills. */
#define LAST_WRITE_USEC (UINT64_C(2) * SKM_USEC_PER_SEC)

/* What a limit may stand above what is in use, so that the next page of the program does not reclaim at once. */
#define MARGIN_BYTES SKM_MIB

const char *skm_actuate_memory_text(uint64_t bytes, char buffer[24])
{
	if (bytes == UINT64_MAX)
		strcpy(buffer, "max");
	else
		snprintf(buffer, 24, "%" PRIu64, bytes);
	return buffer;
}

/* What follows runs in children of a process that may have threads: nothing in it takes a lock or memory. */

/* In the child: none of the enforcer's signals, its descriptors or its life. kept: become 3, 4, … in order; those that are -1
 * stay so. */
static void become_writer(pid_t parent, int *kept, size_t count, unsigned int seconds)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "sockmem-writer");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(ESRCH);
	alarm(seconds);
	/* through numbers above the places, so that none is overwritten before it was moved */
	for (size_t i = 0; i < count; i++)
		if (kept[i] >= 0 && (kept[i] = fcntl(kept[i], F_DUPFD, 3 + KEPT_MAX)) < 0)
			_exit(EMFILE);
	for (size_t i = 0; i < count; i++)
		if (kept[i] >= 0)
			kept[i] = dup2(kept[i], 3 + (int)i);
		else
			close(3 + (int)i);
	close_range(3 + (unsigned int)count, ~0U, 0);
	skm_priority_ordinary(); /* the kernel may reclaim in such a write for long */
}

pid_t skm_actuate_memory_writer(int fd, const char *text, unsigned int seconds, struct skm_err *err)
{
	pid_t parent = getpid(), pid = skm_actuate_children_fork();

	if (pid < 0)
		return skm_err_set_errno(err, -pid, "start a process that writes");
	if (pid > 0)
		return pid;
	become_writer(parent, &fd, 1, seconds);
	_exit(-skm_pwrite_text(fd, text));
}

static int open_files(int dirfd, int files[FILES], struct skm_err *err)
{
	files[CURRENT] = openat(dirfd, "memory.current", O_RDONLY | O_CLOEXEC);
	files[MAX] = openat(dirfd, "memory.max", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (files[CURRENT] < 0 || files[MAX] < 0)
		return skm_err_set_errno(err, errno, "open memory.max of the cgroup");
	files[RECLAIM] = openat(dirfd, "memory.reclaim", O_WRONLY | O_CLOEXEC);
	return 0;
}

static int write_number(int fd, uint64_t bytes)
{
	char text[24];

	return skm_pwrite_text(fd, skm_actuate_memory_text(bytes, text));
}

static int read_current(const int files[FILES], uint64_t *ret)
{
	const struct skm_memcg memcg = {.dir = -1, .stat = -1, .current = files[CURRENT], .events = -1};

	return skm_probe_memcg_current(&memcg, ret, NULL);
}

/* Reclaims a quarter of what is too much, and draws the limit after it. Returns whether another round may help. */
static bool step(const int files[FILES], uint64_t bytes)
{
	uint64_t before, after, part;
	int r;

	if (files[RECLAIM] < 0 || read_current(files, &before) < 0 || before <= bytes)
		return false;
	part = (before - bytes) / 4 + MARGIN_BYTES;
	r = write_number(files[RECLAIM], part < before - bytes ? part : before - bytes);
	if ((r < 0 && r != -EAGAIN) || read_current(files, &after) < 0)
		return false;
	/* -EAGAIN: less than that was to be had; some may have been */
	if (after + MARGIN_BYTES > bytes && after < before)
		SKM_IGNORE(write_number(files[MAX], after + MARGIN_BYTES) < 0); /* the last write tells */
	return after < before && after > bytes;
}

_Noreturn static void step_down(int files[][FILES], size_t count, uint64_t bytes, uint64_t deadline_usec)
{
	int r = 0;

	for (size_t i = 0; i < count; i++)
		while (skm_now_usec() < deadline_usec && step(files[i], bytes))
			;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = write_number(files[i][MAX], bytes);
	_exit(-r);
}

pid_t skm_actuate_memory_stepper(const int *dirfds, size_t count, uint64_t bytes, unsigned int seconds, struct skm_err *err)
{
	uint64_t deadline = skm_now_usec() + seconds * SKM_USEC_PER_SEC - LAST_WRITE_USEC;
	int files[CGROUPS_MAX][FILES] = {{-1, -1, -1}, {-1, -1, -1}}, r = 0;
	pid_t parent = getpid(), pid = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = open_files(dirfds[i], files[i], err);
	if (r == 0)
		pid = skm_actuate_children_fork();
	if (r == 0 && pid == 0) {
		become_writer(parent, files[0], count * FILES, seconds);
		step_down(files, count, bytes, deadline);
	}
	if (pid < 0)
		r = skm_err_set_errno(err, -pid, "start a process that lowers memory.max");
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (files[i / FILES][i % FILES] >= 0)
			close(files[i / FILES][i % FILES]);
	return r < 0 ? r : pid;
}
