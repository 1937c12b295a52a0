/* SPDX-License-Identifier: Apache-2.0 */
/* What of a policy is not applied, and why: in the report, and told once. */
#include "enforcer/skipped.h"

#include <stdio.h>
#include <string.h>

static void tell(struct skm_container *container)
{
	struct skm_report *report = &container->report;

	while (container->skipped_told < report->skipped_count)
		skm_container_tell(container, SKM_EVENT_POLICY, "not applied: %s", report->skipped[container->skipped_told++]);
}

void skm_container_skip(struct skm_container *container, const char *format, ...)
{
	struct skm_report *report = &container->report;
	char text[SKM_SKIPPED_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (uint32_t i = 0; i < report->skipped_count; i++)
		if (strcmp(report->skipped[i], text) == 0)
			return;
	if (report->skipped_count == SKM_SKIPPED_MAX)
		return;
	memcpy(report->skipped[report->skipped_count++], text, sizeof(text));
	if (container->begun)
		tell(container);
}

void skm_skipped_begin(struct skm_container *container)
{
	container->begun = true;
	tell(container);
}

void skm_skipped_list_policy(struct skm_container *container)
{
	const struct skm_policy *policy = &container->report.policy;
	const struct skm_throttle *throttle = &policy->throttle;

	if (throttle->destroy && !(throttle->protocols & UINT32_C(1) << SKM_PROTOCOL_TCP))
		skm_container_skip(container,
		                   "throttle.destroy: it ends connections of TCP, which throttle.protocols leaves out");
	if (throttle->tc)
		return;
	if (throttle->egress_bits_per_sec > 0)
		skm_container_skip(container, "throttle.egress: it is shaped by tc, and throttle.tc is off");
	if (throttle->protocols & UINT32_C(1) << SKM_PROTOCOL_UDP)
		skm_container_skip(container, "throttle.protocols: UDP is throttled by tc alone, and throttle.tc is off");
}
