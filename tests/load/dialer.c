/* SPDX-License-Identifier: Apache-2.0 */
#include "dialer.h"

#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

/* Between two tries of the same connection. */
#define RETRY_NSEC (50 * NSEC_PER_MSEC)
/*
 * While nobody was ever home a SYN may have been lost on a link that was not up, and the kernel's own next try comes
 * after 1, 3, 7 s. A path slower than this is measured with --retry 0.
 */
#define PROBE_NSEC (800 * NSEC_PER_MSEC)

int dialer_init(struct dialer *dialer, const struct settings *settings, struct conns *conns, int epoll, uint32_t events,
                int64_t now)
{
	*dialer = (struct dialer){.settings = settings, .conns = conns, .epoll = epoll, .events = events, .start_nsec = now};
	if (address_parse(settings->to, settings->port, &dialer->address) < 0) {
		complain("'%s' is neither an IPv4 nor an IPv6 address", settings->to);
		return -EINVAL;
	}
	return 0;
}

static void give_up_or_wait(struct dialer *dialer, size_t number, int error, int64_t now)
{
	conns_end(dialer->conns, number, CONN_UNUSED);
	dialer->last_error = error;
	if (now - dialer->start_nsec < dialer->settings->retry_nsec) {
		dialer->waiting++;
		return;
	}
	dialer->conns->all[number].state = CONN_FAILED;
	dialer->failures++;
}

static void dial(struct dialer *dialer, size_t number, int64_t now)
{
	struct conn *conn = &dialer->conns->all[number];
	struct epoll_event event = {.events = dialer->events, .data.u64 = number};
	int fd = net_dial(&dialer->address);

	if (fd < 0) {
		give_up_or_wait(dialer, number, fd, now);
		return;
	}
	conn->fd = fd;
	conn->state = CONN_DIALING;
	conn->dialed_nsec = now;
	net_set_buffers(fd, dialer->settings->rcvbuf, dialer->settings->sndbuf);
	if (epoll_ctl(dialer->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		give_up_or_wait(dialer, number, -errno, now);
}

static void dial_again(struct dialer *dialer, int64_t now)
{
	size_t waiting = dialer->waiting;

	if (waiting == 0 || now < dialer->retry_at_nsec)
		return;
	dialer->retry_at_nsec = now + RETRY_NSEC;
	dialer->waiting = 0;
	for (size_t i = 0; i < dialer->conns->n && waiting > 0; i++) {
		if (dialer->conns->all[i].state != CONN_UNUSED)
			continue;
		dialer->retries++;
		waiting--;
		dial(dialer, i, now);
	}
}

/* The first connection is a probe: while it has no answer it is dialled anew. */
static void renew_probe(struct dialer *dialer, int64_t now)
{
	struct conn *probe = &dialer->conns->all[0];

	if (dialer->anyone_home || dialer->started == 0 || probe->state != CONN_DIALING)
		return;
	if (dialer->settings->retry_nsec > 0 && now - probe->dialed_nsec > PROBE_NSEC)
		give_up_or_wait(dialer, 0, -ETIMEDOUT, now);
}

/* The patience ran out before anyone answered: the others are not even tried. */
static bool nobody_home(const struct dialer *dialer)
{
	return !dialer->anyone_home && dialer->failures > 0;
}

static size_t due_by_now(const struct dialer *dialer, int64_t now)
{
	uint64_t wanted = dialer->settings->connections, ramp = dialer->settings->ramp;

	if (nobody_home(dialer))
		return dialer->started;
	if (!dialer->anyone_home && dialer->settings->retry_nsec > 0)
		return 1;
	if (ramp == 0)
		return wanted;
	return min_u64(wanted, 1 + (uint64_t)(to_seconds(now - dialer->start_nsec) * (double)ramp));
}

int dialer_step(struct dialer *dialer, int64_t now)
{
	size_t due = due_by_now(dialer, now), number;

	while (dialer->started < due) {
		if (conns_add(dialer->conns, &number) < 0)
			return -ENOMEM;
		dialer->started++;
		dial(dialer, number, now);
	}
	renew_probe(dialer, now);
	dial_again(dialer, now);
	return dialer->started < dialer->settings->connections || dialer->waiting > 0;
}

bool dialer_finish(struct dialer *dialer, size_t number, int64_t now)
{
	struct conn *conn = &dialer->conns->all[number];
	int r = net_dial_result(conn->fd);

	if (r < 0) {
		give_up_or_wait(dialer, number, r, now);
		return false;
	}
	if (!dialer->anyone_home)
		dialer->start_nsec = now; /* the ramp begins, and so does the patience with the others */
	dialer->anyone_home = true;
	conns_opened(dialer->conns, number);
	return true;
}

bool dialer_done(const struct dialer *dialer)
{
	bool all_tried = dialer->started >= dialer->settings->connections || nobody_home(dialer);

	return all_tried && dialer->waiting == 0 && conns_count(dialer->conns, CONN_DIALING) == 0;
}
