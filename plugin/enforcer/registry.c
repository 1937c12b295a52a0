/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/registry.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "enforcer/apply.h"
#include "enforcer/change.h"
#include "enforcer/container.h"
#include "enforcer/grant.h"
#include "enforcer/journal.h"
#include "enforcer/kernel_limit.h"
#include "enforcer/record.h"
#include "enforcer/sampler.h"
#include "enforcer/skipped.h"
#include "enforcer/squeeze.h"
#include "enforcer/udp.h"
#include "probe/cgroup_tree.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

struct skm_registry {
	struct skm_container *first;
	struct skm_netns_group *groups;
	struct skm_host host;
	struct skm_node bare_node; /* what node is until the daemon says otherwise */
	const struct skm_node *node;
	int epoll_fd, journal_dir, ended_dir;
	uint32_t count;
};

int skm_registry_open(struct skm_registry **ret, int epoll_fd, const struct skm_host *host, int journal_dir, int ended_dir,
                      struct skm_err *err)
{
	struct skm_registry *registry = calloc(1, sizeof(*registry));

	if (!registry)
		return skm_err_set(err, ENOMEM, "out of memory");
	registry->epoll_fd = epoll_fd;
	registry->host = *host;
	registry->bare_node = SKM_NODE_INIT;
	registry->node = &registry->bare_node;
	registry->journal_dir = journal_dir;
	registry->ended_dir = ended_dir;
	*ret = registry;
	return 0;
}

void skm_registry_use_node(struct skm_registry *registry, const struct skm_node *node)
{
	registry->node = node;
}

void skm_registry_recover(struct skm_registry *registry)
{
	skm_journal_recover(registry);
}

static void unlink_container(struct skm_registry *registry, struct skm_container *container)
{
	struct skm_container **link = &registry->first;

	while (*link && *link != container)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = container->next;
	registry->count--;
}

void skm_registry_put_back(struct skm_container *container)
{
	skm_apply_restore_netns(container);
	skm_memory_give_back(container);
	skm_kernel_limit_give_back(container);
}

void skm_registry_end(struct skm_registry *registry, struct skm_container *container, const char *why)
{
	struct skm_err err = SKM_ERR_INIT;

	skm_sampler_check_oom(container);
	skm_udp_refresh(container);
	skm_squeeze_hand_over(container);
	skm_registry_put_back(container);
	container->report.ended = true;
	container->report.ended_realtime_usec = skm_realtime_usec();
	skm_container_tell(container, SKM_EVENT_ENDED, "%s", why);
	if (skm_record_save(container, &err) < 0)
		skm_log(LOG_WARNING, "%s: %s", container->report.id, err.text);
	if (!skm_shape_bequeath(container))
		skm_journal_drop(container);
	unlink_container(registry, container);
	skm_container_free(container);
}

void skm_registry_close(struct skm_registry *registry, bool put_back)
{
	uint64_t deadline_usec = skm_now_usec() + SKM_USEC_PER_SEC;
	struct skm_container *container;

	for (container = registry->first; put_back && container; container = container->next) {
		skm_squeeze_restore_begin(container);
		skm_shape_remove_begin(container);
	}
	while ((container = registry->first)) {
		if (put_back)
			skm_squeeze_restore_wait(container, deadline_usec);
		if (put_back)
			SKM_IGNORE(skm_shape_remove_wait(container, deadline_usec)); /* the journal stays, for the next start */
		if (put_back)
			skm_apply_restore_netns(container);
		unlink_container(registry, container);
		skm_container_free(container);
	}
	close(registry->journal_dir);
	close(registry->ended_dir);
	free(registry);
}

/* Whether nothing of the container runs any more: its init has ended and its cgroup is empty or gone. */
static bool has_ended(const struct skm_container *container)
{
	struct pollfd init = {.fd = container->fds[SKM_FD_PID], .events = POLLIN};
	int populated;

	if (!container->journal.by_cgroup && poll(&init, 1, 0) == 0)
		return false;
	populated = skm_probe_cgroup_populated(container->fds[SKM_FD_CGROUP], NULL);
	return populated == 0 || populated == -ENODEV; /* any other failure tells nothing of the container */
}

static void pid_ready(struct skm_watch *watch, uint32_t events)
{
	struct skm_container *container = SKM_WATCH_OWNER(watch, struct skm_container, pid_watch);

	(void)events;
	container->init_ended = true;
	skm_watch_remove(container->registry->epoll_fd, container->fds[SKM_FD_PID]);
	skm_sampler_check_oom(container);
	if (has_ended(container))
		skm_registry_end(container->registry, container, "its process has ended and its cgroup is empty");
}

static void oom_ready(struct skm_watch *watch, uint32_t events)
{
	(void)events;
	skm_sampler_check_oom(SKM_WATCH_OWNER(watch, struct skm_container, oom_watch));
}

