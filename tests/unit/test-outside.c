/* SPDX-License-Identifier: Apache-2.0 */
/* Real processes; where the machine has cgroup v2 their real cgroup is asked, and a directory that is none stands for another. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "probe/outside.h"
#include "own-cgroup2.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char mount[PATH_MAX];
static int own = -1; /* the cgroup that we are in */

/* A process with two children, one of which has a child: four in all, until the pipe is closed. */
static int leave[2];

static _Noreturn void live(int ready)
{
	char byte;

	close(leave[1]);
	close(ready); /* whoever waits for this has seen all four close it */
	_exit(read(leave[0], &byte, 1) == 0 ? 0 : 1);
}

static pid_t start_family(void)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(leave), 0);
	pid = fork();
	if (pid == 0) {
		if (fork() == 0) {
			fork();
			live(ready[1]);
		}
		fork();
		live(ready[1]);
	}
	close(leave[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return pid;
}

static void end_family(pid_t pid)
{
	close(leave[1]);
	waitpid(pid, NULL, 0);
}

static void set_up(void)
{
	own = own_cgroup2(mount);
}

static void test_all_inside(void **state)
{
	cleanup_free struct skm_outside *found = calloc(1, sizeof(*found));
	pid_t init = start_family();

	(void)state;
	skm_probe_outside(init, mount, own, 64, found);
	assert_int_equal(found->looked_at, 4);
	assert_int_equal(found->outside, 0);
	assert_int_equal(found->pid, 0);
	skm_probe_outside(init, mount, own, 2, found); /* no more than are wanted */
	assert_int_equal(found->looked_at, 2);
	end_family(init);
}

static void test_all_outside(void **state)
{
	cleanup_free struct skm_outside *found = calloc(1, sizeof(*found));
	cleanup_fd int other = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	pid_t init = start_family();

	(void)state;
	skm_probe_outside(init, mount, other, 64, found);
	assert_int_equal(found->looked_at, 4);
	assert_int_equal(found->outside, 4);
	assert_int_equal(found->pid, init);
	assert_int_equal(found->cgroup[0], '/');
	end_family(init);
}

static void test_one_that_has_ended(void **state)
{
	cleanup_free struct skm_outside *found = calloc(1, sizeof(*found));
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	skm_probe_outside(pid, mount, own, 64, found);
	assert_int_equal(found->looked_at, 0);
	assert_int_equal(found->outside, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_all_inside),
	        cmocka_unit_test(test_all_outside),
	        cmocka_unit_test(test_one_that_has_ended),
	};

	set_up();
	if (own < 0) {
		fprintf(stderr, "skipped: no cgroup v2 here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
