/* SPDX-License-Identifier: Apache-2.0 */
/* Gives values back: when a container is let go, and what an earlier enforcer left. */
#include "enforcer/memory.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "enforcer/container.h"
#include "enforcer/memory_changes.h"
#include "enforcer/memory_set.h"
#include "enforcer/memory_share.h"
#include "enforcer/propagate.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Best effort: a file that is not ours any more stays, one that cannot be written is told. */
static void give_back_one(struct skm_container *container, const struct skm_memory_change *change)
{
	struct skm_err err = SKM_ERR_INIT;
	char name[SKM_MEMORY_NAME_MAX];
	int r = skm_memory_set_write(container, change->entry, change->to, &err);

	if (r == 0)
		skm_memory_changes_tell(container, change);
	else if (r != -ENODEV)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s is not back: %s",
		                   skm_memory_set_name(container, change->entry, name), err.text);
}

/* What goes back, of what still shows our value; the rest is left as it is. */
static void list_give_back(struct skm_container *container, uint32_t i, struct skm_memory_changes *changes)
{
	struct skm_memory_baseline *baseline = &container->journal.memory[i];
	struct skm_memory_entry *entry = &container->memory.entries[i];
	char name[SKM_MEMORY_NAME_MAX];
	struct skm_err err = SKM_ERR_INIT;
	uint64_t now;

	entry->want = baseline->ancestor ? skm_propagate_without(container, i) : baseline->baseline;
	if (skm_memory_set_read(container, i, &now, NULL) < 0 || !skm_memory_set_is_ours(container, baseline, now))
		return;
	if (skm_memory_changes_add(container, i, false, changes, &err) < 0 && err.code != ENODEV)
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s is not back: %s", skm_memory_set_name(container, i, name),
		                   err.text);
	baseline->written = entry->want;
}

void skm_memory_give_back(struct skm_container *container)
{
	struct skm_memory_changes changes = {.list = calloc(container->journal.memory_count + 1, sizeof(*changes.list))};

	if (!changes.list)
		return;
	for (uint32_t i = 0; i < container->journal.memory_count; i++)
		list_give_back(container, i, &changes);
	skm_control_memory_order(changes.list, changes.count);
	for (size_t i = 0; i < changes.count; i++)
		give_back_one(container, &changes.list[i]);
	for (uint32_t i = 0; i < container->journal.memory_count; i++)
		skm_memory_share_written(container, i);
	skm_memory_set_truncate(container, 0);
	free(changes.list);
}

uint64_t skm_memory_runtimes(const struct skm_container *container, enum skm_memory_file file, uint64_t now)
{
	uint64_t least = UINT64_MAX;
	bool found = false;

	for (uint32_t i = 0; i < container->journal.memory_count; i++) {
		const struct skm_memory_baseline *baseline = &container->journal.memory[i];
		uint64_t stands;

		if (baseline->ancestor || baseline->file != file || skm_memory_set_read(container, i, &stands, NULL) < 0)
			continue;
		if (skm_memory_set_is_ours(container, baseline, stands))
			stands = baseline->baseline;
		least = stands < least ? stands : least;
		found = true;
	}
	return found ? least : now;
}

void skm_memory_adopt(struct skm_container *container)
{
	struct skm_journal *journal = &container->journal;
	struct skm_err err = SKM_ERR_INIT;
	struct stat st;

	if (fstat(container->memcg.dir, &st) == 0)
		container->memory.own_inode = st.st_ino;
	container->memory.entries = calloc(journal->memory_count + 1, sizeof(*container->memory.entries));
	if (!container->memory.entries) {
		skm_container_tell(container, SKM_EVENT_TROUBLE, "out of memory: its memory files are left as they are");
		journal->memory_count = 0;
		return;
	}
	for (uint32_t i = 0; i < journal->memory_count; i++)
		container->memory.entries[i] = (struct skm_memory_entry){.dirfd = -1, .fd = -1};
	for (uint32_t i = journal->memory_count; i-- > 0;)
		if (skm_memory_set_open(container, i, &err) < 0) {
			skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
			skm_memory_set_remove(container, i);
		}
}

void skm_memory_restore(const struct skm_journal *journal)
{
	for (uint32_t i = 0; i < journal->memory_count; i++)
		skm_memory_orphan(journal->id, &journal->memory[i]);
}

void skm_memory_settle_all(struct skm_registry *registry)
{
	skm_propagate_settle(registry); /* first: it asks whose a value was */
	skm_memory_settle(registry);
}

void skm_memory_free(struct skm_container *container)
{
	skm_memory_set_truncate(container, 0);
	free(container->memory.entries);
	free(container->journal.memory);
	container->memory.entries = NULL;
	container->journal.memory = NULL;
}
