/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a policy's values and gives them back. */
#include "enforcer/memory.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "control/grant.h"
#include "enforcer/container.h"
#include "enforcer/journal.h"
#include "enforcer/memory_changes.h"
#include "enforcer/memory_set.h"
#include "enforcer/memory_share.h"
#include "enforcer/propagate.h"
#include "enforcer/registry.h"
#include "probe/ancestry.h"
#include "probe/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The container's own cgroups, the innermost first. */
struct levels {
	int dirfd[SKM_MEMORY_LEVELS_MAX]; /* the first is the container's, borrowed */
	char path[SKM_MEMORY_LEVELS_MAX][PATH_MAX];
	unsigned int count;
};

static void close_levels(struct levels *levels)
{
	if (levels->count > 1)
		close(levels->dirfd[1]);
}

static int find_levels(const struct skm_container *container, struct levels *ret, struct skm_err *err)
{
	int r;

	*ret = (struct levels){.dirfd = {container->memcg.dir}, .count = 1};
	r = skm_probe_fd_path(container->memcg.dir, ret->path[0], sizeof(ret->path[0]));
	if (r < 0)
		return skm_err_set_errno(err, -r, "find the container's cgroup");
	if (!skm_probe_is_nested(container->memcg.dir, ret->path[0], container->report.id))
		return 0;
	strcpy(ret->path[1], ret->path[0]);
	ret->dirfd[1] = skm_probe_ancestor_open(container->memcg.dir);
	if (ret->dirfd[1] >= 0 && skm_probe_ancestor_path(ret->path[1]))
		ret->count = 2;
	return 0;
}

static bool writes_memory(const struct skm_container *container)
{
	return container->report.backend != SKM_BACKEND_OBSERVE && !container->memcg.v1;
}

/* memory.high leaves room for the sockets; but what an annotation may only lower is not raised past the runtime's own by that. */
static uint64_t value_of(const struct skm_container *container, enum skm_memory_file file, uint64_t baseline)
{
	const struct skm_report *report = &container->report;
	uint64_t bytes = report->in_force[SKM_IN_FORCE_MEMORY + file].bytes, high;

	if (file != SKM_MEMORY_FILE_HIGH)
		return bytes;
	high = skm_control_memory_high(bytes, report->limit_bytes);
	if (skm_control_is_tenants(report->sources[SKM_KEY_MEMORY_HIGH]) && bytes <= baseline && high > baseline)
		return baseline;
	return high;
}

static int plan_file(struct skm_container *container, const struct levels *levels, unsigned int level, enum skm_memory_file file,
                     struct skm_err *err)
{
	bool set = writes_memory(container) && container->report.in_force[SKM_IN_FORCE_MEMORY + file].set;
	struct stat st;
	int i;

	if (fstat(levels->dirfd[level], &st) < 0)
		return skm_err_set_errno(err, errno, "look at cgroup %s", levels->path[level]);
	if (level == 0)
		container->memory.own_inode = st.st_ino;
	i = skm_memory_set_find(container, st.st_ino, file);
	if (!set)
		return 0;
	if (i < 0)
		i = skm_memory_set_add(container, levels->dirfd[level], levels->path[level], file, false, err);
	if (i < 0)
		return i;
	container->memory.entries[i].want = value_of(container, file, container->journal.memory[i].baseline);
	container->memory.entries[i].drop = false;
	return 0;
}

/* What every entry is to become: its baseline, unless the policy wants something of it. */
static int plan(struct skm_container *container, struct skm_err *err)
{
	struct levels levels;
	int r;

	for (uint32_t i = 0; i < container->journal.memory_count; i++) {
		container->memory.entries[i].drop = true;
		container->memory.entries[i].want = container->journal.memory[i].baseline;
	}
	r = find_levels(container, &levels, err);
	for (unsigned int level = 0; r == 0 && level < levels.count; level++)
		for (unsigned int file = 0; r == 0 && file < SKM_MEMORY_FILES; file++)
			r = plan_file(container, &levels, level, file, err);
	if (r == 0)
		r = skm_propagate_plan(container, levels.dirfd[levels.count - 1], levels.path[levels.count - 1], err);
	close_levels(&levels);
	return r;
}

static int list_changes(struct skm_container *container, bool force, struct skm_memory_changes *changes, struct skm_err *err)
{
	uint32_t count = container->journal.memory_count;
	int r = 0;

	changes->list = calloc(count + 1, sizeof(*changes->list));
	if (!changes->list)
		return skm_err_set(err, ENOMEM, "out of memory");
	for (uint32_t i = 0; r == 0 && i < count; i++)
		r = skm_memory_changes_add(container, i, force, changes, err);
	skm_control_memory_order(changes->list, changes->count);
	return r;
}

static void undo(struct skm_container *container, const struct skm_memory_change *changes, size_t count)
{
	struct skm_err err = SKM_ERR_INIT;

	while (count-- > 0)
		if (skm_memory_set_write(container, changes[count].entry, changes[count].from, &err) < 0 && err.code != ENODEV)
			skm_container_tell(container, SKM_EVENT_TROUBLE, "undo: %s", err.text);
}

