/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, answers and pongs. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec-samples.h"
#include "codec/message.h"

#include <errno.h>

static void test_request(void **state)
{
	struct skm_request request = skm_sample_request(), back = {.fds = {1, 2, 3}};
	cleanup_free char *text = skm_codec_request_format(&request);
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_null(strstr(text, "fds"));
	if (skm_codec_request_parse(text, strlen(text), &back, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(back.verb, SKM_VERB_REGISTER);
	assert_string_equal(back.id, "../../etc/passwd");
	assert_int_equal(back.pid, 77);
	assert_true(skm_same_policy(&back.policy, &request.policy));
	assert_int_equal(back.program_bytes, 78);
	assert_int_equal(back.kernel_tcp_bytes, 79);
	assert_true(back.limit_only);
	assert_true(back.force);
	for (int i = 0; i < SKM_FD_COUNT; i++)
		assert_int_equal(back.fds[i], i + 1);
}

static void test_every_verb(void **state)
{
	(void)state;
	for (unsigned int verb = 0; verb < skm_verb_names.count; verb++) {
		struct skm_request request = SKM_REQUEST_INIT, back = SKM_REQUEST_INIT;
		cleanup_free char *text = NULL;
		bool needs_id = verb == SKM_VERB_REGISTER || verb == SKM_VERB_RELEASE || verb == SKM_VERB_INSPECT ||
		                verb == SKM_VERB_SET || verb == SKM_VERB_RECLAIM;
		struct skm_err err = SKM_ERR_INIT;

		request.verb = verb;
		request.reclaim_bytes = 4096;
		text = skm_codec_request_format(&request);
		assert_int_equal(skm_codec_request_parse(text, strlen(text), &back, &err), needs_id ? -EINVAL : 0);
		if (needs_id)
			assert_contains(err.text, "request: $.id: empty");
		else
			assert_int_equal(back.verb, verb);
	}
}

static void test_bad_requests(void **state)
{
	static const struct {
		const char *text;
		int result;
		const char *part;
	} BAD[] = {
	        {"", -EINVAL, "request: empty"},
	        {"[]", -EINVAL, "request: $: an array, wanted an object"},
	        {"{\"version\":2,\"what\":\"ever\"}", -EPROTO, "request has version 2, this program knows version 1"},
	        {"{\"version\":-1}", -EINVAL, "$.version: -1 is out of range"},
	        {"{\"version\":1}", -EINVAL, "verb is missing"},
	        {"{\"version\":1,\"verb\":\"fly\"}", -EINVAL, "$.verb: \"fly\" is no word"},
	        {"{\"version\":1,\"verb\":\"ping\",\"verb\":\"list\"}", -EINVAL, "stands twice"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_request request = {.pid = 9, .fds = {1, 2, 3}};
		struct skm_err err = SKM_ERR_INIT;

		assert_int_equal(skm_codec_request_parse(BAD[i].text, strlen(BAD[i].text), &request, &err), BAD[i].result);
		assert_contains(err.text, BAD[i].part);
		assert_int_equal(request.pid, 9);
		assert_int_equal(request.fds[2], 3);
	}
}

static void test_answer_with_data(void **state)
{
	cleanup_free char *text = skm_codec_answer_format("[ {\"a/b\": 18446744073709551615} ]", NULL), *data = NULL;
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_codec_answer_parse(text, strlen(text), &data, &err), 0);
	assert_string_equal(data, "[{\"a/b\":18446744073709551615}]");
}

static void test_answer_without_data(void **state)
{
	cleanup_free char *text = skm_codec_answer_format(NULL, NULL);
	char *data = (char *)"untouched";

	(void)state;
	assert_int_equal(skm_codec_answer_parse(text, strlen(text), &data, NULL), 0);
	assert_null(data);
}

static void test_refusal(void **state)
{
	struct skm_err sent = SKM_ERR_INIT, got = SKM_ERR_INIT;
	cleanup_free char *text = NULL;
	char *data = NULL;

	(void)state;
	skm_err_set(&sent, ERANGE, "limit %s is \"below\" the slack\n", "64Ki");
	text = skm_codec_answer_format("[1]", &sent);
	assert_int_equal(skm_codec_answer_parse(text, strlen(text), &data, &got), -ERANGE);
	assert_int_equal(got.code, ERANGE);
	assert_string_equal(got.text, sent.text);
	assert_null(data);
}

/* The text of an error is cut with "…", which is no ASCII. */
static void test_longest_refusal(void **state)
{
	struct skm_err sent = SKM_ERR_INIT, got = SKM_ERR_INIT;
	cleanup_free char *text = NULL;
	char *data = NULL, long_text[1000];

	(void)state;
	memset(long_text, 'e', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = '\0';
	skm_err_set(&sent, EINVAL, "%s", long_text);
	text = skm_codec_answer_format(NULL, &sent);
	assert_int_equal(skm_codec_answer_parse(text, strlen(text), &data, &got), -EINVAL);
	assert_string_equal(got.text, sent.text);
}

static void test_no_answers(void **state)
{
	static const char *const TEXTS[] = {
	        "",
	        "{}",
	        "[]",
	        "{\"version\":1}",
	        "{\"version\":2,\"ok\":true}",
	        "{\"version\":1,\"ok\":1}",
	        "{\"version\":1,\"ok\":false}",
	        "{\"version\":1,\"ok\":false,\"error\":{}}",
	        "{\"version\":1,\"ok\":false,\"error\":{\"code\":0,\"text\":\"\"}}",
	        "{\"version\":1,\"ok\":false,\"error\":{\"code\":-22,\"text\":\"\"}}",
	        "{\"version\":1,\"ok\":false,\"error\":{\"code\":4096,\"text\":\"\"}}",
	        "{\"version\":1,\"ok\":true,\"error\":{\"code\":22,\"text\":\"\"}}",
	        "{\"version\":1,\"ok\":true,\"data\":1,\"more\":2}",
	        "{\"version\":1,\"ok\":true,\"data\":[1}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(*TEXTS); i++) {
		struct skm_err err = SKM_ERR_INIT;
		char *data = NULL;

		if (skm_codec_answer_parse(TEXTS[i], strlen(TEXTS[i]), &data, &err) != -EPROTO)
			fail_msg("%s: %s", TEXTS[i], err.text);
		assert_int_equal(err.code, EPROTO);
		assert_contains(err.text, "answer of sockmemd");
		assert_null(data);
	}
}

static void test_pong(void **state)
{
	struct skm_pong pong =
	                        {
	                                .version = "0.1.0",
	                                .pid = 31,
	                                .started_realtime_usec = 32,
	                                .containers = 33,
	                                .node_file = "/etc/s.json",
	                                .node_loaded_realtime_usec = 34,
	                                .node_trouble = "$.allow",
	                        },
	                back = {0};
	cleanup_free char *text = skm_codec_pong_format(&pong);

	(void)state;
	assert_int_equal(skm_codec_pong_parse(text, strlen(text), &back, NULL), 0);
	assert_string_equal(back.version, "0.1.0");
	assert_int_equal(back.pid, 31);
	assert_int_equal(back.started_realtime_usec, 32);
	assert_int_equal(back.containers, 33);
	assert_string_equal(back.node_file, "/etc/s.json");
	assert_int_equal(back.node_loaded_realtime_usec, 34);
	assert_string_equal(back.node_trouble, "$.allow");
	assert_int_equal(skm_codec_pong_parse("{\"version\":9}", 13, &back, NULL), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_request),
	        cmocka_unit_test(test_every_verb),
	        cmocka_unit_test(test_bad_requests),
	        cmocka_unit_test(test_answer_with_data),
	        cmocka_unit_test(test_answer_without_data),
	        cmocka_unit_test(test_refusal),
	        cmocka_unit_test(test_longest_refusal),
	        cmocka_unit_test(test_no_answers),
	        cmocka_unit_test(test_pong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
