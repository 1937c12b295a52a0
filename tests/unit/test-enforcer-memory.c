/* SPDX-License-Identifier: Apache-2.0 */
/* The memory controller's files of containers, over a tree of plain files. What writes is this file's own, in place of
 * actuate/memory_file.c: it keeps whole pages as the kernel does, remembers the order, and fails where a test wants it to. That
 * the kernel takes what libcgroup writes is shown in a guest (tests/guest/memory). */
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
	int steps;                /* times that the way down was begun */
	uint32_t journaled_first; /* entries in the journal at the first write */
} writes;

static void put_at(int dirfd, const char *name, uint64_t bytes)
{
	cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char text[32];

	snprintf(text, sizeof(text), bytes == UINT64_MAX ? "max\n" : "%llu\n", (unsigned long long)bytes);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static uint64_t get_at(int dirfd, const char *name)
{
	uint64_t value;
	char text[64];

	assert_true(skm_read_text_at(dirfd, name, text, sizeof(text)) > 0);
	assert_int_equal(skm_probe_single_value(text, &value), 0);
	return value;
}

static uint32_t entries_in_the_journal(void)
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
		return skm_err_set(err, EPERM, "a write that a test lets fail");
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
static int make_cgroup(const char *path)
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

static void put_text(int dirfd, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int make_box(const char *path)
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

static int set_up_memory(void **state)
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

static struct skm_policy policy_with(struct sizes sizes)
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

static void with_limit(struct skm_policy *policy, uint64_t bytes)
{
	policy->set |= SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	policy->tcpmem_limit = (struct skm_size){.kind = SKM_SIZE_BYTES, .value = bytes};
}

static void with_propagate(struct skm_policy *policy)
{
	policy->set |= SKM_KEY_BIT(SKM_KEY_MEMORY_PROPAGATE);
	policy->propagate = true;
}

static int try_in(int cgroup, const char *id, const struct skm_policy *policy, struct skm_err *err)
{
	int kept = stage.cgroup, r;

	stage.cgroup = cgroup;
	r = register_policy(id, policy, err);
	stage.cgroup = kept;
	return r;
}

static struct skm_container *hold_in(int cgroup, const char *id, struct skm_policy policy)
{
	struct skm_err err = SKM_ERR_INIT;

	if (try_in(cgroup, id, &policy, &err) < 0)
		fail_msg("register: %s", err.text);
	return skm_registry_head(stage.registry);
}

static struct skm_container *hold(struct skm_policy policy)
{
	return hold_in(stage.cgroup, "web", policy);
}

static void is(int cgroup, const char *file, uint64_t bytes)
{
	uint64_t found = get_at(cgroup, file);

	if (found != bytes)
		fail_msg("%s is %llu, wanted %llu", file, (unsigned long long)found, (unsigned long long)bytes);
}

static void wrote(int i, const char *cgroup, enum skm_memory_file file, uint64_t bytes)
{
	if (i >= writes.count || strcmp(writes.list[i].cgroup, cgroup) != 0 || writes.list[i].file != file ||
	    writes.list[i].bytes != bytes)
		fail_msg("write %d is %llu to %s of %s", i, (unsigned long long)writes.list[i].bytes,
		         skm_name_of(&skm_memory_file_names, writes.list[i].file), writes.list[i].cgroup);
}

static void release(const char *id)
{
	struct skm_container *container = skm_registry_head(stage.registry);

	while (container && strcmp(container->report.id, id) != 0)
		container = container->next;
	assert_non_null(container);
	skm_memory_give_back(container);
}

#define ALL ((struct sizes){.min = 16 * SKM_MIB, .low = 32 * SKM_MIB, .high = 100 * SKM_MIB, .max = 200 * SKM_MIB})

static void test_applied_and_given_back(void **state)
{
	struct skm_container *container = hold(policy_with(ALL));

	(void)state;
	assert_int_equal(writes.count, 4);
	assert_int_equal(writes.journaled_first, 4);
	wrote(0, "box", SKM_MEMORY_FILE_LOW, 32 * SKM_MIB); /* what grows first, the larger before the smaller */
	wrote(1, "box", SKM_MEMORY_FILE_MIN, 16 * SKM_MIB);
	wrote(2, "box", SKM_MEMORY_FILE_HIGH, 100 * SKM_MIB);
	wrote(3, "box", SKM_MEMORY_FILE_MAX, 200 * SKM_MIB);
	assert_int_equal(report()->backend, SKM_BACKEND_NONE);
	assert_int_equal(report()->memory_writes, 4);
	assert_int_equal(report()->memory_max_bytes, 200 * SKM_MIB);
	assert_int_equal(count_events(SKM_EVENT_MEMORY, "memory.max: 200.0 MiB (was max)"), 1);
	assert_true(report()->protection.known);
	assert_int_equal(report()->protection.effective_low_bytes, 32 * SKM_MIB);
	assert_int_equal(skm_memory_runtimes(container, SKM_MEMORY_FILE_MAX, 5), UINT64_MAX);
	release("web");
	is(stage.cgroup, "memory.min", 0);
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
	is(stage.cgroup, "memory.max", UINT64_MAX);
	wrote(4, "box", SKM_MEMORY_FILE_MAX, UINT64_MAX);
	wrote(7, "box", SKM_MEMORY_FILE_LOW, 0);
	assert_int_equal(skm_memory_due(container), UINT64_MAX);
}

static void test_all_or_nothing(void **state)
{
	struct skm_policy policy = policy_with(ALL);

	(void)state;
	for (int at = 1; at <= 4; at++) {
		struct skm_err err = SKM_ERR_INIT;

		memset(&writes, 0, sizeof(writes));
		writes.fail_at = at;
		assert_int_equal(try_in(stage.cgroup, "web", &policy, &err), -EPERM);
		assert_contains(err.text, "lets fail");
		is(stage.cgroup, "memory.min", 0);
		is(stage.cgroup, "memory.low", 0);
		is(stage.cgroup, "memory.high", UINT64_MAX);
		is(stage.cgroup, "memory.max", UINT64_MAX);
		assert_int_equal(skm_registry_count(stage.registry), 0);
		assert_int_equal(files_in(stage.journal), 0);
		assert_int_equal(writes.count, 2 * at); /* undone in reverse, the failed one too */
		for (int i = 0; i < at; i++)
			assert_int_equal(writes.list[2 * at - 1 - i].file, writes.list[i].file);
	}
}

/* A change that fails leaves the policy before it in force, on disk too. */
static void test_a_change_is_all_or_nothing(void **state)
{
	struct skm_container *container = hold(policy_with(ALL));
	struct skm_in_force *files = &container->report.in_force[SKM_IN_FORCE_MEMORY];
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	files[SKM_MEMORY_FILE_LOW].bytes = files[SKM_MEMORY_FILE_LOW].asked_bytes = 64 * SKM_MIB;
	files[SKM_MEMORY_FILE_HIGH].bytes = files[SKM_MEMORY_FILE_HIGH].asked_bytes = 90 * SKM_MIB;
	writes.fail_at = 6;
	assert_int_equal(skm_memory_apply(container, false, &err), -EPERM);
	is(stage.cgroup, "memory.low", 32 * SKM_MIB);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB);
	for (uint32_t i = 0; i < container->journal.memory_count; i++)
		if (container->journal.memory[i].file == SKM_MEMORY_FILE_LOW)
			assert_int_equal(container->journal.memory[i].written, 32 * SKM_MIB);
	writes.fail_at = 0;
	assert_int_equal(skm_memory_apply(container, false, &err), 0);
	is(stage.cgroup, "memory.low", 64 * SKM_MIB);
	is(stage.cgroup, "memory.high", 90 * SKM_MIB);
	release("web");
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
}

static void test_a_file_that_the_policy_drops_goes_back(void **state)
{
	struct skm_container *container = hold(policy_with(ALL));

	(void)state;
	container->report.in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_HIGH].set = false;
	assert_int_equal(skm_memory_apply(container, false, NULL), 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	assert_int_equal(entries_in_the_journal(), 3);
	put_at(stage.cgroup, "memory.high", 50 * SKM_MIB); /* now whoever wants it has it */
	skm_registry_run(stage.registry, skm_now_usec() + 5 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.high", 50 * SKM_MIB);
}

static void test_high_has_room_for_the_sockets(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.high = 100 * SKM_MIB});
	struct skm_container *container;

	(void)state;
	with_limit(&policy, LIMIT);
	container = hold(policy);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB + LIMIT);
	container->report.limit_bytes = 2 * LIMIT;
	assert_int_equal(skm_memory_apply(container, false, NULL), 0);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB + 2 * LIMIT);
	container->report.limit_bytes = UINT64_MAX;
	assert_int_equal(skm_memory_apply(container, false, NULL), 0);
	is(stage.cgroup, "memory.high", 100 * SKM_MIB);
}

