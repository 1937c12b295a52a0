/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Without a rate, the engine looks after everything else at least once in so many chunks. */
#define ROUND 256

int transfer_init(struct transfer *transfer, const struct settings *settings, struct conns *conns, struct meter *meter)
{
	*transfer = (struct transfer){.settings = settings, .conns = conns, .meter = meter};
	transfer->buffer = malloc(settings->chunk);
	if (!transfer->buffer)
		return -ENOMEM;
	memset(transfer->buffer, 0x5a, settings->chunk);
	return 0;
}

/* How much of a chunk this connection may move under --rate-each. */
static size_t allowed_each(const struct transfer *transfer, const struct conn *conn, int64_t now)
{
	uint64_t rate = transfer->settings->rate_each, chunk = transfer->settings->chunk, allowance;

	if (rate == 0)
		return chunk;
	allowance = (uint64_t)((double)rate * to_seconds(meter_age(transfer->meter, now)));
	return allowance > conn->bytes ? min_u64(chunk, allowance - conn->bytes) : 0;
}

/* Moves up to `wanted` bytes: the count, 0 if nothing can move now, or -1 when the connection has ended. */
static ssize_t move(struct transfer *transfer, size_t number, size_t wanted)
{
	struct conn *conn = &transfer->conns->all[number];
	bool reads = transfer->settings->direction == READS;
	ssize_t n = reads ? recv(conn->fd, transfer->buffer, wanted, 0) : send(conn->fd, transfer->buffer, wanted, MSG_NOSIGNAL);

	if (n > 0) {
		conn->bytes += (uint64_t)n;
		return n;
	}
	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n < 0 && errno == EINTR) {
		conns_queue(transfer->conns, number);
		return 0;
	}
	conns_end(transfer->conns, number, n == 0 ? CONN_CLOSED : CONN_RESET);
	return -1;
}

static void note_idle(struct transfer *transfer, int64_t now)
{
	pace_idle(&transfer->pace);
	if (transfer->meter->running && transfer->idle_since_nsec == 0)
		transfer->idle_since_nsec = now;
}

static void note_busy(struct transfer *transfer, int64_t now)
{
	if (transfer->idle_since_nsec > 0)
		transfer->starved_nsec += now - transfer->idle_since_nsec;
	transfer->idle_since_nsec = 0;
}

/* One chunk for the connection whose turn it is; returns its bytes. */
static uint64_t serve_one(struct transfer *transfer, size_t number, size_t wanted)
{
	ssize_t n = move(transfer, number, wanted);

	if (n <= 0)
		return 0;
	pace_spend(&transfer->pace, (size_t)n);
	conns_queue(transfer->conns, number);
	return (uint64_t)n;
}

int transfer_run(struct transfer *transfer, int64_t now)
{
	struct conns *conns = transfer->conns;
	bool paced = transfer->settings->rate > 0;
	uint64_t moved = 0;
	size_t skipped = 0;
	int rounds = 0;

	if (conns->ready_n > 0)
		note_busy(transfer, now);
	pace_fill(&transfer->pace, now);
	while (skipped < conns->ready_n && (paced || rounds++ < ROUND)) {
		size_t allowed = pace_allowed(&transfer->pace, transfer->settings->chunk), number, each;

		if (allowed == 0)
			break;
		number = conns_next(conns);
		if (number == NO_CONN)
			break;
		each = allowed_each(transfer, &conns->all[number], now);
		if (each == 0) {
			conns_queue(conns, number);
			skipped++;
			continue;
		}
		moved += serve_one(transfer, number, min_u64(allowed, each));
	}
	if (moved > 0)
		meter_add(transfer->meter, now, moved);
	if (conns->ready_n == 0)
		note_idle(transfer, now);
	return skipped < conns->ready_n && pace_allowed(&transfer->pace, 1) > 0;
}

void transfer_free(struct transfer *transfer)
{
	free(transfer->buffer);
	transfer->buffer = NULL;
}
