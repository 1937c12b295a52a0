/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/grant.h"

#include <string.h>

struct skm_grant skm_grant_of(const struct skm_container *container)
{
	const struct skm_report *report = &container->report;
	struct skm_grant grant = {.policy = report->policy};

	memcpy(grant.in_force, report->in_force, sizeof(grant.in_force));
	memcpy(grant.sources, report->sources, sizeof(grant.sources));
	return grant;
}

void skm_grant_put(struct skm_container *container, const struct skm_grant *grant)
{
	struct skm_journal *journal = &container->journal;
	struct skm_report *report = &container->report;

	report->policy = journal->policy = grant->policy;
	memcpy(report->in_force, grant->in_force, sizeof(report->in_force));
	memcpy(journal->in_force, grant->in_force, sizeof(journal->in_force));
	memcpy(report->sources, grant->sources, sizeof(report->sources));
	memcpy(journal->sources, grant->sources, sizeof(journal->sources));
	report->limit_bytes = grant->in_force[SKM_IN_FORCE_LIMIT].bytes;
}

int skm_grant_facts(const struct skm_container *container, struct skm_grant_facts *ret, struct skm_err *err)
{
	struct skm_grant_facts facts = {.program_bytes = container->report.program_bytes};
	int r = skm_probe_memcg_max(&container->memcg, &facts.memory_max_bytes, err);

	if (r == 0)
		r = skm_probe_memcg_high(&container->memcg, &facts.memory_high_bytes, err);
	if (r < 0)
		return r;
	facts.memory_max_bytes = skm_memory_runtimes(container, SKM_MEMORY_FILE_MAX, facts.memory_max_bytes);
	facts.memory_high_bytes = skm_memory_runtimes(container, SKM_MEMORY_FILE_HIGH, facts.memory_high_bytes);
	*ret = facts;
	return 0;
}

static const char *size_name(unsigned int which)
{
	return which == SKM_IN_FORCE_LIMIT ? skm_name_of(&skm_policy_key_names, SKM_KEY_TCPMEM_LIMIT)
	                                   : skm_name_of(&skm_memory_file_names, which - SKM_IN_FORCE_MEMORY);
}

static const char *size_text(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX])
{
	return bytes == UINT64_MAX ? "none" : skm_bytes_human(bytes, buffer);
}

/* The limit of the bundle is what v1 would have held: whoever moves from there looks for it. */
static void tell_kernel_tcp(struct skm_container *container)
{
	const struct skm_report *report = &container->report;
	char bundle[SKM_SIZE_TEXT_MAX], limit[SKM_SIZE_TEXT_MAX];

	if (report->kernel_tcp_bytes == 0 || report->kernel_tcp_bytes == report->limit_bytes ||
	    report->policy.source == SKM_SOURCE_KERNEL_TCP)
		return;
	skm_container_tell(container, SKM_EVENT_POLICY, "config.json says kernelTCP %s, the limit in force is %s by %s",
	                   size_text(report->kernel_tcp_bytes, bundle), size_text(report->limit_bytes, limit),
	                   skm_name_of(&skm_policy_source_names, report->policy.source));
}

void skm_grant_tell(struct skm_container *container)
{
	for (unsigned int which = 0; which < SKM_IN_FORCE_COUNT; which++) {
		const struct skm_in_force *in_force = &container->report.in_force[which];
		char asked[SKM_SIZE_TEXT_MAX], got[SKM_SIZE_TEXT_MAX];

		if (in_force->cut)
			skm_container_tell(container, SKM_EVENT_POLICY, "%s: %s was asked for and cut to %s, %s",
			                   size_name(which), size_text(in_force->asked_bytes, asked),
			                   size_text(in_force->bytes, got),
			                   in_force->cut_by == SKM_CUT_CEILING ? "the node's ceiling" : "which the runtime set");
	}
	tell_kernel_tcp(container);
}
