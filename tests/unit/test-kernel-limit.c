/* SPDX-License-Identifier: Apache-2.0 */
/* Backend v1: the kernel's own limit, in files that stand for those of a cgroup of v1. */
#include "enforcer-stage.h"

#include "actuate/kernel_limit.h"
#include "codec/journal.h"
#include "probe/cgroup_tree.h"

#define NONE "9223372036854771712\n"
#define LIMIT_FILE "memory.kmem.tcp.limit_in_bytes"
#define LIMIT_TEXT "33554432\n"

static int set_up_v1(void **state)
{
	static const char *const V2[] = {"memory.stat", "memory.current", "memory.events",
	                                 "memory.max",  "memory.high",    "cgroup.events"};
	static const struct skm_host HOST = {.memory = SKM_MEMORY_V1, .processors = 2, .page_bytes = 4096, .nosocket = true};
	int r = set_up(state);

	for (size_t i = 0; i < sizeof(V2) / sizeof(*V2); i++)
		assert_int_equal(unlinkat(stage.cgroup, V2[i], 0), 0);
	put("memory.usage_in_bytes", "8192\n");
	put("memory.limit_in_bytes", NONE);
	put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	put(LIMIT_FILE, NONE);
	put("memory.kmem.tcp.usage_in_bytes", "4096\n");
	put("memory.kmem.tcp.max_usage_in_bytes", "12288\n");
	put("memory.kmem.tcp.failcnt", "17\n");
	skm_registry_close(stage.registry, false);
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &HOST, dup(stage.journal), dup(stage.ended), NULL), 0);
	return r;
}

static const char *text_of(const char *name)
{
	static char text[64];

	assert_true(skm_read_text_at(stage.cgroup, name, text, sizeof(text)) >= 0);
	return text;
}

static void look_again(void)
{
	struct skm_container *container = skm_registry_head(stage.registry);

	assert_non_null(container);
	container->next_full_usec = container->next_tripwire_usec = 0;
	skm_registry_run(stage.registry, skm_now_usec());
}

static struct skm_event newest(enum skm_event_kind kind)
{
	const struct skm_container *container = skm_registry_first(stage.registry);

	for (uint32_t i = skm_registry_event_count(container); i-- > 0;)
		if (skm_registry_event(container, i)->kind == kind)
			return *skm_registry_event(container, i);
	fail_msg("no such event");
	abort();
}

static struct skm_journal journal(void)
{
	cleanup_free char *text = NULL;
	struct skm_container *container = skm_registry_head(stage.registry);
	cleanup_fd int fd = openat(stage.journal, container->journal_name, O_RDONLY | O_CLOEXEC);
	struct skm_journal journal;
	struct skm_err err = SKM_ERR_INIT;
	size_t length;

	assert_int_equal(skm_read_to_end(fd, 1 << 20, &text, &length), 0);
	if (skm_codec_journal_parse(text, length, &journal, &err) < 0)
		fail_msg("%s", err.text);
	skm_codec_journal_free(&journal);
	return journal;
}

static void test_the_limit_is_the_kernels(void **state)
{
	char rmem[SKM_NETNS_TEXT_MAX];

	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	assert_int_equal(report()->backend, SKM_BACKEND_V1);
	assert_string_equal(text_of(LIMIT_FILE), LIMIT_TEXT); /* at once: earlier sockets are never charged */
	assert_true(journal().kernel_limit.touched);
	assert_true(journal().kernel_limit.baseline == UINT64_MAX);
	assert_int_equal(journal().kernel_limit.written, LIMIT);
	look_again();
	assert_int_equal(report()->sock_bytes, 4096);
	assert_int_equal(report()->sock_peak_bytes, 12288);
	assert_int_equal(report()->over_limit, 17);
	assert_int_equal(report()->sysctl_writes, 0);
	assert_true(skm_read_text_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_rmem", rmem, sizeof(rmem)) > 0);
	assert_string_equal(rmem, "4096\t131072\t6291456\n");
	skm_registry_end(stage.registry, skm_registry_head(stage.registry), "test");
	assert_string_equal(text_of(LIMIT_FILE), NONE);
}

static void test_what_a_host_with_v1_refuses(void **state)
{
	struct skm_policy protected = policy_of(SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT});
	struct skm_size limit = {SKM_SIZE_BYTES, LIMIT};
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	for (int mode = SKM_MODE_HARD; mode <= SKM_MODE_OBSERVE; mode++) {
		assert_int_equal(register_with("web", (enum skm_mode)mode, limit, &err), -EOPNOTSUPP);
		assert_contains(err.text, "the memory controller is on cgroup v1 here; use mode v1 or auto");
	}
	assert_string_equal(text_of(LIMIT_FILE), NONE);
	/* what v1 has no file for is listed, and the limit stands all the same */
	protected.memory[SKM_MEMORY_FILE_LOW] = limit;
	protected.set = SKM_KEY_BIT(SKM_KEY_MEMORY_LOW) | SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	protected.source = SKM_SOURCE_ADMINISTRATOR;
	assert_int_equal(register_policy("web", &protected, &err), 0);
	assert_int_equal(report()->skipped_count, 1);
	assert_contains(report()->skipped[0], "memory: the controller is on cgroup v1");
	assert_string_equal(text_of(LIMIT_FILE), LIMIT_TEXT);
}

