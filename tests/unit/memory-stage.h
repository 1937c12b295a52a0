/* SPDX-License-Identifier: Apache-2.0 */
/* The enforcer over cgroups of plain files that have the memory controller's. What writes them is this file's own, in place of
 * actuate/memory_file.c: it keeps whole pages as the kernel does, remembers the order, and fails where a test wants it to. That
 * the kernel takes what libcgroup writes is shown in a guest (tests/guest/memory). For one test program each. */
#ifndef SKM_MEMORY_STAGE_H
#define SKM_MEMORY_STAGE_H

#include "enforcer-stage.h"

#include "actuate/memory_file.h"
#include "codec/journal.h"
#include "enforcer/memory.h"

#define PAGE UINT64_C(4096)
#define GIVEN(file) SKM_KEY_BIT(SKM_KEY_MEMORY_MIN + (file))

/* What was written, in order. */
static struct {
	struct {
		char cgroup[32]; /* its last component */
		enum skm_memory_file file;
		uint64_t bytes;
	} list[256];
	int count;
	int fail_at;              /* the number of the write that fails; 0: none */
	bool gone;                /* it fails as in a cgroup that is gone */
	int steps;                /* times that the way down was begun */
	uint32_t journaled_first; /* entries in the journal at the first write */
} writes;

__attribute__((unused)) static void put_at(int dirfd, const char *name, uint64_t bytes)
{
	cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char text[32];

	snprintf(text, sizeof(text), bytes == UINT64_MAX ? "max\n" : "%llu\n", (unsigned long long)bytes);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

__attribute__((unused)) static uint64_t get_at(int dirfd, const char *name)
{
	uint64_t value;
	char text[64];

	assert_true(skm_read_text_at(dirfd, name, text, sizeof(text)) > 0);
	assert_int_equal(skm_probe_single_value(text, &value), 0);
	return value;
}

__attribute__((unused)) static uint32_t entries_in_the_journal(void)
{
	cleanup_dir DIR *dir = fdopendir(openat(stage.journal, ".", O_RDONLY | O_DIRECTORY));
	uint32_t count = 0;

	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		struct skm_journal journal = {0};
		static char text[65536];
		ssize_t length =
		        entry->d_name[0] == '.' ? -1 : skm_read_text_at(stage.journal, entry->d_name, text, sizeof(text));

		if (length <= 0)
			continue;
		assert_int_equal(skm_codec_journal_parse(text, (size_t)length, &journal, NULL), 0);
		count += journal.memory_count;
		skm_codec_journal_free(&journal);
	}
	return count;
}

int skm_actuate_memory_write(const struct skm_memory_cgroup *cgroup, enum skm_memory_file file, uint64_t bytes,
                             struct skm_err *err)
{
	const char *slash = strrchr(cgroup->path, '/');

	if (writes.count == 0)
		writes.journaled_first = entries_in_the_journal();
	assert_true(writes.count < 256);
	snprintf(writes.list[writes.count].cgroup, sizeof(writes.list[0].cgroup), "%.31s", slash + 1);
	writes.list[writes.count].file = file;
	writes.list[writes.count++].bytes = bytes;
	if (writes.count == writes.fail_at)
		return skm_err_set(err, writes.gone ? ENODEV : EPERM, "a write that a test lets fail");
	put_at(cgroup->dirfd, skm_name_of(&skm_memory_file_names, file), skm_probe_memcg_kept(bytes, PAGE));
	return 0;
}

int skm_actuate_memory_step_down(const struct skm_memory_cgroup *cgroups, size_t count, uint64_t bytes, struct skm_err *err)
{
	(void)cgroups;
	(void)err;
	assert_int_equal(count, 1);
	assert_int_equal(bytes, 64 * SKM_MIB);
	writes.steps++;
	return 0;
}

