/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static char scratch[] = "/tmp/skm-test-io-XXXXXX";

static int make_scratch(void **state)
{
	(void)state;
	return mkdtemp(scratch) ? 0 : -1;
}

static int remove_scratch(void **state)
{
	cleanup_fd int dir = open(scratch, O_RDONLY | O_DIRECTORY);

	(void)state;
	unlinkat(dir, "file", 0);
	unlinkat(dir, "a/b", AT_REMOVEDIR);
	unlinkat(dir, "a", AT_REMOVEDIR);
	return rmdir(scratch);
}

static void test_replace_and_read(void **state)
{
	cleanup_fd int dir = open(scratch, O_RDONLY | O_DIRECTORY);
	struct skm_err err = SKM_ERR_INIT;
	char buffer[64];

	(void)state;
	assert_int_equal(skm_replace_file_at(dir, "file", "one", 3, &err), 0);
	assert_int_equal(skm_replace_file_at(dir, "file", "second", 6, &err), 0);
	assert_int_equal(skm_read_text_at(dir, "file", buffer, sizeof(buffer)), 6);
	assert_string_equal(buffer, "second");
	assert_int_equal(faccessat(dir, ".file.new", F_OK, 0), -1);
}

static void test_too_large_is_said(void **state)
{
	cleanup_fd int dir = open(scratch, O_RDONLY | O_DIRECTORY);
	char buffer[4];

	(void)state;
	assert_int_equal(skm_replace_file_at(dir, "file", "1234", 4, NULL), 0);
	assert_int_equal(skm_read_text_at(dir, "file", buffer, sizeof(buffer)), -EFBIG);
	assert_int_equal(skm_read_text_at(dir, "missing", buffer, sizeof(buffer)), -ENOENT);
}

static void read_pipe(const char *text, size_t max, int expected)
{
	cleanup_free char *got = NULL;
	size_t length = 0;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], text, strlen(text)), strlen(text));
	close(ends[1]);
	assert_int_equal(skm_read_to_end(ends[0], max, &got, &length), expected);
	if (expected == 0)
		assert_string_equal(got, text);
	close(ends[0]);
}

static void test_read_to_end(void **state)
{
	(void)state;
	read_pipe("hello", 5, 0);
	read_pipe("hello", 4, -EFBIG);
	read_pipe("", 0, 0);
}

static void test_dirs_are_made_private(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	char path[128];
	struct stat st;
	cleanup_fd int dir = -1;

	(void)state;
	snprintf(path, sizeof(path), "%s/a/b", scratch);
	dir = skm_open_dir_made(path, &err);
	assert_true(dir >= 0);
	assert_int_equal(fstat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_replace_and_read),
	        cmocka_unit_test(test_too_large_is_said),
	        cmocka_unit_test(test_read_to_end),
	        cmocka_unit_test(test_dirs_are_made_private),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
