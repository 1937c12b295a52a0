/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/squeeze.h"

#include "base/clock.h"
#include "enforcer/journal.h"
#include "enforcer/registry.h"
#include "enforcer/topology.h"

#include <inttypes.h>
#include <poll.h>

/* A worker that says nothing for longer than this, of one batch of its job or of the whole, is stuck in the kernel: lock_sock or
 * a lingering close. A job of ten thousand sockets may take longer. */
#define JOB_DEADLINE_USEC (UINT64_C(2) * SKM_USEC_PER_SEC)
/* Sockets that were born before the cap: looked for again at this interval, doubled each time that none is found. */
#define INTERVAL_MIN_USEC (UINT64_C(250) * SKM_USEC_PER_MSEC)
#define INTERVAL_MAX_USEC (UINT64_C(4) * SKM_USEC_PER_SEC)

/* Nor does it begin sooner than this after the one before: each looks at every socket of the namespace and every descriptor of
 * the container, and the cap moves as often as the container's connections come and go. */
#define JOBS_APART_USEC (UINT64_C(100) * SKM_USEC_PER_MSEC)

/* The occupancy from which the worker stands ready. */
#define ARM_PERMYRIAD 3500

#define RESTORE_TRIES 4

static void worker_ready(struct skm_watch *watch, uint32_t events);

static void trouble(struct skm_container *container, const struct skm_err *err)
{
	skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err->text);
}

static void stop_worker(struct skm_container *container, uint64_t now_usec)
{
	struct skm_squeezer *squeezer = &container->squeezer;

	if (squeezer->worker.fd >= 0)
		skm_watch_remove(skm_registry_epoll(container->registry), squeezer->worker.fd);
	skm_actuate_worker_stop(&squeezer->worker);
	squeezer->next_run_usec = now_usec + SKM_USEC_PER_SEC;
}

static int start_worker(struct skm_container *container, struct skm_err *err)
{
	struct skm_squeezer *squeezer = &container->squeezer;
	int r;

	if (squeezer->worker.pid > 0)
		return 0;
	r = skm_actuate_worker_start(&squeezer->worker, skm_topology_governed(container)->dir, container->fds[SKM_FD_NETNS], err);
	if (r < 0)
		return r;
	squeezer->watch.ready = worker_ready;
	return skm_watch_add(skm_registry_epoll(container->registry), squeezer->worker.fd, EPOLLIN, &squeezer->watch, err);
}

static void journal_batch(struct skm_container *container, const struct skm_worker_message *message)
{
	struct skm_err err = SKM_ERR_INIT;
	int r = skm_journal_add_sockets(container, message->sockets, message->count);

	if (r < 0)
		r = skm_err_set_errno(&err, -r, "remember %" PRIu32 " sockets", message->count);
	if (r > 0)
		r = skm_journal_save(container, &err);
	if (r >= 0)
		r = skm_actuate_worker_go(&container->squeezer.worker, &err);
	if (r < 0) {
		/* without a journal nothing may be changed: the job is dropped with its worker */
		trouble(container, &err);
		stop_worker(container, skm_now_usec());
	}
}

static void tell_squeezed(struct skm_container *container, const struct skm_worker_message *message)
{
	struct skm_squeezer *squeezer = &container->squeezer;
	char cap[SKM_SIZE_TEXT_MAX];

	container->report.squeeze_runs++;
	container->report.squeezed_sockets += message->changed;
	squeezer->interval_usec = message->changed > 0 ? INTERVAL_MIN_USEC : squeezer->interval_usec * 2;
	if (squeezer->interval_usec > INTERVAL_MAX_USEC)
		squeezer->interval_usec = INTERVAL_MAX_USEC;
	squeezer->next_run_usec = skm_now_usec() + squeezer->interval_usec;
	if (message->changed > 0 || message->failed > 0)
		skm_container_tell(container, SKM_EVENT_SQUEEZED,
		                   "%" PRIu32 " open sockets had larger buffers and were set to %s in %" PRIu64 " ms (%" PRIu32
		                   " refused, %" PRIu32 " held by no process)",
		                   message->changed, skm_bytes_human(squeezer->cap_bytes, cap),
		                   message->took_usec / SKM_USEC_PER_MSEC, message->failed, message->unreachable);
	if (message->trouble[0])
		skm_container_tell(container, SKM_EVENT_TROUBLE, "squeezing open sockets: %s", message->trouble);
}

/* Whether sockets are left that have not got their buffers back and are to be tried again: a descriptor on its way between
 * processes, a namespace that could not be entered. After some tries they are given up, and that is said. */
