/* SPDX-License-Identifier: Apache-2.0 */
/* Which connections are ended first where nothing else has brought a container's sockets below their limit. Pure. */
#ifndef SKM_CONTROL_DESTROY_H
#define SKM_CONTROL_DESTROY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At once, and so a second: what it freed has to be seen before more go. A starting point. */
#define SKM_DESTROY_MAX 4

/* A send queue below this is not worth a connection: what one GSO packet holds. A starting point. */
#define SKM_DESTROY_LEAST_BYTES (UINT64_C(64) << 10)

struct skm_destroy_candidate {
	uint64_t send_bytes, receive_bytes; /* in its queues, as the kernel charges them */
	uint64_t idle_msec;                 /* since it last sent data */
	bool orphan;                        /* no program holds it any more */
};

/* Picks at most SKM_DESTROY_MAX, and no more than it takes to free excess_bytes. Only where the memory is in the send queue: a
 * receive queue stays until the program closes. Orphans first, since nobody misses them; then by bytes times idle time, so that
 * the largest and longest idle go first. Writes their indexes into ret_picked, the first to go first; returns how many. */
size_t skm_control_destroy_choose(const struct skm_destroy_candidate *list, size_t count, uint64_t excess_bytes,
                                  size_t ret_picked[static SKM_DESTROY_MAX]);

#endif
