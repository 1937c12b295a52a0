/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/shape.h"

#include "base/clock.h"
#include "control/ladder.h"
#include "enforcer/container.h"
#include "enforcer/journal.h"
#include "enforcer/registry.h"
#include "enforcer/shape_parts.h"
#include "enforcer/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SKM_SHAPE_LINKS_MAX == SKM_TC_LINKS_MAX, "the journal has room for the links of a plan");

/* Between two looks at how fast programs read; and how many times what they cost, all together: one per cent of a processor. */
#define LOOK_USEC (UINT64_C(200) * SKM_USEC_PER_MSEC)
#define LOOK_COSTS 100
/* Between two rates: what a rate does to the sockets has to be seen first. A starting point. */
#define CHANGE_USEC (UINT64_C(500) * SKM_USEC_PER_MSEC)
/* Where it cannot be shaped, or could not be: tried again so much later. */
#define AGAIN_USEC (UINT64_C(10) * SKM_USEC_PER_SEC)
#define LATE_USEC (UINT64_C(5) * SKM_USEC_PER_SEC)
/* After a removal that failed: doubled up to a minute or so. */
#define REMOVE_AGAIN_USEC SKM_USEC_PER_SEC
#define REMOVALS_DOUBLED 6

/* What the last step aims at (DESIGN.md, section 5). */
#define TARGET_PERMYRIAD 7000

static void job_ready(struct skm_watch *watch, uint32_t events);

static void trouble(struct skm_container *container, const struct skm_err *err)
{
	skm_container_tell(container, SKM_EVENT_TROUBLE, "tc: %s", err->text);
}

/* -- errands -------------------------------------------------------------------------------------------------------- */

void skm_shape_drop(struct skm_container *container)
{
	struct skm_shaper *shaper = &container->shaper;

	if (!shaper->job)
		return;
	skm_watch_remove(skm_registry_epoll(container->registry), skm_shape_job_done_fd(shaper->job));
	skm_shape_job_drop(shaper->job);
	shaper->job = NULL;
}

int skm_shape_give(struct skm_container *container, enum skm_shape_verb verb, const struct skm_tc_want *want)
{
	struct skm_shaper *shaper = &container->shaper;
	struct skm_shape_order order = {
	        .verb = verb, .netns_fd = container->fds[SKM_FD_NETNS], .made = shaper->made, .plan = shaper->plan};
	struct skm_err err = SKM_ERR_INIT;
	int r;

	if (want)
		order.want = *want;
	r = skm_shape_job_start(&order, &shaper->job, &err);
	if (r == 0) {
		shaper->watch.ready = job_ready;
		r = skm_watch_add(skm_registry_epoll(container->registry), skm_shape_job_done_fd(shaper->job), EPOLLIN,
		                  &shaper->watch, &err);
	}
	if (r < 0) {
		trouble(container, &err);
		if (shaper->job)
			skm_shape_job_drop(shaper->job);
		shaper->job = NULL;
		return r;
	}
	shaper->verb = verb;
	shaper->job_usec = skm_now_usec();
	shaper->late_told = false;
	return 0;
}

/* -- what is wanted ------------------------------------------------------------------------------------------------- */

/* Whether all sockets of the network namespace are this container's to throttle: alone there, or with the containers of one pod
 * whose limit it holds. */
static bool has_netns(const struct skm_container *container)
{
	struct skm_container *peer = NULL;
	uint32_t peers = 0;

	if (!skm_topology_shares_netns(container))
		return true;
	while ((peer = skm_topology_next_peer(container, peer)))
		peers++;
	return skm_topology_leads(container) && container->group->members == peers + 1;
}

static bool may_shape(struct skm_container *container)
{
	if (!container->report.policy.throttle.tc ||
	    (container->report.backend != SKM_BACKEND_SOFT && container->report.backend != SKM_BACKEND_OBSERVE))
		return false;
	if (has_netns(container))
		return true;
	skm_container_skip(container, "throttle.tc: its network namespace is shared, and others would be shaped with it");
	return false;
}

static struct skm_shape_path path_of(const struct skm_tc_plan *plan)
{
	return (struct skm_shape_path){.mtu = plan->mtu, .gso_max_bytes = plan->gso_max_bytes};
}

/* Of bulk ingress now; 0 where it is not to be shaped, or nothing is known of its readers. */
static uint64_t wanted_rate(const struct skm_container *container)
{
	const struct skm_report *report = &container->report;
	struct skm_shape_question question = {
	        .drain = &container->shaper.drain,
	        .path = path_of(&container->shaper.plan),
	        .sock_bytes = report->sock_bytes,
	        .target_bytes = skm_scale(report->limit_bytes, TARGET_PERMYRIAD, SKM_PERMYRIAD),
	        .floor = report->policy.throttle.floor_bits_per_sec / 8,
	};

	return report->decision.step == SKM_STEP_SHED ? skm_control_shape_rate(&question) : 0;
}