static int write_all(struct skm_container *container, const struct skm_memory_changes *changes, struct skm_err *err)
{
	size_t done = 0;
	int r = 0;

	for (; r == 0 && done < changes->count; done++)
		r = skm_memory_set_write(container, changes->list[done].entry, changes->list[done].to, err);
	if (r == 0 && changes->stepped_count > 0)
		r = skm_actuate_memory_step_down(changes->stepped, changes->stepped_count, changes->stepped_bytes, err);
	if (r < 0) {
		undo(container, changes->list, done); /* the last one too: it may have been taken and not be shown yet */
		return r;
	}
	for (size_t i = 0; i < changes->count; i++)
		skm_memory_changes_tell(container, &changes->list[i]);
	return 0;
}

/* From here on the values are ours, whether written or found there. */
static void mark_written(struct skm_container *container)
{
	for (uint32_t i = 0; i < container->journal.memory_count; i++) {
		struct skm_memory_baseline *baseline = &container->journal.memory[i];

		baseline->before = baseline->written;
		baseline->written = container->memory.entries[i].want;
	}
}

static int commit(struct skm_container *container, const struct skm_memory_changes *changes, struct skm_err *err)
{
	int r;

	mark_written(container);
	r = skm_journal_save(container, err);
	return r < 0 ? r : write_all(container, changes, err);
}

/* After it: what is not ours any more leaves the journal, the others learn of their ancestors. */
static void conclude(struct skm_container *container, const struct skm_memory_changes *changes)
{
	uint64_t now = skm_now_usec();
	char bytes[SKM_SIZE_TEXT_MAX];
	struct skm_err err = SKM_ERR_INIT;
	bool dropped = false;

	for (size_t i = 0; i < changes->count; i++) {
		struct skm_memory_entry *entry = &container->memory.entries[changes->list[i].entry];

		entry->backoff = (struct skm_memory_backoff){0};
		entry->taken = false;
	}
	for (uint32_t i = container->journal.memory_count; i-- > 0;) {
		skm_memory_share_written(container, i);
		if (!container->memory.entries[i].drop)
			continue;
		skm_memory_set_remove(container, i);
		dropped = true;
	}
	if (dropped && skm_journal_save(container, &err) < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
	container->memory.next_check_usec = now;
	if (changes->stepped_count == 0)
		return;
	container->memory.stepping_until_usec = now + (SKM_MEMORY_STEPS_SEC + 1) * SKM_USEC_PER_SEC;
	skm_pressure_own_reclaim(container, now);
	skm_container_tell(container, SKM_EVENT_MEMORY, "memory.max: on its way down to %s, by steps, for at most %d s",
	                   skm_memory_text(changes->stepped_bytes, bytes), SKM_MEMORY_STEPS_SEC);
}

/* Everything as it was before. */
static void roll_back(struct skm_container *container, const struct skm_memory_baseline *kept, uint32_t count)
{
	struct skm_err err = SKM_ERR_INIT;

	skm_memory_set_truncate(container, count);
	if (count > 0)
		memcpy(container->journal.memory, kept, count * sizeof(*kept));
	if (skm_journal_save(container, &err) < 0)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
}

static int apply(struct skm_container *container, bool force, struct skm_err *err)
{
	struct skm_journal *journal = &container->journal;
	uint32_t before = journal->memory_count;
	cleanup_free struct skm_memory_baseline *kept = calloc(before + 1, sizeof(*kept));
	struct skm_memory_changes changes = {0};
	int r;

	if (!kept)
		return skm_err_set(err, ENOMEM, "out of memory");
	if (before > 0)
		memcpy(kept, journal->memory, before * sizeof(*kept));
	r = plan(container, err);
	if (r == 0)
		r = list_changes(container, force, &changes, err);
	if (r == 0 && journal->memory_count > 0) {
		r = commit(container, &changes, err);
		if (r == 0)
			conclude(container, &changes);
	}
	if (r < 0)
		roll_back(container, kept, before);
	else if (journal->memory_count > 0)
		skm_memory_refresh(container);
	free(changes.list);
	return r;
}

int skm_memory_apply(struct skm_container *container, bool force, struct skm_err *err)
{
	int r = skm_control_memory_fit(container->report.in_force, err);

	if (r < 0)
		return r;
	memcpy(container->journal.in_force, container->report.in_force, sizeof(container->journal.in_force));
	if (!writes_memory(container) && skm_policy_has_memory(&container->report.policy))
		skm_container_skip(container,
		                   container->memcg.v1
		                           ? "memory: the controller is on cgroup v1 here, where sockmem sets tcpmem alone"
		                           : "memory: mode observe writes nothing");
	r = apply(container, force, err);
	if (r != -EINVAL)
		return r;
	if (err)
		err->code = EIO; /* EINVAL is for a policy that is wrong in itself; this is what the host made of it */
	return -EIO;
}
