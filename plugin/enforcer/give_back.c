/* SPDX-License-Identifier: Apache-2.0 */
/* Lets containers go that live on. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "enforcer/container.h"
#include "enforcer/registry.h"
#include "enforcer/squeeze.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long the sockets' workers have, all together: whoever asks waits, and so does every hook meanwhile. */
#define PATIENCE_USEC SKM_USEC_PER_SEC

/* Of each container this many failures are passed on; its record has all. */
#define TROUBLES_MAX 4

#define EVENTS_PER_CONTAINER (TROUBLES_MAX + 1)

struct told {
	struct skm_tagged_event *events;
	size_t count;
};

static void pass_on(struct told *told, const struct skm_container *container, const struct skm_event *event)
{
	struct skm_tagged_event *one = &told->events[told->count++];

	memcpy(one->id, container->report.id, sizeof(one->id));
	one->event = *event;
}

/* Failures that were told since `from`, a count of all events that were ever told of the container. Returns how many. */
static unsigned int pass_on_troubles(struct told *told, const struct skm_container *container, uint64_t from)
{
	const struct skm_event_ring *ring = &container->events;
	uint64_t kept_from = ring->lost;
	unsigned int found = 0;

	for (uint32_t i = from > kept_from ? (uint32_t)(from - kept_from) : 0; i < ring->count; i++) {
		const struct skm_event *event = skm_events_get(ring, i);

		if (event->kind == SKM_EVENT_TROUBLE && found++ < TROUBLES_MAX)
			pass_on(told, container, event);
	}
	return found;
}

static void let_go(struct skm_registry *registry, struct skm_container *container, uint64_t from, uint64_t deadline_usec,
                   struct told *told)
{
	uint32_t left = skm_squeeze_restore_wait(container, deadline_usec);
	struct skm_event end = {
	        .realtime_usec = skm_realtime_usec(),
	        .kind = SKM_EVENT_ENDED,
	        .step = container->report.decision.step,
	        .reason = container->report.decision.reason,
	        .sock_bytes = container->report.sock_bytes,
	        .limit_bytes = container->report.limit_bytes,
	        .fair_cap_bytes = container->report.decision.fair_cap_bytes,
	        .sockets = container->report.sockets,
	};

	if (left > 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE,
		                   "%" PRIu32 " open sockets keep a squeezed buffer: nobody could reach them in time", left);
	if (!skm_shape_remove_wait(container, deadline_usec))
		skm_container_tell(container, SKM_EVENT_TROUBLE, "its traffic is still shaped: tc could not be reached in time");
	skm_registry_put_back(container);
	snprintf(end.text, sizeof(end.text), "released by the administrator: %s",
	         pass_on_troubles(told, container, from) > 0 ? "not everything could be put back" : "everything is as it was");
	pass_on(told, container, &end);
	skm_registry_end(registry, container, end.text);
}

int skm_registry_give_back(struct skm_registry *registry, const struct skm_container *only, struct skm_tagged_event **ret,
                           size_t *ret_count, struct skm_err *err)
{
	uint64_t deadline_usec = skm_now_usec() + PATIENCE_USEC;
	uint32_t count = skm_registry_count(registry);
	cleanup_free uint64_t *from = calloc(count + 1, sizeof(*from));
	struct told told = {.events = calloc(count * EVENTS_PER_CONTAINER + 1, sizeof(*told.events))};
	struct skm_container *container, *next;
	size_t i = 0;

	if (!from || !told.events) {
		free(told.events);
		return skm_err_set(err, ENOMEM, "out of memory");
	}
	for (container = skm_registry_head(registry); container; container = container->next) {
		from[i++] = (uint64_t)container->events.count + container->events.lost;
		if (only && container != only)
			continue;
		skm_squeeze_restore_begin(container);
		skm_shape_remove_begin(container);
	}
	i = 0;
	for (container = skm_registry_head(registry); container; container = next) {
		next = container->next;
		if (!only || container == only)
			let_go(registry, container, from[i], deadline_usec, &told);
		i++;
	}
	*ret = told.events;
	*ret_count = told.count;
	return 0;
}