/* A cgroup with the memory controller's files, below the stage's folder. */
__attribute__((unused)) static int make_cgroup(const char *path)
{
	int fd;

	assert_int_equal(mkdirat(stage.dir, path, 0700), 0);
	fd = openat(stage.dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put_at(fd, "memory.min", 0);
	put_at(fd, "memory.low", 0);
	put_at(fd, "memory.high", UINT64_MAX);
	put_at(fd, "memory.max", UINT64_MAX);
	put_at(fd, "memory.current", 8 * SKM_MIB);
	return fd;
}

__attribute__((unused)) static void put_text(int dirfd, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

__attribute__((unused)) static int make_box(const char *path)
{
	int fd = make_cgroup(path);
	char text[32];

	put_text(fd, "memory.stat", "anon 4096\nfile 0\nsock 0\n");
	put_text(fd, "memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
	put_text(fd, "cgroup.events", "populated 1\nfrozen 0\n");
	snprintf(text, sizeof(text), "%d\n", stage.child);
	put_text(fd, "cgroup.procs", text);
	return fd;
}

__attribute__((unused)) static int set_up_memory(void **state)
{
	int r = set_up(state);

	memset(&writes, 0, sizeof(writes));
	close(stage.cgroup);
	stage.cgroup = make_box("box");
	return r;
}

struct sizes {
	uint64_t min, low, high, max; /* 0: not set */
};

__attribute__((unused)) static struct skm_policy policy_with(struct sizes sizes)
{
	struct skm_policy policy = SKM_POLICY_INIT;
	const uint64_t bytes[SKM_MEMORY_FILES] = {sizes.min, sizes.low, sizes.high, sizes.max};

	policy.source = SKM_SOURCE_ADMINISTRATOR;
	for (unsigned int file = 0; file < SKM_MEMORY_FILES; file++) {
		if (bytes[file] == 0)
			continue;
		policy.set |= GIVEN(file);
		policy.memory[file] = (struct skm_size){.kind = SKM_SIZE_BYTES, .value = bytes[file]};
	}
	return policy;
}

__attribute__((unused)) static void with_limit(struct skm_policy *policy, uint64_t bytes)
{
	policy->set |= SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	policy->tcpmem_limit = (struct skm_size){.kind = SKM_SIZE_BYTES, .value = bytes};
}

__attribute__((unused)) static void with_propagate(struct skm_policy *policy)
{
	policy->set |= SKM_KEY_BIT(SKM_KEY_MEMORY_PROPAGATE);
	policy->propagate = true;
}

__attribute__((unused)) static int try_in(int cgroup, const char *id, const struct skm_policy *policy, struct skm_err *err)
{
	int kept = stage.cgroup, r;

	stage.cgroup = cgroup;
	r = register_policy(id, policy, err);
	stage.cgroup = kept;
	return r;
}

__attribute__((unused)) static struct skm_container *hold_in(int cgroup, const char *id, struct skm_policy policy)
{
	struct skm_err err = SKM_ERR_INIT;

	if (try_in(cgroup, id, &policy, &err) < 0)
		fail_msg("register: %s", err.text);
	return skm_registry_head(stage.registry);
}

__attribute__((unused)) static struct skm_container *hold(struct skm_policy policy)
{
	return hold_in(stage.cgroup, "web", policy);
}

__attribute__((unused)) static void is(int cgroup, const char *file, uint64_t bytes)
{
	uint64_t found = get_at(cgroup, file);

	if (found != bytes)
		fail_msg("%s is %llu, wanted %llu", file, (unsigned long long)found, (unsigned long long)bytes);
}

__attribute__((unused)) static void wrote(int i, const char *cgroup, enum skm_memory_file file, uint64_t bytes)
{
	if (i >= writes.count || strcmp(writes.list[i].cgroup, cgroup) != 0 || writes.list[i].file != file ||
	    writes.list[i].bytes != bytes)
		fail_msg("write %d is %llu to %s of %s", i, (unsigned long long)writes.list[i].bytes,
		         skm_name_of(&skm_memory_file_names, writes.list[i].file), writes.list[i].cgroup);
}

__attribute__((unused)) static void release(const char *id)
{
	struct skm_container *container = skm_registry_head(stage.registry);

	while (container && strcmp(container->report.id, id) != 0)
		container = container->next;
	assert_non_null(container);
	skm_memory_give_back(container);
}

/* What an enforcer leaves that was killed: the values, and a journal from which the next one knows them. */
__attribute__((unused)) static void start_anew(void)
{
	static const struct skm_host HOST = {.cgroup2_mounted = true,
	                                     .memory = SKM_MEMORY_V2,
	                                     .processors = 2,
	                                     .page_bytes = PAGE,
	                                     .charge_slack_bytes = 512 * SKM_KIB};

	skm_registry_close(stage.registry, false);
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &HOST, dup(stage.journal), dup(stage.ended), NULL), 0);
	skm_registry_recover(stage.registry);
}

#define MEMORY(test) cmocka_unit_test_setup_teardown(test, set_up_memory, tear_down)

#endif
