/* SPDX-License-Identifier: Apache-2.0 */
/* The state as runtimes write it. The fixtures were captured from runc 1.1.5 and crun 1.8.1. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec/state.h"
#include "fixtures.h"

#include <errno.h>

#define POLICY "{\"tcpmem\": {\"limit\": \"64Mi\", \"mode\": \"soft\"}}"

/* The text of an annotation of ours; NULL where there is none. */
static const char *asked(const struct skm_annotations *annotations, const char *key)
{
	for (size_t i = 0; i < annotations->count; i++)
		if (strcmp(annotations->asked[i].key, key) == 0)
			return annotations->asked[i].text;
	return NULL;
}

static int parse(const char *text, struct skm_state *ret, struct skm_err *err)
{
	return skm_codec_state_parse(text, strlen(text), ret, err);
}

struct capture {
	const char *name, *status;
	pid_t pid;
};

static const struct capture CAPTURES[] = {
        {"state/runc-createRuntime.json", "creating", 149},
        {"state/crun-createRuntime.json", "created", 171},
        {"state/runc-poststop.json", "stopped", 0},
        {"state/crun-poststop.json", "stopped", 0},
};

static void test_captures(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(CAPTURES) / sizeof(*CAPTURES); i++) {
		struct skm_state parsed = SKM_STATE_INIT;
		struct skm_policy policy = SKM_POLICY_INIT;
		struct skm_err err = SKM_ERR_INIT;
		size_t length = 0;
		cleanup_free char *text = skm_fixture(CAPTURES[i].name, &length);

		if (skm_codec_state_parse(text, length, &parsed, &err) != 0)
			fail_msg("%s: %s", CAPTURES[i].name, err.text);
		assert_string_equal(parsed.id, "fixture-1");
		assert_string_equal(parsed.bundle, "/tmp/bundle");
		assert_string_equal(parsed.status, CAPTURES[i].status);
		assert_int_equal(parsed.pid, CAPTURES[i].pid);
		assert_true(parsed.annotations.present);
		assert_string_equal(asked(&parsed.annotations, SKM_ANNOTATION_POLICY), POLICY);
		assert_string_equal(asked(&parsed.annotations, SKM_ANNOTATION_TCPMEM), "64Mi");
		assert_int_equal(skm_codec_annotations_policy(&parsed.annotations, &policy, &err), 1);
		assert_int_equal(policy.source, SKM_SOURCE_ANNOTATION_POLICY);
		assert_int_equal(policy.tcpmem_limit.value, 64 << 20);
		assert_int_equal(policy.mode, SKM_MODE_SOFT);
		skm_codec_state_free(&parsed);
	}
}

/* A pipe that broke gives a beginning: each one is an error that says so, and changes nothing. */
static void test_every_beginning(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(CAPTURES) / sizeof(*CAPTURES); i++) {
		size_t full = 0;
		cleanup_free char *text = skm_fixture(CAPTURES[i].name, &full);

		while (full > 0 && text[full - 1] == '\n')
			full--;
		for (size_t length = 0; length < full; length++) {
			cleanup_free char *cut = malloc(length ? length : 1);
			struct skm_state parsed = {.pid = 5};
			struct skm_err err = SKM_ERR_INIT;
			char wanted[64];

			assert_non_null(cut);
			memcpy(cut, text, length);
			assert_int_equal(skm_codec_state_parse(cut, length, &parsed, &err), -EINVAL);
			snprintf(wanted, sizeof(wanted), "OCI state: ends after %zu bytes", length);
			assert_contains(err.text, length ? wanted : "OCI state: empty");
			assert_int_equal(parsed.pid, 5);
		}
	}
}

