/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/change.h"

#include "base/clock.h"
#include "enforcer/apply.h"
#include "enforcer/grant.h"
#include "enforcer/journal.h"
#include "enforcer/kernel_limit.h"
#include "enforcer/registry.h"
#include "enforcer/skipped.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What a policy makes of a container, kept until the new one stands. */
struct before {
	struct skm_grant grant;
	enum skm_backend backend;
	char why_not_better[sizeof(((struct skm_report *)NULL)->why_not_better)];
	char skipped[SKM_SKIPPED_MAX][SKM_SKIPPED_TEXT_MAX];
	uint32_t skipped_count;
	bool writes_sysctls, squeezes;
	struct skm_ladder_config ladder_config;
	uint64_t start_buffer_bytes;
};

static void keep(const struct skm_container *container, struct before *ret)
{
	const struct skm_report *report = &container->report;

	ret->grant = skm_grant_of(container);
	ret->backend = report->backend;
	memcpy(ret->why_not_better, report->why_not_better, sizeof(ret->why_not_better));
	memcpy(ret->skipped, report->skipped, sizeof(ret->skipped));
	ret->skipped_count = report->skipped_count;
	ret->writes_sysctls = container->writes_sysctls;
	ret->squeezes = container->squeezes;
	ret->ladder_config = container->ladder_config;
	ret->start_buffer_bytes = container->start_buffer_bytes;
}

/* In memory; what was written meanwhile is its writer's to undo. */
static void go_back(struct skm_container *container, const struct before *before)
{
	struct skm_report *report = &container->report;

	skm_grant_put(container, &before->grant);
	report->backend = before->backend;
	memcpy(report->why_not_better, before->why_not_better, sizeof(report->why_not_better));
	memcpy(report->skipped, before->skipped, sizeof(report->skipped));
	report->skipped_count = container->skipped_told = before->skipped_count;
	container->begun = true;
	container->writes_sysctls = before->writes_sysctls;
	container->squeezes = before->squeezes;
	container->ladder_config = before->ladder_config;
	container->start_buffer_bytes = before->start_buffer_bytes;
}

static int grant(const struct skm_container *container, const struct skm_request *request, struct skm_grant *ret,
                 struct skm_err *err)
{
	const struct skm_node *node = skm_registry_node(container->registry);
	struct skm_policy asked = request->policy;
	struct skm_grant_facts facts;
	int r = skm_grant_facts(container, &facts, err);

	if (r < 0)
		return r;
	*ret = skm_grant_of(container);
	if (request->limit_only) {
		if (ret->in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX].set)
			facts.memory_max_bytes = ret->in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX].bytes;
		return skm_control_grant_limit(&asked.tcpmem_limit, &facts, ret, err);
	}
	asked.source = SKM_SOURCE_ADMINISTRATOR;
	asked.profile[0] = '\0';
	r = skm_control_grant_policy(node, &asked, ret, err);
	return r < 0 ? r : skm_control_grant_sizes(node, &facts, ret, err);
}

/* What only a start can give: the cgroup that is held was opened then. */
static int refuse_fixed(const struct skm_container *container, const struct skm_grant *next, struct skm_err *err)
{
	if (next->policy.scope == container->report.policy.scope)
		return 0;
	return skm_err_set(err, EOPNOTSUPP, "tcpmem.scope is %s for the container's life; write that, or release it and adopt %s",
	                   skm_name_of(&skm_scope_names, container->report.policy.scope),
	                   next->policy.scope == SKM_SCOPE_POD ? "the pod's cgroup" : "the container's own cgroup");
}

/* From the decision on to the last step that can fail. */
static int take(struct skm_container *container, const struct skm_grant *next, bool force, struct skm_err *err)
{
	int r;

	skm_grant_put(container, next);
	container->report.skipped_count = container->skipped_told = 0;
	container->begun = false;
	r = skm_container_resolve(container, err);
	if (r == 0)
		r = skm_container_use_baselines(container, err);
	if (r == 0)
		r = skm_journal_save(container, err);
	if (r == 0)
		r = skm_apply_start_buffer(container, err);
	if (r == 0)
		r = skm_memory_apply(container, force, err);
	if (r == 0)
		r = skm_kernel_limit_apply(container, err);
	return r;
}

/* The memory controller's files were not touched, or are as they were: they come last, and are undone by who writes them. */
static void undo(struct skm_container *container, const struct before *before)
{
	struct skm_err err = SKM_ERR_INIT;
	int r;

	go_back(container, before);
	r = skm_netns_group_update(container, &err);
	if (r == 0)
		r = skm_apply_start_buffer(container, &err);
	if (r == 0)
		r = skm_journal_save(container, &err);
	if (r < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "undo: %s", err.text);
}

