/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec-samples.h"
#include "codec/policy.h"

#include <errno.h>

static const char NAME[] = "annotation io.sockmem.policy";

static int parse(const char *text, struct skm_policy *ret, struct skm_err *err)
{
	return skm_codec_policy_parse(text, strlen(text), NAME, ret, err);
}

/* A document, and what it has to say again in its canonical form, in which values are as short as they get. */
struct good {
	const char *text, *canonical;
};

#define WHOLE                                                                                                                    \
	"{\"tcpmem\":{\"limit\":\"64Mi\",\"mode\":\"hard\",\"scope\":\"pod\"},"                                                  \
	"\"memory\":{\"min\":\"exe\",\"low\":\"2*exe\",\"high\":\"900Mi\",\"max\":\"1Gi\",\"propagate\":true},"                  \
	"\"throttle\":{\"sysctl\":false,\"sockets\":false,\"tc\":true,\"reclaim\":false,\"destroy\":true,"                       \
	"\"protocols\":[\"tcp\",\"udp\"],\"floor\":\"1500kbit\",\"egress\":\"40Gbit\"},"                                         \
	"\"pressure\":{\"some\":\"12.5%\",\"window\":\"500ms\"},\"onError\":\"warn\"}"

static const struct good GOOD[] = {
        {"{\"tcpmem\":\"64Mi\"}", "{\"tcpmem\":{\"limit\":\"64Mi\"}}"},
        {"{\"tcpmem\":1000}", "{\"tcpmem\":{\"limit\":\"1000\"}}"},
        {"{\"tcpmem\":\"max\"}", "{\"tcpmem\":{\"limit\":\"max\"}}"},
        {"{\"tcpmem\":{\"limit\":\"12.5%\",\"mode\":\"soft\"}}", "{\"tcpmem\":{\"limit\":\"12.5%\",\"mode\":\"soft\"}}"},
        {"{\"tcpmem\":{\"mode\":\"observe\",\"limit\":9223372036854775807}}",
         "{\"tcpmem\":{\"limit\":\"9223372036854775807\",\"mode\":\"observe\"}}"},
        {" { \"tcp\\u006dem\" :\t{ \"limit\": \"1\\u004di\" , \"mode\": \"v1\" } }\n",
         "{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"v1\"}}"},
        {WHOLE, WHOLE},
        {"{\"memory\":{\"min\":0,\"low\":\"0.0Ki\",\"high\":4096}}",
         "{\"memory\":{\"min\":\"0\",\"low\":\"0\",\"high\":\"4Ki\"}}"},
        {"{\"memory\":{\"low\":\"1*exe\",\"min\":\"64*exe\"}}", "{\"memory\":{\"min\":\"64*exe\",\"low\":\"exe\"}}"},
        {"{\"memory\":{\"max\":\"max\",\"high\":\"max\",\"low\":\"max\",\"min\":\"0.01%\"}}",
         "{\"memory\":{\"min\":\"0.01%\",\"low\":\"max\",\"high\":\"max\",\"max\":\"max\"}}"},
        {"{\"tcpmem\":1,\"throttle\":{},\"pressure\":{}}", "{\"tcpmem\":{\"limit\":\"1\"}}"},
        {"{\"tcpmem\":1,\"throttle\":{\"protocols\":[\"udp\",\"tcp\"],\"egress\":\"4294967296.5kbit\"}}",
         "{\"tcpmem\":{\"limit\":\"1\"},\"throttle\":{\"protocols\":[\"tcp\",\"udp\"],\"egress\":\"4294967296500bit\"}}"},
        {"{\"onError\":\"fail\",\"pressure\":{\"window\":\"10000ms\"},\"tcpmem\":1}",
         "{\"tcpmem\":{\"limit\":\"1\"},\"pressure\":{\"window\":\"10s\"},\"onError\":\"fail\"}"},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(*GOOD); i++) {
		struct skm_policy policy = {.source = SKM_SOURCE_ADMINISTRATOR, .profile = "p"}, back = policy;
		struct skm_err err = SKM_ERR_INIT;
		cleanup_free char *canonical = NULL;

		if (parse(GOOD[i].text, &policy, &err) != 0)
			fail_msg("%s: %s", GOOD[i].text, err.text);
		/* these are the caller's */
		assert_int_equal(policy.source, SKM_SOURCE_ADMINISTRATOR);
		assert_string_equal(policy.profile, "p");
		canonical = skm_codec_policy_format(&policy);
		assert_string_equal(canonical, GOOD[i].canonical);
		assert_int_equal(parse(canonical, &back, NULL), 0);
		assert_true(skm_same_policy(&policy, &back));
	}
}

