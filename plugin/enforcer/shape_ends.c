/* SPDX-License-Identifier: Apache-2.0 */
/* How shaping ends where there is no later look: the enforcer's end, the container's, and after both. */
#include "base/clock.h"
#include "base/log.h"
#include "enforcer/journal.h"
#include "enforcer/registry.h"
#include "enforcer/shape_parts.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

/* What a journal says, as far as removing needs it. */
static struct skm_tc_plan noted_plan(const struct skm_shape_places *places)
{
	struct skm_tc_plan plan = {.where = places->host_ifindex ? SKM_TC_HOST_SIDE : SKM_TC_IFB,
	                           .host_ifindex = (int)places->host_ifindex,
	                           .link_count = places->link_count};

	for (uint32_t i = 0; i < places->link_count; i++)
		plan.links[i] = (int)places->links[i];
	return plan;
}

void skm_shape_adopt(struct skm_container *container)
{
	container->shaper.plan = noted_plan(&container->journal.shape);
	container->shaper.adopted = container->journal.shape.shaped;
}

void skm_shape_remove_begin(struct skm_container *container)
{
	struct skm_shaper *shaper = &container->shaper;

	shaper->shut = true;
	/* one under way comes first: apply after remove would leave all of it */
	if (!shaper->job && container->journal.shape.shaped)
		skm_shape_give(container, SKM_SHAPE_REMOVE, NULL);
}

bool skm_shape_remove_wait(struct skm_container *container, uint64_t deadline_usec)
{
	struct skm_shaper *shaper = &container->shaper;
	int removals = 0;

	shaper->shut = true;
	while ((shaper->job || (container->journal.shape.shaped && removals == 0)) && skm_now_usec() < deadline_usec) {
		struct pollfd ready = {.events = POLLIN};

		if (!shaper->job && skm_shape_give(container, SKM_SHAPE_REMOVE, NULL) < 0)
			break;
		removals += shaper->verb == SKM_SHAPE_REMOVE;
		ready.fd = skm_shape_job_done_fd(shaper->job);
		if (poll(&ready, 1, 10) > 0)
			skm_shape_take(container);
	}
	return !container->journal.shape.shaped;
}

static bool is_removed(struct skm_container *container)
{
	struct skm_shape_result result;

	if (!skm_shape_job_take(container->shaper.job, &result))
		return false;
	free(result.sockets);
	return result.result == 0;
}

bool skm_shape_bequeath(struct skm_container *container)
{
	struct skm_shaper *shaper = &container->shaper;
	struct skm_tc_plan noted = noted_plan(&container->journal.shape);
	int journal_dir = skm_registry_journal_dir(container->registry), r = -EALREADY;

	if (!container->journal.shape.shaped)
		return false;
	if (shaper->job)
		r = skm_shape_job_bequeath(shaper->job, &noted, journal_dir, container->journal_name);
	if (r == -EALREADY) {
		skm_shape_drop(container);
		shaper->plan = noted;
		r = skm_shape_give(container, SKM_SHAPE_REMOVE, NULL);
		if (r == 0)
			r = skm_shape_job_bequeath(shaper->job, &noted, journal_dir, container->journal_name);
	}
	/* done before it could be told: what is left decides */
	return r == -EALREADY ? !is_removed(container) : true;
}

static int restore(const struct skm_journal *journal, int netns_fd, struct skm_err *err)
{
	struct skm_tc_plan noted = noted_plan(&journal->shape);
	struct skm_tc_ends ends = SKM_TC_ENDS_INIT;
	int r;

	if (netns_fd < 0)
		return noted.host_ifindex > 0 ? skm_actuate_tc_remove_host(noted.host_ifindex, err) : 0;
	r = skm_actuate_tc_open(netns_fd, &ends, err);
	if (r == 0)
		r = skm_actuate_tc_remove(&ends, &noted, err);
	skm_actuate_tc_close(&ends);
	return r;
}

void skm_shape_restore(const struct skm_journal *journal, int netns_fd)
{
	struct skm_err err = SKM_ERR_INIT;

	if (!journal->shape.shaped)
		return;
	if (restore(journal, netns_fd, &err) < 0)
		skm_log(LOG_WARNING, "%s: tc: %s", journal->id, err.text);
	else
		skm_log(LOG_INFO, "%s: its traffic is no longer shaped", journal->id);
}

void skm_shape_free(struct skm_container *container)
{
	skm_shape_drop(container);
	free(container->shaper.sockets);
}