/* CASES.md, C06 and C07 */
static void test_other_shapes(void **state)
{
	static const struct {
		const char *text, *id, *bundle;
		pid_t pid;
		bool has_annotations;
	} SHAPES[] = {
	        {"{\"id\":\"a\",\"bundle\":\"\\/b\\/c\",\"pid\":-1}", "a", "/b/c", 0, false},
	        {"{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":1}", "a", "/b", 1, false},
	        {"{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":null,\"status\":null,\"annotations\":null}", "a", "/b", 0, false},
	        {"{\"id\":\"a\",\"bundlePath\":\"/old\"}", "a", "/old", 0, false},
	        {"{\"id\":\"a\",\"bundle\":\"\",\"bundlePath\":\"/old\"}", "a", "/old", 0, false},
	        {"{\"id\":\"a\",\"bundle\":\"/new\",\"bundlePath\":\"/old\"}", "a", "/new", 0, false},
	        {"{\n  \"id\": \"a\",\n  \"bundle\": \"/b\",\n  \"status\": \"\",\n  \"annotations\": {}\n}\n", "a", "/b", 0,
	         true},
	        {"{\"x\":1,\"x\":{\"id\":[[]]},\"id\":\"\\u00e9\",\"bundle\":\"/b\"}", "\xc3\xa9", "/b", 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(SHAPES) / sizeof(*SHAPES); i++) {
		struct skm_state parsed = SKM_STATE_INIT;
		struct skm_err err = SKM_ERR_INIT;
		struct skm_policy policy;

		if (parse(SHAPES[i].text, &parsed, &err) != 0)
			fail_msg("%s: %s", SHAPES[i].text, err.text);
		assert_string_equal(parsed.id, SHAPES[i].id);
		assert_string_equal(parsed.bundle, SHAPES[i].bundle);
		assert_string_equal(parsed.status, "");
		assert_int_equal(parsed.pid, SHAPES[i].pid);
		assert_int_equal(parsed.annotations.present, SHAPES[i].has_annotations);
		assert_int_equal(skm_codec_annotations_policy(&parsed.annotations, &policy, &err), 0);
		skm_codec_state_free(&parsed);
	}
}

struct bad {
	const char *text, *part;
};

static void assert_refused(const struct bad *bad)
{
	struct skm_state parsed = {.pid = 5};
	struct skm_err err = SKM_ERR_INIT;

	if (parse(bad->text, &parsed, &err) != -EINVAL)
		fail_msg("%s is taken", bad->text);
	assert_contains(err.text, bad->part);
	assert_int_equal(parsed.pid, 5);
	assert_null(parsed.annotations.asked);
}

#define WITH_ANNOTATION(text) "{\"id\":\"a\",\"bundle\":\"/b\",\"annotations\":{" text "}}"

static void test_bad(void **state)
{
	static const struct bad BAD[] = {
	        {"", "OCI state: empty; wanted the OCI state"},
	        {"[]", "OCI state: $: an array, wanted an object"},
	        {"{}", "id is missing or empty"},
	        {"{\"id\":\"\",\"bundle\":\"/b\"}", "id is missing or empty"},
	        {"{\"id\":null,\"bundle\":\"/b\"}", "id is missing or empty"},
	        {"{\"id\":7,\"bundle\":\"/b\"}", "$.id: an integer, wanted a string"},
	        {"{\"id\":\"a\"}", "bundle is missing or empty"},
	        {"{\"id\":\"a\",\"bundle\":\"\"}", "bundle is missing or empty"},
	        {"{\"id\":\"a\",\"bundle\":\"b/c\"}", "$.bundle: \"b/c\" is no absolute path"},
	        {"{\"id\":\"a\",\"bundlePath\":\".\"}", "$.bundlePath: \".\" is no absolute path"},
	        {"{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":\"12\"}", "$.pid: a string, wanted an integer"},
	        {"{\"id\":\"a\",\"bundle\":\"/b\",\"pid\":2147483648}", "$.pid: 2147483648 is out of range"},
	        {"{\"id\":\"a\",\"bundle\":\"/b\",\"status\":\"0123456789012345678901234567890123456789\"}",
	         "$.status: a string of 40"},
	        {"{\"id\":\"a\",\"id\":\"b\",\"bundle\":\"/b\"}", "in $.id: this key stands twice"},
	        {"{\"id\":\"a\\u0000\",\"bundle\":\"/b\"}", "in $.id: \\u0000, a NUL character"},
	        {"{\"id\":\"a\",\"bundle\":\"/b\",\"annotations\":[]}", "$.annotations: an array, wanted an object"},
	        {WITH_ANNOTATION("\"io.sockmem.policy\":{\"tcpmem\":\"1Mi\"}"),
	         "$.annotations[\"io.sockmem.policy\"]: an object, wanted a string"},
	        {WITH_ANNOTATION("\"io.sockmem.tcpmem\":64"),
	         "$.annotations[\"io.sockmem.tcpmem\"]: an integer, wanted a string"},
	        {WITH_ANNOTATION("\"io.sockmem.tcpmem\":null"), "$.annotations[\"io.sockmem.tcpmem\"]: null, wanted a string"},
	        {WITH_ANNOTATION("\"io.sockmem.tcpmem\":\"1\",\"io.sockmem.tcpmem\":\"2\""), "this key stands twice"},
	        {WITH_ANNOTATION("\"io.sockmem.policy\":\"{}\",\"io.sockmem.tcpmem\":{}"), "io.sockmem.tcpmem\"]: an object"},
	        {WITH_ANNOTATION("\"io.sockmem.tcpmen\":\"1Mi\""), "unknown annotation; known here: io.sockmem.policy, "},
	        {WITH_ANNOTATION("\"io.sockmem.tcpmen\":\"1Mi\""), "did you mean io.sockmem.tcpmem?"},
	        {WITH_ANNOTATION("\"io.sockmem.profil\":\"web\""), "did you mean io.sockmem.profile?"},
	        {WITH_ANNOTATION("\"io.sockmem.\":\"\""), "unknown annotation"},
	        {WITH_ANNOTATION("\"io.sockmem.policy.containers.web\":\"{}\""), "unknown annotation"},
	        {WITH_ANNOTATION("\"io.sockmem.policy.container\":\"{}\""), "unknown annotation"},
	        {WITH_ANNOTATION("\"io.sockmem.policy.container.\":\"{}\""),
	         "names no container; write io.sockmem.policy.container.NAME"},
	        {WITH_ANNOTATION("\"io.sockmem.policy.container.a\":\"{}\",\"io.sockmem.policy.container.a\":\"{}\""),
	         "this key stands twice"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++)
		assert_refused(&BAD[i]);
}

static void test_long_id(void **state)
{
	char text[2048] = "{\"bundle\":\"/b\",\"id\":\"";
	struct skm_state parsed = SKM_STATE_INIT;
	struct skm_err err = SKM_ERR_INIT;
	char *id = text + strlen(text);

	(void)state;
	memset(id, 'i', SKM_ID_MAX + 1);
	strcpy(id + SKM_ID_MAX, "\"}");
	assert_int_equal(parse(text, &parsed, &err), 0);
	assert_int_equal(strlen(parsed.id), SKM_ID_MAX);
	skm_codec_state_free(&parsed);
	strcpy(id + SKM_ID_MAX, "i\"}");
	assert_int_equal(parse(text, &parsed, &err), -EINVAL);
	assert_contains(err.text, "$.id: a string of 1025 bytes; at most 1024");
}

static void test_too_long(void **state)
{
	struct skm_state parsed = SKM_STATE_INIT;
	cleanup_free char *text = calloc(1, SKM_STATE_TEXT_MAX + 1);

	(void)state;
	assert_non_null(text);
	assert_int_equal(skm_codec_state_parse(text, SKM_STATE_TEXT_MAX + 1, &parsed, NULL), -E2BIG);
}

/* Other annotations are not ours, whatever they hold. */
static void test_other_annotations(void **state)
{
	static const char TEXT[] = WITH_ANNOTATION("\"a\":1,\"a\":2,\"io.sockmemory\":[],\"io.sockmem\":{},\"\":null,"
	                                           "\"io.sockmem.tcpmem\":\"1Mi\"");
	struct skm_state parsed = SKM_STATE_INIT;
	struct skm_policy policy = SKM_POLICY_INIT;

	(void)state;
	assert_int_equal(parse(TEXT, &parsed, NULL), 0);
	assert_int_equal(parsed.annotations.count, 1);
	assert_int_equal(skm_codec_annotations_policy(&parsed.annotations, &policy, NULL), 1);
	assert_int_equal(policy.source, SKM_SOURCE_ANNOTATION_TCPMEM);
	assert_int_equal(policy.tcpmem_limit.value, 1 << 20);
	skm_codec_state_free(&parsed);
}

static void test_invalid_policy(void **state)
{
	static const struct bad BAD[] = {
	        {WITH_ANNOTATION("\"io.sockmem.policy\":\"{\\\"tcpmem\\\":\\\"64m\\\"}\""),
	         "annotation io.sockmem.policy: $.tcpmem: \"64m\": \"m\" is milli"},
	        {WITH_ANNOTATION("\"io.sockmem.policy\":\"\",\"io.sockmem.tcpmem\":\"1Mi\""),
	         "annotation io.sockmem.policy: empty"},
	        {WITH_ANNOTATION("\"io.sockmem.tcpmem\":\"\""), "annotation io.sockmem.tcpmem: \"\": empty"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_state parsed = SKM_STATE_INIT;
		struct skm_policy policy = {.mode = SKM_MODE_OBSERVE};
		struct skm_err err = SKM_ERR_INIT;

		assert_int_equal(parse(BAD[i].text, &parsed, &err), 0);
		assert_int_equal(skm_codec_annotations_policy(&parsed.annotations, &policy, &err), -EINVAL);
		assert_contains(err.text, BAD[i].part);
		assert_int_equal(policy.mode, SKM_MODE_OBSERVE);
		skm_codec_state_free(&parsed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_captures),          cmocka_unit_test(test_every_beginning),
	        cmocka_unit_test(test_other_shapes),      cmocka_unit_test(test_bad),
	        cmocka_unit_test(test_long_id),           cmocka_unit_test(test_too_long),
	        cmocka_unit_test(test_other_annotations), cmocka_unit_test(test_invalid_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
