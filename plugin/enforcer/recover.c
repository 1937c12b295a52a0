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
#include "enforcer/propagate.h"
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

/* Whether the container lives: its cgroup does, and its init, in the same network namespace. request gets the three descriptors.
 */
static bool open_living(const struct skm_journal *journal, struct skm_request *request)
{
	struct skm_process_fds fds;
	int cgroup = open_living_cgroup(journal);

	if (cgroup < 0)
		return false;
	request->fds[SKM_FD_CGROUP] = cgroup;
	if (skm_probe_process_open(journal->pid, &fds, NULL) < 0)
		return false;
	request->fds[SKM_FD_PID] = fds.pidfd;
	request->fds[SKM_FD_NETNS] = fds.netns;
	close(fds.cgroup);
	return has_inode(fds.netns, journal->netns_inode);
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

/* Gives a namespace its values back. */
static void restore_netns(const struct skm_journal *journal, int netns_fd)
{
	struct skm_netns netns = SKM_NETNS_INIT;
	struct skm_err err = SKM_ERR_INIT;

	if (skm_probe_netns_open(netns_fd, true, &netns, &err) < 0) {
		skm_log(LOG_WARNING, "%s: %s", journal->id, err.text);
		return;
	}
	for (int key = 0; key < SKM_NETNS_KEYS; key++)
		if (journal->baseline[key][0] && skm_actuate_netns_write(&netns, key, journal->baseline[key], &err) < 0)
			skm_log(LOG_WARNING, "%s: %s", journal->id, err.text);
	skm_log(LOG_INFO, "%s: its network namespace has its values back", journal->id);
	skm_probe_netns_close(&netns);
}

/* The container is gone; its namespace may live on under a name. */
static void restore_gone(const struct skm_journal *journal)
{
	cleanup_fd int netns_fd = open_named_netns(journal->netns_inode);

	skm_log(LOG_INFO, "%s: ended while no enforcer ran", journal->id);
	if (netns_fd >= 0)
		restore_netns(journal, netns_fd);
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
	memcpy(container->journal.written, container->journal.baseline, sizeof(container->journal.written));
	memcpy(container->journal.baseline, journal->baseline, sizeof(container->journal.baseline));
	container->journal.sockets = journal->sockets;
	container->journal.socket_count = journal->socket_count;
	journal->sockets = NULL;
	container->journal.memory = journal->memory;
	container->journal.memory_count = journal->memory_count;
	journal->memory = NULL;
	journal->memory_count = 0;
	skm_memory_adopt(container);
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
	if (container->writes_sysctls)
		skm_apply_netns(container);
	return 0;
}

/* One that cannot be held any more (a percentage without memory.max, processors that came) is not left capped. */
static void adopt_or_let_go(struct skm_registry *registry, struct skm_request *request, struct skm_journal *journal,
                            const char *name)
{
	struct skm_err err = SKM_ERR_INIT;

	if (adopt(registry, request, journal, name, &err) == 0)
		return;
	skm_log(LOG_WARNING, "%s: cannot be taken over and is let go: %s", journal->id, err.text);
	if (request->fds[SKM_FD_NETNS] >= 0)
		restore_netns(journal, request->fds[SKM_FD_NETNS]);
	skm_memory_restore(journal);
	SKM_IGNORE(unlinkat(skm_registry_journal_dir(registry), name, 0) < 0); /* gone already is as good */
}

static void recover_one(struct skm_registry *registry, const char *name)
{
	int dirfd = skm_registry_journal_dir(registry);
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_journal journal = {0};
	struct skm_err err = SKM_ERR_INIT;
	char boot_id[40] = "";

	if (read_journal(dirfd, name, &journal, &err) < 0) {
		skm_log(LOG_WARNING, "%s: left aside", err.text);
		return;
	}
	SKM_IGNORE(skm_probe_boot_id(boot_id) < 0); /* an empty one matches no journal */
	memcpy(request.id, journal.id, sizeof(request.id));
	request.pid = journal.pid;
	request.kernel_tcp_bytes = journal.kernel_tcp_bytes;
	request.program_bytes = journal.program_bytes;
	if (strcmp(boot_id, journal.boot_id) != 0) {
		unlinkat(dirfd, name, 0);
	} else if (open_living(&journal, &request)) {
		adopt_or_let_go(registry, &request, &journal, name);
	} else {
		restore_gone(&journal);
		skm_memory_restore(&journal);
		record_gone(registry, &journal, name);
		unlinkat(dirfd, name, 0);
	}
	for (int i = 0; i < SKM_FD_COUNT; i++)
		skm_close_fd(&request.fds[i]);
	skm_codec_journal_free(&journal);
}

static int is_journal(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* All names first: adopting replaces files, and a directory that is read meanwhile may show one twice. */
void skm_journal_recover(struct skm_registry *registry)
{
	struct dirent **entries = NULL;
	int count = scandirat(skm_registry_journal_dir(registry), ".", &entries, is_journal, alphasort);

	for (int i = 0; i < count; i++) {
		recover_one(registry, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	skm_propagate_settle(registry);
}
