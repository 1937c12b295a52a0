/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/memory_changes.h"

#include "base/clock.h"
#include "enforcer/memory_set.h"

#include <errno.h>

static unsigned int depth_of(const char *path)
{
	unsigned int depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

static bool is_own_max(const struct skm_memory_baseline *baseline)
{
	return baseline->file == SKM_MEMORY_FILE_MAX && !baseline->ancestor;
}

/* A memory.max below what is in use: refused, or kept for the steps. Returns 1 where it is neither. */
static int check_use(struct skm_container *container, uint32_t i, bool force, struct skm_memory_changes *changes,
                     struct skm_err *err)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	const struct skm_memory_entry *entry = &container->memory.entries[i];
	char wanted[SKM_SIZE_TEXT_MAX], used[SKM_SIZE_TEXT_MAX];
	uint64_t in_use;
	int r;

	if (!is_own_max(baseline))
		return 1;
	r = skm_probe_memcg_in_use(entry->dirfd, &in_use, err);
	if (r < 0)
		return r;
	if (entry->want >= in_use)
		return 1;
	if (!force || changes->stepped_count == SKM_MEMORY_LEVELS_MAX)
		return skm_err_set(
		        err, EBUSY,
		        "memory.max (%s) would come below what is in use (%s), and the kernel would kill; write a larger "
		        "one, or let an administrator set it with --force",
		        skm_memory_text(entry->want, wanted), skm_bytes_human(in_use, used));
	changes->stepped[changes->stepped_count++] = (struct skm_memory_cgroup){.dirfd = entry->dirfd, .path = baseline->cgroup};
	changes->stepped_bytes = entry->want;
	return 0;
}

/* Where the policy wants what it wanted before, someone else's stricter value stays as it does between two policies. */
static bool keeps_theirs(const struct skm_container *container, const struct skm_memory_baseline *baseline, uint64_t want,
                         uint64_t now)
{
	return want == skm_memory_set_kept(container, baseline->written) &&
	       skm_control_memory_judge(baseline->file, baseline->ancestor, want, now) == SKM_MEMORY_TAKE_OVER;
}

int skm_memory_changes_add(struct skm_container *container, uint32_t i, bool force, struct skm_memory_changes *changes,
                           struct skm_err *err)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	uint64_t now, want = skm_memory_set_kept(container, container->memory.entries[i].want);
	int r = skm_memory_set_read(container, i, &now, err);

	if (r < 0)
		return skm_err_wrap(err, "%s", baseline->cgroup);
	if (now == want || keeps_theirs(container, baseline, want, now))
		return 0;
	r = want < now ? check_use(container, i, force, changes, err) : 1;
	if (r <= 0)
		return r;
	changes->list[changes->count++] = (struct skm_memory_change){
	        .depth = depth_of(baseline->cgroup), .file = baseline->file, .from = now, .to = want, .entry = i};
	return 0;
}

void skm_memory_changes_tell(struct skm_container *container, const struct skm_memory_change *change)
{
	char name[SKM_MEMORY_NAME_MAX], from[SKM_SIZE_TEXT_MAX], to[SKM_SIZE_TEXT_MAX];
	const struct skm_memory_baseline *baseline = &container->journal.memory[change->entry];

	skm_container_tell(container, SKM_EVENT_MEMORY, "%s: %s (was %s)%s", skm_memory_set_name(container, change->entry, name),
	                   skm_memory_text(change->to, to), skm_memory_text(change->from, from),
	                   baseline->ancestor ? ", for what is protected below it" : "");
	if (change->to < change->from && baseline->file >= SKM_MEMORY_FILE_HIGH)
		skm_pressure_own_reclaim(container, skm_now_usec()); /* the write may have reclaimed */
}
