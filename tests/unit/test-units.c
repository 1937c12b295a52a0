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
        {"99999999999999999999", -EINVAL, "19 digits"},
        {"1.99999999999999999999Mi", -EINVAL, "19 digits"},
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

static const struct good PROTECTIONS[] = {
        {"exe", SKM_SIZE_PROGRAM, 1},     {"1*exe", SKM_SIZE_PROGRAM, 1},  {"2*exe", SKM_SIZE_PROGRAM, 2},
        {"64*exe", SKM_SIZE_PROGRAM, 64}, {"0", SKM_SIZE_BYTES, 0},        {"00", SKM_SIZE_BYTES, 0},
        {"0Mi", SKM_SIZE_BYTES, 0},       {"0.000k", SKM_SIZE_BYTES, 0},   {"64Mi", SKM_SIZE_BYTES, 64 << 20},
        {"max", SKM_SIZE_MAX, 0},         {"12%", SKM_SIZE_PERCENT, 1200},
};

static const struct bad BAD_PROTECTIONS[] = {
        {"65*exe", -ERANGE, "from 1 to 64"},
        {"999*exe", -ERANGE, "from 1 to 64"},
        {"0*exe", -EINVAL, "from 1 to 64"},
        {"02*exe", -EINVAL, "from 1 to 64"},
        {"1000*exe", -EINVAL, "from 1 to 64"},
        {"18446744073709551618*exe", -EINVAL, "from 1 to 64"},
        {"*exe", -EINVAL, "from 1 to 64"},
        {"1.5*exe", -EINVAL, "from 1 to 64"},
        {"-1*exe", -EINVAL, "from 1 to 64"},
        {"exe*2", -EINVAL, "from 1 to 64"},
        {"2exe", -EINVAL, "from 1 to 64"},
        {"2 * exe", -EINVAL, "from 1 to 64"},
        {"2*exe ", -EINVAL, "from 1 to 64"},
        {"EXE", -EINVAL, "from 1 to 64"},
        {"2*exeexe", -EINVAL, "from 1 to 64"},
        {"-1", -EINVAL, "0 to protect nothing"},
        {"0%", -ERANGE, "above 0%"},
        {"0.0", -EINVAL, "whole number"},
        {"", -EINVAL, "empty"},
        {"9223372036854775808", -ERANGE, "2^63"},
};

static void test_protections(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(PROTECTIONS) / sizeof(*PROTECTIONS); i++) {
		struct skm_size size = {0}, back = {0};
		char buffer[SKM_SIZE_TEXT_MAX];
		const char *reason = "";

		if (skm_protection_parse(PROTECTIONS[i].text, strlen(PROTECTIONS[i].text), &size, &reason) != 0)
			fail_msg("%s: %s", PROTECTIONS[i].text, reason);
		assert_int_equal(size.kind, PROTECTIONS[i].kind);
		assert_int_equal(size.value, PROTECTIONS[i].value);
		skm_size_format(&size, buffer);
		assert_int_equal(skm_protection_parse(buffer, strlen(buffer), &back, &reason), 0);
		assert_true(back.kind == size.kind && back.value == size.value);
	}
	for (size_t i = 0; i < sizeof(BAD_PROTECTIONS) / sizeof(*BAD_PROTECTIONS); i++) {
		const struct bad *bad = &BAD_PROTECTIONS[i];
		struct skm_size size = {.value = 77};
		const char *reason = "";
		int r = skm_protection_parse(bad->text, strlen(bad->text), &size, &reason);

		if (r != bad->result || !strstr(reason, bad->hint) || size.value != 77)
			fail_msg("\"%s\": %d (\"%s\"), wanted %d with \"%s\"", bad->text, r, reason, bad->result, bad->hint);
	}
}

/* An amount to protect is no limit. */
static void test_program_is_no_limit(void **state)
{
	static const char *const TEXTS[] = {"exe", "2*exe", "65*exe", "Exe", "2*exe "};

	(void)state;
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(*TEXTS); i++) {
		struct skm_size size = {.value = 77};
		const char *reason = "";

		assert_int_equal(skm_size_parse(TEXTS[i], strlen(TEXTS[i]), &size, &reason), -EINVAL);
		assert_contains(reason, "memory.min and memory.low alone");
		assert_int_equal(size.value, 77);
	}
}

struct number {
	const char *text;
	uint64_t value;
	const char *canonical;
};

static const struct number RATES[] = {
        {"1bit", 1, "1bit"},
        {"10Mbit", 10000000, "10Mbit"},
        {"1.5Mbit", 1500000, "1500kbit"},
        {"0.001kbit", 1, "1bit"},
        {"40Gbit", UINT64_C(40000000000), "40Gbit"},
        {"4294967296bit", UINT64_C(4294967296), "4294967296bit"},
        {"34359738368bit", UINT64_C(34359738368), "34359738368bit"}, /* 2^32 bytes per second */
        {"34359738360bit", UINT64_C(34359738360), "34359738360bit"},
        {"400Gbit", UINT64_C(400000000000), "400Gbit"},
        {"9223372036854775807bit", INT64_MAX, "9223372036854775807bit"},
        {"2.0bit", 2, "2bit"},
};