/* The new policy is what counts at the next look, which comes at once. There the worker gives open sockets their buffers back,
 * where they are not to be squeezed any more. */
static void begin(struct skm_container *container)
{
	if (container->report.backend == SKM_BACKEND_NONE) {
		container->ladder = (struct skm_ladder_state){.decision.fair_cap_bytes = UINT64_MAX};
		container->report.decision = container->ladder.decision;
	}
	skm_pressure_close(container); /* its trigger is the old policy's */
	skm_pressure_open(container);
	memset(container->group->rate, 0, sizeof(container->group->rate)); /* what the administrator raises is raised now */
	container->next_full_usec = container->next_tripwire_usec = skm_now_usec();
}

/* -- what is told ------------------------------------------------------------------------------------------------- */

struct sentence {
	char text[SKM_EVENT_TEXT_MAX];
	size_t length;
};

static void add(struct sentence *sentence, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct sentence *sentence, const char *format, ...)
{
	va_list args;
	int more;

	if (sentence->length >= sizeof(sentence->text))
		return;
	va_start(args, format);
	more = vsnprintf(sentence->text + sentence->length, sizeof(sentence->text) - sentence->length, format, args);
	va_end(args);
	if (more > 0)
		sentence->length += (size_t)more;
}

static const char *size_text(const struct skm_in_force *in_force, bool is_limit, char buffer[SKM_SIZE_TEXT_MAX])
{
	if (!is_limit && !in_force->set)
		return "as it was";
	return in_force->bytes == UINT64_MAX ? "none" : skm_bytes_human(in_force->bytes, buffer);
}

static void add_sizes(struct sentence *sentence, const struct skm_grant *old, const struct skm_grant *new)
{
	for (unsigned int i = 0; i < SKM_IN_FORCE_COUNT; i++) {
		const struct skm_in_force *was = &old->in_force[i], *is = &new->in_force[i];
		char was_text[SKM_SIZE_TEXT_MAX], is_text[SKM_SIZE_TEXT_MAX];
		bool is_limit = i == SKM_IN_FORCE_LIMIT;

		if (was->bytes == is->bytes && (is_limit || was->set == is->set))
			continue;
		add(sentence, ", %s %s -> %s", is_limit ? "limit" : skm_name_of(&skm_memory_file_names, i - SKM_IN_FORCE_MEMORY),
		    size_text(was, is_limit, was_text), size_text(is, is_limit, is_text));
	}
}

static void add_switch(struct sentence *sentence, enum skm_policy_key key, bool was, bool is)
{
	if (was != is)
		add(sentence, ", %s %s", skm_name_of(&skm_policy_key_names, key), is ? "on" : "off");
}

static void tell(struct skm_container *container, const struct before *before)
{
	const struct skm_policy *was = &before->grant.policy, *is = &container->report.policy;
	struct skm_grant now = skm_grant_of(container);
	struct sentence sentence = {0};

	add_sizes(&sentence, &before->grant, &now);
	if (was->mode != is->mode)
		add(&sentence, ", mode %s -> %s", skm_name_of(&skm_mode_names, was->mode),
		    skm_name_of(&skm_mode_names, is->mode));
	add_switch(&sentence, SKM_KEY_MEMORY_PROPAGATE, was->propagate, is->propagate);
	add_switch(&sentence, SKM_KEY_THROTTLE_SYSCTL, was->throttle.sysctl, is->throttle.sysctl);
	add_switch(&sentence, SKM_KEY_THROTTLE_SOCKETS, was->throttle.sockets, is->throttle.sockets);
	add_switch(&sentence, SKM_KEY_THROTTLE_TC, was->throttle.tc, is->throttle.tc);
	add_switch(&sentence, SKM_KEY_THROTTLE_RECLAIM, was->throttle.reclaim, is->throttle.reclaim);
	add_switch(&sentence, SKM_KEY_THROTTLE_DESTROY, was->throttle.destroy, is->throttle.destroy);
	skm_container_tell(container, SKM_EVENT_POLICY, "set by the administrator: %s; backend %s",
	                   sentence.length > 0 ? sentence.text + strlen(", ") : "no size, mode or switch changes",
	                   skm_name_of(&skm_backend_names, container->report.backend));
	skm_grant_tell(container);
	skm_skipped_begin(container);
}

int skm_change_policy(struct skm_container *container, const struct skm_request *request, struct skm_err *err)
{
	struct before before;
	struct skm_grant next;
	int r = grant(container, request, &next, err);

	if (r == 0)
		r = refuse_fixed(container, &next, err);
	if (r < 0)
		return r;
	keep(container, &before);
	r = take(container, &next, request->force, err);
	if (r < 0) {
		undo(container, &before);
		return r;
	}
	begin(container);
	tell(container, &before);
	return 0;
}
