/* SPDX-License-Identifier: Apache-2.0 */
/* Threads beside the loop's: which signals they take, and when they run. */
#include "skm-test.h"

#include "base/priority.h"
#include "base/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a thread sees of itself; sent through a pipe, since nobody waits for one that is detached. */
struct seen {
	int policy;
	bool takes_signals;
};

static int seen_pipe[2];

static void *look(void *data)
{
	struct seen seen = {.policy = sched_getscheduler(0)};
	sigset_t blocked;

	(void)data;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	seen.takes_signals = !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGCHLD);
	if (write(seen_pipe[1], &seen, sizeof(seen)) != sizeof(seen))
		abort();
	return NULL;
}

static bool sees(int policy)
{
	struct seen seen;

	return read(seen_pipe[0], &seen, sizeof(seen)) == sizeof(seen) && seen.policy == policy && !seen.takes_signals;
}

static void test_run_waits(void **state)
{
	sigset_t blocked;

	(void)state;
	assert_int_equal(skm_thread_run(look, NULL), 0);
	assert_true(sees(SCHED_OTHER));
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	assert_false(sigismember(&blocked, SIGTERM)); /* the caller's own are as they were */
}

/* Under an enforcer that comes before others: what it waits for does as well, what it leaves to itself does not. */
static int beside_a_prompt_one(void)
{
	if (skm_priority_prompt() < 0)
		return 77;
	if (skm_thread_run(look, NULL) < 0 || !sees(SCHED_RR))
		return 1;
	if (skm_thread_start(look, NULL) < 0 || !sees(SCHED_OTHER))
		return 2;
	return sched_getscheduler(0) == SCHED_RR ? 0 : 3;
}

static void test_start_is_ordinary(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0)
		_exit(beside_a_prompt_one());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		print_message("no right to a real-time priority: not tested\n");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_run_waits),
	        cmocka_unit_test(test_start_is_ordinary),
	};

	if (pipe(seen_pipe) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
