/* SPDX-License-Identifier: Apache-2.0 */
/* What one socket may hold so that all together fit. Pure. */
#ifndef SKM_CONTROL_BUDGET_H
#define SKM_CONTROL_BUDGET_H

#include "model/demand.h"

#include <stdbool.h>
#include <stdint.h>

/* The smallest receive buffer that still takes one full segment: the kernel's SOCK_MIN_RCVBUF, twice the true size of a
 * minimal skb (include/net/sock.h; 2 x 2304 on x86-64 and arm64), in bytes of sk_rcvbuf. */
#define SKM_BUFFER_FLOOR_BYTES UINT64_C(4608)

/* From this tcp_rmem[2] on a new connection's window scale is what it is at the kernel's default of 6 MB: 7
 * (tcp_select_initial_window: the scale that makes 65,535 << scale reach it). */
#define SKM_RMEM_FULL_SCALE_BYTES (UINT64_C(4) << 20)

/* The fair cap w as an equal split: target / sockets, never below SKM_BUFFER_FLOOR_BYTES, UINT64_MAX without sockets.
 * ret_too_small: whether the floor was needed, that is, the limit is below one segment a connection. */
uint64_t skm_control_fair_cap(uint64_t target_bytes, uint32_t sockets, bool *ret_too_small);

/* The fair cap w as max-min fairness has it: the largest with sum of min(demand, w) <= target, so that idle sockets leave to the
 * others what they do not ask for. Of what the sockets ask for it knows what a dump of some of them showed: those that have come
 * since count as hungry (more than a quarter of them hungry: the equal split, for then the others are about to be), and so does
 * the largest demand of all, or w would be boundless. Exact within a bucket's width (a quarter), on the safe side, and never
 * below the equal split. demands: NULL where there is no dump to go by: the equal split. */
uint64_t skm_control_max_min_cap(uint64_t target_bytes, uint32_t sockets, const struct skm_demands *demands, bool *ret_too_small);

/* tcp_rmem[1], what a connection starts with, for a limit: limit / 1024, at least 16 KiB, at most the baseline's.
 * A thousand connections that open at once then fit; autotuning grows the few that need more within some round trips. */
uint64_t skm_control_start_buffer(uint64_t limit_bytes, uint64_t baseline_bytes);

#endif