int skm_registry_insert(struct skm_registry *registry, struct skm_container *container, struct skm_err *err)
{
	int r;

	container->pid_watch.ready = pid_ready;
	container->oom_watch.ready = oom_ready;
	r = skm_watch_add(registry->epoll_fd, container->fds[SKM_FD_PID], EPOLLIN, &container->pid_watch, err);
	/* cgroup files say a change as an exceptional condition */
	if (r == 0)
		r = skm_watch_add(registry->epoll_fd, container->memcg.events, EPOLLPRI, &container->oom_watch, err);
	/* where the file cannot be watched, kills are seen when the container ends */
	if (r < 0 && r != -EPERM)
		return r;
	skm_pressure_open(container);
	container->next = registry->first;
	registry->first = container;
	registry->count++;
	skm_udp_begin(container);
	return 0;
}

static bool is_same(const struct skm_container *container, const char *id, uint64_t cgroup_inode)
{
	return container->journal.cgroup_inode == cgroup_inode && strcmp(container->report.id, id) == 0;
}

/* Ends what has ended without a word and would be in the way: the same id of an earlier start, or the same namespace.
 * Returns whether the very container is held already. Two runtimes may each have a living container of one id: both are kept. */
static bool settle(struct skm_registry *registry, const char *id, uint64_t cgroup_inode, uint64_t netns_inode)
{
	struct skm_container *container, *next;
	bool held = false;

	for (container = registry->first; container; container = next) {
		next = container->next;
		if (strcmp(container->report.id, id) != 0 && container->journal.netns_inode != netns_inode)
			continue;
		if (has_ended(container))
			skm_registry_end(registry, container, "it had ended when another container came");
		else
			held |= is_same(container, id, cgroup_inode);
	}
	return held;
}

static int inode_of(int fd, uint64_t *ret, const char *what, struct skm_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return skm_err_set_errno(err, errno, "stat %s", what);
	*ret = st.st_ino;
	return 0;
}

static int begin(struct skm_registry *registry, struct skm_container *container, struct skm_err *err)
{
	const struct skm_report *report = &container->report;
	char limit[SKM_SIZE_TEXT_MAX];
	int r = skm_journal_save(container, err);

	if (r == 0)
		r = skm_registry_insert(registry, container, err);
	if (r < 0)
		return r;
	skm_container_tell(container, SKM_EVENT_REGISTERED, "limit %s by %s, backend %s",
	                   report->limit_bytes == UINT64_MAX ? "none" : skm_bytes_human(report->limit_bytes, limit),
	                   skm_name_of(&skm_policy_source_names, report->policy.source),
	                   skm_name_of(&skm_backend_names, report->backend));
	skm_grant_tell(container);
	r = skm_memory_apply(container, false, err);
	if (r == 0)
		r = skm_kernel_limit_apply(container, err);
	if (r < 0) {
		unlink_container(registry, container);
		return r;
	}
	skm_skipped_begin(container);
	skm_apply_netns(container);
	return 0;
}

/* Who adopts by hand is told what is held already: another policy for it is `set`. */
static int refuse_held(const struct skm_registry *registry, const char *id, uint64_t cgroup_inode, struct skm_err *err)
{
	for (const struct skm_container *c = registry->first; c; c = c->next) {
		if (c->journal.cgroup_inode == cgroup_inode)
			return skm_err_set(err, EBUSY, "this cgroup is held already, as \"%.64s\"; change its policy with set",
			                   c->report.id);
		if (strcmp(c->report.id, id) == 0)
			return skm_err_set(err, EBUSY, "the id \"%.64s\" is another cgroup's, %.200s; choose one with --id", id,
			                   c->report.cgroup);
	}
	return 0;
}

int skm_registry_register(struct skm_registry *registry, struct skm_request *request, struct skm_err *err)
{
	struct skm_container *container;
	uint64_t cgroup_inode = 0, netns_inode = 0;
	struct skm_grant grant;
	int r = inode_of(request->fds[SKM_FD_CGROUP], &cgroup_inode, "the container's cgroup", err);

	if (r == 0)
		r = inode_of(request->fds[SKM_FD_NETNS], &netns_inode, "the container's network namespace", err);
	if (r < 0)
		return r;
	if (settle(registry, request->id, cgroup_inode, netns_inode) && request->policy.source != SKM_SOURCE_ADMINISTRATOR)
		return 0;
	if (request->policy.source == SKM_SOURCE_ADMINISTRATOR)
		r = refuse_held(registry, request->id, cgroup_inode, err);
	if (r < 0)
		return r;
	r = skm_control_grant_policy(registry->node, &request->policy, &grant, err);
	if (r < 0)
		return r;
	r = skm_container_open(registry, request, &grant, false, &container, err);
	if (r < 0)
		return r;
	r = begin(registry, container, err);
	if (r < 0) {
		skm_journal_drop(container);
		skm_container_free(container);
	}
	return r;
}

