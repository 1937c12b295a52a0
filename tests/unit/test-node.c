/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec-samples.h"
#include "codec/node.h"

#include <errno.h>

static const char NAME[] = "/etc/sockmem/sockmem.json";

static int parse(const char *text, struct skm_node *ret, struct skm_err *err)
{
	return skm_codec_node_parse(text, strlen(text), NAME, ret, err);
}

static void parse_well(const char *text, struct skm_node *ret)
{
	struct skm_err err = SKM_ERR_INIT;

	*ret = SKM_NODE_INIT;
	if (parse(text, ret, &err) != 0)
		fail_msg("%s: %s", text, err.text);
}

static void test_empty_is_as_without_a_file(void **state)
{
	struct skm_node node;

	(void)state;
	parse_well("{}", &node);
	assert_false(node.has_defaults);
	assert_int_equal(node.profile_count, 0);
	assert_int_equal(node.ceilings, 0);
	assert_int_equal(node.allow, SKM_ALLOW_DEFAULT);
	assert_int_equal(node.lower_only, SKM_LOWER_ONLY_DEFAULT);
	assert_false(node.destroy);
	assert_string_equal(node.metrics, "");
	assert_int_equal(node.on_error, SKM_ON_ERROR_UNSET);
	skm_codec_node_free(&node);
}

static void test_whole(void **state)
{
	struct skm_policy wanted = SKM_POLICY_INIT;
	struct skm_node node;

	(void)state;
	parse_well(
	        "{\"defaults\":{\"tcpmem\":{\"limit\":\"64Mi\",\"mode\":\"observe\"}},"
	        "\"profiles\":{\"small\":{\"tcpmem\":\"16Mi\"},\"Data.base_1-x\":{\"memory\":{\"min\":\"exe\"}}},"
	        "\"ceilings\":{\"tcpmem\":\"1Gi\",\"memory\":{\"min\":\"10%\",\"low\":1,\"high\":\"2Gi\",\"max\":\"50%\"}},"
	        "\"allow\":[\"tcpmem.limit\",\"onError\"],\"destroy\":true,\"metrics\":\"127.0.0.1:9477\",\"onError\":\"warn\"}",
	        &node);
	wanted.set = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_TCPMEM_MODE);
	wanted.tcpmem_limit = (struct skm_size){SKM_SIZE_BYTES, 64 * SKM_MIB};
	wanted.mode = SKM_MODE_OBSERVE;
	wanted.source = SKM_SOURCE_NODE_DEFAULTS;
	assert_true(node.has_defaults && skm_same_policy(&node.defaults, &wanted));
	assert_int_equal(node.profile_count, 2);
	assert_string_equal(node.profiles[0].name, "small");
	assert_string_equal(node.profiles[0].policy.profile, "small");
	assert_int_equal(node.profiles[0].policy.source, SKM_SOURCE_ANNOTATION_PROFILE);
	assert_int_equal(node.profiles[0].policy.tcpmem_limit.value, 16 * SKM_MIB);
	assert_string_equal(node.profiles[1].name, "Data.base_1-x");
	assert_int_equal(node.profiles[1].policy.memory[SKM_MEMORY_FILE_MIN].kind, SKM_SIZE_PROGRAM);
	assert_int_equal(node.ceilings, SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_MEMORY_MIN) |
	                                        SKM_KEY_BIT(SKM_KEY_MEMORY_LOW) | SKM_KEY_BIT(SKM_KEY_MEMORY_HIGH) |
	                                        SKM_KEY_BIT(SKM_KEY_MEMORY_MAX));
	assert_int_equal(node.tcpmem_ceiling.value, SKM_GIB);
	assert_int_equal(node.memory_ceiling[SKM_MEMORY_FILE_MIN].kind, SKM_SIZE_PERCENT);
	assert_int_equal(node.memory_ceiling[SKM_MEMORY_FILE_MIN].value, 1000);
	assert_int_equal(node.memory_ceiling[SKM_MEMORY_FILE_LOW].value, 1);
	assert_int_equal(node.memory_ceiling[SKM_MEMORY_FILE_HIGH].value, 2 * SKM_GIB);
	assert_int_equal(node.memory_ceiling[SKM_MEMORY_FILE_MAX].value, 5000);
	assert_int_equal(node.allow, SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_ON_ERROR));
	assert_int_equal(node.lower_only, 0);
	assert_true(node.destroy);
	assert_string_equal(node.metrics, "127.0.0.1:9477");
	assert_int_equal(node.on_error, SKM_ON_ERROR_WARN);
	skm_codec_node_free(&node);
	assert_null(node.profiles);
	skm_codec_node_free(&node);
}

static uint32_t bits(enum skm_policy_key first, enum skm_policy_key last)
{
	return (SKM_KEY_BIT(last) << 1) - SKM_KEY_BIT(first);
}

