/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/container.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "control/budget.h"
#include "enforcer/grant.h"
#include "enforcer/registry.h"
#include "enforcer/topology.h"
#include "probe/process.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* There v1 is all there is: what sockets hold is counted only under a limit of its own, so nobody could observe it. */
static int resolve_on_v1(const struct skm_host *host, struct skm_report *report, struct skm_err *err)
{
	const char *refusal = skm_probe_host_v1_refusal(host);
	char buffer[SKM_ERR_TEXT_MAX];

	if (refusal)
		return skm_err_set(err, EOPNOTSUPP, "mode %s; use auto, soft or observe", refusal);
	if (report->policy.mode != SKM_MODE_AUTO && report->policy.mode != SKM_MODE_V1)
		return skm_err_set(err, EOPNOTSUPP, "mode %s: %s", skm_name_of(&skm_mode_names, report->policy.mode),
		                   skm_probe_host_soft_refusal(host, 0, buffer, sizeof(buffer)));
	if (report->limit_bytes == UINT64_MAX && skm_policy_has_memory(&report->policy))
		return skm_err_set(err, EOPNOTSUPP,
		                   "memory: the controller is on cgroup v1 here, where sockmem sets tcpmem alone");
	report->backend = report->limit_bytes == UINT64_MAX ? SKM_BACKEND_NONE : SKM_BACKEND_V1;
	report->why_not_better[0] = '\0';
	return 0;
}

/* What `auto` becomes on this host, and whether that can hold the limit. */
static int resolve_backend(const struct skm_host *host, struct skm_report *report, struct skm_err *err)
{
	char buffer[SKM_ERR_TEXT_MAX];
	const char *refusal = skm_probe_host_soft_refusal(host, report->limit_bytes, buffer, sizeof(buffer));

	if (host->memory == SKM_MEMORY_V1 || report->policy.mode == SKM_MODE_V1)
		return resolve_on_v1(host, report, err);
	if (report->policy.mode == SKM_MODE_HARD)
		return skm_err_set(err, EOPNOTSUPP, "mode %s is not in this build; use auto, soft or observe",
		                   skm_name_of(&skm_mode_names, report->policy.mode));
	report->why_not_better[0] = '\0';
	if (report->limit_bytes == UINT64_MAX || report->policy.mode == SKM_MODE_OBSERVE) {
		report->backend = report->limit_bytes == UINT64_MAX ? SKM_BACKEND_NONE : SKM_BACKEND_OBSERVE;
		return 0;
	}
	report->backend = SKM_BACKEND_SOFT;
	snprintf(report->why_not_better, sizeof(report->why_not_better), "%s", skm_probe_host_hard_refusal(host));
	if (refusal)
		return skm_err_set(err, EOPNOTSUPP, "%s", refusal);
	return 0;
}

int skm_container_use_baselines(struct skm_container *container, struct skm_err *err)
{
	const char(*baseline)[SKM_NETNS_TEXT_MAX] = (const char(*)[SKM_NETNS_TEXT_MAX])container->group->baseline;
	uint64_t rmem[3], wmem[3], lowat;

	if (skm_probe_triple(baseline[SKM_NETNS_TCP_RMEM], rmem) < 0 ||
	    skm_probe_triple(baseline[SKM_NETNS_TCP_WMEM], wmem) < 0 ||
	    sscanf(baseline[SKM_NETNS_NOTSENT_LOWAT], "%" SCNu64, &lowat) != 1)
		return skm_err_set(err, EIO, "tcp_rmem and tcp_wmem are not three numbers, or tcp_notsent_lowat is not one");
	container->ladder_config = (struct skm_ladder_config){
	        .limit_bytes = container->report.limit_bytes,
	        .rmem_max_baseline_bytes = rmem[2],
	        .wmem_start_baseline_bytes = wmem[1],
	        .wmem_max_baseline_bytes = wmem[2],
	        .notsent_lowat_baseline_bytes = lowat,
	        .pressure_some_permyriad = container->report.policy.pressure_some_permyriad,
	};
	container->start_buffer_bytes = skm_control_start_buffer(container->report.limit_bytes, rmem[1]);
	return 0;
}

static int read_identity(struct skm_container *container, const struct skm_request *request, struct skm_err *err)
{
	struct skm_journal *journal = &container->journal;
	struct skm_report *report = &container->report;
	struct stat st;
	int r;

	if (fstat(request->fds[SKM_FD_CGROUP], &st) < 0)
		return skm_err_set_errno(err, errno, "stat the container's cgroup");
	journal->cgroup_inode = st.st_ino;
	if (fstat(request->fds[SKM_FD_NETNS], &st) < 0)
		return skm_err_set_errno(err, errno, "stat the container's network namespace");
	journal->netns_inode = st.st_ino;
	r = skm_probe_fd_path(request->fds[SKM_FD_CGROUP], report->cgroup, sizeof(report->cgroup));
	if (r == 0)
		r = skm_probe_boot_id(journal->boot_id);
	if (r < 0)
		return skm_err_set_errno(err, -r, "identify the container");
	report->started_realtime_usec = skm_realtime_usec();
	report->pid = request->pid;
	memcpy(report->id, request->id, sizeof(report->id));
	memcpy(journal->id, request->id, sizeof(journal->id));
	snprintf(journal->cgroup, sizeof(journal->cgroup), "%s", report->cgroup);
	journal->pid = request->pid;
	journal->by_cgroup = request->policy.source == SKM_SOURCE_ADMINISTRATOR;
	journal->started_realtime_usec = report->started_realtime_usec;
	snprintf(container->journal_name, sizeof(container->journal_name), "%020" PRIu64 "-%" PRIu64 ".json",
	         journal->started_realtime_usec, journal->cgroup_inode);
	return 0;
}