static bool retry_restore(struct skm_container *container, const struct skm_worker_message *message)
{
	struct skm_squeezer *squeezer = &container->squeezer;
	uint32_t left = message->failed + message->unreachable;

	squeezer->left = left;
	if (left == 0 && !message->trouble[0])
		return false;
	if (++squeezer->failed_restores < RESTORE_TRIES) {
		squeezer->next_run_usec = skm_now_usec() + SKM_USEC_PER_SEC * (uint64_t)squeezer->failed_restores;
		return true;
	}
	skm_container_tell(container, SKM_EVENT_TROUBLE, "%" PRIu32 " open sockets keep a squeezed buffer after %d tries: %s",
	                   left, RESTORE_TRIES,
	                   message->trouble[0] ? message->trouble : "held by no process that could be reached");
	return false;
}

static void count_done(struct skm_container *container, const struct skm_worker_message *message)
{
	if (message->trouble[0]) {
		skm_census_failed(container);
		skm_container_tell(container, SKM_EVENT_TROUBLE, "counting its sockets: %s", message->trouble);
		return;
	}
	skm_census_took(container, message->total, message->cpu_usec);
	skm_census_saw(container, &message->demands);
}

static void job_done(struct skm_container *container, const struct skm_worker_message *message)
{
	if (message->job == SKM_WORKER_COUNT) {
		count_done(container, message);
		return;
	}
	if (message->job == SKM_WORKER_SQUEEZE) {
		if (!message->trouble[0])
			skm_census_saw(container, &message->demands);
		if (container->squeezer.worker.shared && !message->trouble[0])
			skm_census_took(container, message->total, message->cpu_usec);
		tell_squeezed(container, message);
		return;
	}
	if (retry_restore(container, message))
		return;
	skm_container_tell(container, SKM_EVENT_RESTORED, "%" PRIu32 " open sockets have their own buffers back",
	                   message->changed);
	container->squeezer.failed_restores = 0;
	container->squeezer.cap_bytes = 0;
	skm_journal_forget_sockets(container);
}

static enum skm_worker_news take_message(struct skm_container *container)
{
	struct skm_worker_message message;
	struct skm_err err = SKM_ERR_INIT;

	if (skm_actuate_worker_receive(&container->squeezer.worker, &message, &err) < 0) {
		trouble(container, &err);
		message.news = SKM_NEWS_GONE;
	}
	if (message.news != SKM_NEWS_NOTHING)
		container->squeezer.heard_usec = skm_now_usec();
	if (message.news == SKM_NEWS_BASELINES)
		journal_batch(container, &message);
	else if (message.news == SKM_NEWS_DONE)
		job_done(container, &message);
	else if (message.news == SKM_NEWS_GONE)
		stop_worker(container, skm_now_usec());
	return message.news;
}

static void worker_ready(struct skm_watch *watch, uint32_t events)
{
	(void)events;
	take_message(SKM_WATCH_OWNER(watch, struct skm_container, squeezer.watch));
}

static void restore(struct skm_container *container, uint64_t now_usec)
{
	struct skm_squeezer *squeezer = &container->squeezer;
	struct skm_err err = SKM_ERR_INIT;
	int r = start_worker(container, &err);

	if (r == 0)
		r = skm_actuate_worker_restore(&squeezer->worker, container->journal.sockets, container->journal.socket_count,
		                               &err);
	squeezer->job_usec = now_usec;
	if (r < 0) {
		trouble(container, &err);
		stop_worker(container, now_usec);
	}
}

/* The worker is there before it is needed: in a flooded guest its start took 0.4 s, in which sockets grew by a fifth of the
 * limit. */
static void arm(struct skm_container *container, uint64_t now_usec)
{
	struct skm_err err = SKM_ERR_INIT;

	if (start_worker(container, &err) < 0) {
		trouble(container, &err);
		stop_worker(container, now_usec);
	}
}

static void squeeze(struct skm_container *container, uint64_t cap, uint64_t now_usec)
{
	struct skm_squeezer *squeezer = &container->squeezer;
	struct skm_err err = SKM_ERR_INIT;
	int r = start_worker(container, &err);

	squeezer->worker.shared = skm_topology_shares_netns(container);
	/* an eighth above, so that sockets at the cap are not set again and again as it moves */
	if (r == 0)
		r = skm_actuate_worker_squeeze(&squeezer->worker, (uint32_t)(cap + cap / 8), (uint32_t)cap, &err);
	squeezer->job_usec = now_usec;
	if (!skm_control_within_grain(squeezer->cap_bytes, cap))
		squeezer->interval_usec = INTERVAL_MIN_USEC;
	squeezer->cap_bytes = cap;
	if (r < 0) {
		trouble(container, &err);
		stop_worker(container, now_usec);
	}
}

/* Whether the worker has a job. One past its deadline is ended. */
static bool is_busy(struct skm_container *container, uint64_t now_usec)
{
	if (!container->squeezer.worker.busy)
		return false;
	if (now_usec - container->squeezer.job_usec > JOB_DEADLINE_USEC &&
	    now_usec - container->squeezer.heard_usec > JOB_DEADLINE_USEC) {
		skm_container_tell(container, SKM_EVENT_TROUBLE,
		                   "the socket worker has said nothing for 2 s and was killed: a socket's lock or a lingering "
		                   "close holds it");
		skm_census_failed(container);
		stop_worker(container, now_usec);
	}
	return true;
}

