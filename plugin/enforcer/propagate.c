/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/propagate.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "enforcer/journal.h"
#include "enforcer/memory_set.h"
#include "enforcer/registry.h"
#include "probe/ancestry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What a container's ancestors have to protect for its sake. No more than it may use at all. */
static uint64_t need_of(const struct skm_container *container, enum skm_memory_file file)
{
	const struct skm_report *report = &container->report;
	const struct skm_in_force *in_force = &report->in_force[SKM_IN_FORCE_MEMORY + file];
	const struct skm_in_force *max = &report->in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX];
	uint64_t most = max->set ? max->bytes : report->memory_max_bytes;

	if (!report->policy.propagate || !in_force->set || report->backend == SKM_BACKEND_OBSERVE)
		return 0;
	return in_force->bytes < most ? in_force->bytes : most;
}

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The entry of a container for the same ancestor and file, or NULL. */
static struct skm_memory_baseline *same_entry(const struct skm_container *container, const struct skm_memory_baseline *baseline)
{
	int i = skm_memory_set_find(container, baseline->cgroup_inode, baseline->file);

	return i >= 0 && container->journal.memory[i].ancestor ? &container->journal.memory[i] : NULL;
}

/* What those need that are held, but for one. */
static uint64_t need_of_others(const struct skm_registry *registry, const struct skm_container *but,
                               const struct skm_memory_baseline *baseline)
{
	uint64_t sum = 0;

	for (const struct skm_container *c = skm_registry_first(registry); c; c = skm_registry_next(c))
		if (c != but && same_entry(c, baseline))
			sum = add(sum, need_of(c, baseline->file));
	return sum;
}

static uint64_t at_least(uint64_t value, uint64_t least)
{
	return value > least ? value : least;
}

uint64_t skm_propagate_without(const struct skm_container *container, uint32_t i)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];

	return at_least(need_of_others(container->registry, container, baseline), baseline->baseline);
}

/* What stood before the first of all wrote is every one's baseline. */
static void share_baseline(struct skm_container *container, struct skm_memory_baseline *baseline)
{
	for (const struct skm_container *c = skm_registry_first(container->registry); c; c = skm_registry_next(c)) {
		const struct skm_memory_baseline *theirs = c == container ? NULL : same_entry(c, baseline);

		if (!theirs)
			continue;
		baseline->baseline = theirs->baseline;
		baseline->written = theirs->written;
		baseline->before = theirs->before;
		return;
	}
}

static int plan_file(struct skm_container *container, int dirfd, const char *path, enum skm_memory_file file, struct skm_err *err)
{
	struct skm_memory_baseline *baseline;
	struct stat st;
	int i;

	if (fstat(dirfd, &st) < 0)
		return skm_err_set_errno(err, errno, "look at cgroup %s", path);
	i = skm_memory_set_find(container, st.st_ino, file);
	if (i < 0) {
		i = skm_memory_set_add(container, dirfd, path, file, true, err);
		if (i < 0)
			return i;
		share_baseline(container, &container->journal.memory[i]);
	}
	baseline = &container->journal.memory[i];
	container->memory.entries[i].drop = false;
	container->memory.entries[i].want = at_least(
	        add(need_of_others(container->registry, container, baseline), need_of(container, file)), baseline->baseline);
	return 0;
}

static int plan_ancestor(struct skm_container *container, int dirfd, const char *path, struct skm_err *err)
{
	int r = 0;

	if (need_of(container, SKM_MEMORY_FILE_LOW) > 0)
		r = plan_file(container, dirfd, path, SKM_MEMORY_FILE_LOW, err);
	if (r == 0 && need_of(container, SKM_MEMORY_FILE_MIN) > 0 && skm_probe_is_pod(path))
		r = plan_file(container, dirfd, path, SKM_MEMORY_FILE_MIN, err);
	return r;
}

/* An ancestor whose own protection is another container's policy. */
static const struct skm_container *owner_of(const struct skm_container *container, int dirfd)
{
	struct stat st;

	if (fstat(dirfd, &st) < 0)
		return NULL;
	for (const struct skm_container *c = skm_registry_first(container->registry); c; c = skm_registry_next(c))
		if (c != container && c->memory.own_inode == st.st_ino)
			return c;
	return NULL;
}

static bool is_boundary(struct skm_container *container, int dirfd, const char *path, uid_t manager)
{
	const struct skm_container *owner = owner_of(container, dirfd);
	char why[SKM_SKIPPED_TEXT_MAX / 2];

	if (owner)
		snprintf(why, sizeof(why), "it is container %.64s", owner->report.id);
	else if (!skm_probe_ancestor_refusal(dirfd, manager, why, sizeof(why)))
		return false;
	skm_container_skip(container, "memory.propagate: %.100s and what is above stay as they are: %s", path, why);
	return true;
}

/* The planned ones that nobody needs any more get what the others need. */
static void plan_dropped(struct skm_container *container)
{
	for (uint32_t i = 0; i < container->journal.memory_count; i++)
		if (container->journal.memory[i].ancestor)
			container->memory.entries[i].want = skm_propagate_without(container, i);
}

static void skip_min(struct skm_container *container, const char *parent)
{
	if (need_of(container, SKM_MEMORY_FILE_MIN) > 0 && !skm_probe_is_pod(parent))
		skm_container_skip(container,
		                   "memory.propagate: memory.min is raised in a pod only, which %.60s is not; memory.low is",
		                   parent);
}

