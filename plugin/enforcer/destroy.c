/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/destroy.h"

#include "base/clock.h"
#include "enforcer/container.h"
#include "enforcer/registry.h"
#include "enforcer/topology.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* So long the milder steps have to bring the sockets below the limit. A starting point. */
#define PATIENCE_USEC (UINT64_C(2) * SKM_USEC_PER_SEC)
#define ROUND_USEC SKM_USEC_PER_SEC
/* Where it cannot be done: tried again so much later. */
#define AGAIN_USEC (UINT64_C(60) * SKM_USEC_PER_SEC)
#define LATE_USEC (UINT64_C(5) * SKM_USEC_PER_SEC)
/* All rounds together cost one per cent of a processor at most. */
#define ROUND_COSTS 100

/* An address and a port, in brackets where it is IPv6. */
#define END_TEXT_MAX (INET6_ADDRSTRLEN + 9)

/* Of a policy that was granted under another node file, the present one decides. */
static bool may_destroy(const struct skm_container *container)
{
	const struct skm_report *report = &container->report;
	bool acts = report->backend == SKM_BACKEND_SOFT || report->backend == SKM_BACKEND_OBSERVE;

	return acts && report->policy.throttle.destroy && skm_registry_node(container->registry)->destroy &&
	       (report->policy.throttle.protocols & UINT32_C(1) << SKM_PROTOCOL_TCP) && skm_topology_leads(container);
}

/* Pressure alone leads to the last step too: it ends nothing. */
static bool is_over_limit(const struct skm_report *report)
{
	return report->decision.step == SKM_STEP_SHED && report->sock_bytes != SKM_SOCK_UNKNOWN &&
	       report->sock_bytes >= report->limit_bytes;
}

static const char *end_text(const struct skm_diag_socket *socket, const __be32 *address, __be16 port, char text[END_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "?";

	inet_ntop(socket->family, address, host, sizeof(host));
	snprintf(text, END_TEXT_MAX, socket->family == AF_INET6 ? "[%s]:%u" : "%s:%u", host, ntohs(port));
	return text;
}

static void tell_one(struct skm_container *container, const struct skm_destroyed *one, bool dry)
{
	const struct skm_diag_socket *socket = &one->socket;
	char from[END_TEXT_MAX], to[END_TEXT_MAX], size[SKM_SIZE_TEXT_MAX];

	skm_container_tell(
	        container, SKM_EVENT_DESTROYED,
	        "the connection %s -> %s %s: %s of its send queue %s; it had sent nothing for %" PRIu32 ".%" PRIu32 " s%s",
	        end_text(socket, socket->id.idiag_src, socket->id.idiag_sport, from),
	        end_text(socket, socket->id.idiag_dst, socket->id.idiag_dport, to),
	        dry ? "would be ended (observe: nothing is done)" : "was ended", skm_bytes_human(one->freed_bytes, size),
	        dry ? "would be freed" : "were freed", socket->idle_msec / 1000, socket->idle_msec % 1000 / 100,
	        socket->inode == 0 ? ", and no program held it" : "");
}

static void take(struct skm_container *container, const struct skm_destroy_result *result)
{
	bool dry = container->report.backend == SKM_BACKEND_OBSERVE;
	struct skm_destroyer *destroyer = &container->destroyer;

	destroyer->next_usec = destroyer->job_usec + ROUND_USEC;
	if (destroyer->next_usec < destroyer->job_usec + result->cost_usec * ROUND_COSTS)
		destroyer->next_usec = destroyer->job_usec + result->cost_usec * ROUND_COSTS;
	for (size_t i = 0; i < result->count; i++) {
		tell_one(container, &result->list[i], dry);
		if (dry)
			continue;
		container->report.destroyed_sockets++;
		container->report.destroyed_bytes += result->list[i].freed_bytes;
	}
	destroyer->observed = dry && result->count > 0;
	if (result->result == 0)
		return;
	destroyer->next_usec = destroyer->job_usec + AGAIN_USEC;
	if (result->result == -EOPNOTSUPP)
		skm_container_skip(container, "throttle.destroy: %s", result->err.text);
	else
		skm_container_tell(container, SKM_EVENT_TROUBLE, "throttle.destroy: %s", result->err.text);
}

void skm_destroy_close(struct skm_container *container)
{
	struct skm_destroyer *destroyer = &container->destroyer;

	if (!destroyer->job)
		return;
	skm_watch_remove(skm_registry_epoll(container->registry), skm_destroy_job_done_fd(destroyer->job));
	skm_destroy_job_drop(destroyer->job);
	destroyer->job = NULL;
}

static void job_ready(struct skm_watch *watch, uint32_t events)
{
	struct skm_container *container = SKM_WATCH_OWNER(watch, struct skm_container, destroyer.watch);
	struct skm_destroy_result result;

	(void)events;
	if (!skm_destroy_job_take(container->destroyer.job, &result))
		return;
	skm_destroy_close(container);
	take(container, &result);
}

static void start(struct skm_container *container, uint64_t now_usec)
{
	struct skm_destroyer *destroyer = &container->destroyer;
	const struct skm_report *report = &container->report;
	const struct skm_destroy_order order = {
	        .netns_fd = container->fds[SKM_FD_NETNS],
	        .cgroup_fd = skm_topology_governed(container)->dir,
	        .excess_bytes = report->sock_bytes - report->limit_bytes + 1,
	        .dry = report->backend == SKM_BACKEND_OBSERVE,
	};
	struct skm_err err = SKM_ERR_INIT;
	int r = skm_destroy_job_start(&order, &destroyer->job, &err);

	destroyer->job_usec = now_usec;
	destroyer->next_usec = now_usec + ROUND_USEC;
	destroyer->late_told = false;
	if (r == 0) {
		destroyer->watch.ready = job_ready;
		r = skm_watch_add(skm_registry_epoll(container->registry), skm_destroy_job_done_fd(destroyer->job), EPOLLIN,
		                  &destroyer->watch, &err);
		if (r < 0)
			skm_destroy_close(container);
	}
	if (r < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "throttle.destroy: %s", err.text);
}

/* A program can keep its own sockets' locks, and with them only its own round. */
static void tell_late(struct skm_container *container, uint64_t now_usec)
{
	struct skm_destroyer *destroyer = &container->destroyer;

	if (destroyer->late_told || now_usec < destroyer->job_usec + LATE_USEC)
		return;
	destroyer->late_told = true;
	skm_container_tell(container, SKM_EVENT_TROUBLE,
	                   "throttle.destroy: no answer for 5 s; its program keeps a socket locked");
}

void skm_destroy_run(struct skm_container *container, uint64_t now_usec)
{
	struct skm_destroyer *destroyer = &container->destroyer;

	if (!may_destroy(container) || !is_over_limit(&container->report)) {
		destroyer->since_usec = 0;
		destroyer->observed = false;
		if (destroyer->job)
			skm_destroy_close(container);
		return;
	}
	if (destroyer->since_usec == 0)
		destroyer->since_usec = now_usec;
	if (destroyer->job)
		tell_late(container, now_usec);
	else if (now_usec >= destroyer->since_usec + PATIENCE_USEC && now_usec >= destroyer->next_usec && !destroyer->observed)
		start(container, now_usec);
}
