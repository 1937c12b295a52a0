/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/reclaim.h"

#include "actuate/memory_reclaim.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "control/reclaim.h"
#include "enforcer/container.h"
#include "enforcer/registry.h"
#include "probe/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* What one reclaim may take in all. */
#define BUDGET_USEC (UINT64_C(20) * SKM_USEC_PER_SEC)
/* The container's tasks stalled for memory for more than this share of the time: reclaim then takes what they need. */
#define STALL_PERMYRIAD 2000
/* The last step does not reclaim again at once: what it freed has to be seen first. */
#define PAUSE_USEC (UINT64_C(2) * SKM_USEC_PER_SEC)

/* Held by the container and by the thread; the last one frees it. */
struct skm_reclaim_job {
	atomic_int holders;
	atomic_bool cancelled;
	pthread_mutex_t lock; /* of result */
	struct skm_reclaim_result result;
	uint64_t page_bytes;
	int fd, done_fd;
	struct skm_pressure_files files;
};

static void job_put(struct skm_reclaim_job *job)
{
	if (atomic_fetch_sub(&job->holders, 1) > 1)
		return;
	skm_close_fd(&job->fd);
	skm_close_fd(&job->done_fd);
	skm_probe_pressure_close(&job->files);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

/* Pages that were taken from the cgroup so far; 0 where it cannot be read. */
static uint64_t stolen_pages(const struct skm_reclaim_job *job)
{
	uint64_t pages = 0;

	if (job->files.levels > 0 && skm_probe_pressure_stolen(&job->files, &pages, NULL) < 0)
		return 0;
	return pages;
}

struct progress {
	uint64_t began_usec, stolen_before;
	uint64_t stalled_before_usec;
	bool has_psi;
};

static bool is_stalled(const struct skm_reclaim_job *job, const struct progress *progress, uint64_t elapsed_usec)
{
	uint64_t total;

	/* a tenth of a second says little */
	if (!progress->has_psi || elapsed_usec < SKM_USEC_PER_SEC / 10 || skm_probe_psi_total(&job->files, &total, NULL) < 0)
		return false;
	return skm_scale(total - progress->stalled_before_usec, SKM_PERMYRIAD, elapsed_usec) > STALL_PERMYRIAD;
}

/* One step. Returns RUNNING while there is more to do. */
static enum skm_reclaim_end take_step(struct skm_reclaim_job *job, const struct progress *progress,
                                      struct skm_reclaim_result *now)
{
	uint64_t left = now->asked_bytes > now->reclaimed_bytes ? now->asked_bytes - now->reclaimed_bytes : 0;
	uint64_t step = skm_control_reclaim_step(left, job->page_bytes);
	int r;

	if (step == 0)
		return SKM_RECLAIM_DONE;
	if (atomic_load(&job->cancelled))
		return SKM_RECLAIM_CANCELLED;
	r = skm_actuate_reclaim(job->fd, step, NULL);
	now->steps++;
	now->reclaimed_bytes = (stolen_pages(job) - progress->stolen_before) * job->page_bytes;
	now->took_usec = skm_now_usec() - progress->began_usec;
	if (r == -EAGAIN)
		return SKM_RECLAIM_EXHAUSTED;
	if (r < 0 && r != -EINTR) {
		now->error = (uint32_t)-r;
		return r == -ENODEV ? SKM_RECLAIM_CANCELLED : SKM_RECLAIM_FAILED;
	}
	if (is_stalled(job, progress, now->took_usec))
		return SKM_RECLAIM_STALLED;
	return now->took_usec > BUDGET_USEC ? SKM_RECLAIM_LATE : SKM_RECLAIM_RUNNING;
}

static void *reclaim_thread(void *data)
{
	struct skm_reclaim_job *job = data;
	struct progress progress = {.began_usec = skm_now_usec(), .stolen_before = stolen_pages(job)};
	struct skm_reclaim_result now = job->result;
	const uint64_t one = 1;

	progress.has_psi = skm_probe_psi_total(&job->files, &progress.stalled_before_usec, NULL) == 0;
	do {
		now.end = take_step(job, &progress, &now);
		pthread_mutex_lock(&job->lock);
		job->result = now;
		pthread_mutex_unlock(&job->lock);
	} while (now.end == SKM_RECLAIM_RUNNING);
	SKM_IGNORE(write(job->done_fd, &one, sizeof(one)) < 0); /* an eventfd that only we write takes one */
	job_put(job);
	return NULL;
}

void skm_reclaim_refresh(struct skm_container *container)
{
	struct skm_reclaim_job *job = container->reclaimer.job;

	if (!job)
		return;
	pthread_mutex_lock(&job->lock);
	container->report.reclaim = job->result;
	pthread_mutex_unlock(&job->lock);
}

static void tell_result(struct skm_container *container)
{
	static const char *const why[] = {
	        [SKM_RECLAIM_DONE] = "",
	        [SKM_RECLAIM_EXHAUSTED] = "; the kernel found no more to reclaim",
	        [SKM_RECLAIM_STALLED] = "; stopped, as its tasks stalled for memory",
	        [SKM_RECLAIM_LATE] = "; stopped after its 20 s",
	        [SKM_RECLAIM_CANCELLED] = "; stopped, as the container went",
	};
	const struct skm_reclaim_result *result = &container->report.reclaim;
	uint64_t over = result->reclaimed_bytes > result->asked_bytes ? result->reclaimed_bytes - result->asked_bytes : 0;
	uint64_t pages = result->reclaimed_bytes / skm_registry_host(container->registry)->page_bytes;
	char asked[SKM_SIZE_TEXT_MAX], got[SKM_SIZE_TEXT_MAX], much[SKM_SIZE_TEXT_MAX];

	container->report.reclaimed_bytes += result->reclaimed_bytes;
	if (result->end == SKM_RECLAIM_FAILED) {
		skm_container_tell(container, SKM_EVENT_TROUBLE, "reclaim: %s", strerror((int)result->error));
		return;
	}
	skm_container_tell(container, SKM_EVENT_MEMORY,
	                   "reclaimed %s of %s in %" PRIu32 " steps and %" PRIu64 " ms, %" PRIu64 " pages/s, %s too much%s",
	                   skm_bytes_human(result->reclaimed_bytes, got), skm_bytes_human(result->asked_bytes, asked),
	                   result->steps, result->took_usec / SKM_USEC_PER_MSEC,
	                   result->took_usec > 0 ? skm_scale(pages, SKM_USEC_PER_SEC, result->took_usec) : 0,
	                   skm_bytes_human(over, much), why[result->end] ? why[result->end] : "");
}

static void drop_job(struct skm_container *container)
{
	struct skm_reclaim_job *job = container->reclaimer.job;

	skm_watch_remove(skm_registry_epoll(container->registry), job->done_fd);
	container->reclaimer.job = NULL;
	job_put(job);
}

static void job_ready(struct skm_watch *watch, uint32_t events)
{
	struct skm_reclaimer *reclaimer = SKM_WATCH_OWNER(watch, struct skm_reclaimer, watch);
	struct skm_container *container = (struct skm_container *)((char *)reclaimer - offsetof(struct skm_container, reclaimer));
	uint64_t now = skm_now_usec();

	(void)events;
	skm_reclaim_refresh(container);
	drop_job(container);
	reclaimer->next_usec = now + PAUSE_USEC;
	skm_pressure_own_reclaim(container, now);
	tell_result(container);
}

static struct skm_reclaim_job *new_job(struct skm_container *container, uint64_t bytes, struct skm_err *err)
{
	struct skm_reclaim_job *job = calloc(1, sizeof(*job));

	if (!job) {
		skm_err_set(err, ENOMEM, "out of memory");
		return NULL;
	}
	atomic_store(&job->holders, 1);
	pthread_mutex_init(&job->lock, NULL);
	job->result = (struct skm_reclaim_result){.end = SKM_RECLAIM_RUNNING, .asked_bytes = bytes};
	job->page_bytes = skm_registry_host(container->registry)->page_bytes;
	job->files = SKM_PRESSURE_FILES_INIT;
	job->done_fd = -1;
	job->fd = skm_actuate_reclaim_open(container->memcg.dir, err);
	if (job->fd >= 0 && (job->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		skm_err_set_errno(err, errno, "eventfd");
	if (job->done_fd < 0 || skm_probe_pressure_open(container->memcg.dir, &job->files, err) < 0) {
		job_put(job);
		return NULL;
	}
	return job;
}

int skm_reclaim_start(struct skm_container *container, uint64_t bytes, struct skm_err *err)
{
	struct skm_reclaimer *reclaimer = &container->reclaimer;
	struct skm_reclaim_job *job;
	int r;

	if (reclaimer->job)
		return skm_err_set(err, EBUSY, "a reclaim of this container is under way");
	job = new_job(container, bytes, err);
	if (!job)
		return -err->code;
	reclaimer->watch.ready = job_ready;
	r = skm_watch_add(skm_registry_epoll(container->registry), job->done_fd, EPOLLIN, &reclaimer->watch, err);
	if (r == 0) {
		atomic_store(&job->holders, 2);
		r = skm_thread_start(reclaim_thread, job);
		if (r < 0) {
			atomic_store(&job->holders, 1);
			skm_err_set_errno(err, -r, "start a thread");
		}
	}
	if (r < 0) {
		skm_watch_remove(skm_registry_epoll(container->registry), job->done_fd);
		job_put(job);
		return r;
	}
	reclaimer->job = job;
	skm_pressure_own_reclaim(container, skm_now_usec());
	skm_reclaim_refresh(container);
	return 0;
}

void skm_reclaim_run(struct skm_container *container, uint64_t now_usec)
{
	struct skm_reclaimer *reclaimer = &container->reclaimer;
	const struct skm_report *report = &container->report;
	struct skm_err err = SKM_ERR_INIT;
	uint64_t need;

	if (report->decision.step != SKM_STEP_SHED || !report->policy.throttle.reclaim || reclaimer->job ||
	    now_usec < reclaimer->next_usec)
		return;
	need = skm_control_reclaim_need(report->current_bytes, report->memory_max_bytes, report->limit_bytes);
	if (need == 0)
		return;
	reclaimer->next_usec = now_usec + PAUSE_USEC;
	if (skm_reclaim_start(container, need, &err) < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
}

void skm_reclaim_close(struct skm_container *container)
{
	if (!container->reclaimer.job)
		return;
	atomic_store(&container->reclaimer.job->cancelled, true);
	drop_job(container);
}
