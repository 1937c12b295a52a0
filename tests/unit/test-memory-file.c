/* SPDX-License-Identifier: Apache-2.0 */
/* What holds over plain files: who writes, what is refused, and that no child is left. That the kernel takes what is written by
 * libcgroup is shown in a guest (tests/guest/memory). A plain file keeps what lies behind a write: the numbers here have as many
 * digits as what stood there. */
#include "skm-test.h"

#include "actuate/memory_file.h"
#include "actuate/worker.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char top[40];
static struct skm_memory_cgroup cgroup;

static void put(const char *name, const char *text)
{
	cleanup_fd int fd = openat(cgroup.dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static bool shows(const char *name, const char *wanted)
{
	char text[64];

	return skm_read_text_at(cgroup.dirfd, name, text, sizeof(text)) > 0 && strcmp(text, wanted) == 0;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/skm-test-memory-XXXXXX");
	assert_non_null(mkdtemp(top));
	cgroup = (struct skm_memory_cgroup){.dirfd = open(top, O_RDONLY | O_DIRECTORY), .path = top};
	put("memory.current", "90000000\n");
	put("memory.high", "99999999\n");
	put("memory.max", "99999999\n");
	put("memory.low", "00000000\n");
	return 0;
}

/* Every child has ended and was reaped. */
static int tear_down(void **state)
{
	char command[64];

	(void)state;
	for (int i = 0; i < 200 && waitpid(-1, NULL, WNOHANG) != -1; i++) {
		skm_actuate_worker_reap();
		usleep(10000);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	close(cgroup.dirfd);
	snprintf(command, sizeof(command), "rm -rf %.39s", top);
	return system(command);
}

static void test_below_what_is_in_use_a_child_writes(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_actuate_memory_write(&cgroup, SKM_MEMORY_FILE_HIGH, 67108864, &err), 0);
	assert_true(shows("memory.high", "67108864\n"));
}

/* A folder that is no cgroup is not what libcgroup would write to, whatever lies at its path. */
static void test_libcgroup_would_write_elsewhere(void **state)
{
	static const struct {
		enum skm_memory_file file;
		uint64_t bytes;
	} CASES[] = {{SKM_MEMORY_FILE_LOW, 67108864},
	             {SKM_MEMORY_FILE_MIN, 67108864},
	             {SKM_MEMORY_FILE_MAX, 99000000},
	             {SKM_MEMORY_FILE_HIGH, UINT64_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++) {
		struct skm_err err = SKM_ERR_INIT;
		int r = skm_actuate_memory_write(&cgroup, CASES[i].file, CASES[i].bytes, &err);

		/* ENOENT where this machine has no memory controller at all */
		if (r != -ESTALE && r != -ENOENT)
			fail_msg("%d: %s", r, err.text);
		assert_true(err.text[0]);
	}
	assert_true(shows("memory.low", "00000000\n"));
	assert_true(shows("memory.max", "99999999\n"));
}

static void test_gone(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(unlinkat(cgroup.dirfd, "memory.high", 0), 0);
	assert_int_equal(skm_actuate_memory_write(&cgroup, SKM_MEMORY_FILE_HIGH, 67108864, &err), -ENODEV);
	assert_contains(err.text, "gone");
}

static void wait_for_max(const char *wanted)
{
	for (int i = 0; i < 300 && !shows("memory.max", wanted); i++)
		usleep(10000);
	assert_true(shows("memory.max", wanted));
}

static void test_step_down_ends_at_the_value(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	put("memory.reclaim", "");
	assert_int_equal(skm_actuate_memory_step_down(&cgroup, 1, 67108864, &err), 0);
	wait_for_max("67108864\n");
	/* a quarter of what is too much, and a MiB: nothing came of it, so it was asked once */
	assert_true(shows("memory.reclaim", "6771360"));
}

static void test_step_down_without_reclaim(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_actuate_memory_step_down(&cgroup, 1, 67108864, &err), 0);
	wait_for_max("67108864\n");
	assert_int_equal(unlinkat(cgroup.dirfd, "memory.max", 0), 0);
	assert_int_equal(skm_actuate_memory_step_down(&cgroup, 1, 67108864, &err), -ENOENT);
	assert_contains(err.text, "memory.max");
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_below_what_is_in_use_a_child_writes), STAGED(test_libcgroup_would_write_elsewhere), STAGED(test_gone),
	        STAGED(test_step_down_ends_at_the_value),         STAGED(test_step_down_without_reclaim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
