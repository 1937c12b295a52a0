/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>

static int create(pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *data), void *data)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, attr, run, data);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int skm_thread_run(void *(*run)(void *data), void *data)
{
	pthread_t thread;
	int r = create(&thread, NULL, run, data);

	if (r == 0)
		pthread_join(thread, NULL);
	return r;
}

int skm_thread_start(void *(*run)(void *data), void *data)
{
	const struct sched_param ordinary = {.sched_priority = 0};
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &ordinary);
	r = create(&thread, &attr, run, data);
	pthread_attr_destroy(&attr);
	return r;
}
