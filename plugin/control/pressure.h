/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim pressure as the kernel counts it for a cgroup (mm/vmpressure.c, vmpressure_calc_level; the same on 6.1 to 7.x): the
 * share of scanned pages that could not be reclaimed, over at least 512 scanned pages; 60 % is medium, 95 % critical. Pure.
 *
 * The kernel does not tell its level on cgroup v2, so it is computed again from the counters that it does show. */
#ifndef SKM_CONTROL_PRESSURE_H
#define SKM_CONTROL_PRESSURE_H

#include "model/pressure.h"

#include <stdbool.h>
#include <stdint.h>

/* vmpressure_win: 16 x SWAP_CLUSTER_MAX. */
#define SKM_PRESSURE_WINDOW_PAGES 512

/* A level lasts as long as the kernel's own socket pressure, which mem_cgroup_under_socket_pressure asks for (HZ). */
#define SKM_PRESSURE_LASTS_USEC UINT64_C(1000000)

/* After a reclaim of ours nothing is believed for so long, where the kernel does not count proactive reclaim apart. */
#define SKM_PRESSURE_DEAF_USEC UINT64_C(2000000)

/* A window older than this is begun again: a little scanning an hour is no pressure, and what was scanned while nobody looked is
 * over. */
#define SKM_PRESSURE_STALE_USEC UINT64_C(10000000)

/* One cgroup's window. Zero it before the first use. */
struct skm_pressure_window {
	bool started;
	struct skm_reclaim_counts base; /* where the window began */
	uint64_t began_usec;
	enum skm_pressure level; /* of the last full window that had one above low */
	uint64_t until_usec;     /* it lasts until then */
	uint64_t deaf_until_usec;
};

/* The level of a window in which `scanned` pages were looked at and `stolen` of them reclaimed. scanned: above 0. */
enum skm_pressure skm_control_pressure_level(uint64_t scanned_pages, uint64_t stolen_pages);

/* Takes the counters as they stand at now_usec (CLOCK_MONOTONIC) and returns the level in force. Counters that went back (the
 * cgroup is another one) begin a new window. */
enum skm_pressure skm_control_pressure_saw(struct skm_pressure_window *window, const struct skm_reclaim_counts *counts,
                                           uint64_t now_usec);

/* Tells the window that we reclaim ourselves just now, in pages that the kernel does not count apart. */
void skm_control_pressure_deafen(struct skm_pressure_window *window, uint64_t now_usec);

#endif
