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

/* A switch that the policy turns on and that no actuator of this build stands behind. */
static const struct {
	enum skm_policy_key key;
	const char *reason;
} NOT_BUILT[] = {
        {SKM_KEY_THROTTLE_TC, "this build shapes no traffic"},
        {SKM_KEY_THROTTLE_EGRESS, "this build shapes no traffic"},
        {SKM_KEY_THROTTLE_DESTROY, "this build destroys no connections"},
};

/* Whether the document asks for it in so many words: a default that this build lacks is not the container's wish. */
static bool asks_for(const struct skm_policy *policy, enum skm_policy_key key)
{
	const struct skm_throttle *throttle = &policy->throttle;

	if (!skm_policy_has(policy, key))
		return false;
	switch (key) {
	case SKM_KEY_THROTTLE_TC:
		return throttle->tc;
	case SKM_KEY_THROTTLE_DESTROY:
		return throttle->destroy;
	case SKM_KEY_THROTTLE_EGRESS:
		return throttle->egress_bits_per_sec > 0;
	default:
		return true;
	}
}

void skm_skipped_list_policy(struct skm_container *container)
{
	const struct skm_policy *policy = &container->report.policy;

	for (size_t i = 0; i < sizeof(NOT_BUILT) / sizeof(*NOT_BUILT); i++)
		if (asks_for(policy, NOT_BUILT[i].key))
			skm_container_skip(container, "%s: %s", skm_name_of(&skm_policy_key_names, NOT_BUILT[i].key),
			                   NOT_BUILT[i].reason);
	if (policy->throttle.protocols & UINT32_C(1) << SKM_PROTOCOL_UDP)
		skm_container_skip(container, "throttle.protocols: this build throttles TCP alone, UDP is left as it is");
}
