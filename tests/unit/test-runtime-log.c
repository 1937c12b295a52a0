/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "hook/runtime_log.h"

/* words: with its NULs; sizeof counts the last one. */
#define assert_finds(words, file, is_json)                                                                                       \
	do {                                                                                                                     \
		bool json = !(is_json);                                                                                          \
		const char *found = skm_hook_runtime_log_find(words, sizeof(words), &json);                                      \
                                                                                                                                 \
		assert_non_null(found);                                                                                          \
		assert_string_equal(found, file);                                                                                \
		assert_int_equal(json, is_json);                                                                                 \
	} while (0)

static void assert_finds_none(const char *words, size_t length)
{
	bool json = true;

	assert_null(skm_hook_runtime_log_find(words, length, &json));
}

static void test_both_spellings_are_found(void **state)
{
	(void)state;
	assert_finds("crun\0--log\0/a/log\0create\0x", "/a/log", false);
	assert_finds("crun\0--log=/a/log\0--log-format=json\0create\0x", "/a/log", true);
	assert_finds("/usr/bin/crun\0--systemd-cgroup\0--log-format\0json\0--log\0log\0create", "log", true);
	assert_finds("crun\0--log-format=text\0--log=/b", "/b", false);
}

static void test_without_one_there_is_none(void **state)
{
	static const char words[] = "crun\0create\0--bundle\0/b\0x", last[] = "crun\0--log", empty[] = "crun\0--log=\0run";
	static const char longer[] = "crun\0--log-level\0debug\0--logs\0x", cut[] = "crun\0--log\0/a/lo";

	(void)state;
	assert_finds_none("", 0);
	assert_finds_none(words, sizeof(words));
	assert_finds_none(last, sizeof(last));
	assert_finds_none(empty, sizeof(empty));
	assert_finds_none(longer, sizeof(longer));
	assert_finds_none(cut, sizeof(cut) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_both_spellings_are_found),
	        cmocka_unit_test(test_without_one_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