static const struct bad BAD_RATES[] = {
        {"", -EINVAL, "10Mbit"},
        {"10", -EINVAL, "without its unit"},
        {"10M", -EINVAL, "10Mbit"},
        {"10Mbps", -EINVAL, "bytes to tc"},
        {"10bps", -EINVAL, "bytes to tc"},
        {"10mbit", -EINVAL, "milli"},
        {"10Kbit", -EINVAL, "kbit"},
        {"10Mibit", -EINVAL, "powers of 1000"},
        {"1Tbit", -EINVAL, "Gbit"},
        {"10Mbit/s", -EINVAL, "10Mbit"},
        {"-1bit", -EINVAL, "10Mbit"},
        {" 1bit", -EINVAL, "10Mbit"},
        {"1bit ", -EINVAL, "10Mbit"},
        {"0bit", -ERANGE, "rate of 0"},
        {"0.0Gbit", -ERANGE, "rate of 0"},
        {"1.5bit", -EINVAL, "whole bits"},
        {"0.0001kbit", -EINVAL, "whole bits"},
        {"max", -EINVAL, "10Mbit"},
        {"9223372036854775808bit", -ERANGE, "2^63-1"},
        {"9223372037Gbit", -ERANGE, "2^63-1"},
        {"18446744074Gbit", -ERANGE, "2^63-1"},
        {"99999999999999999999bit", -EINVAL, "19 digits"},
        {"1e9bit", -EINVAL, "10Mbit"},
};

static const struct number TIMES[] = {
        {"1s", 1000000, "1s"},         {"500ms", 500000, "500ms"},
        {"1500ms", 1500000, "1500ms"}, {"1000ms", 1000000, "1s"},
        {"010s", 10000000, "10s"},     {"9223372036854s", UINT64_C(9223372036854000000), "9223372036854s"},
};

static const struct bad BAD_TIMES[] = {
        {"", -EINVAL, "500ms"},
        {"1", -EINVAL, "without its unit"},
        {"1.5s", -EINVAL, "whole number"},
        {"1m", -EINVAL, "ms or s"},
        {"1us", -EINVAL, "ms or s"},
        {"1 s", -EINVAL, "ms or s"},
        {"-1s", -EINVAL, "ms or s"},
        {"1S", -EINVAL, "ms or s"},
        {"9223372036855s", -ERANGE, "2^63-1"},
        {"9999999999999999999s", -ERANGE, "2^63-1"},
};

static const struct number PERCENTS[] = {
        {"10%", 1000, "10%"},    {"12.50%", 1250, "12.5%"},  {"0.01%", 1, "0.01%"},
        {"100%", 10000, "100%"}, {"33.33%", 3333, "33.33%"},
};

static const struct bad BAD_PERCENTS[] = {
        {"", -EINVAL, "\"10%\""},
        {"%", -EINVAL, "\"10%\""},
        {"10", -EINVAL, "\"10%\""},
        {"10 %", -EINVAL, "\"10%\""},
        {"0%", -ERANGE, "above 0%"},
        {"100.01%", -ERANGE, "100%"},
        {"0.001%", -EINVAL, "two decimals"},
        {"max", -EINVAL, "\"10%\""},
};

/* The three parsers of plain numbers, brought to one form. */
static int parse_percent(const char *text, size_t length, uint64_t *ret, const char **ret_reason)
{
	uint32_t permyriad = 77;
	int r = skm_percent_parse(text, length, &permyriad, ret_reason);

	*ret = permyriad;
	return r;
}

static const char *format_percent(uint64_t value, char buffer[SKM_SIZE_TEXT_MAX])
{
	return skm_percent_format((uint32_t)value, buffer);
}

struct grammar {
	int (*parse)(const char *text, size_t length, uint64_t *ret, const char **ret_reason);
	const char *(*format)(uint64_t value, char buffer[SKM_SIZE_TEXT_MAX]);
	const struct number *good;
	size_t good_count;
	const struct bad *bad;
	size_t bad_count;
};

#define TABLE(table) (table), sizeof(table) / sizeof(*(table))

static const struct grammar GRAMMARS[] = {
        {skm_rate_parse, skm_rate_format, TABLE(RATES), TABLE(BAD_RATES)},
        {skm_duration_parse, skm_duration_format, TABLE(TIMES), TABLE(BAD_TIMES)},
        {parse_percent, format_percent, TABLE(PERCENTS), TABLE(BAD_PERCENTS)},
};

static void test_grammar(const struct grammar *grammar)
{
	char buffer[SKM_SIZE_TEXT_MAX];

	for (size_t i = 0; i < grammar->good_count; i++) {
		const struct number *good = &grammar->good[i];
		const char *reason = "";
		uint64_t value = 0;

		if (grammar->parse(good->text, strlen(good->text), &value, &reason) != 0)
			fail_msg("%s: %s", good->text, reason);
		assert_int_equal(value, good->value);
		assert_string_equal(grammar->format(value, buffer), good->canonical);
	}
	for (size_t i = 0; i < grammar->bad_count; i++) {
		const struct bad *bad = &grammar->bad[i];
		const char *reason = "";
		uint64_t value = 77;
		int r = grammar->parse(bad->text, strlen(bad->text), &value, &reason);

		if (r != bad->result || !strstr(reason, bad->hint) || value != 77)
			fail_msg("\"%s\": %d (\"%s\"), wanted %d with \"%s\"", bad->text, r, reason, bad->result, bad->hint);
	}
}

static void test_numbers(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(GRAMMARS) / sizeof(*GRAMMARS); i++)
		test_grammar(&GRAMMARS[i]);
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
	        cmocka_unit_test(test_protections),
	        cmocka_unit_test(test_program_is_no_limit),
	        cmocka_unit_test(test_numbers),
	        cmocka_unit_test(test_text_is_bounded_by_length),
	        cmocka_unit_test(test_format_reads_back),
	        cmocka_unit_test(test_human),
	        cmocka_unit_test(test_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
