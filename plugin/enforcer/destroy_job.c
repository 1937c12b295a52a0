/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/destroy_job.h"

#include "actuate/destroy.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

/* Held by who ordered it and by the thread; the last one frees it. The result is the thread's until done. */
struct skm_destroy_job {
	atomic_int holders;
	atomic_bool dropped, done;
	struct skm_destroy_order order;
	struct skm_destroy_result result;
	int done_fd;
};

void skm_destroy_job_drop(struct skm_destroy_job *job)
{
	atomic_store(&job->dropped, true);
	if (atomic_fetch_sub(&job->holders, 1) > 1)
		return;
	skm_close_fd(&job->order.netns_fd);
	skm_close_fd(&job->order.cgroup_fd);
	skm_close_fd(&job->done_fd);
	free(job);
}

/* What a program holds has an inode, and so has what a listener has not handed out yet: its send queue is empty. */
static struct skm_destroy_candidate candidate_of(const struct skm_diag_socket *socket)
{
	return (struct skm_destroy_candidate){
	        .send_bytes = socket->wmem_queued,
	        .receive_bytes = socket->rmem_alloc,
	        .idle_msec = socket->idle_msec,
	        .orphan = socket->inode == 0,
	};
}

static int choose(struct skm_destroy_job *job)
{
	struct skm_destroy_result *result = &job->result;
	cleanup_free struct skm_diag_socket *sockets = NULL;
	cleanup_free struct skm_destroy_candidate *candidates = NULL;
	size_t count, picked[SKM_DESTROY_MAX];
	int r = skm_actuate_destroy_list(job->order.cgroup_fd, &sockets, &count, &result->err);

	if (r < 0)
		return r;
	candidates = calloc(count + 1, sizeof(*candidates));
	if (!candidates)
		return skm_err_set(&result->err, ENOMEM, "out of memory");
	for (size_t i = 0; i < count; i++)
		candidates[i] = candidate_of(&sockets[i]);
	result->count = skm_control_destroy_choose(candidates, count, job->order.excess_bytes, picked);
	for (size_t i = 0; i < result->count; i++)
		result->list[i] = (struct skm_destroyed){sockets[picked[i]], sockets[picked[i]].wmem_queued};
	return 0;
}

/* Those that are left go on in the list; one that went by itself was not ours. */
static int destroy(struct skm_destroy_job *job)
{
	struct skm_destroy_result *result = &job->result;
	size_t chosen = result->count;

	result->count = 0;
	for (size_t i = 0; i < chosen; i++) {
		int r = atomic_load(&job->dropped) ? -ENOENT : skm_actuate_destroy(&result->list[i].socket, &result->err);

		if (r == 0)
			result->list[result->count++] = result->list[i];
		else if (r != -ENOENT)
			return r;
	}
	return 0;
}

static uint64_t still_queued(const struct skm_diag_socket *sockets, size_t count, uint64_t cookie)
{
	for (size_t i = 0; i < count; i++)
		if (sockets[i].cookie == cookie)
			return sockets[i].wmem_queued;
	return 0;
}

static int look_again(struct skm_destroy_job *job)
{
	struct skm_destroy_result *result = &job->result;
	cleanup_free struct skm_diag_socket *sockets = NULL;
	size_t count;
	int r = skm_actuate_destroy_list(job->order.cgroup_fd, &sockets, &count, &result->err);

	for (size_t i = 0; r == 0 && i < result->count; i++) {
		uint64_t left = still_queued(sockets, count, result->list[i].socket.cookie);

		result->list[i].freed_bytes -= left < result->list[i].freed_bytes ? left : result->list[i].freed_bytes;
	}
	return r;
}

/* The thread goes to the container's namespace, and ends there. */
static int run(struct skm_destroy_job *job)
{
	int r;

	if (setns(job->order.netns_fd, CLONE_NEWNET) < 0)
		return skm_err_set_errno(&job->result.err, errno, "enter the container's network namespace");
	r = choose(job);
	if (r < 0 || job->order.dry || job->result.count == 0)
		return r;
	r = destroy(job);
	return r < 0 ? r : look_again(job);
}

static void *destroy_thread(void *data)
{
	struct skm_destroy_job *job = data;
	const uint64_t one = 1;

	job->result.result = run(job);
	job->result.cost_usec = skm_cpu_usec();
	atomic_store(&job->done, true);
	SKM_IGNORE(write(job->done_fd, &one, sizeof(one)) < 0); /* an eventfd that only we write takes one */
	skm_destroy_job_drop(job);
	return NULL;
}

static int start_thread(struct skm_destroy_job *job)
{
	int r;

	atomic_store(&job->holders, 2);
	r = skm_thread_start(destroy_thread, job);
	if (r < 0)
		atomic_store(&job->holders, 1);
	return r;
}

int skm_destroy_job_start(const struct skm_destroy_order *order, struct skm_destroy_job **ret, struct skm_err *err)
{
	struct skm_destroy_job *job = calloc(1, sizeof(*job));
	int r = 0;

	if (!job)
		return skm_err_set(err, ENOMEM, "out of memory");
	atomic_store(&job->holders, 1);
	job->result.err = SKM_ERR_INIT;
	job->order = *order;
	job->order.netns_fd = fcntl(order->netns_fd, F_DUPFD_CLOEXEC, 3);
	job->order.cgroup_fd = fcntl(order->cgroup_fd, F_DUPFD_CLOEXEC, 3);
	job->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (job->order.netns_fd < 0 || job->order.cgroup_fd < 0 || job->done_fd < 0)
		r = -errno;
	if (r == 0)
		r = start_thread(job);
	if (r < 0) {
		skm_destroy_job_drop(job);
		return skm_err_set_errno(err, -r, "start a thread to end connections");
	}
	*ret = job;
	return 0;
}

int skm_destroy_job_done_fd(const struct skm_destroy_job *job)
{
	return job->done_fd;
}

bool skm_destroy_job_take(struct skm_destroy_job *job, struct skm_destroy_result *ret)
{
	if (!atomic_load(&job->done))
		return false;
	*ret = job->result;
	return true;
}