static void test_allow(void **state)
{
	const struct {
		const char *list;
		uint32_t allow;
	} LISTS[] = {
	        {"[]", 0},
	        {"[\"tcpmem\"]", bits(SKM_KEY_TCPMEM_LIMIT, SKM_KEY_TCPMEM_SCOPE)},
	        {"[\"memory\"]", bits(SKM_KEY_MEMORY_MIN, SKM_KEY_MEMORY_PROPAGATE)},
	        {"[\"memory.low\", \"memory.high\"]", SKM_KEY_BIT(SKM_KEY_MEMORY_LOW) | SKM_KEY_BIT(SKM_KEY_MEMORY_HIGH)},
	        {"[\"throttle\"]",
	         bits(SKM_KEY_THROTTLE_SYSCTL, SKM_KEY_THROTTLE_EGRESS) & ~SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY)},
	        {"[\"throttle.destroy\", \"throttle\"]", bits(SKM_KEY_THROTTLE_SYSCTL, SKM_KEY_THROTTLE_EGRESS)},
	        {"[\"pressure\"]", bits(SKM_KEY_PRESSURE_SOME, SKM_KEY_PRESSURE_WINDOW)},
	        {"[\"onError\"]", SKM_KEY_BIT(SKM_KEY_ON_ERROR)},
	        {"[\"tcpmem\", \"tcpmem.mode\"]", bits(SKM_KEY_TCPMEM_LIMIT, SKM_KEY_TCPMEM_SCOPE)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(LISTS) / sizeof(*LISTS); i++) {
		cleanup_free char *text = NULL;
		struct skm_node node;

		assert_true(asprintf(&text, "{\"allow\":%s}", LISTS[i].list) > 0);
		parse_well(text, &node);
		assert_int_equal(node.allow, LISTS[i].allow);
		assert_int_equal(node.lower_only, 0);
		skm_codec_node_free(&node);
	}
}

static void test_addresses(void **state)
{
	static const char *const GOOD[] = {
	        "127.0.0.1:9477", "0.0.0.0:1", "255.255.255.255:65535",  "[::1]:9477",         "[::]:80",
	        "[fe80::1:2]:80", ":9477",     "[1:2:3:4:5:6:7:8]:9477", "[1:2:3:4:5:6:7::]:1"};
	static const char *const BAD[] = {
	        "",
	        ":",
	        "9477",
	        "127.0.0.1",
	        "127.0.0.1:",
	        "127.0.0.1:0",
	        "127.0.0.1:65536",
	        ":09477",
	        ":-1",
	        ": 9477",
	        ":9477 ",
	        "localhost:9477",
	        "127.1:9477",
	        "127.0.0.01:9477",
	        "::1:9477",
	        "[::1]",
	        "[::1]9477",
	        "[]:9477",
	        "[127.0.0.1]:9477",
	        "[::1%lo]:9477",
	        "[:::]:9477",
	        "[1::2::3]:9477",
	        "[1:2:3:4:5:6:7:8:9]:9477",
	        "[::ffff:127.0.0.1]:9477",
	        "unix:/run/metrics",
	        "http://127.0.0.1:9477",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(*GOOD); i++) {
		char text[128];
		struct skm_node node;

		snprintf(text, sizeof(text), "{\"metrics\":\"%s\"}", GOOD[i]);
		parse_well(text, &node);
		assert_string_equal(node.metrics, GOOD[i]);
	}
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_err err = SKM_ERR_INIT;
		struct skm_node node;
		char text[128];

		snprintf(text, sizeof(text), "{\"metrics\":\"%s\"}", BAD[i]);
		if (parse(text, &node, &err) != -EINVAL)
			fail_msg("%s is taken", text);
		assert_contains(err.text, "$.metrics: ");
		assert_contains(err.text, "write \"127.0.0.1:9477\"");
	}
}

