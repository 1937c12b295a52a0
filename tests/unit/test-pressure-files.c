/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "probe/pressure.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_proactive_reclaim_is_taken_off(void **state)
{
	struct skm_reclaim_counts counts;
	bool apart = true;

	(void)state;
	/* 6.1 counts all in one */
	assert_int_equal(skm_probe_reclaim_parse("sock 0\npgscan 700\npgsteal 600\npgscan_kswapd 1\n", &counts, &apart), 0);
	assert_false(apart);
	assert_int_equal(counts.scanned_pages, 700);
	assert_int_equal(counts.stolen_pages, 600);
	/* 6.15 and later tell it apart */
	assert_int_equal(skm_probe_reclaim_parse("pgscan 700\npgsteal 600\npgscan_proactive 300\npgsteal_proactive 290\n",
	                                         &counts, &apart),
	                 0);
	assert_true(apart);
	assert_int_equal(counts.scanned_pages, 400);
	assert_int_equal(counts.stolen_pages, 310);
}

static void test_what_is_not_the_kernels_is_refused(void **state)
{
	const char *const texts[] = {
	        "",
	        "pgscan 1\n",
	        "pgsteal 1\n",
	        "pgscan 1\npgsteal",
	        "pgscan 1\npgsteal 1",
	        "pgscan x\npgsteal 1\n",
	        "pgscan 5\npgsteal 5\npgscan_proactive 6\npgsteal_proactive 1\n",
	        "pgscan 5\npgsteal 5\npgscan_proactive 5\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct skm_reclaim_counts counts = {1, 2};
		bool apart = false;

		assert_int_equal(skm_probe_reclaim_parse(texts[i], &counts, &apart), -EINVAL);
		assert_int_equal(counts.scanned_pages, 1);
	}
}

static void test_psi_total(void **state)
{
	const char *const wrong[] = {
	        "",
	        "some avg10=0.00 avg60=0.00 avg300=0.00\n",
	        "some avg10=0.00 avg60=0.00 avg300=0.00 total=12",
	        "some avg10=0.00 avg60=0.00 avg300=0.00 total=x\n",
	        "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
	        "some avg10=0.00 avg60=0.00 avg300=0.00\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
	};
	uint64_t total = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(skm_probe_psi_parse(wrong[i], &total), -EINVAL);
	assert_int_equal(total, 7);
	assert_int_equal(skm_probe_psi_parse("some avg10=0.10 avg60=0.00 avg300=0.00 total=4711\n"
	                                     "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
	                                     &total),
	                 0);
	assert_int_equal(total, 4711);
}

static void write_at(int dir, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int make_level(int above, const char *name, const char *counts)
{
	int dir;

	assert_int_equal(mkdirat(above, name, 0700), 0);
	dir = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	write_at(dir, "memory.stat", counts);
	write_at(dir, "memory.current", "0\n");
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

/* root (memory.stat, no memory.current) / pod / container */
static void test_each_ancestor_below_the_root_is_read(void **state)
{
	char path[] = "/tmp/skm-pressure-XXXXXX";
	cleanup_fd int root = -1, pod = -1, container = -1;
	struct skm_pressure_files files = SKM_PRESSURE_FILES_INIT;
	struct skm_reclaim_counts counts;
	struct skm_err err = SKM_ERR_INIT;
	uint64_t total;
	bool apart;

	(void)state;
	assert_non_null(mkdtemp(path));
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_at(root, "memory.stat", "pgscan 9\npgsteal 9\n");
	pod = make_level(root, "pod", "pgscan 20\npgsteal 10\n");
	container = make_level(pod, "container", "pgscan 2\npgsteal 1\n");
	assert_int_equal(skm_probe_pressure_open(container, &files, &err), 0);
	assert_int_equal(files.levels, 2);
	assert_int_equal(skm_probe_pressure_counts(&files, 0, &counts, &apart, &err), 0);
	assert_int_equal(counts.scanned_pages, 2);
	assert_int_equal(skm_probe_pressure_counts(&files, 1, &counts, &apart, &err), 0);
	assert_int_equal(counts.scanned_pages, 20);
	assert_int_equal(skm_probe_psi_total(&files, &total, &err), -ENOENT);
	skm_probe_pressure_close(&files);
	assert_int_equal(files.levels, 0);
	assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_proactive_reclaim_is_taken_off),
	        cmocka_unit_test(test_what_is_not_the_kernels_is_refused),
	        cmocka_unit_test(test_psi_total),
	        cmocka_unit_test(test_each_ancestor_below_the_root_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
