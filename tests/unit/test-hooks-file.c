/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "hooks_file.h"

static void assert_path(const char *text, const char *expected)
{
	char path[PATH_MAX] = "before";

	skm_cli_hooks_file_path(text, path);
	assert_string_equal(path, expected);
}

static void test_path_is_found(void **state)
{
	(void)state;
	assert_path("{\"version\":\"1.0.0\",\"hook\":{\"path\":\"/a/b\",\"args\":[\"x\"]}}", "/a/b");
	assert_path("{\n  \"hook\": {\n    \"path\"\t:\n \"/usr/local/libexec/sockmem/sockmem-hook\"\n  }\n}\n",
	            "/usr/local/libexec/sockmem/sockmem-hook");
	assert_path("{\"hook\":{\"args\":[\"path\"],\"path\":\"/a\"}}", "/a"); /* the word alone is no member */
}

static void test_what_is_no_path_is_none(void **state)
{
	char text[PATH_MAX + 64] = "{\"path\":\"/";

	(void)state;
	assert_path("", "");
	assert_path("{}", "");
	assert_path("{\"hook\":{\"pth\":\"/a\"}}", "");
	assert_path("{\"path\":", "");
	assert_path("{\"path\":\"", "");
	assert_path("{\"path\":\"/a", "");
	assert_path("{\"path\":7}", "");
	assert_path("{\"path\":\"relative\"}", "");
	memset(text + strlen(text), 'a', PATH_MAX);
	strcpy(text + PATH_MAX + 10, "\"}");
	assert_path(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_path_is_found),
	        cmocka_unit_test(test_what_is_no_path_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
