/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/pressure.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "control/ladder.h"
#include "enforcer/container.h"
#include "enforcer/registry.h"

#define INTERVAL_USEC (UINT64_C(250) * SKM_USEC_PER_MSEC)
/* Of a processor, as in control/pace.c. */
#define COST_SHARE 100

static void trigger_ready(struct skm_watch *watch, uint32_t events)
{
	struct skm_pressure_gauge *gauge = SKM_WATCH_OWNER(watch, struct skm_pressure_gauge, watch);
	struct skm_container *container = (struct skm_container *)((char *)gauge - offsetof(struct skm_container, pressure));

	if (events & (EPOLLERR | EPOLLHUP)) {
		/* the cgroup is being removed: the trigger has gone with it */
		skm_watch_remove(skm_registry_epoll(container->registry), gauge->trigger);
		skm_close_fd(&gauge->trigger);
		return;
	}
	gauge->triggered_until_usec = skm_now_usec() + container->report.policy.pressure_window_usec;
	gauge->next_usec = 0;
	container->next_full_usec = 0; /* look now */
}

static void set_trigger(struct skm_container *container)
{
	struct skm_pressure_gauge *gauge = &container->pressure;
	const struct skm_policy *policy = &container->report.policy;
	uint64_t some = skm_scale(policy->pressure_window_usec, policy->pressure_some_permyriad, SKM_PERMYRIAD);
	struct skm_err err = SKM_ERR_INIT;
	int r = skm_probe_psi_trigger(container->memcg.dir, some, policy->pressure_window_usec, &err);

	gauge->watch.ready = trigger_ready;
	if (r >= 0) {
		gauge->trigger = r;
		r = skm_watch_add(skm_registry_epoll(container->registry), gauge->trigger, EPOLLPRI, &gauge->watch, &err);
	}
	if (r < 0) {
		skm_close_fd(&gauge->trigger);
		skm_log(LOG_DEBUG, "%s: pressure is sampled: %s", container->report.id, err.text);
	}
}

void skm_pressure_open(struct skm_container *container)
{
	struct skm_err err = SKM_ERR_INIT;

	if (container->memcg.v1)
		return;
	if (skm_probe_pressure_open(container->memcg.dir, &container->pressure.files, &err) < 0) {
		skm_log(LOG_DEBUG, "%s: no pressure to be seen: %s", container->report.id, err.text);
		return;
	}
	if (container->report.policy.pressure_some_permyriad > 0)
		set_trigger(container);
}

void skm_pressure_close(struct skm_container *container)
{
	struct skm_pressure_gauge *gauge = &container->pressure;

	if (gauge->trigger >= 0)
		skm_watch_remove(skm_registry_epoll(container->registry), gauge->trigger);
	skm_close_fd(&gauge->trigger);
	skm_probe_pressure_close(&gauge->files);
}

static void read_counters(struct skm_pressure_gauge *gauge, uint64_t now_usec)
{
	enum skm_pressure highest = SKM_PRESSURE_LOW;

	for (uint32_t i = 0; i < gauge->files.levels; i++) {
		struct skm_reclaim_counts counts;
		enum skm_pressure level;
		bool apart;

		if (skm_probe_pressure_counts(&gauge->files, i, &counts, &apart, NULL) < 0)
			continue;
		if (apart)
			gauge->windows[i].deaf_until_usec = 0; /* ours is not in these counters */
		level = skm_control_pressure_saw(&gauge->windows[i], &counts, now_usec);
		if (level > highest)
			highest = level;
	}
	gauge->level = highest;
}

static void read_psi(struct skm_pressure_gauge *gauge, uint64_t window_usec, uint64_t now_usec)
{
	uint64_t total, elapsed = now_usec - gauge->total_at_usec;

	if (elapsed < window_usec || skm_probe_psi_total(&gauge->files, &total, NULL) < 0)
		return;
	gauge->some_permyriad = 0;
	if (gauge->total_at_usec > 0 && total > gauge->total_usec)
		gauge->some_permyriad = (uint32_t)skm_scale(total - gauge->total_usec, SKM_PERMYRIAD, elapsed);
	gauge->total_usec = total;
	gauge->total_at_usec = now_usec;
}

void skm_pressure_sample(struct skm_container *container, uint32_t containers, struct skm_sample *sample)
{
	struct skm_pressure_gauge *gauge = &container->pressure;
	const struct skm_policy *policy = &container->report.policy;
	uint64_t now = sample->when_usec, interval = (uint64_t)gauge->cost_usec * COST_SHARE * containers;

	if (!skm_control_pressure_matters(sample)) {
		gauge->level = SKM_PRESSURE_LOW;
		return;
	}
	if (now >= gauge->next_usec) {
		read_counters(gauge, now);
		read_psi(gauge, policy->pressure_window_usec, now);
		gauge->cost_usec = (uint32_t)(skm_now_usec() - now);
		gauge->next_usec = now + (interval > INTERVAL_USEC ? interval : INTERVAL_USEC);
	}
	sample->pressure = gauge->level;
	sample->psi_some_permyriad = gauge->some_permyriad;
	if (now < gauge->triggered_until_usec && sample->psi_some_permyriad < policy->pressure_some_permyriad)
		sample->psi_some_permyriad = policy->pressure_some_permyriad;
}

void skm_pressure_own_reclaim(struct skm_container *container, uint64_t now_usec)
{
	for (uint32_t i = 0; i < container->pressure.files.levels; i++)
		skm_control_pressure_deafen(&container->pressure.windows[i], now_usec);
}
