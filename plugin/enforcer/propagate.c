/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/propagate.h"

#include "base/cleanup.h"
#include "enforcer/journal.h"
#include "enforcer/memory_set.h"
#include "enforcer/memory_share.h"
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

/* What those need that are held, but for one. */
static uint64_t need_of_others(const struct skm_registry *registry, const struct skm_container *but,
                               const struct skm_memory_baseline *baseline)
{
	uint64_t sum = 0;

	for (const struct skm_container *c = skm_registry_first(registry); c; c = skm_registry_next(c))
		if (c != but && skm_memory_shared_entry(c, baseline))
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
		skm_memory_share_baseline(container, (uint32_t)i);
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

static void settle_one(struct skm_container *container, uint32_t i)
{
	struct skm_memory_baseline *baseline = &container->journal.memory[i];
	struct skm_err err = SKM_ERR_INIT;
	uint64_t now,
	        want = at_least(add(need_of_others(container->registry, container, baseline), need_of(container, baseline->file)),
	                        baseline->baseline);
	int r = skm_memory_set_read(container, i, &now, &err);

	if (r == 0 && (want != baseline->written || now != skm_memory_set_kept(container, want))) {
		bool ours = skm_memory_is_anyones(container, i, now);

		baseline->before = baseline->written;
		baseline->written = want;
		r = skm_journal_save(container, &err);
		if (r == 0 && (ours || now < want))
			r = skm_memory_set_write(container, i, want, &err);
		skm_memory_share_written(container, i);
	}
	if (r < 0 && r != -ENODEV)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
}

void skm_propagate_settle(struct skm_registry *registry)
{
	for (struct skm_container *c = skm_registry_head(registry); c; c = c->next)
		for (uint32_t i = 0; i < c->journal.memory_count; i++)
			if (c->journal.memory[i].ancestor && skm_memory_looks_after(c, i))
				settle_one(c, i);
}
