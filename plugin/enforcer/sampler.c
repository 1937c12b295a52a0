/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/sampler.h"

#include "base/clock.h"
#include "enforcer/apply.h"
#include "enforcer/destroy.h"
#include "enforcer/kernel_limit.h"
#include "enforcer/registry.h"
#include "enforcer/squeeze.h"
#include "enforcer/topology.h"

#include <errno.h>
#include <inttypes.h>

static uint64_t look_due(const struct skm_container *container)
{
	return container->next_full_usec < container->next_tripwire_usec ? container->next_full_usec
	                                                                 : container->next_tripwire_usec;
}

uint64_t skm_sampler_due(const struct skm_container *container)
{
	uint64_t look = look_due(container), memory = skm_memory_due(container);

	return look < memory ? look : memory;
}

void skm_sampler_check_oom(struct skm_container *container)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_report *report = &container->report;
	char held[SKM_SIZE_TEXT_MAX];
	uint64_t kills;

	if (skm_probe_memcg_oom_kills(&container->memcg, &kills, &err) < 0 || kills < container->oom_kills_before)
		return;
	kills -= container->oom_kills_before;
	if (kills <= report->oom_kills)
		return;
	skm_container_tell(container, SKM_EVENT_OOM,
	                   "the kernel killed %" PRIu64 " processes for memory.max; sockets held %s at the last look",
	                   kills - report->oom_kills, skm_bytes_human(report->sock_bytes, held));
	report->oom_kills = kills;
}

static int take_sample(struct skm_container *container, struct skm_sample *ret, struct skm_err *err)
{
	const struct skm_memcg *governed = skm_topology_governed(container);
	struct skm_sample sample = {.when_usec = skm_now_usec()};
	int r = skm_probe_memcg_sock(governed, &sample.sock_bytes, err);

	if (r == 0)
		r = skm_probe_memcg_current(governed, &sample.current_bytes, err);
	if (r == 0)
		r = skm_census_read(container, &sample.sockets, err);
	if (r == 0)
		*ret = sample;
	return r;
}

/* The report's figures of memory are the container's own, whosever sockets the limit is on. */
static void keep_current(struct skm_container *container, uint64_t governed_bytes)
{
	struct skm_report *report = &container->report;

	if (container->pod.dir < 0)
		report->current_bytes = governed_bytes;
	else
		SKM_IGNORE(skm_probe_memcg_current(&container->memcg, &report->current_bytes, NULL) <
		           0); /* then the last known */
}

static void keep_figures(struct skm_container *container, const struct skm_sample *sample, uint64_t elapsed_usec)
{
	struct skm_report *report = &container->report;

	report->samples++;
	report->stat_reads++;
	report->sock_bytes = sample->sock_bytes;
	report->sockets = sample->sockets;
	keep_current(container, sample->current_bytes);
	if (skm_registry_host(container->registry)->nosocket && !container->memcg.v1)
		report->sock_bytes = report->sock_peak_bytes = SKM_SOCK_UNKNOWN;
	else if (sample->sock_bytes > report->sock_peak_bytes)
		report->sock_peak_bytes = sample->sock_bytes;
	if (sample->sock_bytes > report->limit_bytes)
		report->over_limit++;
	if (report->decision.step != SKM_STEP_NONE)
		report->throttled_usec += elapsed_usec;
}

static void decide(struct skm_container *container, const struct skm_sample *sample)
{
	struct skm_report *report = &container->report;
	const struct skm_decision before = container->ladder.decision;
	char sentence[SKM_EVENT_TEXT_MAX], cap[SKM_SIZE_TEXT_MAX];
	bool was_capped = before.step != SKM_STEP_NONE && before.fair_cap_bytes != UINT64_MAX;

	report->decision = *skm_control_decide(&container->ladder_config, sample, &container->ladder);
	if (report->decision.step == before.step)
		return;
	report->decisions++;
	skm_control_explain(&report->decision, sample, report->limit_bytes, sentence, sizeof(sentence));
	skm_container_tell(container, SKM_EVENT_STEP, "%s -> %s: %s%s%s%s", skm_name_of(&skm_step_names, before.step),
	                   skm_name_of(&skm_step_names, report->decision.step), sentence,
	                   was_capped ? "; before, capped at " : "",
	                   was_capped ? skm_bytes_human(before.fair_cap_bytes, cap) : "",
	                   report->backend == SKM_BACKEND_OBSERVE ? " (observe: nothing is written)" : "");
}

