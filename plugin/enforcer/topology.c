/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/topology.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "enforcer/registry.h"
#include "enforcer/skipped.h"
#include "probe/cgroup_tree.h"
#include "probe/outside.h"
#include "probe/process.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

/* How often processes outside are looked for, how soon after the start, and among how many: a look at 64 takes some milliseconds.
 */
#define OUTSIDE_USEC (UINT64_C(10) * SKM_USEC_PER_SEC)
#define OUTSIDE_FIRST_USEC (UINT64_C(2) * SKM_USEC_PER_SEC)
#define OUTSIDE_MOST 64
#define COST_SHARE 100

static bool is_hosts_netns(const struct skm_container *container)
{
	return container->journal.netns_inode == skm_registry_host(container->registry)->netns_inode;
}

/* Without this a container on a host without the controller would be told that its cgroup lacks it. */
static int refuse_host(const struct skm_host *host, struct skm_err *err)
{
	char buffer[SKM_ERR_TEXT_MAX];

	if (host->memory == SKM_MEMORY_V1 || (host->cgroup2_mounted && host->memory == SKM_MEMORY_V2))
		return 0;
	return skm_err_set(err, EOPNOTSUPP, "%s", skm_probe_host_soft_refusal(host, 0, buffer, sizeof(buffer)));
}

static int open_memcg(struct skm_container *container, int cgroup_fd, bool pod, struct skm_memcg *ret, struct skm_err *err)
{
	cleanup_fd int fd = skm_probe_cgroup_governed(cgroup_fd, container->report.id, pod, err);
	const struct skm_host *host = skm_registry_host(container->registry);
	struct stat st;
	int r = fd < 0 ? fd : 0;

	if (r == 0 && pod)
		r = skm_probe_cgroup_is_pod(fd, container->journal.netns_inode, host->netns_inode, err);
	if (r == 0 && fstat(fd, &st) < 0)
		r = skm_err_set_errno(err, errno, "stat the cgroup");
	if (r == 0)
		r = skm_probe_memcg_open(fd, ret, err);
	if (r < 0)
		return r;
	container->governed_inode = st.st_ino;
	return 0;
}

int skm_topology_open(struct skm_container *container, int cgroup_fd, enum skm_scope scope, struct skm_err *err)
{
	struct skm_report *report = &container->report;
	int r = refuse_host(skm_registry_host(container->registry), err);

	if (r == 0)
		r = open_memcg(container, cgroup_fd, false, &container->memcg, err);
	if (r == 0 && scope == SKM_SCOPE_POD)
		r = open_memcg(container, cgroup_fd, true, &container->pod, err);
	if (r < 0)
		return r;
	r = skm_probe_fd_path(skm_topology_governed(container)->dir, report->cgroup, sizeof(report->cgroup));
	return r < 0 ? skm_err_set_errno(err, -r, "find the cgroup's path") : 0;
}

const struct skm_memcg *skm_topology_governed(const struct skm_container *container)
{
	return container->pod.dir >= 0 ? &container->pod : &container->memcg;
}

static void skip_by_host(struct skm_container *container)
{
	const struct skm_host *host = skm_registry_host(container->registry);

	if (host->nosocket && !container->memcg.v1 && container->report.limit_bytes != UINT64_MAX)
		skm_container_skip(container, "tcpmem: what sockets hold is not known: the kernel was started with "
		                              "cgroup.memory=nosocket");
	if (!container->writes_sysctls || !is_hosts_netns(container))
		return;
	container->writes_sysctls = false;
	skm_container_skip(container,
	                   "throttle.sysctl: the container is in the host's network namespace, whose sysctls are never "
	                   "written%s",
	                   container->squeezes ? ": its open sockets are limited, what it sends is not" : "");
}

void skm_topology_choose_actuators(struct skm_container *container)
{
	const struct skm_throttle *throttle = &container->report.policy.throttle;
	bool tcp = throttle->protocols & UINT32_C(1) << SKM_PROTOCOL_TCP;
	bool soft = container->report.backend == SKM_BACKEND_SOFT;

	container->writes_sysctls = soft && tcp && throttle->sysctl;
	container->squeezes = soft && tcp && throttle->sockets;
	skip_by_host(container);
	skm_skipped_list_policy(container);
}

bool skm_topology_shares_netns(const struct skm_container *container)
{
	return is_hosts_netns(container) || skm_netns_group_is_shared(container);
}

/* The one with the smallest limit, of equal ones the oldest. */
static bool comes_before(const struct skm_container *one, const struct skm_container *other)
{
	if (one->report.limit_bytes != other->report.limit_bytes)
		return one->report.limit_bytes < other->report.limit_bytes;
	return one->report.started_realtime_usec < other->report.started_realtime_usec;
}

bool skm_topology_leads(const struct skm_container *container)
{
	struct skm_container *peer = NULL;

	while ((peer = skm_topology_next_peer(container, peer)))
		if (peer->squeezes && comes_before(peer, container))
			return false;
	return true;
}

struct skm_container *skm_topology_next_peer(const struct skm_container *container, struct skm_container *after)
{
	struct skm_container *peer = after ? after->next : skm_registry_head(container->registry);

	while (peer && (peer == container || peer->governed_inode != container->governed_inode ||
	                peer->journal.netns_inode != container->journal.netns_inode ||
	                (!peer->squeezes && peer->journal.socket_count == 0)))
		peer = peer->next;
	return peer;
}

static void tell_outside(struct skm_container *container, const struct skm_outside *outside)
{
	struct skm_report *report = &container->report;

	if (outside->outside == report->outside_processes)
		return;
	report->outside_processes = outside->outside;
	if (outside->outside == 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "all processes that were looked at are in its cgroup again");
	else
		skm_container_tell(container, SKM_EVENT_TROUBLE,
		                   "%" PRIu32 " of %" PRIu32 " processes are outside its cgroup (%d is in %.100s): what their "
		                   "sockets hold is counted there",
		                   outside->outside, outside->looked_at, outside->pid, outside->cgroup);
}

void skm_topology_check_outside(struct skm_container *container, uint64_t now_usec, uint32_t containers)
{
	const struct skm_host *host = skm_registry_host(container->registry);
	cleanup_free struct skm_outside *outside = NULL;
	uint64_t affordable;

	if (container->next_outside_usec == 0)
		container->next_outside_usec = now_usec + OUTSIDE_FIRST_USEC;
	if (container->init_ended || container->memcg.v1 || now_usec < container->next_outside_usec)
		return;
	outside = malloc(sizeof(*outside));
	if (!outside)
		return;
	skm_probe_outside(container->report.pid, host->cgroup2_path, skm_topology_governed(container)->dir, OUTSIDE_MOST,
	                  outside);
	tell_outside(container, outside);
	affordable = (skm_now_usec() - now_usec) * COST_SHARE * containers;
	container->next_outside_usec = now_usec + (affordable > OUTSIDE_USEC ? affordable : OUTSIDE_USEC);
}
