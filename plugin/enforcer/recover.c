/* SPDX-License-Identifier: Apache-2.0 */
/* After an enforcer that ended without releasing: its journals are read, what lives is adopted, the rest put back. */
#include "enforcer/journal.h"

#include "actuate/netns_sysctl.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "codec/journal.h"
#include "enforcer/apply.h"
#include "enforcer/grant.h"
#include "enforcer/kernel_limit.h"
#include "enforcer/record.h"
#include "enforcer/registry.h"
#include "enforcer/skipped.h"
#include "probe/cgroup_tree.h"
#include "probe/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A journal of some thousand squeezed sockets is well below this. */
#define JOURNAL_TEXT_MAX (8 * 1024 * 1024)

/* Where `ip netns` and container network plugins keep namespaces by name. */
static const char *const NETNS_DIRS[] = {"/run/netns", "/var/run/docker/netns"};

/* What one journal left. */
struct remnant {
	char name[SKM_JOURNAL_NAME_MAX];
	struct skm_journal journal;
	struct skm_request request; /* its descriptors are open where the container lives */
	bool lives;
	bool let_go; /* its journal is no longer needed, once what it says is put back */
};

struct remnants {
	struct remnant *list;
	size_t count;
};

static int read_journal(int dirfd, const char *name, struct skm_journal *ret, struct skm_err *err)
{
	cleanup_fd int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cleanup_free char *text = NULL;
	size_t length;
	int r;

	if (fd < 0)
		return skm_err_set_errno(err, errno, "open journal %s", name);
	r = skm_read_to_end(fd, JOURNAL_TEXT_MAX, &text, &length);
	if (r < 0)
		return skm_err_set_errno(err, -r, "read journal %s", name);
	r = skm_codec_journal_parse(text, length, ret, err);
	return r < 0 ? skm_err_wrap(err, "journal %s", name) : 0;
}

static bool has_inode(int fd, uint64_t inode)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == inode;
}

/* The container's cgroup as the journal names it, where it is still the same one and not empty. By path, not by where the init is
 * now: systemd as init and engines in containers move themselves into a cgroup below. Returns a descriptor or -1. */
static int open_living_cgroup(const struct skm_journal *journal)
{
	cleanup_fd int fd = open(journal->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || !has_inode(fd, journal->cgroup_inode) || skm_probe_cgroup_populated(fd, NULL) != 1)
		return -1;
	return skm_steal_fd(&fd);
}

/* Whether the container lives: its cgroup does, and in it a process in the same network namespace. Its init may have ended before
 * its children, and its pid may be another's by now. request gets the three descriptors. */
static bool open_living(const struct skm_journal *journal, struct skm_request *request)
{
	struct skm_process_fds fds;
	int cgroup = open_living_cgroup(journal);
	pid_t pid;

	if (cgroup < 0)
		return false;
	request->fds[SKM_FD_CGROUP] = cgroup;
	pid = skm_probe_cgroup_find_process(cgroup, journal->pid, journal->netns_inode);
	if (pid == 0 || skm_probe_process_open_netns(pid, &fds, NULL) < 0)
		return false;
	request->fds[SKM_FD_PID] = fds.pidfd;
	request->fds[SKM_FD_NETNS] = fds.netns;
	/* by a pid it was found, by its descriptors it is held: once more, that it is still the one */
	return has_inode(fds.netns, journal->netns_inode) &&
	       skm_probe_cgroup_find_process(cgroup, pid, journal->netns_inode) == pid;
}

static int open_named_netns(uint64_t inode)
{
	for (size_t i = 0; i < sizeof(NETNS_DIRS) / sizeof(*NETNS_DIRS); i++) {
		cleanup_dir DIR *dir = opendir(NETNS_DIRS[i]);
		struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);

			if (fd >= 0 && has_inode(fd, inode))
				return fd;
			if (fd >= 0)
				close(fd);
		}
	}
	return -1;
}

static bool wrote_sysctls(const struct skm_journal *journal)
{
	for (int key = 0; key < SKM_NETNS_KEYS; key++)
		if (journal->baseline[key][0])
			return true;
	return false;
}

/* A value that stands there already is not written. Returns whether one was. */
static bool restore_key(const struct skm_journal *journal, const struct skm_netns *netns, enum skm_netns_key key)
{
	char now[SKM_NETNS_TEXT_MAX];
	struct skm_err err = SKM_ERR_INIT;

	if (!journal->baseline[key][0] ||
	    (skm_probe_netns_read(netns, key, now, NULL) == 0 && strcmp(now, journal->baseline[key]) == 0))
		return false;
	if (skm_actuate_netns_write(netns, key, journal->baseline[key], &err) == 0)
		return true;
	skm_log(LOG_WARNING, "%s: %s", journal->id, err.text);
	return false;
}