/* EINVAL is for a policy that is wrong in itself; what a probe cannot make sense of is this host's. */
static int blame_host(int r, struct skm_err *err)
{
	if (r != -EINVAL)
		return r;
	if (err)
		err->code = EIO;
	return -EIO;
}

int skm_container_resolve(struct skm_container *container, struct skm_err *err)
{
	const struct skm_host *host = skm_registry_host(container->registry);
	int r = resolve_backend(host, &container->report, err);

	if (r < 0)
		return r;
	skm_topology_choose_actuators(container);
	/* one that is being opened has no group yet, and joins it afterwards */
	return container->group ? blame_host(skm_netns_group_update(container, err), err) : 0;
}

/* The second half of a grant, which needs the container. */
static int take_grant(struct skm_container *container, const struct skm_request *request, const struct skm_grant *half,
                      bool sized, struct skm_err *err)
{
	const struct skm_node *node = skm_registry_node(container->registry);
	struct skm_grant grant = *half;
	struct skm_grant_facts facts;
	int r;

	container->report.program_bytes = container->journal.program_bytes = request->program_bytes;
	container->report.kernel_tcp_bytes = container->journal.kernel_tcp_bytes = request->kernel_tcp_bytes;
	r = blame_host(skm_grant_facts(container, &facts, err), err);
	if (r == 0 && !sized)
		r = skm_control_grant_sizes(node, &facts, &grant, err);
	if (r < 0)
		return r;
	container->report.memory_max_bytes = facts.memory_max_bytes;
	skm_grant_put(container, &grant);
	return 0;
}

static int open_files(struct skm_container *container, const struct skm_request *request, const struct skm_grant *grant,
                      bool sized, struct skm_err *err)
{
	int r = skm_topology_open(container, request->fds[SKM_FD_CGROUP], grant->policy.scope, err);

	if (r == 0)
		r = skm_probe_memcg_oom_kills(&container->memcg, &container->oom_kills_before, err);
	if (r < 0)
		return blame_host(r, err);
	r = take_grant(container, request, grant, sized, err);
	if (r == 0)
		r = skm_container_resolve(container, err);
	if (r < 0)
		return r;
	r = skm_netns_group_join(container, request->fds[SKM_FD_NETNS], err);
	if (r == 0)
		r = skm_container_use_baselines(container, err);
	return blame_host(r, err);
}

int skm_container_open(struct skm_registry *registry, struct skm_request *request, const struct skm_grant *grant, bool sized,
                       struct skm_container **ret, struct skm_err *err)
{
	struct skm_container *container = calloc(1, sizeof(*container));
	int r;

	if (!container)
		return skm_err_set(err, ENOMEM, "out of memory");
	container->registry = registry;
	container->memcg = container->pod = SKM_MEMCG_INIT;
	container->squeezer.worker = SKM_WORKER_INIT;
	container->pressure = SKM_PRESSURE_GAUGE_INIT;
	container->report.decision.fair_cap_bytes = UINT64_MAX;
	for (int i = 0; i < SKM_FD_COUNT; i++)
		container->fds[i] = -1;
	r = read_identity(container, request, err);
	if (r == 0)
		r = open_files(container, request, grant, sized, err);
	if (r < 0) {
		skm_container_free(container);
		return r;
	}
	for (int i = 0; i < SKM_FD_COUNT; i++)
		container->fds[i] = skm_steal_fd(&request->fds[i]);
	*ret = container;
	return 0;
}

void skm_container_free(struct skm_container *container)
{
	int epoll_fd = skm_registry_epoll(container->registry);
	const int watched[] = {container->squeezer.worker.fd, container->memcg.events, container->fds[SKM_FD_PID]};

	for (size_t i = 0; i < sizeof(watched) / sizeof(*watched); i++)
		if (watched[i] >= 0)
			skm_watch_remove(epoll_fd, watched[i]);
	skm_reclaim_close(container);
	skm_shape_free(container);
	skm_destroy_close(container);
	skm_pressure_close(container);
	skm_actuate_worker_stop(&container->squeezer.worker);
	skm_probe_memcg_close(&container->memcg);
	skm_probe_memcg_close(&container->pod);
	skm_netns_group_leave(container);
	for (int i = 0; i < SKM_FD_COUNT; i++)
		skm_close_fd(&container->fds[i]);
	skm_events_free(&container->events);
	free(container->journal.sockets);
	skm_memory_free(container);
	free(container);
}
