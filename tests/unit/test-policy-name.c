/* SPDX-License-Identifier: Apache-2.0 */
/* Names of profiles: what the node file and the annotation take alike. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "model/policy.h"

/* In a block of just its length, so that a sanitizer sees a read past the end. */
static bool is_name(const char *text, size_t length, const char **ret_reason)
{
	cleanup_free char *copy = malloc(length ? length : 1);

	assert_non_null(copy);
	memcpy(copy, text, length);
	return skm_policy_is_profile_name(copy, length, ret_reason);
}

static void test_good(void **state)
{
	static const char *const GOOD[] = {"a",
	                                   "0",
	                                   "web",
	                                   "Web-1.frontend_x",
	                                   "a--b",
	                                   "a.b",
	                                   "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz01234567890"};

	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(*GOOD); i++) {
		const char *reason;

		if (!is_name(GOOD[i], strlen(GOOD[i]), &reason))
			fail_msg("%s: %s", GOOD[i], reason);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *reason;
	} BAD[] = {
	        {"", "empty"},
	        {" ", "letters, digits"},
	        {" web", "letters, digits"},
	        {"web ", "letters, digits"},
	        {"-web", "the first"},
	        {"web.", "the last"},
	        {"_", "letters, digits"},
	        {"a/b", "letters, digits"},
	        {"../x", "letters"},
	        {"w\xc3\xa9", "letters"},
	        {"a\nb", "letters, digits"},
	        {"{\"tcpmem\":\"1Mi\"}", "letters"},
	        {"a,b", "letters"},
	        {"64Mi*", "letters, digits"},
	        {"a\x1b[2Jb", "letters, digits"},
	        {"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz012345678901", "63"},
	};
	const char *reason;

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		if (is_name(BAD[i].text, strlen(BAD[i].text), &reason))
			fail_msg("\"%s\" is taken", BAD[i].text);
		assert_contains(reason, BAD[i].reason);
	}
	assert_false(is_name("a\0b", 3, &reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_good), cmocka_unit_test(test_bad)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