/* Gives a namespace its values back. */
static void restore_netns(const struct skm_journal *journal, int netns_fd)
{
	struct skm_netns netns = SKM_NETNS_INIT;
	struct skm_err err = SKM_ERR_INIT;
	int restored = 0;

	if (skm_probe_netns_open(netns_fd, true, &netns, &err) < 0) {
		skm_log(LOG_WARNING, "%s: %s", journal->id, err.text);
		return;
	}
	for (int key = 0; key < SKM_NETNS_KEYS; key++)
		restored += restore_key(journal, &netns, (enum skm_netns_key)key);
	if (restored > 0)
		skm_log(LOG_INFO, "%s: its network namespace has %d values back", journal->id, restored);
	skm_probe_netns_close(&netns);
}

/* The record of a container whose last hours nobody saw: it says so. */
static void record_gone(struct skm_registry *registry, const struct skm_journal *journal, const char *name)
{
	cleanup_free struct skm_container *container = calloc(1, sizeof(*container));
	struct skm_err err = SKM_ERR_INIT;

	if (!container)
		return;
	container->registry = registry;
	container->report.decision.fair_cap_bytes = UINT64_MAX;
	container->report.memory_max_bytes = UINT64_MAX;
	container->report.udp_rcvbuf_errors = container->report.udp_mem_errors = UINT64_MAX;
	container->report.limit_bytes = journal->in_force[SKM_IN_FORCE_LIMIT].bytes;
	container->report.kernel_tcp_bytes = journal->kernel_tcp_bytes;
	container->report.program_bytes = journal->program_bytes;
	memcpy(container->report.in_force, journal->in_force, sizeof(container->report.in_force));
	memcpy(container->report.sources, journal->sources, sizeof(container->report.sources));
	memcpy(container->report.id, journal->id, sizeof(container->report.id));
	snprintf(container->report.cgroup, sizeof(container->report.cgroup), "%s", journal->cgroup);
	container->report.pid = journal->pid;
	container->report.policy = journal->policy;
	container->report.started_realtime_usec = journal->started_realtime_usec;
	container->report.ended = true;
	container->report.ended_realtime_usec = skm_realtime_usec();
	snprintf(container->journal_name, sizeof(container->journal_name), "%s", name);
	skm_container_tell(container, SKM_EVENT_ENDED, "it ended while no enforcer ran");
	if (skm_record_save(container, &err) < 0)
		skm_log(LOG_WARNING, "%s: %s", journal->id, err.text);
	skm_events_free(&container->events);
}

/* Opens the container as at its start, then gives it the baselines of the journal: what stands now is not the baseline. */
static int adopt(struct skm_registry *registry, struct skm_request *request, struct skm_journal *journal, const char *name,
                 struct skm_err *err)
{
	struct skm_grant grant = {.policy = journal->policy};
	struct skm_container *container;
	int r;

	memcpy(grant.in_force, journal->in_force, sizeof(grant.in_force));
	memcpy(grant.sources, journal->sources, sizeof(grant.sources));
	r = skm_container_open(registry, request, &grant, true, &container, err);
	if (r < 0)
		return r;
	skm_netns_group_inherit(container, journal);
	container->journal.by_cgroup = journal->by_cgroup;
	container->journal.sockets = journal->sockets;
	container->journal.socket_count = journal->socket_count;
	journal->sockets = NULL;
	container->journal.memory = journal->memory;
	container->journal.memory_count = journal->memory_count;
	journal->memory = NULL;
	journal->memory_count = 0;
	container->journal.kernel_limit = journal->kernel_limit;
	skm_memory_adopt(container);
	container->journal.shape = journal->shape;
	skm_shape_adopt(container);
	container->journal.started_realtime_usec = container->report.started_realtime_usec = journal->started_realtime_usec;
	snprintf(container->journal_name, sizeof(container->journal_name), "%s", name);
	r = skm_container_use_baselines(container, err);
	if (r == 0)
		r = skm_journal_save(container, err);
	if (r == 0)
		r = skm_registry_insert(registry, container, err);
	if (r < 0) {
		skm_memory_give_back(container);
		skm_container_free(container);
		return r;
	}
	skm_container_tell(container, SKM_EVENT_ADOPTED, "taken over from an enforcer that had ended");
	skm_skipped_begin(container);
	skm_apply_netns(container);
	return 0;
}

/* All that is not the namespace's sysctls, which several may share. netns_fd: -1 where it has gone. */
static void restore_rest(struct remnant *remnant, int netns_fd)
{
	skm_shape_restore(&remnant->journal, netns_fd);
	skm_memory_restore(&remnant->journal);
	skm_kernel_limit_restore(&remnant->journal);
	remnant->let_go = true;
}

/* One that cannot be held any more (a percentage without memory.max, processors that came) is not left capped. */
static void adopt_or_let_go(struct skm_registry *registry, struct remnant *remnant)
{
	struct skm_journal *journal = &remnant->journal;
	int netns_fd = remnant->request.fds[SKM_FD_NETNS];
	struct skm_err err = SKM_ERR_INIT;

	if (adopt(registry, &remnant->request, journal, remnant->name, &err) == 0)
		return;
	skm_log(LOG_WARNING, "%s: cannot be taken over and is let go: %s", journal->id, err.text);
	if (wrote_sysctls(journal) && netns_fd >= 0 && !skm_netns_group_has_writer(registry, journal->netns_inode))
		restore_netns(journal, netns_fd);
	restore_rest(remnant, netns_fd);
}

