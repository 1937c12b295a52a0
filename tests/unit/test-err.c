/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/err.h"

#include <errno.h>

static void test_set_and_wrap(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_err_set_errno(&err, ENOENT, "open %s", "/x"), -ENOENT);
	assert_string_equal(err.text, "open /x: No such file or directory");
	assert_int_equal(skm_err_wrap(&err, "container %s", "web"), -ENOENT);
	assert_string_equal(err.text, "container web: open /x: No such file or directory");
	assert_int_equal(err.code, ENOENT);
}

static void test_nobody_asks(void **state)
{
	(void)state;
	assert_int_equal(skm_err_set(NULL, EINVAL, "x"), -EINVAL);
	assert_int_equal(skm_err_set_errno(NULL, EIO, "x"), -EIO);
}

static void test_long_text_is_cut_visibly(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	char text[2000];

	(void)state;
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	skm_err_set(&err, EINVAL, "%s", text);
	assert_int_equal(strlen(err.text), SKM_ERR_TEXT_MAX - 1);
	assert_string_equal(err.text + SKM_ERR_TEXT_MAX - 4, "\xe2\x80\xa6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_set_and_wrap),
	        cmocka_unit_test(test_nobody_asks),
	        cmocka_unit_test(test_long_text_is_cut_visibly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