static void test_mode_v1_on_v2(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(register_with("web", SKM_MODE_V1, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EOPNOTSUPP);
	assert_contains(err.text, "v1: the memory controller is on cgroup v2 here");
}

static void test_a_kernel_without_the_files(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(unlinkat(stage.cgroup, "memory.kmem.tcp.usage_in_bytes", 0), 0);
	assert_int_equal(register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EOPNOTSUPP);
	assert_contains(err.text, "this kernel has no memory.kmem.tcp files");
}

static void test_someone_elses_limit(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_V1);
	put(LIMIT_FILE, "16777216\n");
	look_again();
	assert_contains(newest(SKM_EVENT_FOREIGN).text, "was 32.0 MiB and has become 16.0 MiB");
	assert_false(journal().kernel_limit.touched);
	skm_registry_end(stage.registry, skm_registry_head(stage.registry), "test");
	assert_string_equal(text_of(LIMIT_FILE), "16777216\n");
}

static void test_someone_elses_limit_at_the_end(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_V1);
	put(LIMIT_FILE, "16777216\n");
	skm_registry_end(stage.registry, skm_registry_head(stage.registry), "test");
	assert_string_equal(text_of(LIMIT_FILE), "16777216\n");
}

static void set_limit(struct skm_size limit)
{
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_err err = SKM_ERR_INIT;

	strcpy(request.id, "web");
	request.policy = policy_of(SKM_MODE_AUTO, limit);
	request.policy.set = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	if (skm_registry_change(stage.registry, &request, &err) < 0)
		fail_msg("set: %s", err.text);
}

static void test_set(void **state)
{
	(void)state;
	put(LIMIT_FILE, "50331648\n"); /* kernelTCP of a runtime */
	register_plain("web", SKM_MODE_AUTO);
	set_limit((struct skm_size){SKM_SIZE_BYTES, 2 * LIMIT});
	assert_string_equal(text_of(LIMIT_FILE), "67108864\n");
	assert_int_equal(journal().kernel_limit.baseline, 50331648);
	set_limit((struct skm_size){.kind = SKM_SIZE_MAX});
	assert_int_equal(report()->backend, SKM_BACKEND_NONE);
	assert_string_equal(text_of(LIMIT_FILE), "50331648\n");
}

/* A later enforcer knows what stood before the first. */
static void test_recovery(void **state)
{
	static const struct skm_host HOST = {.memory = SKM_MEMORY_V1, .processors = 2, .page_bytes = 4096};

	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	skm_registry_close(stage.registry, false);
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &HOST, dup(stage.journal), dup(stage.ended), NULL), 0);
	skm_registry_recover(stage.registry);
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_string_equal(text_of(LIMIT_FILE), LIMIT_TEXT);
	assert_true(journal().kernel_limit.baseline == UINT64_MAX);
	skm_registry_close(stage.registry, false);
	kill(stage.child, SIGKILL);
	waitpid(stage.child, NULL, 0);
	put("cgroup.procs", "");
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &HOST, dup(stage.journal), dup(stage.ended), NULL), 0);
	skm_registry_recover(stage.registry);
	assert_int_equal(skm_registry_count(stage.registry), 0);
	assert_string_equal(text_of(LIMIT_FILE), NONE);
}

static void test_a_write_that_is_not_taken(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_actuate_kernel_limit_write(stage.cgroup, 4097, &err), 0); /* the kernel keeps whole pages */
	assert_int_equal(unlinkat(stage.cgroup, LIMIT_FILE, 0), 0);
	assert_int_equal(symlinkat("/dev/full", stage.cgroup, LIMIT_FILE), 0);
	assert_int_equal(skm_actuate_kernel_limit_write(stage.cgroup, LIMIT, &err), -ELOOP);
	assert_int_equal(unlinkat(stage.cgroup, LIMIT_FILE, 0), 0);
	assert_int_equal(skm_actuate_kernel_limit_write(stage.cgroup, LIMIT, &err), -ENODEV);
}

/* v1 has no cgroup.events. */
static void test_populated(void **state)
{
	(void)state;
	assert_int_equal(skm_probe_cgroup_populated(stage.cgroup, NULL), 1);
	put("cgroup.procs", "");
	assert_int_equal(skm_probe_cgroup_populated(stage.cgroup, NULL), 0);
	assert_int_equal(unlinkat(stage.cgroup, "cgroup.procs", 0), 0);
	assert_int_equal(skm_probe_cgroup_populated(stage.cgroup, NULL), -ENODEV);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_the_limit_is_the_kernels, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_what_a_host_with_v1_refuses, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_mode_v1_on_v2, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_kernel_without_the_files, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_someone_elses_limit, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_someone_elses_limit_at_the_end, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_set, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_recovery, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_a_write_that_is_not_taken, set_up_v1, tear_down),
	        cmocka_unit_test_setup_teardown(test_populated, set_up_v1, tear_down),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