static void test_values(void **state)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	(void)state;
	assert_int_equal(parse(WHOLE, &policy, NULL), 0);
	assert_int_equal(policy.set, SKM_KEY_BIT(SKM_POLICY_KEYS) - 1);
	assert_int_equal(policy.tcpmem_limit.value, 64 * SKM_MIB);
	assert_int_equal(policy.mode, SKM_MODE_HARD);
	assert_int_equal(policy.scope, SKM_SCOPE_POD);
	assert_int_equal(policy.memory[SKM_MEMORY_FILE_MIN].kind, SKM_SIZE_PROGRAM);
	assert_int_equal(policy.memory[SKM_MEMORY_FILE_MIN].value, 1);
	assert_int_equal(policy.memory[SKM_MEMORY_FILE_LOW].value, 2);
	assert_int_equal(policy.memory[SKM_MEMORY_FILE_HIGH].value, 900 * SKM_MIB);
	assert_int_equal(policy.memory[SKM_MEMORY_FILE_MAX].value, SKM_GIB);
	assert_true(policy.propagate && policy.throttle.tc && policy.throttle.destroy);
	assert_false(policy.throttle.sysctl || policy.throttle.sockets || policy.throttle.reclaim);
	assert_int_equal(policy.throttle.protocols, 1 << SKM_PROTOCOL_TCP | 1 << SKM_PROTOCOL_UDP);
	assert_int_equal(policy.throttle.floor_bits_per_sec, 1500000);
	assert_int_equal(policy.throttle.egress_bits_per_sec, UINT64_C(40000000000));
	assert_int_equal(policy.pressure_some_permyriad, 1250);
	assert_int_equal(policy.pressure_window_usec, 500000);
	assert_int_equal(policy.on_error, SKM_ON_ERROR_WARN);
}

