/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "table.h"

#include <locale.h>
#include <stdlib.h>

static const struct skm_column columns[] = {{"ID", false, true}, {"SOCK", true, false}, {"STEP", false, false}};

/* Prints the rows, three cells each, to a text that the caller frees. */
static char *print(const char *const (*rows)[3], size_t count, unsigned int width)
{
	struct skm_table *table = skm_table_new(columns, 3);
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(table);
	assert_non_null(out);
	for (size_t i = 0; i < count; i++)
		skm_table_add(table, rows[i]);
	assert_int_equal(skm_table_print(table, out, width), 0);
	fclose(out);
	skm_table_free(table);
	return text;
}

static void test_columns_are_aligned(void **state)
{
	static const char *const rows[][3] = {{"a", "1.5 MiB", "cap"}, {"longer", "512 B", "none"}};
	cleanup_free char *text = print(rows, 2, 0);

	(void)state;
	assert_string_equal(text, "ID         SOCK  STEP\n"
	                          "a       1.5 MiB  cap\n"
	                          "longer    512 B  none\n");
}

static void test_no_rows_is_a_heading(void **state)
{
	cleanup_free char *text = print(NULL, 0, 80);

	(void)state;
	assert_string_equal(text, "ID  SOCK  STEP\n");
}

static void test_flexible_column_is_cut_to_fit(void **state)
{
	static const char *const rows[][3] = {{"0123456789abcdef0123456789abcdef", "1 B", "none"}};
	cleanup_free char *fits = print(rows, 1, 44), *cut = print(rows, 1, 30), *narrow = print(rows, 1, 5);

	(void)state;
	assert_contains(fits, "0123456789abcdef0123456789abcdef   1 B  none\n");
	assert_contains(cut, "0123456789abcde...   1 B  none\n");
	assert_contains(narrow, "012345678...   1 B  none\n"); /* an id stays recognisable: wider than asked for */
}

static void test_cells_cannot_paint(void **state)
{
	static const char *const rows[][3] = {{"a\n\033[2Jb", "1 B", "none"}};
	cleanup_free char *text = print(rows, 1, 0);

	(void)state;
	assert_string_equal(text, "ID             SOCK  STEP\n"
	                          "a\\x0a\\x1b[2Jb   1 B  none\n");
}

static void test_wide_characters_keep_alignment(void **state)
{
	static const char *const rows[][3] = {
	        {"日本", "1 B", "none"}, {"abcd", "1 B", "none"}, {"日本語日本語日本語日本語", "1 B", "cap"}};
	cleanup_free char *text = NULL, *cut = NULL;

	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		fail_msg("no locale C.UTF-8 here");
	text = print(rows, 2, 0);
	assert_contains(text, "日本   1 B  none\nabcd   1 B  none\n");
	cut = print(rows, 3, 24); /* 12 columns for the id: four wide characters, one column unused, three dots */
	assert_contains(cut, "日本語日...    1 B  cap\n");
	setlocale(LC_CTYPE, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_columns_are_aligned),
	        cmocka_unit_test(test_no_rows_is_a_heading),
	        cmocka_unit_test(test_flexible_column_is_cut_to_fit),
	        cmocka_unit_test(test_cells_cannot_paint),
	        cmocka_unit_test(test_wide_characters_keep_alignment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
