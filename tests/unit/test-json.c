/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec/json.h"

#include <errno.h>

static const struct skm_json_rules RULES = {.name = "DOC", .right = "write JSON", .text_max = 4096, .depth_max = 4};

/* Reads a text out of a block of just its length, so that a sanitizer sees a read past the end. */
static int read_exactly(const char *text, size_t length, const struct skm_json_rules *rules, struct json_object **ret,
                        struct skm_err *err)
{
	cleanup_free char *copy = malloc(length ? length : 1);

	assert_non_null(copy);
	memcpy(copy, text, length);
	return skm_json_read(copy, length, rules, ret, err);
}

struct good {
	const char *text, *canonical;
};

static const struct good GOOD[] = {
        {"null", "null"},
        {" \t\r\n true\n", "true"},
        {"0", "0"},
        {"-0.5e+3", "-0.5e+3"},
        {"18446744073709551615", "18446744073709551615"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9007199254740993", "9007199254740993"}, /* no double holds it */
        {"\"\"", "\"\""},
        {"\"\\/\\\\\\\"\\b\\f\\n\\r\\t\"", "\"/\\\\\\\"\\b\\f\\n\\r\\t\""},
        {"\"\\u0041\\u00e9\"", "\"A\\u00e9\""},
        {"\"\\ud83d\\uDE00\"", "\"\\ud83d\\ude00\""},
        {"\"\xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\""},
        {"\"\xc2\x9b\x7f\"", "\"\\u009b\\u007f\""},
        {"[]", "[]"},
        {"[[],{},[[]],[],[[[]]]]", "[[],{},[[]],[],[[[]]]]"}, /* many, but not deep */
        {"[1, [2, {\"a\": []}]]", "[1,[2,{\"a\":[]}]]"},
        {"{\"a\" : 1 , \"b\":{\"a\":null}}", "{\"a\":1,\"b\":{\"a\":null}}"},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(*GOOD); i++) {
		cleanup_json struct json_object *value = NULL;
		cleanup_free char *text = NULL;
		struct skm_err err = SKM_ERR_INIT;

		if (read_exactly(GOOD[i].text, strlen(GOOD[i].text), &RULES, &value, &err) != 0)
			fail_msg("%s: %s", GOOD[i].text, err.text);
		text = skm_json_text(value, false);
		assert_string_equal(text, GOOD[i].canonical);
	}
}

struct bad {
	const char *text, *part; /* has to be in the error */
};

static const struct bad BAD[] = {
        {"", "DOC: empty; write JSON"},
        {" \n", "nothing but spaces; write JSON"},
        {"{\"a\":1,}", "at byte 7, in $: a comma before '}'"},
        {"[1,]", "at byte 3, in $: a comma before ']'"},
        {"{\"a\":1} x", "at byte 8, in $: text after the end"},
        {"1 2", "at byte 2, in $: text after the end"},
        {"{\"a\":1,\"a\":2}", "at byte 7, in $.a: this key stands twice"},
        {"{\"a\":{\"b\":[0,{\"c\":1,\"c\":1}]}}", "at byte 20, in $.a.b[1].c: this key stands twice"},
        {"{\"a\":1,\"\\u0061\":2}", "in $.a: this key stands twice"},
        {"[[[[[]]]]]", "at byte 4, in $[0][0][0][0]: nested deeper than 4"},
        {"'a'", "double quotes only"},
        {"{a:1}", "at byte 1, in $: found 'a', wanted a key in double quotes; a shell or a template may have taken them"},
        {"{\\\"a\\\":1}", "at byte 1, in $: found a backslash, wanted a key in double quotes; these were escaped"},
        {"{\"\"a\"\":1}", "at byte 3, in $[\"\"]: found 'a', wanted ':' after the key \"\"; the quotes are doubled"},
        {"{\"\"\"\":1}", "at byte 3, in $[\"\"]: found '\"', wanted ':' after the key \"\"; the quotes are doubled"},
        {"{\"\" 1}", "at byte 4, in $[\"\"]: found '1', wanted ':' after the key"},
        {"{1:1}", "at byte 1, in $: found '1', wanted a key in double quotes"},
        {"{\"a\" 1}", "at byte 5, in $.a: found '1', wanted ':'"},
        {"[1 2]", "at byte 3, in $: found '2', wanted ',' or ']'"},
        {"[1}", "found '}', wanted ',' or ']'"},
        {"[nul]", "found 'n', wanted a value"},
        {"[TRUE]", "found 'T', wanted a value"},
        {"[NaN]", "found 'N', wanted a value"},
        {"[Infinity]", "found 'I', wanted a value"},
        {"[-Infinity]", "found 'I', wanted a digit"},
        {"/* */ 1", "found '/', wanted a value"},
        {"\xef\xbb\xbf{}", "found the byte 0xef"},
        {"[01]", "leading 0"},
        {"[+1]", "found '+'"},
        {"[.5]", "found '.'"},
        {"[1.]", "a digit after the point"},
        {"[1e]", "digits of an exponent"},
        {"[18446744073709551616]", "at byte 1, in $[0]: an integer beyond 64 bits"},
        {"[-9223372036854775809]", "beyond 64 bits"},
        {"[99999999999999999999999999999999999999]", "beyond 64 bits"},
        {"\"\\x\"", "no such escape"},
        {"\"\\u12g4\"", "four hex digits"},
        {"\"\\u1\"", "four hex digits"},
        {"\"\\u0000\"", "NUL"},
        {"\"\\ud800\"", "half a surrogate pair"},
        {"\"\\ud800\\u0041\"", "half a surrogate pair"},
        {"\"\\udc00\"", "half a surrogate pair"},
        {"\"\n\"", "control character (0x0a)"},
        {"\"\x1b[31m\"", "control character (0x1b)"},
        {"\"\xff\"", "at byte 1, in $: the byte 0xff is no UTF-8"},
        {"\"\xc0\xaf\"", "no UTF-8"},         /* overlong */
        {"\"\xe0\x80\xaf\"", "no UTF-8"},     /* overlong */
        {"\"\xed\xa0\x80\"", "no UTF-8"},     /* a surrogate */
        {"\"\xf4\x90\x80\x80\"", "no UTF-8"}, /* over U+10FFFF */
        {"{\"a b\":x}", "in $[\"a b\"]: found 'x'"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct json_object *value = (struct json_object *)&RULES;
		struct skm_err err = SKM_ERR_INIT;

		assert_int_equal(read_exactly(BAD[i].text, strlen(BAD[i].text), &RULES, &value, &err), -EINVAL);
		assert_contains(err.text, BAD[i].part);
		assert_contains(err.text, "DOC: ");
		assert_ptr_equal(value, &RULES);
	}
}

