/* SPDX-License-Identifier: Apache-2.0 */
#include "conns.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void conns_init(struct conns *conns)
{
	*conns = (struct conns){.ready_head = NO_CONN, .ready_tail = NO_CONN};
}

void conns_free(struct conns *conns)
{
	for (size_t i = 0; i < conns->n; i++) {
		if (conns->all[i].fd >= 0)
			close(conns->all[i].fd);
	}
	free(conns->all);
	conns_init(conns);
}

int conns_add(struct conns *conns, size_t *ret)
{
	if (conns->n == conns->room) {
		size_t room = conns->room ? conns->room * 2 : 64;
		struct conn *all = reallocarray(conns->all, room, sizeof *all);

		if (!all)
			return -ENOMEM;
		conns->all = all;
		conns->room = room;
	}
	conns->all[conns->n] = (struct conn){.fd = -1, .next = NO_CONN};
	*ret = conns->n++;
	return 0;
}

void conns_queue(struct conns *conns, size_t number)
{
	struct conn *conn = &conns->all[number];

	if (conn->queued)
		return;
	conn->queued = true;
	conn->next = NO_CONN;
	if (conns->ready_tail == NO_CONN)
		conns->ready_head = number;
	else
		conns->all[conns->ready_tail].next = number;
	conns->ready_tail = number;
	conns->ready_n++;
}

static size_t pop(struct conns *conns)
{
	size_t number = conns->ready_head;

	conns->ready_head = conns->all[number].next;
	if (conns->ready_head == NO_CONN)
		conns->ready_tail = NO_CONN;
	conns->all[number].queued = false;
	conns->ready_n--;
	return number;
}

size_t conns_next(struct conns *conns)
{
	while (conns->ready_n > 0) {
		size_t number = pop(conns);

		if (conns->all[number].state == CONN_OPEN)
			return number;
	}
	return NO_CONN;
}

void conns_opened(struct conns *conns, size_t number)
{
	conns->all[number].state = CONN_OPEN;
	conns->open++;
}

static void view_one(struct conn *conn)
{
	if (net_view(conn->fd, &conn->view) == 0)
		conn->viewed = true;
}

void conns_end(struct conns *conns, size_t number, enum conn_state state)
{
	struct conn *conn = &conns->all[number];

	if (conn->state == CONN_OPEN) {
		conns->open--;
		view_one(conn);
	}
	if (conn->fd >= 0)
		close(conn->fd);
	conn->fd = -1;
	conn->state = state;
}

void conns_view(struct conns *conns)
{
	for (size_t i = 0; i < conns->n; i++) {
		if (conns->all[i].state == CONN_OPEN)
			view_one(&conns->all[i]);
	}
}

size_t conns_count(const struct conns *conns, enum conn_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < conns->n; i++)
		count += conns->all[i].state == state;
	return count;
}

uint64_t conns_acked(const struct conns *conns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < conns->n; i++)
		sum += conns->all[i].view.acked_bytes;
	return sum;
}
