/* SPDX-License-Identifier: Apache-2.0 */
/* Priorities, each in a process of its own. Exits 77 where they may not be raised. */
#include "skm-test.h"

#include "base/priority.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *step_back(void *data)
{
	int *policies = data;

	policies[0] = sched_getscheduler(0);
	skm_priority_ordinary();
	policies[1] = sched_getscheduler(0);
	return NULL;
}

/* What goes wrong first, or 0. */
static int run_prompt(void)
{
	int policies[2] = {-1, -1}, status;
	pthread_t thread;
	pid_t child;

	if (skm_priority_prompt() < 0 || sched_getscheduler(0) != SCHED_RR)
		return 1;
	child = fork();
	if (child == 0)
		_exit(sched_getscheduler(0) == SCHED_RR ? 0 : 1);
	if (waitpid(child, &status, 0) != child || status != 0)
		return 2; /* the socket worker would wait where the enforcer does not */
	if (pthread_create(&thread, NULL, step_back, policies) != 0 || pthread_join(thread, NULL) != 0)
		return 3;
	if (policies[0] != SCHED_RR || policies[1] != SCHED_OTHER)
		return 4;
	return sched_getscheduler(0) == SCHED_RR ? 0 : 5; /* one thread's step back is not the others' */
}

static void test_prompt_and_ordinary(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(run_prompt());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_without_the_right(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		if (setuid(65534) < 0)
			_exit(1);
		_exit(skm_priority_prompt() == -EPERM && sched_getscheduler(0) == SCHED_OTHER ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_prompt_and_ordinary),
	        cmocka_unit_test(test_without_the_right),
	};
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(skm_priority_prompt() < 0);
	if (waitpid(child, &status, 0) != child || status != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