/* An annotation may lower the runtime's memory.high, so the room for the sockets may not lift it either. */
static void test_high_of_a_tenant_stays_below_the_runtimes(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.high = 100 * SKM_MIB});

	(void)state;
	put_at(stage.cgroup, "memory.high", 110 * SKM_MIB);
	with_limit(&policy, LIMIT);
	policy.source = SKM_SOURCE_ANNOTATION_POLICY;
	hold(policy);
	is(stage.cgroup, "memory.high", 110 * SKM_MIB);
	assert_int_equal(writes.count, 0);
}

static void test_inconsistent(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.min = 300 * SKM_MIB, .max = 200 * SKM_MIB});
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(try_in(stage.cgroup, "web", &policy, &err), -EINVAL);
	assert_contains(err.text, "memory.min (300.0 MiB) is above memory.max (200.0 MiB)");
	assert_int_equal(writes.count, 0);
	assert_int_equal(files_in(stage.journal), 0);
}

static void test_max_below_what_is_in_use(void **state)
{
	struct skm_policy policy = policy_with((struct sizes){.max = 64 * SKM_MIB});
	struct skm_container *container;
	struct skm_in_force *max;
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	put_at(stage.cgroup, "memory.current", 100 * SKM_MIB);
	assert_int_equal(try_in(stage.cgroup, "web", &policy, &err), -EBUSY);
	assert_contains(err.text, "memory.max (64.0 MiB) would come below what is in use (100.0 MiB)");
	assert_int_equal(writes.count, 0);
	container = hold(policy_with((struct sizes){.max = 128 * SKM_MIB}));
	max = &container->report.in_force[SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX];
	max->bytes = max->asked_bytes = 64 * SKM_MIB;
	assert_int_equal(skm_memory_apply(container, false, &err), -EBUSY);
	assert_int_equal(writes.steps, 0);
	assert_int_equal(skm_memory_apply(container, true, &err), 0);
	assert_int_equal(writes.steps, 1);
	/* on its way it is not put back, nor taken for someone else's */
	put_at(stage.cgroup, "memory.max", 90 * SKM_MIB);
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 90 * SKM_MIB);
	assert_int_equal(report()->memory_reasserted, 0);
	/* when its time is over it is looked after as ever */
	skm_registry_run(stage.registry, skm_now_usec() + 20 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 64 * SKM_MIB);
}

