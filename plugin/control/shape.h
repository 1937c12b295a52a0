/* SPDX-License-Identifier: Apache-2.0 */
/* How fast bulk data may come in while a container's sockets hold more than their limit: below what its programs drain. Pure.
 * Rates are bytes per second. */
#ifndef SKM_CONTROL_SHAPE_H
#define SKM_CONTROL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The links that are shaped: the largest of each. */
struct skm_shape_path {
	uint32_t mtu;           /* bytes of a packet without its Ethernet header */
	uint32_t gso_max_bytes; /* the largest packet that a sender may hand down in one piece */
};

/* What a bucket holds: one whole GSO packet and 4 ms of the rate (one tick of the slowest clock that wakes a queue), but never
 * more than a tenth of a second of the rate, and never less than one full frame. A token bucket lets its burst pass at once and
 * may end with one packet too much: a tenth and a GSO packet keep the first second within 1.2 of every rate from
 * skm_control_shape_least on. */
uint32_t skm_control_shape_burst(const struct skm_shape_path *path, uint64_t rate);

/* The smallest rate that ingress is shaped to, whatever the floor: one GSO packet is a tenth of its second. */
uint64_t skm_control_shape_least(const struct skm_shape_path *path);

/* Below skm_control_shape_least, where a rate is the policy's own (egress): the size above which GSO packets are to be cut up
 * before they count, so that the first second holds all the same. 0 from least on. */
uint32_t skm_control_shape_split(const struct skm_shape_path *path, uint64_t rate);

/* What was read since the look before. */
struct skm_drain_look {
	uint64_t elapsed_usec; /* since that */
	uint64_t read_bytes;   /* by the programs, from their TCP sockets */
	/* some of it was read from a socket with unread data at both looks: this is as fast as its program reads. Else the
	 * program waited for data and may be able to read faster than this: such a look only ever raises the rate. */
	bool from_backlog;
};

struct skm_drain {
	uint64_t rate;      /* as fast as the programs read while they were reading from a backlog; 0: never seen */
	uint64_t last_rate; /* of the last look at that */
};

/* A TCP socket at one look. */
struct skm_shape_socket {
	uint64_t cookie;
	uint32_t unread_bytes;
};

struct skm_shape_sockets {
	const struct skm_shape_socket *list; /* ascending by cookie */
	size_t count;
};

/* What was read between two looks: what came in and is not there any more. received_bytes: that came into the network namespace,
 * or past the queue that holds it up; its headers count as read, some 4 % of full packets.
 * It was read from a backlog where sockets had data for a tenth of a second before them at both looks (a reader that is starved
 * by a rate has some packets there at any moment), and it is not as if nobody read it: most of what came in did not stay there,
 * and the amounts are others, or much went through. */
struct skm_drain_look skm_control_drain_compare(const struct skm_shape_sockets *before, const struct skm_shape_sockets *now,
                                                uint64_t received_bytes, uint64_t elapsed_usec);

/* Takes a look in. One in which nothing was read leaves the rate as it is: a reader that stands still says nothing of how fast it
 * reads; and of two looks in a row the higher one counts, since the lower one may have been cut short by that. */
void skm_control_drain_note(struct skm_drain *drain, const struct skm_drain_look *look);

struct skm_shape_question {
	const struct skm_drain *drain;
	struct skm_shape_path path;
	uint64_t sock_bytes, target_bytes; /* what the sockets hold, and what the step aims at */
	uint64_t floor;                    /* the policy's throttle.floor, in bytes per second */
};

/* The rate for bulk ingress: what drains the excess over the target within 2 s, between half and nine tenths of the drain rate;
 * never below the floor nor skm_control_shape_least. 0 where no drain was ever seen: then nothing is to be shaped. */
uint64_t skm_control_shape_rate(const struct skm_shape_question *question);

#endif
