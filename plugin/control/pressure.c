/* SPDX-License-Identifier: Apache-2.0 */
#include "control/pressure.h"

#include "base/units.h"

#define MEDIUM_PERMYRIAD 6000
#define CRITICAL_PERMYRIAD 9500

enum skm_pressure skm_control_pressure_level(uint64_t scanned_pages, uint64_t stolen_pages)
{
	uint64_t missed;

	/* a page scanned once may count as reclaimed more than once (a huge page, a slab): no pressure then */
	if (stolen_pages >= scanned_pages)
		return SKM_PRESSURE_LOW;
	missed = skm_scale(scanned_pages - stolen_pages, SKM_PERMYRIAD, scanned_pages);
	if (missed >= CRITICAL_PERMYRIAD)
		return SKM_PRESSURE_CRITICAL;
	return missed >= MEDIUM_PERMYRIAD ? SKM_PRESSURE_MEDIUM : SKM_PRESSURE_LOW;
}

static void begin(struct skm_pressure_window *window, const struct skm_reclaim_counts *counts, uint64_t now_usec)
{
	window->started = true;
	window->base = *counts;
	window->began_usec = now_usec;
}

static enum skm_pressure in_force(struct skm_pressure_window *window, uint64_t now_usec)
{
	if (now_usec >= window->until_usec)
		window->level = SKM_PRESSURE_LOW;
	return window->level;
}

enum skm_pressure skm_control_pressure_saw(struct skm_pressure_window *window, const struct skm_reclaim_counts *counts,
                                           uint64_t now_usec)
{
	uint64_t scanned = counts->scanned_pages - window->base.scanned_pages;
	uint64_t stolen = counts->stolen_pages - window->base.stolen_pages;
	enum skm_pressure level;

	if (!window->started || now_usec < window->deaf_until_usec || now_usec - window->began_usec > SKM_PRESSURE_STALE_USEC ||
	    counts->scanned_pages < window->base.scanned_pages || counts->stolen_pages < window->base.stolen_pages) {
		begin(window, counts, now_usec);
		return in_force(window, now_usec);
	}
	if (scanned < SKM_PRESSURE_WINDOW_PAGES)
		return in_force(window, now_usec);
	level = skm_control_pressure_level(scanned, stolen);
	begin(window, counts, now_usec);
	/* a lower level does not end a higher one before its time */
	if (level > SKM_PRESSURE_LOW && level >= in_force(window, now_usec)) {
		window->level = level;
		window->until_usec = now_usec + SKM_PRESSURE_LASTS_USEC;
	}
	return in_force(window, now_usec);
}

void skm_control_pressure_deafen(struct skm_pressure_window *window, uint64_t now_usec)
{
	window->deaf_until_usec = now_usec + SKM_PRESSURE_DEAF_USEC;
	window->level = SKM_PRESSURE_LOW;
	window->until_usec = 0;
}