/* What a document does not have is as SKM_POLICY_INIT, whatever was there before. */
static void test_defaults(void **state)
{
	struct skm_policy policy, wanted = SKM_POLICY_INIT;

	(void)state;
	memset(&policy, 0x5a, sizeof(policy));
	policy.source = SKM_SOURCE_NONE;
	policy.profile[0] = '\0';
	assert_int_equal(parse("{\"memory\":{\"high\":1}}", &policy, NULL), 0);
	wanted.set = SKM_KEY_BIT(SKM_KEY_MEMORY_HIGH);
	wanted.memory[SKM_MEMORY_FILE_HIGH].value = 1;
	assert_true(skm_same_policy(&policy, &wanted));
	assert_int_equal(policy.memory[SKM_MEMORY_FILE_LOW].value, 0);
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
        {"{}", {"$: tcpmem or memory is missing", "write {\"tcpmem\": \"64Mi\"}"}},
        {"7", {"7 is a size alone", "io.sockmem.tcpmem"}},
        {"64Mi", {"64Mi is a size alone", "io.sockmem.tcpmem"}},
        {"\"64Mi\"", {"$: a string, wanted an object"}},
        {"\"{\\\"tcpmem\\\":1}\"", {"$: JSON inside a string", "quoted once too often", "pass the object itself"}},
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
        {"{\"tcpmem\":\"exe\"}",
         {"$.tcpmem: \"exe\": exe, the size of the program", "memory.min and memory.low alone", "write bytes"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":null}}",
         {"$.tcpmem.mode: null, wanted a string", "auto, hard, soft, observe, v1"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"\"}}",
         {"$.tcpmem.mode: \"\": unknown word", "auto, hard, soft, observe, v1"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"mode\":\"Sotf\"}}", {"\"Sotf\": unknown word", "did you mean soft?"}},
        {"{\"tcpmem\":{\"limit\":\"1Mi\",\"scope\":\"host\"}}", {"$.tcpmem.scope: \"host\": unknown word", "container, pod"}},
        {"{\"tcpmem\":{\"mode\":\"soft\"}}", {"$.tcpmem: limit is missing"}},
        {"{\"memory\":\"1Mi\"}", {"$.memory: a string, wanted an object"}},
        {"{\"memory\":{}}", {"$.memory: one of min, low, high, max is missing", "{\"low\": \"exe\"}"}},
        {"{\"tcpmem\":1,\"memory\":{\"propagate\":true}}", {"$.memory: one of min, low, high, max is missing"}},
        {"{\"memory\":{\"high\":0}}", {"$.memory.high: 0: a size of 0", "\"max\" for no limit"}},
        {"{\"memory\":{\"max\":\"0Mi\"}}", {"$.memory.max: \"0Mi\": a size of 0", "\"max\" for no limit"}},
        {"{\"memory\":{\"max\":\"2*exe\"}}", {"$.memory.max: \"2*exe\"", "memory.min and memory.low alone"}},
        {"{\"memory\":{\"low\":-1}}", {"$.memory.low: -1: negative", "0 to protect nothing"}},
        {"{\"memory\":{\"min\":\"0*exe\"}}", {"$.memory.min: \"0*exe\"", "from 1 to 64"}},
        {"{\"memory\":{\"min\":\"65*exe\"}}", {"$.memory.min: \"65*exe\"", "from 1 to 64"}},
        {"{\"memory\":{\"min\":\"1.5*exe\"}}", {"$.memory.min: \"1.5*exe\"", "from 1 to 64"}},
        {"{\"memory\":{\"min\":true}}", {"$.memory.min: a boolean, wanted a size", "\"exe\""}},
        {"{\"memory\":{\"lwo\":1}}", {"$.memory.lwo: unknown key", "min, low, high, max, propagate", "did you mean low?"}},
        {"{\"memory\":{\"low\":1,\"propagate\":1}}", {"$.memory.propagate: an integer, wanted a boolean", "true or false"}},
        {"{\"memory\":{\"low\":1,\"limit\":1}}", {"$.memory.limit: unknown key here; it belongs in tcpmem"}},
        {"{\"low\":1}", {"$.low: unknown key here; it belongs in memory"}},
        {"{\"tcpmem\":1,\"throttle\":[]}", {"$.throttle: an array, wanted an object"}},
        {"{\"tcpmem\":1,\"throttle\":{\"tc\":\"true\"}}", {"$.throttle.tc: a string, wanted a boolean", "without quotes"}},
        {"{\"tcpmem\":1,\"throttle\":{\"protocols\":\"tcp\"}}", {"$.throttle.protocols: a string, wanted a list", "[\"tcp\"]"}},
        {"{\"tcpmem\":1,\"throttle\":{\"protocols\":[]}}", {"$.throttle.protocols: an empty list", "[\"tcp\"]"}},
        {"{\"tcpmem\":1,\"throttle\":{\"protocols\":[\"tcp\",\"tcp\"]}}",
         {"$.throttle.protocols[1]: \"tcp\" stands twice", "keep one"}},
        {"{\"tcpmem\":1,\"throttle\":{\"protocols\":[\"TCP\"]}}", {"$.throttle.protocols[0]: \"TCP\"", "did you mean tcp?"}},
        {"{\"tcpmem\":1,\"throttle\":{\"protocols\":[null]}}", {"$.throttle.protocols[0]: null, wanted a string", "tcp, udp"}},
        {"{\"tcpmem\":1,\"throttle\":{\"floor\":10}}", {"$.throttle.floor: an integer, wanted a string", "\"10Mbit\""}},
        {"{\"tcpmem\":1,\"throttle\":{\"floor\":\"0bit\"}}", {"$.throttle.floor: \"0bit\": a rate of 0", "leave the key out"}},
        {"{\"tcpmem\":1,\"throttle\":{\"egress\":\"10Mbps\"}}", {"$.throttle.egress: \"10Mbps\"", "bps is bytes to tc", "Mbit"}},
        {"{\"tcpmem\":1,\"throttle\":{\"egress\":\"9223372036854775808bit\"}}", {"$.throttle.egress", "more than 2^63-1"}},
        {"{\"tcpmem\":1,\"pressure\":\"10%\"}", {"$.pressure: a string, wanted an object"}},
        {"{\"tcpmem\":1,\"pressure\":{\"some\":10}}", {"$.pressure.some: an integer, wanted a string", "\"10%\""}},
        {"{\"tcpmem\":1,\"pressure\":{\"some\":\"0%\"}}", {"$.pressure.some: \"0%\"", "above 0%"}},
        {"{\"tcpmem\":1,\"pressure\":{\"some\":\"10\"}}", {"$.pressure.some: \"10\"", "\"10%\""}},
        {"{\"tcpmem\":1,\"pressure\":{\"window\":1}}", {"$.pressure.window: an integer, wanted a string", "\"1s\""}},
        {"{\"tcpmem\":1,\"pressure\":{\"window\":\"499ms\"}}", {"$.pressure.window: \"499ms\"", "500ms to 10s"}},
        {"{\"tcpmem\":1,\"pressure\":{\"window\":\"10001ms\"}}", {"$.pressure.window: \"10001ms\"", "500ms to 10s"}},
        {"{\"tcpmem\":1,\"onError\":\"unset\"}", {"$.onError: \"unset\": unknown word", "fail, warn"}},
        {"{\"tcpmem\":1,\"onError\":true}", {"$.onError: a boolean, wanted a string", "fail, warn"}},
        {"{\"onError\":\"warn\"}", {"$: tcpmem or memory is missing"}},
        {"{\"tcpmem\":\"1Mi\",\"source\":\"none\"}", {"$.source: unknown key"}},
        {"{\"tcpmen\":\"1Mi\"}", {"$.tcpmen: unknown key", "did you mean tcpmem?"}},
        {"{\"TCPMEM\":\"1Mi\"}", {"$.TCPMEM: unknown key", "did you mean tcpmem?"}},
        {"{\"tcpmem\":{\"limti\":\"1Mi\"}}", {"$.tcpmem.limti: unknown key", "limit, mode, scope", "did you mean limit?"}},
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
		struct skm_policy policy, before;
		struct skm_err err = SKM_ERR_INIT;

		memset(&policy, 0x5a, sizeof(policy));
		before = policy;
		if (parse(BAD[i].text, &policy, &err) != -EINVAL)
			fail_msg("%s is taken, or: %s", BAD[i].text, err.text);
		assert_int_equal(err.code, EINVAL);
		assert_int_equal(strncmp(err.text, NAME, strlen(NAME)), 0);
		for (int part = 0; part < 3 && BAD[i].parts[part]; part++)
			assert_contains(err.text, BAD[i].parts[part]);
		assert_memory_equal(&policy, &before, sizeof(policy));
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
	assert_contains(err.text,
	                "ends after 63 bytes, inside a string, in $.tcpmem.mode: it looks cut; pass it whole, or name a "
	                "policy of the node file with io.sockmem.profile");
}

/* Wherever a document is cut, after a comma too, it is told that it looks so. */
static void test_cut_anywhere(void **state)
{
	(void)state;
	for (size_t length = 1; length < strlen(WHOLE); length++) {
		struct skm_policy policy = SKM_POLICY_INIT;
		struct skm_err err = SKM_ERR_INIT;
		char wanted[64];

		snprintf(wanted, sizeof(wanted), ": ends after %zu bytes, ", length);
		assert_int_equal(skm_codec_policy_parse(WHOLE, length, NAME, &policy, &err), -EINVAL);
		assert_contains(err.text, wanted);
		assert_contains(err.text, "it looks cut; pass it whole");
		assert_int_equal(policy.set, 0);
	}
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
	assert_int_equal(policy.set, SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT));
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
	        cmocka_unit_test(test_values),
	        cmocka_unit_test(test_defaults),
	        cmocka_unit_test(test_bad),
	        cmocka_unit_test(test_far_misses_get_no_guess),
	        cmocka_unit_test(test_cut_at_63),
	        cmocka_unit_test(test_cut_anywhere),
	        cmocka_unit_test(test_echo_is_escaped_and_cut),
	        cmocka_unit_test(test_too_long),
	        cmocka_unit_test(test_short_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