static void test_observe_writes_nothing(void **state)
{
	struct skm_policy policy = policy_with(ALL);

	(void)state;
	with_limit(&policy, LIMIT);
	policy.mode = SKM_MODE_OBSERVE;
	hold(policy);
	assert_int_equal(writes.count, 0);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "observe");
}

static void test_rounding_is_no_drift(void **state)
{
	(void)state;
	hold(policy_with((struct sizes){.max = 200 * SKM_MIB + 1}));
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	for (unsigned int i = 1; i < 10; i++)
		skm_registry_run(stage.registry, skm_now_usec() + i * 2 * SKM_USEC_PER_SEC);
	assert_int_equal(writes.count, 1);
	release("web");
	is(stage.cgroup, "memory.max", UINT64_MAX);
}

static void test_rewritten_values_come_back(void **state)
{
	uint64_t start;

	(void)state;
	hold(policy_with(ALL));
	start = skm_now_usec();
	put_at(stage.cgroup, "memory.max", UINT64_MAX);
	put_at(stage.cgroup, "memory.low", 0);
	skm_registry_run(stage.registry, start + 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	is(stage.cgroup, "memory.low", 32 * SKM_MIB);
	assert_int_equal(report()->memory_reasserted, 2);
	assert_int_equal(count_events(SKM_EVENT_MEMORY, "memory.max: someone else made it max; it is 200.0 MiB again"), 1);
	/* ten changes in ten seconds: after 1, 2 and 4 s */
	for (unsigned int i = 0; i < 10; i++) {
		put_at(stage.cgroup, "memory.max", (300 + i) * SKM_MIB);
		skm_registry_run(stage.registry, start + (3 + i) * SKM_USEC_PER_SEC);
	}
	assert_int_equal(report()->memory_reasserted, 2 + 3);
	is(stage.cgroup, "memory.max", 309 * SKM_MIB);
	skm_registry_run(stage.registry, start + 20 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
}

static void test_stricter_values_stay(void **state)
{
	uint64_t start;

	(void)state;
	hold(policy_with(ALL));
	start = skm_now_usec();
	put_at(stage.cgroup, "memory.max", 150 * SKM_MIB);
	for (unsigned int i = 1; i < 10; i++)
		skm_registry_run(stage.registry, start + i * 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 150 * SKM_MIB);
	assert_int_equal(report()->memory_taken_over, 1);
	assert_int_equal(report()->memory_reasserted, 0);
	assert_int_equal(count_events(SKM_EVENT_MEMORY, "someone else made it 150.0 MiB, which is stricter"), 1);
	/* raised again, past ours */
	put_at(stage.cgroup, "memory.max", 500 * SKM_MIB);
	skm_registry_run(stage.registry, start + 60 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	/* theirs is not taken away at the end either */
	put_at(stage.cgroup, "memory.high", 50 * SKM_MIB);
	release("web");
	is(stage.cgroup, "memory.high", 50 * SKM_MIB);
	is(stage.cgroup, "memory.max", UINT64_MAX);
}

/* What an enforcer leaves that was killed: the values, and a journal from which the next one knows them. */
static void start_anew(void)
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

static void test_taken_over_after_a_crash(void **state)
{
	struct skm_policy policy = policy_with(ALL);

	(void)state;
	put_at(stage.cgroup, "memory.max", 400 * SKM_MIB);
	policy.memory[SKM_MEMORY_FILE_MAX] = (struct skm_size){.kind = SKM_SIZE_PERCENT, .value = 5000};
	hold(policy);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	writes.count = 0;
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_int_equal(writes.count, 0);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB); /* not half of that again */
	put_at(stage.cgroup, "memory.max", 300 * SKM_MIB);
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	is(stage.cgroup, "memory.max", 200 * SKM_MIB);
	release("web");
	is(stage.cgroup, "memory.min", 0);
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.high", UINT64_MAX);
	is(stage.cgroup, "memory.max", 400 * SKM_MIB);
}

static void test_restored_where_it_ended_meanwhile(void **state)
{
	(void)state;
	hold(policy_with(ALL));
	put_at(stage.cgroup, "memory.high", 50 * SKM_MIB); /* someone else's */
	end_child();
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 0);
	is(stage.cgroup, "memory.low", 0);
	is(stage.cgroup, "memory.max", UINT64_MAX);
	is(stage.cgroup, "memory.high", 50 * SKM_MIB);
}

/* top/mid/a and top/mid/b, each with 100.0 MiB in use. */
struct tree {
	int top, mid, a, b;
};

static struct tree make_tree(void)
{
	struct tree tree = {
	        .top = make_cgroup("top"), .mid = make_cgroup("top/mid"), .a = make_box("top/mid/a"), .b = make_box("top/mid/b")};

	put_at(tree.a, "memory.current", 100 * SKM_MIB);
	put_at(tree.b, "memory.current", 100 * SKM_MIB);
	put_at(tree.mid, "memory.current", 200 * SKM_MIB);
	put_at(tree.top, "memory.current", 200 * SKM_MIB);
	return tree;
}

static void close_tree(const struct tree *tree)
{
	close(tree->top);
	close(tree->mid);
	close(tree->a);
	close(tree->b);
}

static struct skm_policy propagating(uint64_t min_mib, uint64_t low_mib)
{
	struct skm_policy policy = policy_with((struct sizes){.min = min_mib * SKM_MIB, .low = low_mib * SKM_MIB});

	with_propagate(&policy);
	return policy;
}

static void test_without_propagate_nothing_above_is_written(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	hold_in(tree.a, "a", policy_with((struct sizes){.low = 60 * SKM_MIB}));
	assert_int_equal(writes.count, 1);
	assert_int_equal(report()->protection.effective_low_bytes, 0);
	assert_contains(report()->protection.cut_by, "/top");
	close_tree(&tree);
}

static void test_ancestors_get_what_those_below_need(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	put_at(tree.top, "memory.low", 80 * SKM_MIB);
	hold_in(tree.a, "a", propagating(0, 60));
	is(tree.mid, "memory.low", 60 * SKM_MIB);
	is(tree.top, "memory.low", 80 * SKM_MIB); /* it has more */
	wrote(0, "mid", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	wrote(1, "a", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	assert_int_equal(report()->protection.effective_low_bytes, 60 * SKM_MIB);
	assert_string_equal(report()->protection.cut_by, "");
	hold_in(tree.b, "b", propagating(0, 50));
	is(tree.mid, "memory.low", 110 * SKM_MIB);
	is(tree.top, "memory.low", 110 * SKM_MIB);
	/* a knows what b had written: nobody puts anything back */
	writes.count = 0;
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	assert_int_equal(writes.count, 0);
	release("a");
	is(tree.a, "memory.low", 0);
	is(tree.mid, "memory.low", 50 * SKM_MIB);
	is(tree.top, "memory.low", 80 * SKM_MIB);
	release("b");
	is(tree.mid, "memory.low", 0);
	is(tree.top, "memory.low", 80 * SKM_MIB);
	close_tree(&tree);
}

static void test_min_is_raised_in_a_pod_only(void **state)
{
	struct tree tree = make_tree();
	int kube = make_cgroup("kubepods"), pod = make_cgroup("kubepods/pod1"), box = make_box("kubepods/pod1/box");

	(void)state;
	hold_in(tree.a, "a", propagating(40, 60));
	is(tree.mid, "memory.min", 0);
	is(tree.mid, "memory.low", 60 * SKM_MIB);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "memory.min is raised in a pod only");
	hold_in(box, "b", propagating(40, 60));
	is(pod, "memory.min", 40 * SKM_MIB);
	is(pod, "memory.low", 60 * SKM_MIB);
	is(kube, "memory.min", 0);
	is(kube, "memory.low", 60 * SKM_MIB);
	assert_int_equal(report()->skipped_count, 0);
	release("b");
	is(pod, "memory.min", 0);
	close_tree(&tree);
	close(kube);
	close(pod);
	close(box);
}

static void test_nothing_is_written_above_the_boundary(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	assert_int_equal(fchown(tree.mid, 1234, 1234), 0); /* top: root's */
	hold_in(tree.a, "a", propagating(0, 60));
	is(tree.mid, "memory.low", 60 * SKM_MIB);
	is(tree.top, "memory.low", 0);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "top and what is above stay as they are: it belongs to user 0");
	close_tree(&tree);
}

static void test_an_ancestor_is_put_back_once(void **state)
{
	struct tree tree = make_tree();
	uint64_t reasserted = 0;

	(void)state;
	hold_in(tree.a, "a", propagating(0, 60));
	hold_in(tree.b, "b", propagating(0, 50));
	put_at(tree.mid, "memory.low", 10 * SKM_MIB);
	writes.count = 0;
	skm_registry_run(stage.registry, skm_now_usec() + 2 * SKM_USEC_PER_SEC);
	is(tree.mid, "memory.low", 110 * SKM_MIB);
	assert_int_equal(writes.count, 1);
	for (const struct skm_container *c = skm_registry_first(stage.registry); c; c = skm_registry_next(c))
		reasserted += skm_registry_report(c)->memory_reasserted;
	assert_int_equal(reasserted, 1);
	/* more than is needed is someone else's wish, now and at the end */
	put_at(tree.mid, "memory.low", 500 * SKM_MIB);
	skm_registry_run(stage.registry, skm_now_usec() + 100 * SKM_USEC_PER_SEC);
	is(tree.mid, "memory.low", 500 * SKM_MIB);
	release("a");
	release("b");
	is(tree.mid, "memory.low", 500 * SKM_MIB);
	is(tree.top, "memory.low", 0);
	close_tree(&tree);
}

static void test_ancestors_after_a_crash(void **state)
{
	struct tree tree = make_tree();

	(void)state;
	put_at(tree.mid, "memory.low", 5 * SKM_MIB);
	hold_in(tree.a, "a", propagating(0, 60));
	hold_in(tree.b, "b", propagating(0, 50));
	is(tree.mid, "memory.low", 110 * SKM_MIB);
	put_text(tree.a, "cgroup.events", "populated 0\nfrozen 0\n"); /* it ends while no enforcer runs */
	writes.count = 0;
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 1);
	is(tree.mid, "memory.low", 50 * SKM_MIB);
	is(tree.top, "memory.low", 50 * SKM_MIB);
	is(tree.a, "memory.low", 0);
	is(tree.b, "memory.low", 50 * SKM_MIB);
	put_text(tree.b, "cgroup.events", "populated 0\nfrozen 0\n");
	start_anew();
	assert_int_equal(skm_registry_count(stage.registry), 0);
	is(tree.mid, "memory.low", 5 * SKM_MIB);
	is(tree.top, "memory.low", 0);
	close_tree(&tree);
}