int skm_registry_change(struct skm_registry *registry, const struct skm_request *request, struct skm_err *err)
{
	/* the registry's own, not the caller's: only what is handed out is const */
	struct skm_container *container = (struct skm_container *)skm_registry_find(registry, request->id, err);

	return container ? skm_change_policy(container, request, err) : -err->code;
}

void skm_registry_release(struct skm_registry *registry, const char *id)
{
	struct skm_container *container, *next;

	for (container = registry->first; container; container = next) {
		next = container->next;
		if (strcmp(container->report.id, id) == 0 && has_ended(container))
			skm_registry_end(registry, container, "the runtime's poststop hook has released it");
	}
}

static uint64_t look(struct skm_registry *registry, struct skm_container *container, uint64_t now_usec)
{
	if (skm_sampler_due(container) <= now_usec) {
		int r = skm_sampler_look(container, now_usec, registry->count);

		if (r == -ENODEV || ((container->init_ended || container->journal.by_cgroup) && has_ended(container))) {
			skm_registry_end(registry, container, "its cgroup is gone or empty");
			return UINT64_MAX;
		}
	}
	return skm_sampler_due(container);
}

uint64_t skm_registry_run(struct skm_registry *registry, uint64_t now_usec)
{
	struct skm_container *container, *next;
	uint64_t due = UINT64_MAX;

	skm_actuate_worker_reap();
	for (container = registry->first; container; container = next) {
		uint64_t its;

		next = container->next;
		its = look(registry, container, now_usec);
		if (its < due)
			due = its;
	}
	return due;
}

uint32_t skm_registry_count(const struct skm_registry *registry)
{
	return registry->count;
}

const struct skm_container *skm_registry_first(const struct skm_registry *registry)
{
	return registry->first;
}

struct skm_container *skm_registry_head(struct skm_registry *registry)
{
	return registry->first;
}

const struct skm_container *skm_registry_next(const struct skm_container *container)
{
	return container->next;
}

const struct skm_report *skm_registry_report(const struct skm_container *container)
{
	return &container->report;
}

uint32_t skm_registry_event_count(const struct skm_container *container)
{
	return container->events.count;
}

const struct skm_event *skm_registry_event(const struct skm_container *container, uint32_t i)
{
	return skm_events_get(&container->events, i);
}

const struct skm_container *skm_registry_find(const struct skm_registry *registry, const char *id, struct skm_err *err)
{
	const struct skm_container *found = NULL;
	size_t length = strlen(id);

	for (const struct skm_container *c = registry->first; c; c = c->next)
		if (strcmp(c->report.id, id) == 0)
			return c;
	for (const struct skm_container *c = registry->first; c; c = c->next) {
		if (strncmp(c->report.id, id, length) != 0)
			continue;
		if (found) {
			skm_err_set(err, EEXIST, "several containers begin with \"%.64s\": \"%.64s\" and \"%.64s\"", id,
			            found->report.id, c->report.id);
			return NULL;
		}
		found = c;
	}
	if (!found)
		skm_err_set(err, ENOENT, "no container \"%.64s\" has a policy", id);
	return found;
}

/* The registry's own, which may be changed. */
static struct skm_container *own(struct skm_registry *registry, const struct skm_container *container)
{
	struct skm_container *c = registry->first;

	while (c && c != container)
		c = c->next;
	return c;
}

void skm_registry_refresh(struct skm_registry *registry, const struct skm_container *container)
{
	struct skm_container *c = own(registry, container);

	if (!c)
		return;
	skm_reclaim_refresh(c);
	skm_memory_refresh(c);
	skm_udp_refresh(c);
}

int skm_registry_reclaim(struct skm_registry *registry, const char *id, uint64_t bytes, struct skm_err *err)
{
	struct skm_container *container = own(registry, skm_registry_find(registry, id, err));
	int r;

	if (!container)
		return -err->code;
	r = skm_reclaim_start(container, bytes, err);
	/* to a client "no such file" would be "no such container" */
	if (r == -ENOENT)
		err->code = EOPNOTSUPP;
	return r < 0 ? -err->code : 0;
}

struct skm_netns_group **skm_registry_groups(struct skm_registry *registry)
{
	return &registry->groups;
}

const struct skm_node *skm_registry_node(const struct skm_registry *registry)
{
	return registry->node;
}

const struct skm_host *skm_registry_host(const struct skm_registry *registry)
{
	return &registry->host;
}

int skm_registry_epoll(const struct skm_registry *registry)
{
	return registry->epoll_fd;
}

int skm_registry_journal_dir(const struct skm_registry *registry)
{
	return registry->journal_dir;
}

int skm_registry_ended_dir(const struct skm_registry *registry)
{
	return registry->ended_dir;
}
