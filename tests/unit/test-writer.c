/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec/writer.h"

static void test_everything(void **state)
{
	struct skm_writer *writer = skm_writer_new_object();
	cleanup_free char *text = NULL;

	(void)state;
	skm_writer_text(writer, "text", "a/b\"\\\n");
	skm_writer_text(writer, "no text", NULL);
	skm_writer_uint(writer, "uint", UINT64_MAX);
	skm_writer_int(writer, "int", INT64_MIN);
	skm_writer_bool(writer, "yes", true);
	skm_writer_bool(writer, "no", false);
	skm_writer_null(writer, "null");
	skm_writer_array(writer, "array");
	skm_writer_object(writer, NULL);
	skm_writer_end(writer);
	skm_writer_share(writer, NULL, 8312);
	skm_writer_share(writer, NULL, 10005);
	skm_writer_end(writer);
	skm_writer_uint(writer, "after", 1);
	text = skm_writer_finish(writer, false);
	assert_string_equal(text, "{\"text\":\"a/b\\\"\\\\\\n\",\"no text\":null,\"uint\":18446744073709551615,"
	                          "\"int\":-9223372036854775808,\"yes\":true,\"no\":false,\"null\":null,"
	                          "\"array\":[{},0.8312,1.0005],\"after\":1}");
}

/* No text of a container may move a cursor, or turn the direction of writing. */
static void test_text_is_ascii(void **state)
{
	struct skm_writer *writer = skm_writer_new_array();
	cleanup_free char *text = NULL;

	(void)state;
	skm_writer_text(writer, NULL, "\x1b[2J\x7f\xc2\x9b\xe2\x80\xae\xc3\xa9\xf0\x9f\x98\x80");
	skm_writer_text(writer, NULL, "cut \xe2\x80");
	skm_writer_text(writer, NULL, "\xff\xc0\xaf");
	text = skm_writer_finish(writer, false);
	assert_string_equal(text, "[\"\\u001b[2J\\u007f\\u009b\\u202e\\u00e9\\ud83d\\ude00\",\"cut ??\",\"???\"]");
}

static void test_pretty(void **state)
{
	struct skm_writer *writer = skm_writer_new_object();
	cleanup_free char *text = NULL;

	(void)state;
	skm_writer_array(writer, "a");
	skm_writer_uint(writer, NULL, 1);
	skm_writer_end(writer);
	text = skm_writer_finish(writer, true);
	assert_string_equal(text, "{\n  \"a\": [\n    1\n  ]\n}");
}

/* A misuse is seen at the end, as no text, and not as a wrong text. */
static void test_misuse_gives_no_text(void **state)
{
	struct skm_writer *writer = skm_writer_new_array();

	(void)state;
	skm_writer_uint(writer, "key in an array", 1);
	assert_null(skm_writer_finish(writer, false));
	writer = skm_writer_new_object();
	skm_writer_uint(writer, NULL, 1);
	assert_null(skm_writer_finish(writer, false));
	writer = skm_writer_new_array();
	for (int i = 0; i < 40; i++)
		skm_writer_array(writer, NULL);
	for (int i = 0; i < 80; i++)
		skm_writer_end(writer);
	assert_null(skm_writer_finish(writer, false));
}

static void test_no_writer(void **state)
{
	(void)state;
	skm_writer_text(NULL, "a", "b");
	skm_writer_object(NULL, "a");
	skm_writer_end(NULL);
	assert_null(skm_writer_finish(NULL, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_everything),           cmocka_unit_test(test_text_is_ascii), cmocka_unit_test(test_pretty),
	        cmocka_unit_test(test_misuse_gives_no_text), cmocka_unit_test(test_no_writer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
