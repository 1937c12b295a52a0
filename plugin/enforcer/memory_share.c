/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/memory_share.h"

#include "base/log.h"
#include "enforcer/journal.h"
#include "enforcer/memory_set.h"
#include "enforcer/registry.h"

#include <stdio.h>
#include <stdlib.h>

struct skm_memory_baseline *skm_memory_shared_entry(const struct skm_container *container,
                                                    const struct skm_memory_baseline *baseline)
{
	int i = skm_memory_set_find(container, baseline->cgroup_inode, baseline->file);

	return i >= 0 && baseline->ancestor && container->journal.memory[i].ancestor ? &container->journal.memory[i] : NULL;
}

void skm_memory_share_baseline(struct skm_container *container, uint32_t i)
{
	struct skm_memory_baseline *ours = &container->journal.memory[i];

	for (const struct skm_container *c = skm_registry_first(container->registry); c; c = skm_registry_next(c)) {
		const struct skm_memory_baseline *theirs = c == container ? NULL : skm_memory_shared_entry(c, ours);

		if (!theirs)
			continue;
		ours->baseline = theirs->baseline;
		ours->written = theirs->written;
		ours->before = theirs->before;
		return;
	}
}

void skm_memory_share_written(struct skm_container *container, uint32_t i)
{
	const struct skm_memory_baseline *ours = &container->journal.memory[i];

	for (struct skm_container *c = skm_registry_head(container->registry); c; c = c->next) {
		struct skm_memory_baseline *theirs = c == container ? NULL : skm_memory_shared_entry(c, ours);
		struct skm_err err = SKM_ERR_INIT;

		if (!theirs || theirs->written == ours->written)
			continue;
		theirs->before = theirs->written;
		theirs->written = ours->written;
		if (skm_journal_save(c, &err) < 0)
			skm_container_tell(c, SKM_EVENT_TROUBLE, "%s", err.text);
	}
}

bool skm_memory_looks_after(const struct skm_container *container, uint32_t i)
{
	for (const struct skm_container *c = skm_registry_first(container->registry); c; c = skm_registry_next(c))
		if (skm_memory_shared_entry(c, &container->journal.memory[i]))
			return c == container;
	return true;
}

/* Of containers that ended while no enforcer ran, or cannot be held any more. */
static struct {
	struct orphan {
		char id[SKM_ID_MAX + 1];
		struct skm_memory_baseline baseline;
	} * list;
	size_t count;
} orphans;

void skm_memory_orphan(const char *id, const struct skm_memory_baseline *baseline)
{
	struct orphan *larger = reallocarray(orphans.list, orphans.count + 1, sizeof(*larger));

	if (!larger) {
		skm_log(LOG_WARNING, "%s: out of memory: %s of %s stays as it is", id,
		        skm_name_of(&skm_memory_file_names, baseline->file), baseline->cgroup);
		return;
	}
	orphans.list = larger;
	snprintf(larger[orphans.count].id, sizeof(larger[orphans.count].id), "%s", id);
	larger[orphans.count++].baseline = *baseline;
}

static bool is_same(const struct skm_memory_baseline *a, const struct skm_memory_baseline *b)
{
	return a->cgroup_inode == b->cgroup_inode && a->file == b->file;
}

bool skm_memory_is_anyones(const struct skm_container *container, uint32_t i, uint64_t now)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];

	for (const struct skm_container *c = skm_registry_first(container->registry); c; c = skm_registry_next(c)) {
		const struct skm_memory_baseline *theirs = skm_memory_shared_entry(c, baseline);

		if (theirs && skm_memory_set_is_ours(c, theirs, now))
			return true;
	}
	for (size_t o = 0; o < orphans.count; o++)
		if (is_same(&orphans.list[o].baseline, baseline) &&
		    skm_memory_set_is_ours(container, &orphans.list[o].baseline, now))
			return true;
	return false;
}

static bool is_held(const struct skm_registry *registry, const struct skm_memory_baseline *baseline)
{
	for (const struct skm_container *c = skm_registry_first(registry); c; c = skm_registry_next(c))
		if (skm_memory_shared_entry(c, baseline))
			return true;
	return false;
}

void skm_memory_settle(struct skm_registry *registry)
{
	for (size_t i = 0; i < orphans.count; i++)
		if (!is_held(registry, &orphans.list[i].baseline))
			skm_memory_set_restore(orphans.list[i].id, &orphans.list[i].baseline);
	free(orphans.list);
	orphans.list = NULL;
	orphans.count = 0;
}
