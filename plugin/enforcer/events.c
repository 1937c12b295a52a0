/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/events.h"

#include <stdlib.h>

void skm_events_add(struct skm_event_ring *ring, const struct skm_event *event)
{
	if (!ring->events)
		ring->events = calloc(SKM_EVENTS_KEPT, sizeof(*ring->events));
	if (!ring->events) {
		ring->lost++;
		return;
	}
	ring->events[(ring->first + ring->count) % SKM_EVENTS_KEPT] = *event;
	if (ring->count < SKM_EVENTS_KEPT) {
		ring->count++;
	} else {
		ring->first = (ring->first + 1) % SKM_EVENTS_KEPT;
		ring->lost++;
	}
}

const struct skm_event *skm_events_get(const struct skm_event_ring *ring, uint32_t i)
{
	return &ring->events[(ring->first + i) % SKM_EVENTS_KEPT];
}

void skm_events_free(struct skm_event_ring *ring)
{
	free(ring->events);
	*ring = (struct skm_event_ring){0};
}
