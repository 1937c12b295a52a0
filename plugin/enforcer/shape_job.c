/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/shape_job.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "probe/sock_diag.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define NAME_MAX_BYTES 64

/* Held by who ordered it and by the thread; the last one frees it. */
struct skm_shape_job {
	pthread_mutex_t lock; /* of what follows but the order, which nobody changes */
	int holders;
	bool done;
	struct skm_shape_result result;
	int journal_dir; /* -1: not bequeathed */
	struct skm_tc_plan noted;
	char journal_name[NAME_MAX_BYTES];

	struct skm_shape_order order;
	int done_fd;
};

static void job_free(struct skm_shape_job *job)
{
	skm_close_fd(&job->order.netns_fd);
	skm_close_fd(&job->done_fd);
	skm_close_fd(&job->journal_dir);
	free(job->result.sockets);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

void skm_shape_job_drop(struct skm_shape_job *job)
{
	bool last;

	pthread_mutex_lock(&job->lock);
	last = --job->holders == 0;
	pthread_mutex_unlock(&job->lock);
	if (last)
		job_free(job);
}

/* The dump is of the namespace that the thread is in: it goes there, and ends there. */
static int list_sockets(int netns_fd, struct skm_shape_result *result)
{
	cleanup_free struct skm_diag_socket *sockets = NULL;
	size_t count;
	int r;

	if (setns(netns_fd, CLONE_NEWNET) < 0)
		return skm_err_set_errno(&result->err, errno, "enter the container's network namespace");
	r = skm_probe_sock_diag(NULL, &sockets, &count, &result->err);
	if (r < 0)
		return r;
	result->sockets = calloc(count + 1, sizeof(*result->sockets));
	if (!result->sockets)
		return skm_err_set(&result->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		result->sockets[i] =
		        (struct skm_shape_socket){.cookie = sockets[i].cookie, .unread_bytes = sockets[i].unread_bytes};
	result->socket_count = count;
	return 0;
}

static int look(const struct skm_shape_order *order, const struct skm_tc_ends *ends, struct skm_shape_result *result)
{
	const struct skm_tc_plan *plan = order->made ? &order->plan : NULL;
	struct skm_tc_look after;
	int r;

	result->when_usec = skm_now_usec();
	r = skm_actuate_tc_look(ends, plan, &result->look, &result->err);
	if (r == 0)
		r = list_sockets(order->netns_fd, result);
	if (r == 0)
		r = skm_actuate_tc_look(ends, plan, &after, &result->err);
	if (r == 0)
		result->received_after_bytes = after.received_bytes;
	return r;
}

static int run_order(const struct skm_shape_order *order, const struct skm_tc_ends *ends, struct skm_shape_result *result)
{
	switch (order->verb) {
	case SKM_SHAPE_LOOK:
		return look(order, ends, result);
	case SKM_SHAPE_PLAN:
		return skm_actuate_tc_plan(ends, &result->plan, &result->err);
	case SKM_SHAPE_APPLY:
		return skm_actuate_tc_apply(ends, &order->plan, &order->want, &result->err);
	case SKM_SHAPE_UPDATE:
		return skm_actuate_tc_update(ends, &order->plan, &order->want, &result->err);
	case SKM_SHAPE_REMOVE:
		return skm_actuate_tc_remove(ends, &order->plan, &result->err);
	}
	return skm_err_set(&result->err, ENOSYS, "no such errand");
}

/* Nothing of ours stays, and then the journal goes. A failure leaves that to the next start. */
static void execute_will(const struct skm_shape_job *job)
{
	struct skm_tc_ends ends = SKM_TC_ENDS_INIT;
	struct skm_err err = SKM_ERR_INIT;
	int r = skm_actuate_tc_open(job->order.netns_fd, &ends, &err);

	if (r == 0)
		r = skm_actuate_tc_remove(&ends, &job->noted, &err);
	skm_actuate_tc_close(&ends);
	if (r < 0)
		skm_log(LOG_WARNING, "tc: %s", err.text);
	else if (unlinkat(job->journal_dir, job->journal_name, 0) < 0 && errno != ENOENT)
		skm_log(LOG_WARNING, "remove journal %s: %s", job->journal_name, strerror(errno));
}

/* Returns whether there is a will to execute first. */
static bool finish(struct skm_shape_job *job, struct skm_shape_result *result)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&job->lock);
	if (job->journal_dir >= 0) {
		pthread_mutex_unlock(&job->lock);
		free(result->sockets);
		return true;
	}
	job->result = *result;
	job->done = true;
	pthread_mutex_unlock(&job->lock);
	SKM_IGNORE(write(job->done_fd, &one, sizeof(one)) < 0); /* an eventfd that only we write takes one */
	return false;
}

static void *shape_thread(void *data)
{
	struct skm_shape_job *job = data;
	struct skm_tc_ends ends = SKM_TC_ENDS_INIT;
	struct skm_shape_result result = {.err = SKM_ERR_INIT};

	result.result = skm_actuate_tc_open(job->order.netns_fd, &ends, &result.err);
	if (result.result == 0)
		result.result = run_order(&job->order, &ends, &result);
	skm_actuate_tc_close(&ends);
	result.cost_usec = skm_cpu_usec();
	if (finish(job, &result))
		execute_will(job);
	skm_shape_job_drop(job);
	return NULL;
}

int skm_shape_job_start(const struct skm_shape_order *order, struct skm_shape_job **ret, struct skm_err *err)
{
	struct skm_shape_job *job = calloc(1, sizeof(*job));
	int r = 0;

	if (!job)
		return skm_err_set(err, ENOMEM, "out of memory");
	pthread_mutex_init(&job->lock, NULL);
	job->journal_dir = job->done_fd = -1;
	job->order = *order;
	job->order.netns_fd = fcntl(order->netns_fd, F_DUPFD_CLOEXEC, 3);
	if (job->order.netns_fd >= 0)
		job->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (job->done_fd < 0)
		r = -errno;
	job->holders = 2; /* the caller and the thread */
	if (r == 0)
		r = skm_thread_start(shape_thread, job);
	if (r < 0) {
		job_free(job);
		return skm_err_set_errno(err, -r, "start a thread for tc");
	}
	*ret = job;
	return 0;
}

int skm_shape_job_done_fd(const struct skm_shape_job *job)
{
	return job->done_fd;
}

bool skm_shape_job_take(struct skm_shape_job *job, struct skm_shape_result *ret)
{
	bool done;

	pthread_mutex_lock(&job->lock);
	done = job->done;
	if (done) {
		*ret = job->result;
		job->result.sockets = NULL;
	}
	pthread_mutex_unlock(&job->lock);
	return done;
}

int skm_shape_job_bequeath(struct skm_shape_job *job, const struct skm_tc_plan *noted, int journal_dir, const char *name)
{
	int dir = fcntl(journal_dir, F_DUPFD_CLOEXEC, 3), r = 0;

	if (dir < 0)
		return -errno;
	pthread_mutex_lock(&job->lock);
	if (job->done) {
		r = -EALREADY;
	} else {
		job->journal_dir = skm_steal_fd(&dir);
		job->noted = *noted;
		snprintf(job->journal_name, sizeof(job->journal_name), "%s", name);
	}
	pthread_mutex_unlock(&job->lock);
	skm_close_fd(&dir);
	return r;
}