static struct skm_tc_want want_of(const struct skm_container *container, uint64_t rate)
{
	const struct skm_throttle *throttle = &container->report.policy.throttle;
	const struct skm_tc_plan *plan = &container->shaper.plan;
	struct skm_shape_path path = path_of(plan);
	uint64_t egress = plan->egress ? throttle->egress_bits_per_sec / 8 : 0;

	return (struct skm_tc_want){
	        .ingress = rate,
	        .egress = egress,
	        .ingress_burst = skm_control_shape_burst(&path, rate),
	        .egress_burst = skm_control_shape_burst(&path, egress),
	        .egress_split = skm_control_shape_split(&path, egress),
	        .protocols = throttle->protocols,
	};
}

/* -- the journal ---------------------------------------------------------------------------------------------------- */

static int note(struct skm_container *container, bool shaped)
{
	struct skm_shape_places *places = &container->journal.shape;
	const struct skm_tc_plan *plan = &container->shaper.plan;
	struct skm_err err = SKM_ERR_INIT;
	int r;

	*places = (struct skm_shape_places){.shaped = shaped};
	if (shaped) {
		places->host_ifindex = plan->where == SKM_TC_HOST_SIDE ? (uint32_t)plan->host_ifindex : 0;
		places->link_count = plan->link_count;
		for (uint32_t i = 0; i < plan->link_count; i++)
			places->links[i] = (uint32_t)plan->links[i];
	}
	r = skm_journal_save(container, &err);
	if (r < 0)
		trouble(container, &err);
	return r;
}

/* -- what came of an errand ----------------------------------------------------------------------------------------- */

static void forget_made(struct skm_container *container)
{
	struct skm_shape_report *report = &container->report.shape;

	container->shaper.made = false;
	container->shaper.rate = 0;
	container->shaper.look_usec = 0; /* bytes are counted elsewhere from now on */
	report->where = SKM_SHAPE_NOWHERE;
	report->rate_bytes_per_sec = report->egress_bytes_per_sec = report->queued_bytes = 0;
}

static void take_look(struct skm_container *container, struct skm_shape_result *result)
{
	struct skm_shaper *shaper = &container->shaper;
	const struct skm_shape_sockets before = {shaper->sockets, shaper->socket_count};
	const struct skm_shape_sockets now = {result->sockets, result->socket_count};
	uint64_t received = result->look.received_bytes;

	/* the first since bytes are counted here only starts the clock */
	if (shaper->look_usec > 0 && received >= shaper->received_bytes) {
		struct skm_drain_look look = skm_control_drain_compare(&before, &now, received - shaper->received_bytes,
		                                                       result->when_usec - shaper->look_usec);

		skm_control_drain_note(&shaper->drain, &look);
	}
	shaper->look_usec = result->when_usec;
	free(shaper->sockets);
	shaper->sockets = result->sockets;
	shaper->socket_count = result->socket_count;
	shaper->received_bytes = result->received_after_bytes;
	result->sockets = NULL;
	container->report.shape.drain_bytes_per_sec = shaper->drain.rate;
	if (!shaper->made)
		return;
	container->report.shape.passed_bytes = result->look.seen.sent_bytes;
	container->report.shape.dropped = result->look.seen.drops;
	container->report.shape.queued_bytes = result->look.seen.backlog_bytes;
}

/* Someone has replaced or removed what we made, or a link of it has gone. The rest of ours is removed by the next look. */
static void lost(struct skm_container *container, const struct skm_err *err, int result)
{
	if (result == -ESTALE) {
		container->shaper.backed_off = true;
		skm_container_tell(container, SKM_EVENT_FOREIGN, "tc: %s; it is left alone from now on", err->text);
	}
	forget_made(container);
}

static void observe(struct skm_container *container, uint64_t rate)
{
	char text[SKM_SIZE_TEXT_MAX];

	if (rate > 0 && !container->shaper.observed)
		skm_container_tell(container, SKM_EVENT_SHAPED,
		                   "bulk that comes in would be shaped to %s/s (observe: nothing is written)",
		                   skm_bytes_human(rate, text));
	container->shaper.observed = rate > 0;
}

/* Whether the rate is another one now. */
static bool has_moved(const struct skm_container *container, uint64_t rate)
{
	return rate > 0 && !skm_control_within_grain(container->shaper.rate, rate);
}

