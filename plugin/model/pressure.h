/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim pressure in the kernel's own words (mm/vmpressure.c). */
#ifndef SKM_MODEL_PRESSURE_H
#define SKM_MODEL_PRESSURE_H

#include "model/names.h"

#include <stdint.h>

enum skm_pressure { SKM_PRESSURE_LOW, SKM_PRESSURE_MEDIUM, SKM_PRESSURE_CRITICAL };
extern const struct skm_names skm_pressure_names;

/* What reclaim has done in a cgroup and below so far: pgscan and pgsteal of its memory.stat, proactive reclaim (pgscan_proactive,
 * pgsteal_proactive, from 6.15) taken off. In pages. */
struct skm_reclaim_counts {
	uint64_t scanned_pages, stolen_pages;
};

#endif
