/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec/policy.h"

#include <errno.h>

static const char NAME[] = "annotation io.sockmem.policy";

static int parse(const char *text, struct skm_policy *ret, struct skm_err *err)
{
	return skm_codec_policy_parse(text, strlen(text), NAME, ret, err);
}

struct good {
	const char *text;
	enum skm_size_kind kind;
	uint64_t value;
	enum skm_mode mode;
	const char *canonical;
};

static const struct good GOOD[] = {
        {"{\"tcpmem\":\"64Mi\"}", SKM_SIZE_BYTES, 64 << 20, SKM_MODE_AUTO, "{\"tcpmem\":{\"limit\":\"64Mi\",\"mode\":\"auto\"}}"},
        {"{\"tcpmem\":1000}", SKM_SIZE_BYTES, 1000, SKM_MODE_AUTO, "{\"tcpmem\":{\"limit\":\"1000\",\"mode\":\"auto\"}}"},
        {"{\"tcpmem\":\"max\"}", SKM_SIZE_MAX, 0, SKM_MODE_AUTO, "{\"tcpmem\":{\"limit\":\"max\",\"mode\":\"auto\"}}"},
        {"{\"tcpmem\":{\"limit\":\"12.5%\",\"mode\":\"soft\"}}", SKM_SIZE_PERCENT, 1250, SKM_MODE_SOFT,
         "{\"tcpmem\":{\"limit\":\"12.5%\",\"mode\":\"soft\"}}"},
        {"{\"tcpmem\":{\"mode\":\"observe\",\"limit\":9223372036854775807}}", SKM_SIZE_BYTES, INT64_MAX, SKM_MODE_OBSERVE,
         "{\"tcpmem\":{\"limit\":\"9223372036854775807\",\"mode\":\"observe\"}}"},
        {" { \"tcp\\u006dem\" :\t{ \"limit\": \"1\\u004di\" , \"mode\": \"auto\" } }\n", SKM_SIZE_BYTES, 1 << 20, SKM_MODE_AUTO,
         "{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"auto\"}}"},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(*GOOD); i++) {
		struct skm_policy policy = {.source = SKM_SOURCE_ANNOTATION_TCPMEM}, back = SKM_POLICY_INIT;
		struct skm_err err = SKM_ERR_INIT;
		cleanup_free char *canonical = NULL;

		if (parse(GOOD[i].text, &policy, &err) != 0)
			fail_msg("%s: %s", GOOD[i].text, err.text);
		assert_int_equal(policy.tcpmem_limit.kind, GOOD[i].kind);
		assert_int_equal(policy.tcpmem_limit.value, GOOD[i].value);
		assert_int_equal(policy.mode, GOOD[i].mode);
		assert_int_equal(policy.source, SKM_SOURCE_ANNOTATION_TCPMEM); /* the caller's */
		canonical = skm_codec_policy_format(&policy);
		assert_string_equal(canonical, GOOD[i].canonical);
		assert_int_equal(parse(canonical, &back, NULL), 0);
		assert_int_equal(back.tcpmem_limit.kind, policy.tcpmem_limit.kind);
		assert_int_equal(back.tcpmem_limit.value, policy.tcpmem_limit.value);
		assert_int_equal(back.mode, policy.mode);
	}
}

struct bad {
	const char *text;
	const char *parts[3]; /* all of them in the error: the place, what is wrong, what would be right */
};

