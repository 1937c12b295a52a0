/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a container: its events, and the log. A tenant who makes things happen fast fills neither. */
#include "enforcer/container.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A fault that stays is told once, not at every look. */
static bool repeats_last(const struct skm_event_ring *ring, enum skm_event_kind kind, const char *text)
{
	const struct skm_event *last = ring->count > 0 ? skm_events_get(ring, ring->count - 1) : NULL;

	return last && last->kind == kind && strcmp(last->text, text) == 0;
}

/* What happens once in a container's life, or because the administrator said so. */
static bool is_rare(enum skm_event_kind kind)
{
	return kind == SKM_EVENT_REGISTERED || kind == SKM_EVENT_ADOPTED || kind == SKM_EVENT_POLICY || kind == SKM_EVENT_ENDED;
}

static void keep(struct skm_container *container, enum skm_event_kind kind, const char *text)
{
	struct skm_report *report = &container->report;
	struct skm_event event = {
	        .realtime_usec = skm_realtime_usec(),
	        .kind = kind,
	        .step = report->decision.step,
	        .reason = report->decision.reason,
	        .sock_bytes = report->sock_bytes,
	        .limit_bytes = report->limit_bytes,
	        .fair_cap_bytes = report->decision.fair_cap_bytes,
	        .sockets = report->sockets,
	};

	snprintf(event.text, sizeof(event.text), "%s", text);
	skm_events_add(&container->events, &event);
	report->events = container->events.count;
	report->events_lost = container->events.lost;
	skm_log(kind == SKM_EVENT_TROUBLE ? LOG_WARNING : LOG_INFO, "%s: %s: %s", report->id,
	        skm_name_of(&skm_event_kind_names, kind), event.text);
}

static void tell_left_out(struct skm_container *container, enum skm_event_kind kind, uint64_t now_usec)
{
	uint32_t left_out = skm_control_events_left_out(&container->event_rates[kind], now_usec);
	char text[SKM_EVENT_TEXT_MAX];

	if (left_out == 0)
		return;
	snprintf(text, sizeof(text), "%" PRIu32 " more of this kind were left out: over %d in %" PRIu64 " s", left_out,
	         SKM_EVENTS_IN_WINDOW, SKM_EVENT_WINDOW_USEC / SKM_USEC_PER_SEC);
	keep(container, kind, text);
}

void skm_container_tell(struct skm_container *container, enum skm_event_kind kind, const char *format, ...)
{
	char text[SKM_EVENT_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (repeats_last(&container->events, kind, text))
		return;
	if (kind == SKM_EVENT_ENDED)
		skm_container_tell_left_out(container, UINT64_MAX);
	if (is_rare(kind)) {
		keep(container, kind, text);
		return;
	}
	tell_left_out(container, kind, skm_now_usec());
	if (skm_control_event_kept(&container->event_rates[kind], skm_now_usec()))
		keep(container, kind, text);
}

void skm_container_tell_left_out(struct skm_container *container, uint64_t now_usec)
{
	for (enum skm_event_kind kind = 0; kind < SKM_EVENT_KINDS; kind++)
		tell_left_out(container, kind, now_usec);
}