static void change(struct skm_container *container, uint64_t now_usec)
{
	struct skm_shaper *shaper = &container->shaper;
	uint64_t rate = wanted_rate(container);
	struct skm_tc_want want;

	if (container->report.backend == SKM_BACKEND_OBSERVE) {
		observe(container, rate);
		return;
	}
	if (rate == 0 || now_usec < shaper->next_change_usec)
		return;
	if (!shaper->made) {
		skm_shape_give(container, SKM_SHAPE_PLAN, NULL);
	} else if (has_moved(container, rate)) {
		want = want_of(container, rate);
		if (skm_shape_give(container, SKM_SHAPE_UPDATE, &want) == 0)
			shaper->rate = rate;
	}
}

/* From the step before the last one on, so that the drain is known when it is needed. */
static bool is_looked_at(const struct skm_container *container)
{
	return container->report.policy.throttle.tc && container->report.decision.step >= SKM_STEP_SQUEEZE;
}

static uint32_t count_looked_at(const struct skm_registry *registry)
{
	uint32_t count = 0;

	for (const struct skm_container *c = skm_registry_first(registry); c; c = skm_registry_next(c))
		count += is_looked_at(c);
	return count;
}

static void look_done(struct skm_container *container, struct skm_shape_result *result)
{
	struct skm_shaper *shaper = &container->shaper;
	uint64_t interval = result->cost_usec * LOOK_COSTS * count_looked_at(container->registry);

	shaper->next_look_usec = shaper->job_usec + (interval > LOOK_USEC ? interval : LOOK_USEC);
	if (result->result == 0) {
		take_look(container, result);
		if (shaper->made && result->look.links_changed)
			skm_shape_give(container, SKM_SHAPE_PLAN, NULL);
		else if (!shaper->shut)
			change(container, skm_now_usec());
	} else if (shaper->made && (result->result == -ESTALE || result->result == -ENODEV)) {
		lost(container, &result->err, result->result);
	} else if (result->result != -ENODEV) {
		trouble(container, &result->err);
	}
}

static bool same_place(const struct skm_tc_plan *a, const struct skm_tc_plan *b)
{
	return a->where == b->where && a->host_ifindex == b->host_ifindex;
}

static void plan_done(struct skm_container *container, const struct skm_shape_result *result)
{
	struct skm_shaper *shaper = &container->shaper;
	struct skm_tc_want want;
	uint64_t rate;

	if (result->result == -EOPNOTSUPP)
		skm_container_skip(container, "throttle.tc: %s", result->err.text);
	else if (result->result < 0 && result->result != -ENODEV)
		trouble(container, &result->err);
	if (result->result < 0 || (shaper->made && !same_place(&shaper->plan, &result->plan))) {
		/* what is there is taken away first; without a link there may be one soon */
		shaper->next_change_usec = skm_now_usec() + (result->result == -EOPNOTSUPP ? AGAIN_USEC : CHANGE_USEC);
		forget_made(container);
		return;
	}
	shaper->plan = result->plan;
	if (container->report.policy.throttle.egress_bits_per_sec > 0 && !shaper->plan.egress)
		skm_container_skip(container, "throttle.egress: %s", shaper->plan.why_no_egress);
	rate = wanted_rate(container);
	if (rate == 0 || shaper->shut || note(container, true) < 0)
		return;
	want = want_of(container, rate);
	if (skm_shape_give(container, SKM_SHAPE_APPLY, &want) == 0)
		shaper->rate = rate;
}

static void tell_rate(struct skm_container *container)
{
	const struct skm_shaper *shaper = &container->shaper;
	char rate[SKM_SIZE_TEXT_MAX], drain[SKM_SIZE_TEXT_MAX], egress[SKM_SIZE_TEXT_MAX];
	const struct skm_shape_report *report = &container->report.shape;

	skm_container_tell(container, SKM_EVENT_SHAPED,
	                   "bulk that comes in is shaped to %s/s %s; its programs read %s/s from a backlog%s%s%s",
	                   skm_bytes_human(report->rate_bytes_per_sec, rate),
	                   shaper->plan.where == SKM_TC_IFB ? "by an ifb" : "on the host's side of its veth",
	                   skm_bytes_human(report->drain_bytes_per_sec, drain),
	                   report->egress_bytes_per_sec ? "; bulk that goes out to " : "",
	                   report->egress_bytes_per_sec ? skm_bytes_human(report->egress_bytes_per_sec, egress) : "",
	                   report->egress_bytes_per_sec ? "/s" : "");
}

