/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "escape.h"

#include <locale.h>

static void assert_escaped(const char *text, bool utf8, const char *expected)
{
	cleanup_free char *escaped = skm_cli_escape(text, utf8);

	assert_non_null(escaped);
	assert_string_equal(escaped, expected);
}

static void test_plain_text_stays(void **state)
{
	(void)state;
	assert_escaped("", true, "");
	assert_escaped("web-1.example_2 /a:b", true, "web-1.example_2 /a:b");
	assert_escaped("Grüße 日本 😀", true, "Grüße 日本 😀");
}

static void test_controls_are_shown(void **state)
{
	(void)state;
	assert_escaped("a\nb\r\tc", true, "a\\x0ab\\x0d\\x09c");
	assert_escaped("\033[31mred\033]0;title\a", true, "\\x1b[31mred\\x1b]0;title\\x07");
	assert_escaped("\x7f", true, "\\x7f");
	assert_escaped("\xc2\x9b"
	               "31m",
	               true, "\\x9b31m"); /* U+009B: CSI as one character */
	assert_escaped("\b\b\b", true, "\\x08\\x08\\x08");
}

static void test_each_text_has_one_form(void **state)
{
	(void)state;
	assert_escaped("\\x1b", true, "\\\\x1b");
	assert_escaped("\033", true, "\\x1b");
}

static void test_direction_and_hidden_are_shown(void **state)
{
	(void)state;
	assert_escaped("a\xe2\x80\xae"
	               "b",
	               true, "a\\u202eb");
	assert_escaped("\xe2\x81\xa6x\xe2\x81\xa9", true, "\\u2066x\\u2069");
	assert_escaped("a\xe2\x80\x8b"
	               "b",
	               true, "a\\u200bb");
	assert_escaped("\xe2\x80\xa8", true, "\\u2028");
	assert_escaped("\xef\xbb\xbf", true, "\\ufeff");
	assert_escaped("\xf3\xa0\x81\x81", true, "\\U000e0041");
}

static void test_invalid_utf8_is_shown_by_byte(void **state)
{
	(void)state;
	assert_escaped("a\xff"
	               "b",
	               true, "a\\xffb");
	assert_escaped("\xc3", true, "\\xc3");
	assert_escaped("\xe6\x97", true, "\\xe6\\x97");
	assert_escaped("\xc0\xaf", true, "\\xc0\\xaf");                   /* overlong / */
	assert_escaped("\xed\xa0\x80", true, "\\xed\\xa0\\x80");          /* a surrogate */
	assert_escaped("\xf4\x90\x80\x80", true, "\\xf4\\x90\\x80\\x80"); /* over U+10FFFF */
	assert_escaped("\xc3\033[0m", true, "\\xc3\\x1b[0m");             /* the escape is not swallowed by the cut sequence */
}

static void test_nothing_but_ascii_without_utf8(void **state)
{
	(void)state;
	assert_escaped("\xdb\x9b", false, "\\u06db"); /* its second byte is CSI on an 8-bit terminal */
	assert_escaped("ä", false, "\\xe4");
	assert_escaped("😀", false, "\\U0001f600");
}

/* Every byte sequence of two bytes comes out without a control character. */
static void test_no_pair_of_bytes_gets_through(void **state)
{
	(void)state;
	for (int a = 1; a < 256; a++)
		for (int b = 1; b < 256; b++) {
			char text[] = {(char)a, (char)b, '\0'};
			cleanup_free char *escaped = skm_cli_escape(text, true);

			assert_non_null(escaped);
			for (const char *c = escaped; *c; c++)
				assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
			for (const char *c = escaped; *c; c++) /* U+0080 to U+009F */
				assert_false((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0);
		}
}

static void test_columns(void **state)
{
	(void)state;
	assert_int_equal(skm_cli_columns("abc"), 3);
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		fail_msg("no locale C.UTF-8 here");
	assert_true(skm_cli_terminal_is_utf8());
	assert_int_equal(skm_cli_columns("Grüße"), 5);
	assert_int_equal(skm_cli_columns("日本"), 4);
	assert_int_equal(skm_cli_columns("e\xcc\x81"), 1); /* a combining accent takes none */
	setlocale(LC_CTYPE, "C");
	assert_false(skm_cli_terminal_is_utf8());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_plain_text_stays),
	        cmocka_unit_test(test_controls_are_shown),
	        cmocka_unit_test(test_each_text_has_one_form),
	        cmocka_unit_test(test_direction_and_hidden_are_shown),
	        cmocka_unit_test(test_invalid_utf8_is_shown_by_byte),
	        cmocka_unit_test(test_nothing_but_ascii_without_utf8),
	        cmocka_unit_test(test_no_pair_of_bytes_gets_through),
	        cmocka_unit_test(test_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
