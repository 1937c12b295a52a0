/* SPDX-License-Identifier: Apache-2.0 */
/* The bounded history of one container: a ring that drops its oldest and counts what it dropped. */
#ifndef SKM_ENFORCER_EVENTS_H
#define SKM_ENFORCER_EVENTS_H

#include "model/event.h"

#include <stddef.h>

#define SKM_EVENTS_KEPT 512

struct skm_event_ring {
	struct skm_event *events; /* SKM_EVENTS_KEPT of them once the first is added; owned */
	uint32_t first, count, lost;
};

/* Adds one. Out of memory: the event is counted as lost. */
void skm_events_add(struct skm_event_ring *ring, const struct skm_event *event);

/* The i-th, oldest first; i < ring->count. */
const struct skm_event *skm_events_get(const struct skm_event_ring *ring, uint32_t i);

void skm_events_free(struct skm_event_ring *ring);

#endif