static void count(struct skm_container *container, uint64_t now_usec)
{
	struct skm_squeezer *squeezer = &container->squeezer;
	struct skm_err err = SKM_ERR_INIT;
	int r = start_worker(container, &err);

	squeezer->worker.shared = skm_topology_shares_netns(container);
	skm_census_began(container);
	if (r == 0)
		r = skm_actuate_worker_count(&squeezer->worker, &err);
	squeezer->job_usec = now_usec;
	if (r < 0) {
		trouble(container, &err);
		skm_census_failed(container);
		stop_worker(container, now_usec);
	}
}

/* Moves what was squeezed for `from`, with its baselines. */
static void move_sockets(struct skm_container *from, struct skm_container *to)
{
	struct skm_err err = SKM_ERR_INIT;
	int r = skm_journal_add_sockets(to, from->journal.sockets, from->journal.socket_count);

	if (r < 0)
		r = skm_err_set_errno(&err, -r, "take over %" PRIu32 " sockets", from->journal.socket_count);
	if (r >= 0)
		r = skm_journal_save(to, &err);
	if (r < 0) {
		trouble(to, &err);
		return;
	}
	from->squeezer.cap_bytes = 0;
	skm_journal_forget_sockets(from);
}

/* Returns false while another one's worker has these sockets in its hands. */
static bool take_over_peers(struct skm_container *container)
{
	struct skm_container *peer = NULL;

	while ((peer = skm_topology_next_peer(container, peer))) {
		if (peer->squeezer.worker.busy)
			return false;
		if (peer->journal.socket_count > 0)
			move_sockets(peer, container);
	}
	return true;
}

void skm_squeeze_hand_over(struct skm_container *container)
{
	struct skm_container *peer = NULL;

	while (container->journal.socket_count > 0 && (peer = skm_topology_next_peer(container, peer)))
		if (peer->squeezes)
			move_sockets(container, peer);
}

/* Whether open sockets have to shrink further. A cap that rises raises none of them: it is for the next job in turn. */
static bool has_sunk(const struct skm_squeezer *squeezer, uint64_t cap_bytes)
{
	return squeezer->cap_bytes == 0 ||
	       (cap_bytes < squeezer->cap_bytes && !skm_control_within_grain(squeezer->cap_bytes, cap_bytes));
}

void skm_squeeze_run(struct skm_container *container, uint64_t now_usec)
{
	const struct skm_decision *decision = &container->ladder.decision;
	struct skm_squeezer *squeezer = &container->squeezer;
	bool moved = has_sunk(squeezer, decision->squeeze_above_bytes) && now_usec >= squeezer->job_usec + JOBS_APART_USEC;

	if (is_busy(container, now_usec))
		return;
	if (skm_census_is_due(container, now_usec)) {
		count(container, now_usec);
		return;
	}
	if (!container->squeezes) {
		skm_squeeze_give_back(container, now_usec);
		return;
	}
	if (!skm_topology_leads(container) || !take_over_peers(container))
		return;
	if (squeezer->worker.pid == 0 && decision->occupancy_permyriad >= ARM_PERMYRIAD && now_usec >= squeezer->next_run_usec)
		arm(container, now_usec);
	if (decision->step == SKM_STEP_NONE)
		skm_squeeze_give_back(container, now_usec);
	else if (decision->squeeze_above_bytes > 0 && (moved || now_usec >= squeezer->next_run_usec))
		squeeze(container, decision->squeeze_above_bytes, now_usec);
}

void skm_squeeze_give_back(struct skm_container *container, uint64_t now_usec)
{
	if (container->journal.socket_count > 0 && !is_busy(container, now_usec) && now_usec >= container->squeezer.next_run_usec)
		restore(container, now_usec);
}

void skm_squeeze_restore_begin(struct skm_container *container)
{
	uint64_t now_usec = skm_now_usec();

	/* also where nothing is journaled yet: what it asks for now would be granted while we wait */
	if (container->squeezer.worker.busy)
		stop_worker(container, now_usec);
	if (container->journal.socket_count > 0)
		restore(container, now_usec);
}

uint32_t skm_squeeze_restore_wait(struct skm_container *container, uint64_t deadline_usec)
{
	struct skm_squeezer *squeezer = &container->squeezer;

	while (squeezer->worker.busy && skm_now_usec() < deadline_usec) {
		struct pollfd ready = {.fd = squeezer->worker.fd, .events = POLLIN};

		if (poll(&ready, 1, 10) > 0)
			take_message(container);
	}
	if (container->journal.socket_count == 0)
		return 0;
	return squeezer->worker.busy || squeezer->left == 0 ? container->journal.socket_count : squeezer->left;
}