static struct skm_pace_question pace_question(const struct skm_container *container, uint32_t containers)
{
	const struct skm_report *report = &container->report;
	uint64_t each = container->is_writer ? container->ladder.decision.targets.rmem_max_bytes : 0;

	if (each == 0)
		each = container->ladder_config.rmem_max_baseline_bytes;
	return (struct skm_pace_question){
	        .limit_bytes = container->report.limit_bytes,
	        .possible_bytes = container->report.sockets * each,
	        .containers = containers,
	        .throttled = container->ladder.decision.step != SKM_STEP_NONE,
	        .memory_full = report->memory_max_bytes != UINT64_MAX && report->backend != SKM_BACKEND_NONE &&
	                       report->current_bytes + report->limit_bytes / 16 >= report->memory_max_bytes,
	};
}

/* The kernel holds the limit itself: there is nothing to decide, and a look a second keeps the figures fresh. */
static int look_on_v1(struct skm_container *container, struct skm_err *err)
{
	struct skm_sample sample;
	int r = take_sample(container, &sample, err);

	if (r < 0)
		return r;
	keep_figures(container, &sample, 0);
	container->next_full_usec = container->next_tripwire_usec = sample.when_usec + SKM_PACE_REST_USEC;
	return skm_kernel_limit_look(container, err);
}

static int full_look(struct skm_container *container, uint32_t containers, struct skm_err *err)
{
	struct skm_sample sample;
	struct skm_pace_question question;
	uint64_t before = container->pace.when_usec;
	int r = take_sample(container, &sample, err);

	if (r < 0)
		return r;
	skm_control_pace_saw(&container->pace, sample.when_usec, sample.sock_bytes, sample.current_bytes,
	                     skm_now_usec() - sample.when_usec);
	sample.demands = skm_census_demands(container, sample.sock_bytes, sample.when_usec);
	sample.growth_bytes_per_sec = container->pace.growth_bytes_per_sec;
	skm_pressure_sample(container, containers, &sample);
	keep_figures(container, &sample, before ? sample.when_usec - before : 0);
	if (container->report.backend != SKM_BACKEND_NONE)
		decide(container, &sample);
	skm_apply_netns(container);
	skm_squeeze_run(container, sample.when_usec);
	skm_topology_check_outside(container, skm_now_usec(), containers);
	if (container->report.backend != SKM_BACKEND_OBSERVE)
		skm_reclaim_run(container, sample.when_usec);
	skm_shape_run(container, sample.when_usec);
	skm_destroy_run(container, sample.when_usec);
	skm_container_tell_left_out(container, sample.when_usec);
	question = pace_question(container, containers);
	container->next_full_usec = sample.when_usec + skm_control_pace_next(&container->pace, &question);
	container->next_tripwire_usec =
	        container->report.backend == SKM_BACKEND_NONE
	                ? container->next_full_usec /* without a limit there is no burst to be early for */
	                : sample.when_usec + skm_control_tripwire_next(&container->pace, &question);
	return 0;
}

static int tripwire_look(struct skm_container *container, uint64_t now_usec, uint32_t containers, bool *ret_tripped,
                         struct skm_err *err)
{
	struct skm_pace_question question = pace_question(container, containers);
	uint64_t start = skm_now_usec(), current;
	int r = skm_probe_memcg_current(skm_topology_governed(container), &current, err);

	if (r < 0)
		return r;
	skm_control_pace_tripped(&container->pace, skm_now_usec() - start);
	container->report.samples++;
	keep_current(container, current);
	container->next_tripwire_usec = now_usec + skm_control_tripwire_next(&container->pace, &question);
	*ret_tripped = skm_control_tripwire(&container->pace, container->report.limit_bytes, current);
	return 0;
}

int skm_sampler_look(struct skm_container *container, uint64_t now_usec, uint32_t containers)
{
	struct skm_err err = SKM_ERR_INIT;
	bool full = now_usec >= container->next_full_usec;
	int r = 0;

	skm_memory_check(container, now_usec);
	if (now_usec < look_due(container))
		return 0;
	if (!full)
		r = tripwire_look(container, now_usec, containers, &full, &err);
	if (r == 0 && full)
		r = container->memcg.v1 ? look_on_v1(container, &err) : full_look(container, containers, &err);
	if (r == 0 || r == -ENODEV)
		return r;
	skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
	container->next_full_usec = container->next_tripwire_usec = now_usec + SKM_PACE_REST_USEC;
	return 0;
}
