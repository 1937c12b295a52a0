/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "probe/memcg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>

static char directory[64];

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
}

/* A container's cgroup below its parent, as memory.stat of kernel 6.1 begins. */
static int make_cgroup(void **state)
{
	char path[128];

	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/skm-memcg-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/child", directory);
	if (mkdir(path, 0700) < 0)
		return -1;
	write_file("child/memory.stat", "anon 1\nfile 2\nkernel 3\nkernel_stack 4\npagetables 5\nsec_pagetables 6\npercpu 7\n"
	                                "sock 33579008\nvmalloc 8\nsock_throttled 9\n");
	write_file("child/memory.current", "44040192\n");
	write_file("child/memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n");
	write_file("child/memory.max", "max\n");
	return 0;
}

static int remove_cgroup(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command);
}

static void open_child(struct skm_memcg *memcg)
{
	struct skm_err err = SKM_ERR_INIT;
	char path[128];
	cleanup_fd int dir = -1;

	snprintf(path, sizeof(path), "%s/child", directory);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_not_equal(dir, -1);
	if (skm_probe_memcg_open(dir, memcg, &err) != 0)
		fail_msg("%s", err.text);
}

static void test_keyed_value(void **state)
{
	static const char TEXT[] = "anon 5\nsock_x 1\nxsock 2\nsock 7340032\nlast 18446744073709551615\n";
	uint64_t value = 99;

	(void)state;
	assert_int_equal(skm_probe_keyed_value(TEXT, "sock", &value), 0);
	assert_int_equal(value, 7340032);
	assert_int_equal(skm_probe_keyed_value(TEXT, "anon", &value), 0);
	assert_int_equal(value, 5);
	assert_int_equal(skm_probe_keyed_value(TEXT, "last", &value), 0);
	assert_true(value == UINT64_MAX);
	value = 99;
	assert_int_equal(skm_probe_keyed_value(TEXT, "soc", &value), -ENOENT);
	assert_int_equal(skm_probe_keyed_value("", "sock", &value), -ENOENT);
	assert_int_equal(skm_probe_keyed_value("\n\n", "sock", &value), -ENOENT);
	assert_int_equal(skm_probe_keyed_value("\nsock 4\n", "anon", &value), -ENOENT);
	assert_int_equal(value, 99);
}

/* Every cut of a good text: the value as a whole, or an error. Never another number. */
static void test_keyed_value_cut_anywhere(void **state)
{
	static const char TEXT[] = "anon 5\nsock 7340032\n";
	char cut[sizeof(TEXT)];

	(void)state;
	for (size_t length = 0; length < sizeof(TEXT); length++) {
		uint64_t value = 0;
		int r;

		memcpy(cut, TEXT, length);
		cut[length] = '\0';
		r = skm_probe_keyed_value(cut, "sock", &value);
		if (length == sizeof(TEXT) - 1)
			assert_int_equal(r, 0);
		else
			assert_true(r == -ENOENT || r == -EINVAL);
		assert_true(value == 0 || (r == 0 && value == 7340032));
	}
}

static void test_keyed_value_garbage(void **state)
{
	static const char *const BAD[] = {
	        "sock -1\n",   "sock 1x\n",  "sock \n",    "sock  1\n", "sock 18446744073709551616\n",
	        "sock 0x10\n", "sock +1\n",  "sock max\n", "sock 1 \n", "sock 99999999999999999999999\n",
	        "sock 1.5\n",  "sock \t1\n", "sock 1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		uint64_t value = 77;

		if (skm_probe_keyed_value(BAD[i], "sock", &value) != -EINVAL)
			fail_msg("\"%s\" was taken", BAD[i]);
		assert_int_equal(value, 77);
	}
}

static void test_single_value(void **state)
{
	static const char *const BAD[] = {"",    "\n",   "max", "maxx\n", "-1\n", "12", "1 2\n", "18446744073709551616\n",
	                                  "x\n", "1\n\n"};
	uint64_t value = 0;

	(void)state;
	assert_int_equal(skm_probe_single_value("159383552\n", &value), 0);
	assert_int_equal(value, 159383552);
	assert_int_equal(skm_probe_single_value("max\n", &value), 0);
	assert_true(value == UINT64_MAX);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		value = 77;
		if (skm_probe_single_value(BAD[i], &value) != -EINVAL)
			fail_msg("\"%s\" was taken", BAD[i]);
		assert_int_equal(value, 77);
	}
}

static void test_values_of_a_cgroup(void **state)
{
	struct skm_memcg memcg = SKM_MEMCG_INIT;
	struct skm_err err = SKM_ERR_INIT;
	uint64_t value = 0;

	(void)state;
	open_child(&memcg);
	assert_int_equal(skm_probe_memcg_sock(&memcg, &value, &err), 0);
	assert_int_equal(value, 33579008);
	assert_int_equal(skm_probe_memcg_current(&memcg, &value, &err), 0);
	assert_int_equal(value, 44040192);
	assert_int_equal(skm_probe_memcg_oom_kills(&memcg, &value, &err), 0);
	assert_int_equal(value, 2);
	/* read anew each time, through the same descriptors */
	write_file("child/memory.stat", "sock 4096\n");
	assert_int_equal(skm_probe_memcg_sock(&memcg, &value, &err), 0);
	assert_int_equal(value, 4096);
	skm_probe_memcg_close(&memcg);
	assert_int_equal(memcg.stat, -1);
}

