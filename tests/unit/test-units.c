/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/units.h"

#include <errno.h>

struct good {
	const char *text;
	enum skm_size_kind kind;
	uint64_t value;
};

/* CASES.md C14 and the edges of the grammar */
static const struct good GOOD[] = {
        {"64Mi", SKM_SIZE_BYTES, 67108864},
        {"64M", SKM_SIZE_BYTES, 64000000},
        {"67108864", SKM_SIZE_BYTES, 67108864},
        {"1.5Gi", SKM_SIZE_BYTES, 1610612736},
        {"0.5Ki", SKM_SIZE_BYTES, 512},
        {"1k", SKM_SIZE_BYTES, 1000},
        {"2Ti", SKM_SIZE_BYTES, UINT64_C(2) << 40},
        {"1T", SKM_SIZE_BYTES, UINT64_C(1000000000000)},
        {"9223372036854775807", SKM_SIZE_BYTES, INT64_MAX},
        {"10%", SKM_SIZE_PERCENT, 1000},
        {"12.5%", SKM_SIZE_PERCENT, 1250},
        {"100%", SKM_SIZE_PERCENT, 10000},
        {"0.01%", SKM_SIZE_PERCENT, 1},
        {"max", SKM_SIZE_MAX, 0},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(*GOOD); i++) {
		struct skm_size size = {0};
		const char *reason = "";
		int r = skm_size_parse(GOOD[i].text, strlen(GOOD[i].text), &size, &reason);

		if (r != 0)
			fail_msg("%s: %d, %s", GOOD[i].text, r, reason);
		assert_int_equal(size.kind, GOOD[i].kind);
		assert_int_equal(size.value, GOOD[i].value);
	}
}

struct bad {
	const char *text;
	int result;
	const char *hint; /* has to be part of the reason */
};

static const struct bad BAD[] = {
        {"64m", -EINVAL, "milli"},
        {"64MB", -EINVAL, "no B"},
        {"64K", -EINVAL, "Ki"},
        {" 64Mi", -EINVAL, "space"},
        {"64Mi ", -EINVAL, "space"},
        {"64 Mi", -EINVAL, "space"},
        {"-1", -EINVAL, "negative"},
        {"0", -ERANGE, "max"},
        {"0Mi", -ERANGE, "max"},
        {"1e6", -EINVAL, "exponent"},
        {"1E6", -EINVAL, "exponent"},
        {"1Ei", -EINVAL, "E, P"},
        {"1P", -EINVAL, "E, P"},
        {"1n", -EINVAL, "E, P"},
        {"", -EINVAL, "empty"},
        {"Mi", -EINVAL, "not a size"},
        {".5Gi", -EINVAL, "not a size"},
        {"5.Gi", -EINVAL, "not a size"},
        {"1.2.3Gi", -EINVAL, "not a size"},
        {"0x10", -EINVAL, "not a size"},
        {"MAX", -EINVAL, "not a size"},
        {"1.5", -EINVAL, "whole"},
        {"0.3Ki", -EINVAL, "whole bytes"},
        {"9223372036854775808", -ERANGE, "2^63"},
        {"99999999999999999999", -EINVAL, "not a size"},
        {"9000000Ti", -ERANGE, "2^63"},
        {"0%", -ERANGE, "above 0%"},
        {"101%", -ERANGE, "at most 100%"},
        {"0.001%", -EINVAL, "two decimals"},
        {"10%%", -EINVAL, "not a size"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_size size = {.kind = SKM_SIZE_PERCENT, .value = 77};
		const char *reason = "";
		int r = skm_size_parse(BAD[i].text, strlen(BAD[i].text), &size, &reason);

		if (r != BAD[i].result || !strstr(reason, BAD[i].hint))
			fail_msg("\"%s\": %d (\"%s\"), wanted %d with \"%s\"", BAD[i].text, r, reason, BAD[i].result,
			         BAD[i].hint);
		assert_int_equal(size.value, 77);
	}
}

static void test_text_is_bounded_by_length(void **state)
{
	struct skm_size size;
	const char *reason = "";

	(void)state;
	assert_int_equal(skm_size_parse("64Mi,rest", 4, &size, &reason), 0);
	assert_int_equal(size.value, 64 * SKM_MIB);
}

static void test_format_reads_back(void **state)
{
	char buffer[SKM_SIZE_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(*GOOD); i++) {
		struct skm_size size = {.kind = GOOD[i].kind, .value = GOOD[i].value}, back = {0};
		const char *reason = "";

		skm_size_format(&size, buffer);
		assert_int_equal(skm_size_parse(buffer, strlen(buffer), &back, &reason), 0);
		assert_int_equal(back.kind, size.kind);
		assert_int_equal(back.value, size.value);
	}
	assert_string_equal(skm_size_format(&(struct skm_size){SKM_SIZE_BYTES, 64 * SKM_MIB}, buffer), "64Mi");
	assert_string_equal(skm_size_format(&(struct skm_size){SKM_SIZE_BYTES, 1000}, buffer), "1000");
}

static void test_human(void **state)
{
	char buffer[SKM_SIZE_TEXT_MAX];

	(void)state;
	assert_string_equal(skm_bytes_human(0, buffer), "0 B");
	assert_string_equal(skm_bytes_human(1023, buffer), "1023 B");
	assert_string_equal(skm_bytes_human(1024, buffer), "1.0 KiB");
	assert_string_equal(skm_bytes_human(33554432, buffer), "32.0 MiB");
	assert_string_equal(skm_bytes_human(1048575, buffer), "1.0 MiB");
}

static void test_scale(void **state)
{
	(void)state;
	assert_int_equal(skm_scale(UINT64_MAX, 1, 2), UINT64_MAX / 2);
	assert_int_equal(skm_scale(UINT64_MAX, 3, 2), UINT64_MAX);
	assert_int_equal(skm_scale(100, 70, 100), 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_good),
	        cmocka_unit_test(test_bad),
	        cmocka_unit_test(test_text_is_bounded_by_length),
	        cmocka_unit_test(test_format_reads_back),
	        cmocka_unit_test(test_human),
	        cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