/* crun under systemd: the scope and the cgroup in it are one container's. */
static void test_both_levels(void **state)
{
	int slice = make_cgroup("slice"), scope = make_cgroup("slice/box.scope"), inner = make_box("slice/box.scope/container");

	(void)state;
	put_at(scope, "memory.max", 300 * SKM_MIB);
	hold_in(inner, "box", policy_with((struct sizes){.low = 60 * SKM_MIB, .max = 200 * SKM_MIB}));
	wrote(0, "box.scope", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	wrote(1, "container", SKM_MEMORY_FILE_LOW, 60 * SKM_MIB);
	wrote(2, "container", SKM_MEMORY_FILE_MAX, 200 * SKM_MIB);
	wrote(3, "box.scope", SKM_MEMORY_FILE_MAX, 200 * SKM_MIB);
	assert_int_equal(writes.count, 4);
	is(slice, "memory.low", 0);
	assert_int_equal(skm_memory_runtimes(skm_registry_head(stage.registry), SKM_MEMORY_FILE_MAX, 7), 300 * SKM_MIB);
	release("box");
	is(scope, "memory.max", 300 * SKM_MIB);
	is(inner, "memory.max", UINT64_MAX);
	is(scope, "memory.low", 0);
	close(slice);
	close(scope);
	close(inner);
}

#define MEMORY(test) cmocka_unit_test_setup_teardown(test, set_up_memory, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        MEMORY(test_applied_and_given_back),
	        MEMORY(test_all_or_nothing),
	        MEMORY(test_a_change_is_all_or_nothing),
	        MEMORY(test_a_file_that_the_policy_drops_goes_back),
	        MEMORY(test_high_has_room_for_the_sockets),
	        MEMORY(test_high_of_a_tenant_stays_below_the_runtimes),
	        MEMORY(test_inconsistent),
	        MEMORY(test_max_below_what_is_in_use),
	        MEMORY(test_observe_writes_nothing),
	        MEMORY(test_rounding_is_no_drift),
	        MEMORY(test_rewritten_values_come_back),
	        MEMORY(test_stricter_values_stay),
	        MEMORY(test_taken_over_after_a_crash),
	        MEMORY(test_restored_where_it_ended_meanwhile),
	        MEMORY(test_without_propagate_nothing_above_is_written),
	        MEMORY(test_ancestors_get_what_those_below_need),
	        MEMORY(test_min_is_raised_in_a_pod_only),
	        MEMORY(test_nothing_is_written_above_the_boundary),
	        MEMORY(test_an_ancestor_is_put_back_once),
	        MEMORY(test_ancestors_after_a_crash),
	        MEMORY(test_both_levels),
	};

	return enter_stage() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
