/* SPDX-License-Identifier: Apache-2.0 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* accept4 */
#endif
#include "engine.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

/* The longest wait: how soon signals, ends and retries are noticed. */
#define QUIET_MSEC 50
#define TICK_MSEC ((int)(TICK_NSEC / NSEC_PER_MSEC))

/* Time zero of the data is when the first of it can move, not when it does. */
static void start_clock(struct engine *engine, int64_t now)
{
	if (engine->meter.running || engine->transfer_nsec == 0)
		return;
	meter_start(&engine->meter, now);
	pace_start(&engine->transfer.pace, (double)engine->settings->rate, now);
}

static void accept_all(struct engine *engine)
{
	int fd;

	while ((fd = accept4(engine->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct epoll_event event = {.events = engine->dialer.events};
		size_t number;

		if (conns_add(&engine->conns, &number) < 0) {
			close(fd);
			engine->accept_failures++;
			return;
		}
		engine->conns.all[number].fd = fd;
		event.data.u64 = number;
		net_set_buffers(fd, engine->settings->rcvbuf, engine->settings->sndbuf);
		conns_opened(&engine->conns, number);
		engine->accepted++;
		if (epoll_ctl(engine->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
			conns_end(&engine->conns, number, CONN_RESET);
	}
	if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		engine->accept_failures++;
		/* Out of descriptors or memory: the listener stays readable, so do not spin on it. */
		nanosleep(&(struct timespec){.tv_nsec = TICK_NSEC}, NULL);
	}
}

static void take_event(struct engine *engine, size_t number, uint32_t events, int64_t now)
{
	struct conn *conn = &engine->conns.all[number];
	bool writes = engine->settings->direction == WRITES;

	if (conn->state == CONN_DIALING) {
		if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) || !dialer_finish(&engine->dialer, number, now))
			return;
		if (writes && engine->settings->chunk < 1400)
			net_set_nodelay(conn->fd);
	}
	if (conn->state != CONN_OPEN)
		return;
	if (writes && (events & (EPOLLRDHUP | EPOLLHUP))) {
		conns_end(&engine->conns, number, events & EPOLLERR ? CONN_RESET : CONN_CLOSED);
		return;
	}
	/* A reader finds out about errors and the end of the stream by reading. */
	if (events & ((writes ? EPOLLOUT : EPOLLIN | EPOLLRDHUP | EPOLLHUP) | EPOLLERR)) {
		start_clock(engine, now);
		conns_queue(&engine->conns, number);
	}
}

static void take_events(struct engine *engine)
{
	struct epoll_event events[256];
	int64_t now = now_nsec();
	int n;

	do {
		n = epoll_wait(engine->epoll, events, 256, 0);
		for (int i = 0; i < n; i++)
			take_event(engine, events[i].data.u64, events[i].events, now);
	} while (n == 256);
}

/* Opens the gate for data: at once, or --idle after every connection is there. */
static void open_gate(struct engine *engine, int64_t now)
{
	const struct settings *settings = engine->settings;

	if (engine->open_nsec == 0 && (settings->accept || dialer_done(&engine->dialer))) {
		engine->open_nsec = now;
		if (!settings->accept && settings->ready_file && !engine->announced)
			write_ready_file(settings->ready_file);
		engine->announced = true;
	}
	if (engine->transfer_nsec > 0)
		return;
	if (settings->idle_nsec > 0 && (engine->open_nsec == 0 || now < engine->open_nsec + settings->idle_nsec))
		return;
	if (!settings->accept && engine->conns.open == 0)
		return;
	engine->transfer_nsec = now;
	if (engine->conns.ready_n > 0)
		start_clock(engine, now);
}

/* True while data may flow; a wanted stop leaves no credit behind. */
static bool flowing(struct engine *engine, int64_t now)
{
	const struct span *stop = &engine->settings->stop;
	int64_t age = meter_age(&engine->meter, now);
	bool stopped = engine->meter.running && age >= stop->from_nsec && age < stop->to_nsec;

	if (engine->stopped && !stopped)
		pace_restart(&engine->transfer.pace, now);
	engine->stopped = stopped;
	return engine->transfer_nsec > 0 && !stopped && engine->end_nsec == 0;
}

/* What the peers have acknowledged, at the edges of the measured window. */
static void sample_acked(struct engine *engine, int64_t now)
{
	const struct span *window = &engine->meter.window;
	int64_t age = meter_age(&engine->meter, now);

	if (engine->settings->direction != WRITES || window->to_nsec == 0 || !engine->meter.running)
		return;
	if (!engine->acked_from_known && age >= window->from_nsec) {
		conns_view(&engine->conns);
		engine->acked_from = conns_acked(&engine->conns);
		engine->acked_from_known = true;
	}
	if (!engine->acked_to_known && (age >= window->to_nsec || engine->end_nsec > 0)) {
		conns_view(&engine->conns);
		engine->acked_to = conns_acked(&engine->conns);
		engine->acked_to_known = true;
	}
}

/* Nothing is left that could move data. */
static bool all_gone(const struct engine *engine)
{
	if (engine->settings->accept)
		return engine->settings->until_closed && engine->accepted > 0 && engine->conns.open == 0;
	return engine->conns.open == 0 && dialer_done(&engine->dialer);
}

/* Decides whether the run is over; the data ends first, --stay keeps the connections open after it. */
static bool over(struct engine *engine, int64_t now)
{
	const struct settings *settings = engine->settings;
	int64_t from = settings->accept ? engine->start_nsec : engine->transfer_nsec;

	if (signalled())
		engine->ended_by = "signal";
	else if (all_gone(engine))
		engine->ended_by = "closed";
	else if (engine->end_nsec == 0 && settings->duration_nsec > 0 && from > 0 && now - from >= settings->duration_nsec)
		engine->ended_by = "duration";
	if (!engine->ended_by)
		return false;
	if (engine->end_nsec == 0)
		engine->end_nsec = now;
	return strcmp(engine->ended_by, "duration") != 0 || now - engine->end_nsec >= settings->stay_nsec;
}

/* Waits for what can make progress: the data only if it may flow. */
static void wait_for_work(struct engine *engine, bool data, bool more)
{
	struct pollfd fds[3] = {{.fd = engine->listener, .events = POLLIN},
	                        {.fd = engine->echoer.epoll, .events = POLLIN},
	                        {.fd = data ? engine->epoll : -1, .events = POLLIN}};
	bool ticking =
	        !data || engine->growing || engine->conns.ready_n > 0 || (!engine->settings->accept && engine->open_nsec == 0);
	int timeout = more ? 0 : ticking ? TICK_MSEC : QUIET_MSEC;

	if (poll(fds, 3, timeout) <= 0)
		return;
	if (fds[0].revents)
		accept_all(engine);
	if (fds[1].revents)
		echoer_serve(&engine->echoer);
}

static void run(struct engine *engine)
{
	for (;;) {
		int64_t now = now_nsec();
		bool flows, more = false;

		if (over(engine, now))
			break;
		engine->growing = memory_grow(&engine->memory, now) > 0;
		if (!engine->settings->accept)
			dialer_step(&engine->dialer, now);
		take_events(engine);
		open_gate(engine, now_nsec());
		sample_acked(engine, now_nsec());
		flows = flowing(engine, now_nsec());
		if (flows)
			more = transfer_run(&engine->transfer, now_nsec());
		/* With work queued but no credit, arrivals must not wake us before the tick. */
		wait_for_work(engine, flows ? more || engine->conns.ready_n == 0 : engine->transfer_nsec == 0, more);
	}
	sample_acked(engine, now_nsec());
	conns_view(&engine->conns);
}

static int set_up(struct engine *engine)
{
	const struct settings *settings = engine->settings;
	uint32_t events = EPOLLET | EPOLLRDHUP | (settings->direction == READS ? EPOLLIN : 0) |
	                  (settings->direction == WRITES || !settings->accept ? EPOLLOUT : 0);
	int r;

	raise_file_limit(settings->accept ? 1048576 : settings->connections + 64);
	engine->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (engine->epoll < 0 || transfer_init(&engine->transfer, settings, &engine->conns, &engine->meter) < 0) {
		complain("cannot start: %s", strerror(errno));
		return -errno;
	}
	engine->dialer.events = events;
	if (settings->accept && settings->port > 0) {
		engine->listener = net_listen(settings->bind, settings->family, settings->port);
		if (engine->listener < 0)
			return engine->listener;
	}
	r = echoer_init(&engine->echoer, settings->bind, settings->family, settings->echo_port);
	if (r < 0)
		return r;
	engine->start_nsec = now_nsec();
	engine->start_unix = unix_seconds();
	if (!settings->accept) {
		r = dialer_init(&engine->dialer, settings, &engine->conns, engine->epoll, events, engine->start_nsec);
		if (r < 0)
			return r;
	} else if (settings->ready_file) {
		r = write_ready_file(settings->ready_file);
		if (r < 0)
			return r;
	}
	return memory_plan(&engine->memory, settings->anon, engine->start_nsec + settings->anon_delay_nsec,
	                   settings->anon_over_nsec);
}

static void sleep_until(int64_t end)
{
	while (!signalled() && now_nsec() < end)
		nanosleep(&(struct timespec){.tv_nsec = TICK_NSEC}, NULL);
}

int engine_main(const struct settings *settings)
{
	struct engine engine = {.settings = settings, .listener = -1, .epoll = -1, .echoer = {-1, -1, 0, 0}};
	int r;

	conns_init(&engine.conns);
	engine.meter.window = settings->measure;
	sleep_until(now_nsec() + settings->start_delay_nsec);
	r = set_up(&engine);
	if (r == 0) {
		run(&engine);
		r = engine_report(&engine);
	}
	if (r == 0 && !settings->accept && !engine.dialer.anyone_home) {
		complain("no connection to %s port %u: %s", settings->to, settings->port, strerror(-engine.dialer.last_error));
		r = -ENOTCONN;
	}
	conns_free(&engine.conns);
	echoer_free(&engine.echoer);
	memory_free(&engine.memory);
	meter_free(&engine.meter);
	transfer_free(&engine.transfer);
	if (engine.listener >= 0)
		close(engine.listener);
	if (engine.epoll >= 0)
		close(engine.epoll);
	return r == 0 ? DONE : FAILED;
}