/* The network namespace of one that has ended: by one that lives in it, or by its name. Returns a descriptor or -1. */
static int open_left_netns(const struct remnants *all, uint64_t inode)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].lives && all->list[i].journal.netns_inode == inode)
			return fcntl(all->list[i].request.fds[SKM_FD_NETNS], F_DUPFD_CLOEXEC, 3);
	return open_named_netns(inode);
}

/* Whether somebody else sees to the namespace of one that has ended: a container that lives and writes there too, or another
 * one that has ended and comes first. */
static bool is_seen_to(const struct remnants *all, const struct remnant *gone)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct remnant *other = &all->list[i];

		if (other->journal.netns_inode == gone->journal.netns_inode && wrote_sysctls(&other->journal) &&
		    (other->lives || other < gone))
			return true;
	}
	return false;
}

static void settle_gone(struct skm_registry *registry, const struct remnants *all, struct remnant *gone)
{
	cleanup_fd int netns_fd = -1;

	skm_log(LOG_INFO, "%s: ended while no enforcer ran", gone->journal.id);
	if (wrote_sysctls(&gone->journal) || gone->journal.shape.shaped)
		netns_fd = open_left_netns(all, gone->journal.netns_inode);
	if (netns_fd >= 0 && wrote_sysctls(&gone->journal) && !is_seen_to(all, gone))
		restore_netns(&gone->journal, netns_fd);
	restore_rest(gone, netns_fd);
	record_gone(registry, &gone->journal, gone->name);
}

/* Reads one journal. Those of another boot are removed, those that cannot be read left aside: false. */
static bool load(struct skm_registry *registry, const char *name, struct remnant *ret)
{
	int dirfd = skm_registry_journal_dir(registry);
	struct skm_err err = SKM_ERR_INIT;
	char boot_id[40] = "";

	*ret = (struct remnant){.request = SKM_REQUEST_INIT};
	if (read_journal(dirfd, name, &ret->journal, &err) < 0) {
		skm_log(LOG_WARNING, "%s: left aside", err.text);
		return false;
	}
	SKM_IGNORE(skm_probe_boot_id(boot_id) < 0); /* an empty one matches no journal */
	if (strcmp(boot_id, ret->journal.boot_id) != 0) {
		SKM_IGNORE(unlinkat(dirfd, name, 0) < 0);
		skm_codec_journal_free(&ret->journal);
		return false;
	}
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	memcpy(ret->request.id, ret->journal.id, sizeof(ret->request.id));
	ret->request.pid = ret->journal.pid;
	ret->request.kernel_tcp_bytes = ret->journal.kernel_tcp_bytes;
	ret->request.program_bytes = ret->journal.program_bytes;
	ret->lives = open_living(&ret->journal, &ret->request);
	return true;
}

static int is_journal(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strlen(entry->d_name) < SKM_JOURNAL_NAME_MAX;
}

/* All names first: adopting replaces files, and a directory that is read meanwhile may show one twice. */
static int load_all(struct skm_registry *registry, struct remnants *ret)
{
	struct dirent **entries = NULL;
	int count = scandirat(skm_registry_journal_dir(registry), ".", &entries, is_journal, alphasort);

	ret->list = count > 0 ? calloc((size_t)count, sizeof(*ret->list)) : NULL;
	for (int i = 0; i < count; i++) {
		if (ret->list && load(registry, entries[i]->d_name, &ret->list[ret->count]))
			ret->count++;
		free(entries[i]);
	}
	free(entries);
	return count > 0 && !ret->list ? -ENOMEM : 0;
}

/* First the namespaces of which none that lives sees to, then those who know baselines, then those who only look: nobody is to
 * take a value of ours for a baseline. */
void skm_journal_recover(struct skm_registry *registry)
{
	struct remnants all = {0};

	if (load_all(registry, &all) < 0)
		skm_log(LOG_ERR, "recover: out of memory; the journals are left as they are");
	for (size_t i = 0; i < all.count; i++)
		if (!all.list[i].lives)
			settle_gone(registry, &all, &all.list[i]);
	for (int writes = 1; writes >= 0; writes--)
		for (size_t i = 0; i < all.count; i++)
			if (all.list[i].lives && wrote_sysctls(&all.list[i].journal) == writes)
				adopt_or_let_go(registry, &all.list[i]);
	skm_memory_settle_all(registry);
	for (size_t i = 0; i < all.count; i++) {
		/* not before: who is killed meanwhile leaves it to the next. Gone already is as good */
		if (all.list[i].let_go)
			SKM_IGNORE(unlinkat(skm_registry_journal_dir(registry), all.list[i].name, 0) < 0);
		for (int fd = 0; fd < SKM_FD_COUNT; fd++)
			skm_close_fd(&all.list[i].request.fds[fd]);
		skm_codec_journal_free(&all.list[i].journal);
	}
	free(all.list);
}
