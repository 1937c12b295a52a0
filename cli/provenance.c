/* SPDX-License-Identifier: Apache-2.0 */
/* What of a policy is in force, what became of the rest, and where each value came from. */
#include "report.h"

#include "cli.h"
#include "format.h"

#include <stdio.h>
#include <string.h>

#define VALUE_MAX 128

static const char *source_name(enum skm_policy_source source)
{
	return source == SKM_SOURCE_NONE ? "built in" : skm_name_of(&skm_policy_source_names, source);
}

/* The place of a size in in_force, or -1 for a key that is none. */
static int size_of_key(enum skm_policy_key key)
{
	if (key == SKM_KEY_TCPMEM_LIMIT)
		return SKM_IN_FORCE_LIMIT;
	return key >= SKM_KEY_MEMORY_MIN && key <= SKM_KEY_MEMORY_MAX ? SKM_IN_FORCE_MEMORY + (int)(key - SKM_KEY_MEMORY_MIN)
	                                                              : -1;
}

static void print_cuts(const struct skm_report *report)
{
	for (enum skm_policy_key key = 0; key < SKM_POLICY_KEYS; key++) {
		int which = size_of_key(key);
		const struct skm_in_force *in_force = which < 0 ? NULL : &report->in_force[which];
		char asked[SKM_FORMAT_MAX], got[SKM_FORMAT_MAX];

		if (in_force && in_force->cut)
			printf("%s was asked for as %s and cut to %s, %s.\n", skm_name_of(&skm_policy_key_names, key),
			       skm_cli_bytes(in_force->asked_bytes, asked), skm_cli_bytes(in_force->bytes, got),
			       in_force->cut_by == SKM_CUT_CEILING ? "the node's ceiling" : "which the runtime set");
	}
}

static void print_kernel_tcp(const struct skm_report *report)
{
	char bundle[SKM_FORMAT_MAX], limit[SKM_FORMAT_MAX];

	if (report->kernel_tcp_bytes == 0 || report->kernel_tcp_bytes == report->limit_bytes)
		return;
	printf("config.json says kernelTCP %s; the limit in force is %s by %s.\n",
	       skm_cli_bytes(report->kernel_tcp_bytes, bundle), skm_cli_bytes(report->limit_bytes, limit),
	       source_name(report->sources[SKM_KEY_TCPMEM_LIMIT]));
}

/* What the ancestors leave of memory.min and memory.low, where the policy has them. */
static void print_protection(const struct skm_report *report)
{
	const struct skm_protection *protection = &report->protection;
	char min[SKM_FORMAT_MAX], low[SKM_FORMAT_MAX];

	if (!protection->known || (!report->in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MIN].set &&
	                           !report->in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_LOW].set))
		return;
	printf("Protected against its neighbours: memory.min %s, memory.low %s",
	       skm_cli_bytes(protection->effective_min_bytes, min), skm_cli_bytes(protection->effective_low_bytes, low));
	if (protection->cut_by[0]) {
		fputs(", cut by ", stdout);
		skm_cli_put(protection->cut_by);
	}
	if (protection->shared_with[0]) {
		fputs(", shared with ", stdout);
		skm_cli_put(protection->shared_with);
	}
	fputs(".\n", stdout);
}

void skm_cli_print_skipped(const struct skm_report *report, const char *indent)
{
	for (uint32_t i = 0; i < report->skipped_count; i++) {
		printf("%s", indent);
		skm_cli_put(report->skipped[i]);
		putchar('\n');
	}
}

void skm_cli_print_differences(const struct skm_report *report)
{
	print_cuts(report);
	print_kernel_tcp(report);
	print_protection(report);
	skm_cli_print_skipped(report, "Not applied: ");
}