/* Every beginning of a document is cut, and is called so. */
static void test_cut(void **state)
{
	static const char TEXT[] = "{\"a\": [1.5e3, true, \"x\\ud83d\\ude00\xf0\x9f\x98\x80\"], \"b\": {\"c\": null}}";
	char wanted[64];

	(void)state;
	for (size_t length = 1; length < strlen(TEXT); length++) {
		struct json_object *value = NULL;
		struct skm_err err = SKM_ERR_INIT;

		assert_int_equal(read_exactly(TEXT, length, &RULES, &value, &err), -EINVAL);
		snprintf(wanted, sizeof(wanted), "DOC: ends after %zu bytes, ", length);
		assert_contains(err.text, wanted);
		assert_contains(err.text, "looks cut");
	}
}

static void test_nul_bytes(void **state)
{
	static const char *const TEXTS[] = {"\0{}", "{}\0", "{\"a\0\":1}", "{\"a\":\0 1}", "{\0}", "[1\0]"};
	static const size_t LENGTHS[] = {3, 3, 8, 8, 3, 4};

	(void)state;
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(*TEXTS); i++) {
		struct json_object *value = NULL;

		assert_int_equal(read_exactly(TEXTS[i], LENGTHS[i], &RULES, &value, NULL), -EINVAL);
	}
}

static void test_bounds(void **state)
{
	struct json_object *value = NULL;
	struct skm_err err = SKM_ERR_INIT;
	char text[4097];

	(void)state;
	memset(text, ' ', sizeof(text));
	text[0] = '1';
	assert_int_equal(read_exactly(text, 4096, &RULES, &value, &err), 0);
	skm_json_cleanup(&value);
	assert_int_equal(read_exactly(text, 4097, &RULES, &value, &err), -E2BIG);
	assert_contains(err.text, "DOC: 4097 bytes long; at most 4096");
	assert_int_equal(read_exactly("[[[[]]]]", 8, &RULES, &value, &err), 0);
	skm_json_cleanup(&value);
}

static void test_only_some_keys_unique(void **state)
{
	struct skm_json_rules rules = RULES;
	cleanup_json struct json_object *value = NULL;
	cleanup_free char *text = NULL;
	struct json_object *none = NULL;

	(void)state;
	rules.unique_keys = (const char *const[]){"id", NULL};
	assert_int_equal(read_exactly("{\"x\":1,\"x\":{}}", 14, &rules, &value, NULL), 0);
	text = skm_json_text(value, false);
	assert_string_equal(text, "{\"x\":{}}");
	assert_int_equal(read_exactly("{\"id\":1,\"id\":1}", 15, &rules, &none, NULL), -EINVAL);
	skm_json_cleanup(&value);
	rules.unique_keys = (const char *const[]){"x.", NULL};
	assert_int_equal(read_exactly("{\"x\":1,\"x\":1}", 13, &rules, &value, NULL), 0);
	assert_int_equal(read_exactly("{\"x.\":1,\"x.\":1}", 15, &rules, &none, NULL), -EINVAL);
	assert_int_equal(read_exactly("{\"x.a\":1,\"x.a\":1}", 17, &rules, &none, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_good),      cmocka_unit_test(test_bad),    cmocka_unit_test(test_cut),
	        cmocka_unit_test(test_nul_bytes), cmocka_unit_test(test_bounds), cmocka_unit_test(test_only_some_keys_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