static const struct {
	const char *text;
	const char *parts[3];
} BAD[] = {
        {"", {"empty", "or {}"}},
        {"[]", {"$: an array, wanted an object", "defaults"}},
        {"{\"default\":{}}", {"$.default: unknown key", "did you mean defaults?"}},
        {"{\"tcpmem\":\"64Mi\"}",
         {"$.tcpmem: unknown key", "known here: defaults, profiles, ceilings, allow, destroy, metrics, onError"}},
        {"{\"defaults\":null}", {"$.defaults: null, wanted an object"}},
        {"{\"defaults\":{}}", {"$.defaults: tcpmem or memory is missing"}},
        {"{\"defaults\":{\"tcpmem\":{\"mode\":\"soft\"}}}", {"$.defaults.tcpmem: limit is missing"}},
        {"{\"defaults\":{\"tcpmem\":\"64m\"}}", {"$.defaults.tcpmem: \"64m\"", "write Mi"}},
        {"{\"profiles\":[]}", {"$.profiles: an array, wanted an object", "names to policies"}},
        {"{\"profiles\":{\"\":{\"tcpmem\":1}}}", {"$.profiles[\"\"]: empty"}},
        {"{\"profiles\":{\"a/b\":{\"tcpmem\":1}}}", {"$.profiles[\"a/b\"]: no name of a profile"}},
        {"{\"profiles\":{\"a-\":{\"tcpmem\":1}}}", {"$.profiles[\"a-\"]: no name of a profile"}},
        {"{\"profiles\":{\"0123456789012345678901234567890123456789012345678901234567890123\":{\"tcpmem\":1}}}",
         {"longer than 63 bytes"}},
        {"{\"profiles\":{\"a\":\"64Mi\"}}", {"$.profiles.a: a string, wanted an object", "{\"tcpmem\": \"64Mi\"}"}},
        {"{\"profiles\":{\"a\":{\"tcpmem\":1},\"b-c\":{\"tcpmem\":0}}}", {"$.profiles[\"b-c\"].tcpmem: 0"}},
        {"{\"profiles\":{\"a\":{\"tcpmem\":1},\"a\":{\"tcpmem\":1}}}", {"in $.profiles.a: this key stands twice"}},
        {"{\"ceilings\":\"1Gi\"}", {"$.ceilings: a string, wanted an object", "{\"tcpmem\": \"256Mi\"}"}},
        {"{\"ceilings\":{\"tcpmem\":\"max\"}}", {"$.ceilings.tcpmem: \"max\" is no ceiling", "leave the key out"}},
        {"{\"ceilings\":{\"tcpmem\":0}}", {"$.ceilings.tcpmem: a ceiling of 0", "an allow list without tcpmem.limit"}},
        {"{\"ceilings\":{\"tcpmem\":\"64m\"}}", {"$.ceilings.tcpmem: \"64m\"", "write Mi"}},
        {"{\"ceilings\":{\"tcpmem\":{\"limit\":1}}}", {"$.ceilings.tcpmem: an object, wanted a size"}},
        {"{\"ceilings\":{\"memory\":1}}", {"$.ceilings.memory: an integer, wanted an object"}},
        {"{\"ceilings\":{\"memory\":{\"low\":\"exe\"}}}",
         {"$.ceilings.memory.low: the size of a program", "write bytes or \"12%\""}},
        {"{\"ceilings\":{\"memory\":{\"hihg\":1}}}", {"$.ceilings.memory.hihg: unknown key", "did you mean high?"}},
        {"{\"ceilings\":{\"throttle\":1}}", {"$.ceilings.throttle: unknown key", "known here: tcpmem, memory"}},
        {"{\"allow\":\"tcpmem\"}", {"$.allow: a string, wanted a list", "[\"tcpmem\"], or [] for nothing"}},
        {"{\"allow\":[1]}", {"$.allow[0]: an integer, wanted a string"}},
        {"{\"allow\":[\"tcpmem\",\"memory.hihg\"]}", {"$.allow[1]: \"memory.hihg\"", "did you mean memory.high?"}},
        {"{\"allow\":[\"everything\"]}", {"$.allow[0]: \"everything\": no value of a policy", "write tcpmem, memory, throttle"}},
        {"{\"allow\":[\"memory\",\"memory\"]}", {"$.allow[1]: \"memory\" stands twice"}},
        {"{\"destroy\":1}", {"$.destroy: an integer, wanted a boolean"}},
        {"{\"metrics\":9477}", {"$.metrics: an integer, wanted a string"}},
        {"{\"onError\":\"ignore\"}", {"$.onError: \"ignore\"", "fail, warn"}},
        {"{\"onError\":null}", {"$.onError: null, wanted a string"}},
        {"{\"destroy\":true", {"it looks cut"}},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_node node, before;
		struct skm_err err = SKM_ERR_INIT;

		memset(&node, 0x5a, sizeof(node));
		before = node;
		if (parse(BAD[i].text, &node, &err) != -EINVAL)
			fail_msg("%s is taken, or: %s", BAD[i].text, err.text);
		assert_int_equal(err.code, EINVAL);
		assert_int_equal(strncmp(err.text, NAME, strlen(NAME)), 0);
		for (int part = 0; part < 3 && BAD[i].parts[part]; part++)
			assert_contains(err.text, BAD[i].parts[part]);
		assert_memory_equal(&node, &before, sizeof(node));
	}
}

static void test_too_long(void **state)
{
	cleanup_free char *text = malloc(SKM_NODE_TEXT_MAX + 1);
	struct skm_err err = SKM_ERR_INIT;
	struct skm_node node;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', SKM_NODE_TEXT_MAX + 1);
	memcpy(text, "{}", 2);
	assert_int_equal(skm_codec_node_parse(text, SKM_NODE_TEXT_MAX, NAME, &node, &err), 0);
	assert_int_equal(skm_codec_node_parse(text, SKM_NODE_TEXT_MAX + 1, NAME, &node, &err), -E2BIG);
	assert_contains(err.text, "at most 1048576");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_empty_is_as_without_a_file),
	        cmocka_unit_test(test_whole),
	        cmocka_unit_test(test_allow),
	        cmocka_unit_test(test_addresses),
	        cmocka_unit_test(test_bad),
	        cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
