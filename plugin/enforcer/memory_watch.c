/* SPDX-License-Identifier: Apache-2.0 */
/* Looks after the values once they are written: others write these files too (systemctl daemon-reload, runc update, a hand).
 *
 * By reading, once a second: a read of such a file costs some 2 µs and the enforcer wakes that often anyway, while inotify, which
 * does tell of writes to kernfs files, needs a watch for each, of which a user has a bounded number, and can lose events. */
#include "enforcer/memory.h"

#include "base/clock.h"
#include "enforcer/container.h"
#include "enforcer/memory_set.h"
#include "enforcer/memory_share.h"
#include "enforcer/registry.h"
#include "probe/ancestry.h"
#include "probe/process.h"
#include "probe/protection.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>

#define CHECK_USEC SKM_USEC_PER_SEC

/* The protection is computed again after 5 s, or where that takes longer, when it costs a thousandth of the time. */
#define PROTECTION_USEC (UINT64_C(5) * SKM_USEC_PER_SEC)
#define PROTECTION_SHARE 1000

uint64_t skm_memory_due(const struct skm_container *container)
{
	return container->journal.memory_count > 0 ? container->memory.next_check_usec : UINT64_MAX;
}

static void reassert(struct skm_container *container, uint32_t i, uint64_t found, uint64_t now_usec)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	struct skm_memory_entry *entry = &container->memory.entries[i];
	char name[SKM_MEMORY_NAME_MAX], theirs[SKM_SIZE_TEXT_MAX], ours[SKM_SIZE_TEXT_MAX];
	struct skm_err err = SKM_ERR_INIT;
	int r = skm_memory_set_write(container, i, baseline->written, &err);

	skm_control_memory_wrote(&entry->backoff, now_usec);
	entry->taken = false;
	if (r == -ENODEV)
		return;
	if (r < 0) {
		skm_container_tell(container, SKM_EVENT_TROUBLE, "%s", err.text);
		return;
	}
	container->report.memory_reasserted++;
	skm_container_tell(container, SKM_EVENT_MEMORY,
	                   "%s: someone else made it %s; it is %s again, and not put back again within %" PRIu64 " s",
	                   skm_memory_set_name(container, i, name), skm_memory_text(found, theirs),
	                   skm_memory_text(baseline->written, ours), entry->backoff.interval_usec / SKM_USEC_PER_SEC);
}

static void take_over(struct skm_container *container, uint32_t i, uint64_t found, uint64_t now_usec)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	struct skm_memory_entry *entry = &container->memory.entries[i];
	char name[SKM_MEMORY_NAME_MAX], theirs[SKM_SIZE_TEXT_MAX], ours[SKM_SIZE_TEXT_MAX];

	if (entry->taken)
		return;
	entry->taken = true;
	skm_control_memory_wrote(&entry->backoff, now_usec); /* nor is one who alternates told of each time */
	container->report.memory_taken_over++;
	skm_container_tell(container, SKM_EVENT_MEMORY, "%s: someone else made it %s, which is %s than our %s: it stays",
	                   skm_memory_set_name(container, i, name), skm_memory_text(found, theirs),
	                   baseline->ancestor ? "more" : "stricter", skm_memory_text(baseline->written, ours));
}

static void check_entry(struct skm_container *container, uint32_t i, uint64_t now_usec)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	struct skm_memory_entry *entry = &container->memory.entries[i];
	uint64_t found;

	if (skm_memory_set_read(container, i, &found, NULL) < 0)
		return; /* gone: its end comes by another way */
	if (baseline->file == SKM_MEMORY_FILE_MAX && now_usec < container->memory.stepping_until_usec)
		return;
	if (!skm_memory_looks_after(container, i))
		return;
	switch (skm_control_memory_judge(baseline->file, baseline->ancestor, skm_memory_set_kept(container, baseline->written),
	                                 found)) {
	case SKM_MEMORY_STANDS:
		entry->taken = false;
		break;
	case SKM_MEMORY_REASSERT:
		if (skm_control_memory_may_write(&entry->backoff, now_usec))
			reassert(container, i, found, now_usec);
		break;
	case SKM_MEMORY_TAKE_OVER:
		if (skm_control_memory_may_write(&entry->backoff, now_usec))
			take_over(container, i, found, now_usec);
		break;
	}
}

static bool has_protection(const struct skm_container *container)
{
	const struct skm_in_force *files = &container->report.in_force[SKM_IN_FORCE_MEMORY];

	return files[SKM_MEMORY_FILE_MIN].set || files[SKM_MEMORY_FILE_LOW].set;
}

void skm_memory_check(struct skm_container *container, uint64_t now_usec)
{
	if (now_usec < skm_memory_due(container))
		return;
	for (uint32_t i = 0; i < container->journal.memory_count; i++)
		check_entry(container, i, now_usec);
	container->memory.next_check_usec = now_usec + CHECK_USEC;
	if (now_usec >= container->memory.next_protection_usec && has_protection(container))
		skm_memory_refresh(container);
}

void skm_memory_refresh(struct skm_container *container)
{
	struct skm_protection *protection = &container->report.protection;
	uint64_t began = skm_now_usec(), pause;
	char path[PATH_MAX];
	unsigned int levels;

	SKM_IGNORE(skm_probe_memcg_max(&container->memcg, &container->report.memory_max_bytes, NULL) <
	           0); /* then the last known */
	if (skm_probe_fd_path(container->memcg.dir, path, sizeof(path)) < 0)
		return;
	levels = skm_probe_is_nested(container->memcg.dir, path, container->report.id) ? 2 : 1;
	if (skm_probe_protection(container->memcg.dir, path, levels, skm_registry_host(container->registry)->recursive_protection,
	                         protection, NULL) < 0)
		protection->known = false;
	pause = (skm_now_usec() - began) * PROTECTION_SHARE;
	container->memory.next_protection_usec = skm_now_usec() + (pause > PROTECTION_USEC ? pause : PROTECTION_USEC);
}