/* What was asked for, where that is not the value itself: "64.0 MiB (10%)". */
static void size_value(const struct skm_report *report, int which, const struct skm_size *asked, char ret[VALUE_MAX])
{
	const struct skm_in_force *in_force = &report->in_force[which];
	char bytes[SKM_FORMAT_MAX], text[SKM_SIZE_TEXT_MAX];
	bool is_share = asked->kind == SKM_SIZE_PERCENT || asked->kind == SKM_SIZE_PROGRAM;

	if (which != SKM_IN_FORCE_LIMIT && !in_force->set)
		snprintf(ret, VALUE_MAX, "as the runtime set it");
	else
		snprintf(ret, VALUE_MAX, "%s%s%s%s", skm_cli_bytes(in_force->bytes, bytes), in_force->set && is_share ? " (" : "",
		         in_force->set && is_share ? skm_size_format(asked, text) : "", in_force->set && is_share ? ")" : "");
}

static const char *on_off(bool value)
{
	return value ? "on" : "off";
}

static const char *protocols(uint32_t set)
{
	static const char *const words[] = {"none", "tcp", "udp", "tcp, udp"};

	return words[set & 3];
}

static const char *throttle_value(const struct skm_throttle *throttle, enum skm_policy_key key, char rate[SKM_SIZE_TEXT_MAX])
{
	switch (key) {
	case SKM_KEY_THROTTLE_SYSCTL:
		return on_off(throttle->sysctl);
	case SKM_KEY_THROTTLE_SOCKETS:
		return on_off(throttle->sockets);
	case SKM_KEY_THROTTLE_TC:
		return on_off(throttle->tc);
	case SKM_KEY_THROTTLE_RECLAIM:
		return on_off(throttle->reclaim);
	case SKM_KEY_THROTTLE_DESTROY:
		return on_off(throttle->destroy);
	case SKM_KEY_THROTTLE_PROTOCOLS:
		return protocols(throttle->protocols);
	case SKM_KEY_THROTTLE_FLOOR:
		return skm_rate_format(throttle->floor_bits_per_sec, rate);
	default:
		return throttle->egress_bits_per_sec ? skm_rate_format(throttle->egress_bits_per_sec, rate) : "none";
	}
}

static const char *other_value(const struct skm_policy *policy, enum skm_policy_key key, char text[SKM_SIZE_TEXT_MAX])
{
	switch (key) {
	case SKM_KEY_TCPMEM_MODE:
		return skm_name_of(&skm_mode_names, policy->mode);
	case SKM_KEY_TCPMEM_SCOPE:
		return skm_name_of(&skm_scope_names, policy->scope);
	case SKM_KEY_MEMORY_PROPAGATE:
		return on_off(policy->propagate);
	case SKM_KEY_PRESSURE_SOME:
		return skm_percent_format(policy->pressure_some_permyriad, text);
	case SKM_KEY_PRESSURE_WINDOW:
		return skm_duration_format(policy->pressure_window_usec, text);
	case SKM_KEY_ON_ERROR:
		return policy->on_error == SKM_ON_ERROR_UNSET ? "by its source"
		                                              : skm_name_of(&skm_on_error_names, policy->on_error);
	default:
		return throttle_value(&policy->throttle, key, text);
	}
}

static void value_of(const struct skm_report *report, enum skm_policy_key key, char ret[VALUE_MAX])
{
	const struct skm_policy *policy = &report->policy;
	int which = size_of_key(key);
	char text[SKM_SIZE_TEXT_MAX];

	if (which == SKM_IN_FORCE_LIMIT)
		size_value(report, which, &policy->tcpmem_limit, ret);
	else if (which > 0)
		size_value(report, which, &policy->memory[which - SKM_IN_FORCE_MEMORY], ret);
	else
		snprintf(ret, VALUE_MAX, "%s", other_value(policy, key, text));
}

void skm_cli_print_policy(const struct skm_report *report)
{
	fputs("\nPolicy in force, and where each value came from", stdout);
	if (report->policy.profile[0]) {
		fputs("; profile ", stdout);
		skm_cli_put(report->policy.profile);
	}
	putchar('\n');
	for (enum skm_policy_key key = 0; key < SKM_POLICY_KEYS; key++) {
		char value[VALUE_MAX];

		value_of(report, key, value);
		printf("  %-22s%-26s%s\n", skm_name_of(&skm_policy_key_names, key), value, source_name(report->sources[key]));
	}
}