static void test_bad_files_name_themselves(void **state)
{
	struct skm_memcg memcg = SKM_MEMCG_INIT;
	struct skm_err err = SKM_ERR_INIT;
	uint64_t value = 77;

	(void)state;
	open_child(&memcg);
	write_file("child/memory.stat", "anon 1\nsock 12");
	assert_int_equal(skm_probe_memcg_sock(&memcg, &value, &err), -EINVAL);
	assert_contains(err.text, "memory.stat");
	write_file("child/memory.stat", "anon 1\n");
	assert_int_equal(skm_probe_memcg_sock(&memcg, &value, &err), -EINVAL);
	assert_contains(err.text, "sock");
	write_file("child/memory.current", "");
	assert_int_equal(skm_probe_memcg_current(&memcg, &value, &err), -EINVAL);
	assert_contains(err.text, "memory.current");
	assert_int_equal(value, 77);
	skm_probe_memcg_close(&memcg);
}

/* memory.stat of a later kernel may outgrow the buffer: `sock` is in its head. */
static void test_long_stat(void **state)
{
	struct skm_memcg memcg = SKM_MEMCG_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *text = malloc(20000);
	uint64_t value = 0;

	(void)state;
	assert_non_null(text);
	strcpy(text, "anon 1\nsock 8192\n");
	for (int i = 0; i < 400; i++)
		sprintf(text + strlen(text), "some_counter_of_the_future_%d 1234567890\n", i);
	open_child(&memcg);
	write_file("child/memory.stat", text);
	assert_int_equal(skm_probe_memcg_sock(&memcg, &value, &err), 0);
	assert_int_equal(value, 8192);
	skm_probe_memcg_close(&memcg);
}

static void test_max_of_itself_or_its_parent(void **state)
{
	struct skm_memcg memcg = SKM_MEMCG_INIT;
	struct skm_err err = SKM_ERR_INIT;
	uint64_t value = 0;

	(void)state;
	open_child(&memcg);
	assert_int_equal(skm_probe_memcg_max(&memcg, &value, &err), 0);
	assert_true(value == UINT64_MAX); /* the parent is the root: it has no such file */
	write_file("memory.max", "159383552\n");
	assert_int_equal(skm_probe_memcg_max(&memcg, &value, &err), 0);
	assert_int_equal(value, 159383552);
	write_file("child/memory.max", "67108864\n");
	assert_int_equal(skm_probe_memcg_max(&memcg, &value, &err), 0);
	assert_int_equal(value, 67108864);
	skm_probe_memcg_close(&memcg);
}

static void test_no_memory_controller(void **state)
{
	struct skm_memcg memcg = SKM_MEMCG_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(skm_probe_memcg_open(dir, &memcg, &err), -ENOENT);
	assert_contains(err.text, "memory controller");
	assert_int_equal(memcg.dir, -1);
}

static void test_cgroup_that_is_gone(void **state)
{
	struct skm_memcg memcg = SKM_MEMCG_INIT;
	struct skm_err err = SKM_ERR_INIT;
	uint64_t value;

	(void)state;
	open_child(&memcg);
	assert_int_equal(remove_cgroup(NULL), 0);
	assert_int_equal(skm_probe_memcg_max(&memcg, &value, &err), -ENODEV);
	assert_contains(err.text, "gone");
	skm_probe_memcg_close(&memcg);
}

static void test_a_file_of_a_policy(void **state)
{
	cleanup_fd int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct skm_err err = SKM_ERR_INIT;
	uint64_t value = 7;

	(void)state;
	write_file("memory.high", "max\n");
	assert_int_equal(skm_probe_memcg_file(dir, SKM_MEMORY_FILE_HIGH, &value, &err), 0);
	assert_true(value == UINT64_MAX);
	write_file("memory.high", "64Mi\n");
	assert_int_equal(skm_probe_memcg_file(dir, SKM_MEMORY_FILE_HIGH, &value, &err), -EINVAL);
	assert_contains(err.text, "memory.high");
	assert_int_equal(skm_probe_memcg_file(dir, SKM_MEMORY_FILE_LOW, &value, &err), -ENODEV);
}

static void test_what_the_kernel_keeps(void **state)
{
	(void)state;
	assert_int_equal(skm_probe_memcg_kept(0, 4096), 0);
	assert_int_equal(skm_probe_memcg_kept(4095, 4096), 0);
	assert_int_equal(skm_probe_memcg_kept(67108864, 4096), 67108864);
	assert_int_equal(skm_probe_memcg_kept(67108865, 65536), 67108864);
	assert_true(skm_probe_memcg_kept(UINT64_MAX, 4096) == UINT64_MAX);
	assert_true(skm_probe_memcg_kept(INT64_MAX, 4096) == UINT64_MAX);
	assert_int_equal(skm_probe_memcg_kept(INT64_MAX - 4096, 4096), INT64_MAX - 8191);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_keyed_value),
	        cmocka_unit_test(test_keyed_value_cut_anywhere),
	        cmocka_unit_test(test_keyed_value_garbage),
	        cmocka_unit_test(test_single_value),
	        cmocka_unit_test_setup_teardown(test_values_of_a_cgroup, make_cgroup, remove_cgroup),
	        cmocka_unit_test_setup_teardown(test_bad_files_name_themselves, make_cgroup, remove_cgroup),
	        cmocka_unit_test_setup_teardown(test_long_stat, make_cgroup, remove_cgroup),
	        cmocka_unit_test_setup_teardown(test_max_of_itself_or_its_parent, make_cgroup, remove_cgroup),
	        cmocka_unit_test_setup_teardown(test_a_file_of_a_policy, make_cgroup, remove_cgroup),
	        cmocka_unit_test(test_what_the_kernel_keeps),
	        cmocka_unit_test_setup_teardown(test_no_memory_controller, make_cgroup, remove_cgroup),
	        cmocka_unit_test_setup_teardown(test_cgroup_that_is_gone, make_cgroup, remove_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
