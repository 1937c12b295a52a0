/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/memory_set.h"

#include "actuate/memory_file.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "enforcer/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int skm_memory_set_find(const struct skm_container *container, uint64_t cgroup_inode, enum skm_memory_file file)
{
	const struct skm_journal *journal = &container->journal;

	for (uint32_t i = 0; i < journal->memory_count; i++)
		if (journal->memory[i].cgroup_inode == cgroup_inode && journal->memory[i].file == file)
			return (int)i;
	return -1;
}

static int make_room(struct skm_container *container)
{
	struct skm_journal *journal = &container->journal;
	struct skm_memory_baseline *baselines =
	        reallocarray(journal->memory, journal->memory_count + 1, sizeof(*journal->memory));
	struct skm_memory_entry *entries;

	if (!baselines)
		return -ENOMEM;
	journal->memory = baselines;
	entries = reallocarray(container->memory.entries, journal->memory_count + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	container->memory.entries = entries;
	return 0;
}

int skm_memory_set_add(struct skm_container *container, int dirfd, const char *path, enum skm_memory_file file, bool ancestor,
                       struct skm_err *err)
{
	struct skm_journal *journal = &container->journal;
	struct skm_memory_baseline baseline = {.file = file, .ancestor = ancestor};
	cleanup_fd int fd = skm_probe_memcg_file_open(dirfd, file, err), dir = -1;
	struct stat st;
	int r = fd < 0 ? fd : skm_probe_memcg_file_read(fd, file, &baseline.baseline, err);

	if (r < 0)
		return r;
	dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	if (dir < 0 || fstat(dir, &st) < 0)
		return skm_err_set_errno(err, errno, "keep cgroup %s", path);
	if (snprintf(baseline.cgroup, sizeof(baseline.cgroup), "%s", path) >= (int)sizeof(baseline.cgroup))
		return skm_err_set(err, ENAMETOOLONG, "cgroup path of %zu characters", strlen(path));
	baseline.cgroup_inode = st.st_ino;
	baseline.written = baseline.before = baseline.baseline;
	r = make_room(container);
	if (r < 0)
		return skm_err_set_errno(err, -r, "remember %s of %s", skm_name_of(&skm_memory_file_names, file), path);
	journal->memory[journal->memory_count] = baseline;
	container->memory.entries[journal->memory_count] =
	        (struct skm_memory_entry){.dirfd = skm_steal_fd(&dir), .fd = skm_steal_fd(&fd)};
	return (int)journal->memory_count++;
}

int skm_memory_set_open(struct skm_container *container, uint32_t i, struct skm_err *err)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	cleanup_fd int dir = open(baseline->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_ino != baseline->cgroup_inode)
		return skm_err_set(err, ENODEV, "cgroup %s is gone", baseline->cgroup);
	fd = skm_probe_memcg_file_open(dir, baseline->file, err);
	if (fd < 0)
		return fd;
	container->memory.entries[i] = (struct skm_memory_entry){.dirfd = skm_steal_fd(&dir), .fd = skm_steal_fd(&fd)};
	return 0;
}

static void close_entry(struct skm_memory_entry *entry)
{
	skm_close_fd(&entry->dirfd);
	skm_close_fd(&entry->fd);
}

void skm_memory_set_remove(struct skm_container *container, uint32_t i)
{
	struct skm_journal *journal = &container->journal;
	uint32_t after = --journal->memory_count - i;

	close_entry(&container->memory.entries[i]);
	memmove(&journal->memory[i], &journal->memory[i + 1], after * sizeof(*journal->memory));
	memmove(&container->memory.entries[i], &container->memory.entries[i + 1], after * sizeof(*container->memory.entries));
}

void skm_memory_set_truncate(struct skm_container *container, uint32_t i)
{
	while (container->journal.memory_count > i)
		skm_memory_set_remove(container, container->journal.memory_count - 1);
}

int skm_memory_set_read(const struct skm_container *container, uint32_t i, uint64_t *ret, struct skm_err *err)
{
	return skm_probe_memcg_file_read(container->memory.entries[i].fd, container->journal.memory[i].file, ret, err);
}

int skm_memory_set_write(struct skm_container *container, uint32_t i, uint64_t bytes, struct skm_err *err)
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	const struct skm_memory_cgroup cgroup = {.dirfd = container->memory.entries[i].dirfd, .path = baseline->cgroup};

	container->report.memory_writes++;
	return skm_actuate_memory_write(&cgroup, baseline->file, bytes, err);
}

uint64_t skm_memory_set_kept(const struct skm_container *container, uint64_t bytes)
{
	return skm_probe_memcg_kept(bytes, skm_registry_host(container->registry)->page_bytes);
}

bool skm_memory_set_is_ours(const struct skm_container *container, const struct skm_memory_baseline *entry, uint64_t now)
{
	return now == skm_memory_set_kept(container, entry->written) || now == skm_memory_set_kept(container, entry->before);
}

void skm_memory_set_restore(const char *id, const struct skm_memory_baseline *baseline)
{
	cleanup_fd int dir = open(baseline->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct skm_memory_cgroup cgroup = {.dirfd = dir, .path = baseline->cgroup};
	uint64_t now, in_use, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	struct skm_err err = SKM_ERR_INIT;
	struct stat st;

	if (dir < 0 || fstat(dir, &st) < 0 || st.st_ino != baseline->cgroup_inode ||
	    skm_probe_memcg_file(dir, baseline->file, &now, NULL) < 0)
		return;
	if (now != skm_probe_memcg_kept(baseline->written, page_bytes) &&
	    now != skm_probe_memcg_kept(baseline->before, page_bytes))
		return; /* someone else's */
	if (baseline->file == SKM_MEMORY_FILE_MAX && skm_probe_memcg_in_use(dir, &in_use, NULL) == 0 &&
	    in_use > baseline->baseline) {
		skm_log(LOG_WARNING, "%s: %s of %s is not back: more is in use than it allows", id,
		        skm_name_of(&skm_memory_file_names, baseline->file), baseline->cgroup);
		return;
	}
	if (skm_actuate_memory_write(&cgroup, baseline->file, baseline->baseline, &err) < 0 && err.code != ENODEV)
		skm_log(LOG_WARNING, "%s: %s", id, err.text);
}

const char *skm_memory_text(uint64_t bytes, char buffer[SKM_SIZE_TEXT_MAX])
{
	return bytes == UINT64_MAX ? "max" : skm_bytes_human(bytes, buffer);
}

const char *skm_memory_set_name(const struct skm_container *container, uint32_t i, char buffer[SKM_MEMORY_NAME_MAX])
{
	const struct skm_memory_baseline *baseline = &container->journal.memory[i];
	const char *file = skm_name_of(&skm_memory_file_names, baseline->file);

	if (!baseline->ancestor && baseline->cgroup_inode == container->memory.own_inode)
		snprintf(buffer, SKM_MEMORY_NAME_MAX, "%s", file);
	else
		snprintf(buffer, SKM_MEMORY_NAME_MAX, "%s of %.100s", file, baseline->cgroup);
	return buffer;
}
