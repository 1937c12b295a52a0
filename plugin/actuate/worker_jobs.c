/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/worker_jobs.h"

#include "actuate/cgroup_ids.h"
#include "actuate/fd_scan.h"
#include "actuate/socket_buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "probe/sock_diag.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The enforcer journals a batch in well under this; a longer wait would hold the container's sockets open too long. */
#define GO_TIMEOUT_USEC (1 * SKM_USEC_PER_SEC)
/* How often a close that lingers is interrupted: SIGALRM ends its wait (sk_stream_wait_close), the socket then sends on alone. */
#define LINGER_LIMIT_USEC (20 * SKM_USEC_PER_MSEC)

/* The sockets of one batch in the worker's hands. */
struct hand {
	struct skm_socket_baseline baselines[SKM_WORKER_BATCH];
	int fds[SKM_WORKER_BATCH];
	uint32_t count;
};

static void note_failure(struct skm_worker_message *done, const struct skm_err *err)
{
	done->failed++;
	skm_worker_note_trouble(done, err);
}

static void set_alarm(uint64_t usec)
{
	struct itimerval timer = {.it_interval.tv_usec = (suseconds_t)usec, .it_value.tv_usec = (suseconds_t)usec};

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Those whose close may wait come last, so that they hold up no other socket's FIN. */
static void let_go(struct hand *hand)
{
	bool lingering = false;

	for (uint32_t i = 0; i < hand->count; i++) {
		if (skm_actuate_socket_lingers(hand->fds[i]))
			lingering = true;
		else
			skm_close_fd(&hand->fds[i]);
	}
	if (lingering)
		set_alarm(LINGER_LIMIT_USEC);
	for (uint32_t i = 0; i < hand->count; i++)
		skm_close_fd(&hand->fds[i]);
	if (lingering)
		set_alarm(0);
	hand->count = 0;
}

/* Dump order is by cookie: binary search. */
static int by_cookie(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

_Static_assert(offsetof(struct skm_diag_socket, cookie) == 0, "by_cookie");
_Static_assert(offsetof(struct skm_socket_baseline, cookie) == 0, "by_cookie");
_Static_assert(offsetof(struct skm_own_write, cookie) == 0, "by_cookie");

/* Drops what is known of sockets that are gone, and sorts the rest for find_write. */
static void tidy_writes(struct skm_worker_child *child, const struct skm_diag_socket *sockets, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < child->write_count; i++)
		if (count > 0 && bsearch(&child->writes[i].cookie, sockets, count, sizeof(*sockets), by_cookie))
			child->writes[kept++] = child->writes[i];
	child->write_count = child->sorted_count = kept;
	if (kept > 0)
		qsort(child->writes, kept, sizeof(*child->writes), by_cookie);
}

/* Of an earlier job: within one, no socket comes twice. */
static struct skm_own_write *find_write(const struct skm_worker_child *child, uint64_t cookie)
{
	if (child->sorted_count == 0)
		return NULL;
	return bsearch(&cookie, child->writes, child->sorted_count, sizeof(*child->writes), by_cookie);
}

/* Without memory the write is forgotten: a restore then cannot see that the program has set a buffer since. */
static void remember_write(struct skm_worker_child *child, const struct skm_own_write *write)
{
	struct skm_own_write *known = find_write(child, write->cookie);

	if (known) {
		known->rcvbuf = write->rcvbuf ? write->rcvbuf : known->rcvbuf;
		known->sndbuf = write->sndbuf ? write->sndbuf : known->sndbuf;
		return;
	}
	if (child->write_count == child->write_room) {
		size_t room = child->write_room ? child->write_room * 2 : 64;
		struct skm_own_write *larger = reallocarray(child->writes, room, sizeof(*larger));

		if (!larger)
			return;
		child->writes = larger;
		child->write_room = room;
	}
	child->writes[child->write_count++] = *write;
}

static int by_held_inode(const void *a, const void *b)
{
	uint32_t left = ((const struct skm_held_socket *)a)->inode, right = ((const struct skm_held_socket *)b)->inode;

	return (left > right) - (left < right);
}

static int by_heat(const void *a, const void *b)
{
	uint32_t left = ((const struct skm_held_socket *)a)->heat, right = ((const struct skm_held_socket *)b)->heat;

	return (left < right) - (left > right);
}

/* Finds who holds the sockets, counts those nobody does, and leaves the others in front, hottest first. Returns how many. */
static size_t find_holders(const struct skm_worker_child *child, struct skm_held_socket *held, size_t count,
                           struct skm_worker_message *done)
{
	size_t kept = 0;

	if (count == 0)
		return 0;
	qsort(held, count, sizeof(*held), by_held_inode);
	skm_actuate_fd_scan(child->cgroup, held, count);
	for (size_t i = 0; i < count; i++)
		if (held[i].pid != 0)
			held[kept++] = held[i];
	done->unreachable += (uint32_t)(count - kept);
	qsort(held, kept, sizeof(*held), by_heat);
	return kept;
}

/* The sockets of the namespace, or of a shared one those of the cgroup. */
static int dump(const struct skm_worker_child *child, bool shared, struct skm_diag_socket **ret, size_t *ret_count,
                struct skm_err *err)
{
	cleanup_free uint64_t *ids = NULL;
	struct skm_diag_cgroups only = {0};
	int r;

	if (!shared)
		return skm_probe_sock_diag(NULL, ret, ret_count, err);
	r = skm_actuate_cgroup_ids(child->cgroup, &ids, &only.count, err);
	only.ids = ids;
	return r < 0 ? r : skm_probe_sock_diag(&only, ret, ret_count, err);
}

static void note_demands(const struct skm_diag_socket *sockets, size_t count, struct skm_worker_message *done)
{
	done->total = (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		skm_demand_add(&done->demands, sockets[i].rmem_alloc, sockets[i].rcvbuf, sockets[i].wmem_queued);
}

/* Which sockets of a dump a job is about. */
struct choice {
	bool shared;
	uint32_t above_bytes, queue_bytes;         /* SQUEEZE */
	const struct skm_socket_baseline *restore; /* RESTORE: sorted by cookie; else NULL */
	size_t restore_count;
};

/* Which sides of a socket, 0 for none. The send buffer is left to tcp_notsent_lowat and tcp_wmem until a queue is long: these
 * stop growth, and shrink none (FACTS.md: 50 sockets' 49 MB fell to 34 in 2 s only by SO_SNDBUF). */
static uint32_t chosen_sides(const struct choice *choice, const struct skm_diag_socket *socket)
{
	const struct skm_socket_baseline *baseline;
	uint32_t sides = 0;

	if (choice->restore) {
		baseline = bsearch(&socket->cookie, choice->restore, choice->restore_count, sizeof(*baseline), by_cookie);
		sides |= baseline && baseline->rcvbuf ? SKM_SIDE_RECEIVE : 0;
		return sides | (baseline && baseline->sndbuf ? SKM_SIDE_SEND : 0);
	}
	if (socket->rcvbuf > choice->above_bytes)
		sides |= SKM_SIDE_RECEIVE;
	if (socket->sndbuf > choice->above_bytes && socket->wmem_queued > choice->queue_bytes)
		sides |= SKM_SIDE_SEND;
	return sides;
}

static int choose(struct skm_worker_child *child, const struct choice *choice, struct skm_held_socket **ret, size_t *ret_count,
                  struct skm_worker_message *done, struct skm_err *err)
{
	cleanup_free struct skm_diag_socket *sockets = NULL;
	struct skm_held_socket *held;
	size_t count, held_count = 0;
	int r = dump(child, choice->shared, &sockets, &count, err);

	if (r < 0)
		return r;
	note_demands(sockets, count, done);
	tidy_writes(child, sockets, count);
	held = calloc(count + 1, sizeof(*held));
	if (!held)
		return skm_err_set_errno(err, ENOMEM, "list %zu sockets", count);
	for (size_t i = 0; i < count; i++) {
		uint32_t sides = chosen_sides(choice, &sockets[i]);

		if (sides == 0)
			continue;
		done->found++;
		if (sockets[i].inode == 0)
			done->unreachable++;
		else
			held[held_count++] = (struct skm_held_socket){.cookie = sockets[i].cookie,
			                                              .inode = sockets[i].inode,
			                                              .heat = sockets[i].rmem_alloc + sockets[i].wmem_queued,
			                                              .sides = sides};
	}
	*ret_count = find_holders(child, held, held_count, done);
	*ret = held;
	return 0;
}

/* Takes one socket into the hand, with the settings that it has now. False, and counted, where that does not work. */
static bool take(struct hand *hand, struct skm_taker *taker, const struct skm_held_socket *held, struct skm_worker_message *done)
{
	struct skm_socket_baseline *baseline = &hand->baselines[hand->count];
	struct skm_err err = SKM_ERR_INIT;
	int fd = skm_actuate_socket_take(taker, held, &err);

	if (fd == -ESTALE || fd == -EOPNOTSUPP) {
		done->unreachable++;
		if (fd == -EOPNOTSUPP)
			skm_worker_note_trouble(done, &err);
		return false;
	}
	if (fd >= 0) {
		hand->fds[hand->count++] = fd;
		*baseline = (struct skm_socket_baseline){.cookie = held->cookie};
		if (skm_actuate_socket_look(fd, baseline, &err) == 0)
			return true;
		skm_close_fd(&hand->fds[--hand->count]);
	}
	note_failure(done, &err);
	return false;
}

/* Puts the newest one back where it came from. */
static void drop_newest(struct hand *hand)
{
	hand->count--;
	skm_close_fd(&hand->fds[hand->count]);
}

/* Waits for the GO of this batch and no other; ends the worker where the enforcer has closed its end. */
static int wait_for_go(const struct skm_worker_child *child, struct skm_err *err)
{
	uint64_t end_usec = skm_now_usec() + GO_TIMEOUT_USEC;

	for (;;) {
		struct pollfd poll_fd = {.fd = child->socket, .events = POLLIN};
		uint64_t now_usec = skm_now_usec();
		struct skm_worker_order order;
		ssize_t length;

		if (now_usec >= end_usec)
			return skm_err_set(err, ETIMEDOUT, "the enforcer did not say go within 1 s");
		if (poll(&poll_fd, 1, (int)((end_usec - now_usec) / 1000) + 1) <= 0)
			continue;
		length = recv(child->socket, &order, sizeof(order), MSG_DONTWAIT);
		if (length == 0)
			return skm_err_set(err, EPIPE, "the enforcer is gone");
		if (length == sizeof(order) && order.kind == SKM_ORDER_GO && order.batch == child->batch)
			return 0;
	}
}

static int ask_for_go(struct skm_worker_child *child, const struct hand *hand, struct skm_err *err)
{
	struct skm_worker_report report = {
	        .batch = ++child->batch,
	        .message = {.news = SKM_NEWS_BASELINES, .job = SKM_WORKER_SQUEEZE, .count = hand->count},
	};

	memcpy(report.message.sockets, hand->baselines, hand->count * sizeof(*hand->baselines));
	if (send(child->socket, &report, sizeof(report), MSG_NOSIGNAL) < 0)
		return skm_err_set_errno(err, errno, "send the baselines");
	return wait_for_go(child, err);
}

/* Leaves in a baseline the sides that are to be squeezed, none of which is ever raised, and says which of them the program has
 * set itself since this worker did. */
static void keep_sides(const struct skm_worker_child *child, uint32_t sides, uint32_t target,
                       struct skm_socket_baseline *baseline)
{
	const struct skm_own_write *ours = find_write(child, baseline->cookie);

	if (!(sides & SKM_SIDE_RECEIVE) || baseline->rcvbuf <= target)
		baseline->rcvbuf = 0;
	else if (ours && ours->rcvbuf && ours->rcvbuf != baseline->rcvbuf)
		baseline->renewed |= SKM_SIDE_RECEIVE;
	if (!(sides & SKM_SIDE_SEND) || baseline->sndbuf <= target)
		baseline->sndbuf = 0;
	else if (ours && ours->sndbuf && ours->sndbuf != baseline->sndbuf)
		baseline->renewed |= SKM_SIDE_SEND;
	baseline->buf_lock &= (baseline->rcvbuf ? SKM_SIDE_RECEIVE : 0) | (baseline->sndbuf ? SKM_SIDE_SEND : 0);
}

static int squeeze_one(struct skm_worker_child *child, int fd, const struct skm_socket_baseline *baseline, uint32_t target,
                       struct skm_err *err)
{
	struct skm_own_write write = {.cookie = baseline->cookie};
	int r = 0;

	if (baseline->rcvbuf > 0)
		r = skm_actuate_socket_squeeze(fd, SKM_SIDE_RECEIVE, target, &write.rcvbuf, err);
	if (r == 0 && baseline->sndbuf > 0)
		r = skm_actuate_socket_squeeze(fd, SKM_SIDE_SEND, target, &write.sndbuf, err);
	remember_write(child, &write);
	return r;
}

/* One batch: taken, its baselines sent, and set once the enforcer has them. */
static int squeeze_batch(struct skm_worker_child *child, const struct skm_held_socket *held, size_t count, uint32_t target,
                         struct skm_worker_message *done, struct skm_err *err)
{
	struct skm_taker taker = SKM_TAKER_INIT;
	struct hand hand = {.count = 0};
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		struct skm_socket_baseline *newest = &hand.baselines[hand.count];

		if (!take(&hand, &taker, &held[i], done))
			continue;
		keep_sides(child, held[i].sides, target, newest);
		if (newest->rcvbuf == 0 && newest->sndbuf == 0)
			drop_newest(&hand);
	}
	skm_actuate_taker_close(&taker);
	if (hand.count > 0)
		r = ask_for_go(child, &hand, err);
	for (uint32_t i = 0; r == 0 && i < hand.count; i++) {
		struct skm_err one = SKM_ERR_INIT;

		if (squeeze_one(child, hand.fds[i], &hand.baselines[i], target, &one) < 0)
			note_failure(done, &one);
		else
			done->changed++;
	}
	let_go(&hand);
	return r;
}

void skm_actuate_job_squeeze(struct skm_worker_child *child, const struct skm_worker_order *order,
                             struct skm_worker_message *done)
{
	cleanup_free struct skm_held_socket *held = NULL;
	const struct choice choice = {
	        .above_bytes = order->above_bytes, .queue_bytes = order->rcvbuf_bytes, .shared = order->shared};
	struct skm_err err = SKM_ERR_INIT;
	size_t count = 0;
	int r = choose(child, &choice, &held, &count, done, &err);

	for (size_t at = 0; r == 0 && at < count; at += SKM_WORKER_BATCH) {
		size_t batch = count - at < SKM_WORKER_BATCH ? count - at : SKM_WORKER_BATCH;

		r = squeeze_batch(child, held + at, batch, order->rcvbuf_bytes, done, &err);
	}
	if (r < 0)
		skm_worker_note_trouble(done, &err);
}

void skm_actuate_job_count(struct skm_worker_child *child, const struct skm_worker_order *order, struct skm_worker_message *done)
{
	cleanup_free struct skm_diag_socket *sockets = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t count;

	if (dump(child, order->shared, &sockets, &count, &err) < 0)
		skm_worker_note_trouble(done, &err);
	else
		note_demands(sockets, count, done);
}

/* Takes, sets and lets go of one socket. */
static void restore_one(struct skm_worker_child *child, struct skm_taker *taker, const struct skm_held_socket *held,
                        const struct skm_socket_baseline *baseline, struct skm_worker_message *done)
{
	const struct skm_own_write *ours = find_write(child, held->cookie);
	struct skm_err err = SKM_ERR_INIT;
	uint32_t sides = held->sides;
	struct hand hand = {.count = 0};

	if (!take(&hand, taker, held, done))
		return;
	if (ours && ours->rcvbuf && ours->rcvbuf != hand.baselines[0].rcvbuf)
		sides &= ~SKM_SIDE_RECEIVE;
	if (ours && ours->sndbuf && ours->sndbuf != hand.baselines[0].sndbuf)
		sides &= ~SKM_SIDE_SEND;
	if (sides != 0) {
		if (skm_actuate_socket_restore(hand.fds[0], sides, baseline, &err) < 0)
			note_failure(done, &err);
		else
			done->changed++;
	}
	let_go(&hand);
}

void skm_actuate_job_restore(struct skm_worker_child *child, struct skm_socket_baseline *sockets, size_t count,
                             struct skm_worker_message *done)
{
	cleanup_free struct skm_held_socket *held = NULL;
	struct choice choice = {.restore = sockets, .restore_count = count};
	struct skm_taker taker = SKM_TAKER_INIT;
	struct skm_err err = SKM_ERR_INIT;
	size_t held_count = 0;

	if (count == 0)
		return;
	qsort(sockets, count, sizeof(*sockets), by_cookie);
	if (choose(child, &choice, &held, &held_count, done, &err) < 0)
		skm_worker_note_trouble(done, &err);
	for (size_t i = 0; i < held_count; i++)
		restore_one(child, &taker, &held[i], bsearch(&held[i].cookie, sockets, count, sizeof(*sockets), by_cookie), done);
	skm_actuate_taker_close(&taker);
}