/* CASES.md, C12 to C14 */
static const struct bad BAD[] = {
        {"", {"empty", "write {\"tcpmem\": \"64Mi\"}"}},
        {" ", {"nothing but spaces", "write {\"tcpmem\": \"64Mi\"}"}},
        {"null", {"$: null, wanted an object", "write {\"tcpmem\": \"64Mi\"}"}},
        {"[]", {"$: an array, wanted an object", "write {\"tcpmem\": \"64Mi\"}"}},
        {"{}", {"$: tcpmem is missing", "write {\"tcpmem\": \"64Mi\"}"}},
        {"7", {"7 is a size alone", "io.sockmem.tcpmem"}},
        {"64Mi", {"64Mi is a size alone", "io.sockmem.tcpmem"}},
        {"\"64Mi\"", {"$: a string, wanted an object"}},
        {"{\"tcpmem\":\"\"}", {"$.tcpmem: \"\": empty", "write a size"}},
        {"{\"tcpmem\":\" \"}", {"$.tcpmem: \" \"", "no space"}},
        {"{\"tcpmem\":null}", {"$.tcpmem: null, wanted a size", "\"64Mi\""}},
        {"{\"tcpmem\":[]}", {"$.tcpmem: an array, wanted a size", "\"64Mi\""}},
        {"{\"tcpmem\":true}", {"$.tcpmem: a boolean, wanted a size"}},
        {"{\"tcpmem\":{}}", {"$.tcpmem: limit is missing", "write {\"limit\": \"64Mi\"}"}},
        {"{\"tcpmem\":\"64m\"}", {"$.tcpmem: \"64m\"", "milli", "Mi"}},
        {"{\"tcpmem\":\"1e6\"}", {"$.tcpmem: \"1e6\"", "exponents"}},
        {"{\"tcpmem\":1e6}", {"$.tcpmem: 1e6", "without point and exponent"}},
        {"{\"tcpmem\":64.0}", {"$.tcpmem: 64.0", "without point and exponent"}},
        {"{\"tcpmem\":0}", {"$.tcpmem: 0", "\"max\" for no limit"}},
        {"{\"tcpmem\":-1}", {"$.tcpmem: -1: negative", "\"max\" for no limit"}},
        {"{\"tcpmem\":9223372036854775808}", {"$.tcpmem: 9223372036854775808: more than 2^63-1", "\"max\""}},
        {"{\"tcpmem\":10000000000000000000}", {"$.tcpmem: 10000000000000000000: more than 2^63-1", "\"max\""}},
        {"{\"tcpmem\":18446744073709551616}", {"in $.tcpmem: an integer beyond 64 bits"}},
        {"{\"tcpmem\":\"101%\"}", {"$.tcpmem: \"101%\"", "at most 100%"}},
        {"{\"tcpmem\":{\"limit\":{}}}", {"$.tcpmem.limit: an object, wanted a size"}},
        {"{\"tcpmem\":{\"limit\":\"64MB\"}}", {"$.tcpmem.limit: \"64MB\"", "no B"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":null}}", {"$.tcpmem.mode: null, wanted a string", "auto, soft or observe"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"\"}}", {"$.tcpmem.mode: \"\" is no mode", "auto, soft, observe"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"hard\"}}",
         {"$.tcpmem.mode: \"hard\" is not in this build", "use auto, soft or observe"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"v1\"}}", {"\"v1\" is not in this build", "use auto, soft or observe"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"Sotf\"}}", {"\"Sotf\" is no mode", "did you mean soft?"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"scope\":\"pod\"}}", {"$.tcpmem.scope: not supported by this version", "limit, mode"}},
        {"{\"tcpmem\":\"1Mi\",\"memory\":{}}", {"$.memory: not supported by this version"}},
        {"{\"tcpmem\":\"1Mi\",\"throttle\":{}}", {"$.throttle: not supported by this version"}},
        {"{\"tcpmem\":\"1Mi\",\"pressure\":{}}", {"$.pressure: not supported by this version"}},
        {"{\"tcpmem\":\"1Mi\",\"onError\":\"fail\"}", {"$.onError: not supported by this version"}},
        {"{\"tcpmen\":\"1Mi\"}", {"$.tcpmen: unknown key", "did you mean tcpmem?"}},
        {"{\"TCPMEM\":\"1Mi\"}", {"$.TCPMEM: unknown key", "did you mean tcpmem?"}},
        {"{\"tcpmem\":{\"limti\":\"1Mi\"}}", {"$.tcpmem.limti: unknown key", "limit, mode", "did you mean limit?"}},
        {"{\"\":1}", {"$[\"\"]: unknown key; known here: tcpmem"}},
        {"{\"tcpmem\":\"1Mi\",\"a.b\":1}", {"$[\"a.b\"]: unknown key"}},
        {"{\"tcpmem\":\"1Mi\",\"tcpmem\":\"1Mi\"}", {"at byte 16, in $.tcpmem: this key stands twice"}},
        {"{\"tcpmem\":\"1Mi\",}", {"at byte 16, in $: a comma before '}'"}},
        {"{\"tcpmem\":\"1Mi\"}}", {"at byte 16, in $: text after the end"}},
        {"{tcpmem:1Mi}", {"at byte 1, in $: found 't', wanted a key in double quotes"}},
        {"[[[[[[[[[]]]]]]]]]", {"at byte 8", "nested deeper than 8"}},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_policy policy = {.tcpmem_limit = {SKM_SIZE_PERCENT, 77}, .mode = SKM_MODE_OBSERVE};
		struct skm_err err = SKM_ERR_INIT;

		if (parse(BAD[i].text, &policy, &err) != -EINVAL)
			fail_msg("%s is taken, or: %s", BAD[i].text, err.text);
		assert_int_equal(err.code, EINVAL);
		assert_int_equal(strncmp(err.text, NAME, strlen(NAME)), 0);
		for (int part = 0; part < 3 && BAD[i].parts[part]; part++)
			assert_contains(err.text, BAD[i].parts[part]);
		assert_int_equal(policy.tcpmem_limit.value, 77);
		assert_int_equal(policy.mode, SKM_MODE_OBSERVE);
	}
}

/* No near miss is guessed where it is far: "did you mean" has to be worth reading. */
static void test_far_misses_get_no_guess(void **state)
{
	static const char *const TEXTS[] = {"{\"memtcp\":1}", "{\"x\":1}", "{\"tcp\":1}",
	                                    "{\"tcpmemtcpmemtcpmemtcpmemtcpmemtcpmem\":1}"};

	(void)state;
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(*TEXTS); i++) {
		struct skm_policy policy = SKM_POLICY_INIT;
		struct skm_err err = SKM_ERR_INIT;

		assert_int_equal(parse(TEXTS[i], &policy, &err), -EINVAL);
		assert_contains(err.text, "unknown key; known here: tcpmem");
		assert_null(strstr(err.text, "did you mean"));
	}
}

/* An annotation cut at 63 bytes, as labels are (CASES.md, C13). */
static void test_cut_at_63(void **state)
{
	static const char TEXT[] = "{\"tcpmem\": {                       \"limit\": \"64Mi\", \"mode\": \"observe\"}}";
	struct skm_policy policy = SKM_POLICY_INIT;
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(parse(TEXT, &policy, &err), 0);
	assert_int_equal(skm_codec_policy_parse(TEXT, 63, NAME, &policy, &err), -EINVAL);
	assert_contains(err.text, "ends after 63 bytes, inside a string, in $.tcpmem.mode: it looks cut");
}

/* What a tenant wrote is shown without power over the terminal, and not at length. */
static void test_echo_is_escaped_and_cut(void **state)
{
	struct skm_policy policy = SKM_POLICY_INIT;
	struct skm_err err = SKM_ERR_INIT;
	char text[400] = "{\"tcpmem\":\"\\u001b[2J\xc2\x9b\xe2\x80\xae";

	(void)state;
	memset(text + strlen(text), 'a', 300);
	strcat(text, "\"}");
	assert_int_equal(parse(text, &policy, &err), -EINVAL);
	assert_contains(err.text, "\"\\u001b[2J\\u009b\\u202eaaaa");
	assert_contains(err.text, "a\xe2\x80\xa6: ");
	assert_true(strlen(err.text) < 230);
}

static void test_too_long(void **state)
{
	struct skm_policy policy = SKM_POLICY_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *text = malloc(SKM_POLICY_TEXT_MAX + 1);

	(void)state;
	assert_non_null(text);
	memset(text, ' ', SKM_POLICY_TEXT_MAX + 1);
	memcpy(text, "{\"tcpmem\":1}", 12);
	assert_int_equal(skm_codec_policy_parse(text, SKM_POLICY_TEXT_MAX, NAME, &policy, &err), 0);
	assert_int_equal(skm_codec_policy_parse(text, SKM_POLICY_TEXT_MAX + 1, NAME, &policy, &err), -E2BIG);
	assert_contains(err.text, "65537 bytes long; at most 65536");
	assert_int_equal(skm_codec_tcpmem_parse(text, SKM_POLICY_TEXT_MAX + 1, NAME, &policy, &err), -E2BIG);
}

static void test_short_form(void **state)
{
	static const struct bad SHORT[] = {
	        {"", {"\"\": empty", "64Mi"}},
	        {" 64Mi", {"\" 64Mi\": no space"}},
	        {"64m", {"\"64m\": ", "milli"}},
	        {"0", {"\"0\": ", "max"}},
	        {"null", {"\"null\": not a size"}},
	        {"\"64Mi\"", {"JSON belongs in io.sockmem.policy", "without quotes"}},
	        {"{\"tcpmem\":\"64Mi\"}", {"JSON belongs in io.sockmem.policy"}},
	        {"64Mi\n\x1b[2J", {"\"64Mi\\n\\u001b[2J\": "}},
	        {"64Mi\xff", {"\"64Mi?\": "}},
	};
	struct skm_policy policy = SKM_POLICY_INIT;

	(void)state;
	assert_int_equal(skm_codec_tcpmem_parse("64Mi", 4, "POLICY", &policy, NULL), 0);
	assert_int_equal(policy.tcpmem_limit.value, 64 << 20);
	assert_int_equal(policy.mode, SKM_MODE_AUTO);
	assert_int_equal(skm_codec_tcpmem_parse("12%", 3, "POLICY", &policy, NULL), 0);
	assert_int_equal(policy.tcpmem_limit.kind, SKM_SIZE_PERCENT);
	for (size_t i = 0; i < sizeof(SHORT) / sizeof(*SHORT); i++) {
		struct skm_err err = SKM_ERR_INIT;

		assert_int_equal(skm_codec_tcpmem_parse(SHORT[i].text, strlen(SHORT[i].text), "POLICY", &policy, &err), -EINVAL);
		assert_int_equal(strncmp(err.text, "POLICY: ", 8), 0);
		for (int part = 0; part < 3 && SHORT[i].parts[part]; part++)
			assert_contains(err.text, SHORT[i].parts[part]);
	}
	assert_int_equal(policy.tcpmem_limit.kind, SKM_SIZE_PERCENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_good),
	        cmocka_unit_test(test_bad),
	        cmocka_unit_test(test_far_misses_get_no_guess),
	        cmocka_unit_test(test_cut_at_63),
	        cmocka_unit_test(test_echo_is_escaped_and_cut),
	        cmocka_unit_test(test_too_long),
	        cmocka_unit_test(test_short_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