static void keep_rate(struct skm_container *container)
{
	struct skm_shaper *shaper = &container->shaper;
	struct skm_shape_report *report = &container->report.shape;

	report->where = shaper->plan.where == SKM_TC_IFB ? SKM_SHAPE_IFB : SKM_SHAPE_HOST_SIDE;
	report->rate_bytes_per_sec = shaper->rate;
	report->egress_bytes_per_sec = want_of(container, shaper->rate).egress;
	report->changes++;
	shaper->next_change_usec = skm_now_usec() + CHANGE_USEC;
	tell_rate(container);
}

static void apply_done(struct skm_container *container, const struct skm_shape_result *result)
{
	struct skm_shaper *shaper = &container->shaper;

	if (result->result == 0) {
		if (!shaper->made)
			shaper->look_usec = 0;
		shaper->made = true;
		keep_rate(container);
		return;
	}
	if (result->result == -EOPNOTSUPP)
		skm_container_skip(container, "throttle.tc: %s", result->err.text);
	else if (result->result == -EEXIST)
		skm_container_tell(container, SKM_EVENT_FOREIGN, "tc: %s; it is left alone", result->err.text);
	else
		trouble(container, &result->err);
	forget_made(container);
	shaper->next_change_usec = skm_now_usec() + AGAIN_USEC;
}

static void update_done(struct skm_container *container, const struct skm_shape_result *result)
{
	if (result->result == 0) {
		keep_rate(container);
		return;
	}
	if (result->result == -ESTALE || result->result == -ENODEV)
		lost(container, &result->err, result->result);
	else
		trouble(container, &result->err);
	container->shaper.rate = container->report.shape.rate_bytes_per_sec;
	container->shaper.next_change_usec = skm_now_usec() + CHANGE_USEC;
}

static void remove_done(struct skm_container *container, const struct skm_shape_result *result)
{
	struct skm_shaper *shaper = &container->shaper;

	if (result->result < 0) {
		/* the journal goes on saying where it is */
		shaper->next_removal_usec = skm_now_usec() + (REMOVE_AGAIN_USEC << shaper->failed_removals);
		if (shaper->failed_removals < REMOVALS_DOUBLED)
			shaper->failed_removals++;
		trouble(container, &result->err);
		return;
	}
	if (shaper->made || shaper->adopted || container->report.shape.changes > 0)
		skm_container_tell(container, SKM_EVENT_RESTORED, "bulk is no longer shaped");
	shaper->adopted = false;
	shaper->failed_removals = 0;
	forget_made(container);
	note(container, false);
}

void skm_shape_take(struct skm_container *container)
{
	struct skm_shaper *shaper = &container->shaper;
	struct skm_shape_result result;

	if (!skm_shape_job_take(shaper->job, &result))
		return;
	skm_shape_drop(container);
	switch (shaper->verb) {
	case SKM_SHAPE_LOOK:
		look_done(container, &result);
		break;
	case SKM_SHAPE_PLAN:
		plan_done(container, &result);
		break;
	case SKM_SHAPE_APPLY:
		apply_done(container, &result);
		break;
	case SKM_SHAPE_UPDATE:
		update_done(container, &result);
		break;
	case SKM_SHAPE_REMOVE:
		remove_done(container, &result);
		break;
	}
	free(result.sockets);
}

static void job_ready(struct skm_watch *watch, uint32_t events)
{
	(void)events;
	skm_shape_take(SKM_WATCH_OWNER(watch, struct skm_container, shaper.watch));
}

/* -- at each look --------------------------------------------------------------------------------------------------- */

static void tell_late(struct skm_container *container, uint64_t now_usec)
{
	struct skm_shaper *shaper = &container->shaper;

	if (shaper->late_told || now_usec - shaper->job_usec < LATE_USEC)
		return;
	shaper->late_told = true;
	skm_container_tell(container, SKM_EVENT_TROUBLE,
	                   "tc: the kernel has not answered for 5 s; its rtnl lock is held by someone");
}

void skm_shape_run(struct skm_container *container, uint64_t now_usec)
{
	struct skm_shaper *shaper = &container->shaper;
	bool may = may_shape(container) && !shaper->backed_off && !shaper->shut;
	enum skm_step step = container->report.decision.step;

	if (shaper->job) {
		tell_late(container, now_usec);
		return;
	}
	if (container->journal.shape.shaped && (!may || !shaper->made || step != SKM_STEP_SHED)) {
		if (now_usec >= shaper->next_removal_usec)
			skm_shape_give(container, SKM_SHAPE_REMOVE, NULL);
		return;
	}
	if (!may || (!is_looked_at(container) && !shaper->made)) {
		shaper->observed = false;
		return;
	}
	if (now_usec < shaper->next_look_usec)
		return;
	shaper->next_look_usec = now_usec + LOOK_USEC;
	skm_shape_give(container, SKM_SHAPE_LOOK, NULL);
}