int skm_propagate_plan(struct skm_container *container, int outermost, const char *path, struct skm_err *err)
{
	cleanup_fd int dirfd = -1;
	char above[PATH_MAX];
	struct stat st;
	int r = 0;

	plan_dropped(container);
	if (need_of(container, SKM_MEMORY_FILE_LOW) == 0 && need_of(container, SKM_MEMORY_FILE_MIN) == 0)
		return 0;
	snprintf(above, sizeof(above), "%s", path);
	dirfd = skm_probe_ancestor_open(outermost);
	if (dirfd >= 0 && fstat(dirfd, &st) < 0)
		return skm_err_set_errno(err, errno, "look at the cgroup above %s", path);
	if (dirfd >= 0 && skm_probe_ancestor_path(above))
		skip_min(container, above);
	while (dirfd >= 0 && !is_boundary(container, dirfd, above, st.st_uid)) {
		int next;

		r = plan_ancestor(container, dirfd, above, err);
		if (r < 0)
			return r;
		next = skm_probe_ancestor_open(dirfd);
		close(dirfd);
		dirfd = next;
		if (!skm_probe_ancestor_path(above))
			break;
	}
	return 0;
}

void skm_propagate_sync(struct skm_container *container, uint32_t i)
{
	const struct skm_memory_baseline *ours = &container->journal.memory[i];

	if (!ours->ancestor)
		return;
	for (struct skm_container *c = skm_registry_head(container->registry); c; c = c->next) {
		struct skm_memory_baseline *theirs = c == container ? NULL : same_entry(c, ours);
		struct skm_err err = SKM_ERR_INIT;

		if (!theirs || theirs->written == ours->written)
			continue;
		theirs->before = theirs->written;
		theirs->written = ours->written;
		if (skm_journal_save(c, &err) < 0)
			skm_container_tell(c, SKM_EVENT_TROUBLE, "%s", err.text);
	}
}

bool skm_propagate_looks_after(const struct skm_container *container, uint32_t i)
{
	for (const struct skm_container *c = skm_registry_first(container->registry); c; c = skm_registry_next(c))
		if (same_entry(c, &container->journal.memory[i]))
			return c == container;
	return true;
}

/* Of containers that ended while no enforcer ran. */
static struct {
	struct orphan {
		char id[SKM_ID_MAX + 1];
		struct skm_memory_baseline baseline;
	} * list;
	size_t count;
} orphans;

void skm_propagate_orphan(const char *id, const struct skm_memory_baseline *baseline)
{
	struct orphan *larger = reallocarray(orphans.list, orphans.count + 1, sizeof(*larger));

	if (!larger) {
		skm_log(LOG_WARNING, "%s: out of memory: memory.low of %s stays as it is", id, baseline->cgroup);
		return;
	}
	orphans.list = larger;
	snprintf(larger[orphans.count].id, sizeof(larger[orphans.count].id), "%s", id);
	larger[orphans.count++].baseline = *baseline;
}

static bool is_held(const struct skm_registry *registry, const struct skm_memory_baseline *baseline)
{
	for (const struct skm_container *c = skm_registry_first(registry); c; c = skm_registry_next(c))
		if (same_entry(c, baseline))
			return true;
	return false;
}

/* Whether what stands in the ancestor is of any enforcer: of the one that holds it, or of one that has ended. */
static bool is_ours(const struct skm_container *container, const struct skm_memory_baseline *baseline, uint64_t now)
{
	for (const struct skm_container *c = skm_registry_first(container->registry); c; c = skm_registry_next(c)) {
		const struct skm_memory_baseline *theirs = same_entry(c, baseline);

		if (theirs && skm_memory_set_is_ours(c, theirs, now))
			return true;
	}
	for (size_t i = 0; i < orphans.count; i++)
		if (orphans.list[i].baseline.cgroup_inode == baseline->cgroup_inode &&
		    orphans.list[i].baseline.file == baseline->file &&
		    skm_memory_set_is_ours(container, &orphans.list[i].baseline, now))
			return true;
	return false;
}

static void settle_one(struct skm_container *container, uint32_t i)
{
	struct skm_memory_baseline *baseline = &container->journal.memory[i];
	struct skm_err err = SKM_ERR_INIT;
	uint64_t now,
	        want = at_least(add(need_of_others(container->registry, container, baseline), need_of(container, baseline->file)),
	                        baseline->baseline);
	int r = skm_memory_set_read(container, i, &now, &err);

	if (r == 0 && (want != baseline->written || now != skm_memory_set_kept(container, want))) {
		bool ours = is_ours(container, baseline, now);

		baseline->before = baseline->written;
		baseline->written = want;
		r = skm_journal_save(container, &err);
		if (r == 0 && (ours || now < want))
			r = skm_memory_set_write(container, i, want, &err);
		skm_propagate_sync(container, i);
	}
	if (r < 0 && r != -ENODEV)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
}

void skm_propagate_settle(struct skm_registry *registry)
{
	for (struct skm_container *c = skm_registry_head(registry); c; c = c->next)
		for (uint32_t i = 0; i < c->journal.memory_count; i++)
			if (c->journal.memory[i].ancestor && skm_propagate_looks_after(c, i))
				settle_one(c, i);
	for (size_t i = 0; i < orphans.count; i++)
		if (!is_held(registry, &orphans.list[i].baseline))
			skm_memory_set_restore(orphans.list[i].id, &orphans.list[i].baseline);
	free(orphans.list);
	orphans.list = NULL;
	orphans.count = 0;
}
