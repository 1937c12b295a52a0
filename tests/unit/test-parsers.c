/* SPDX-License-Identifier: Apache-2.0 */
/* Every parser of codec against damaged texts: each beginning of a valid one, and some thousand random damages. What counts is
 * what the sanitizers see, and that a refusal always has its words and leaves its output alone.
 * SKM_SEED repeats a run, SKM_ROUNDS sets how many damages each parser gets. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec-samples.h"
#include "codec/bundle.h"
#include "codec/journal.h"
#include "codec/policy.h"
#include "codec/state.h"
#include "fixtures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* Parses and throws away. Returns the parser's result. */
typedef int (*parser)(const char *text, size_t length, struct skm_err *err);

static int parse_policy(const char *text, size_t length, struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT, back = SKM_POLICY_INIT;
	cleanup_free char *canonical = NULL;
	int r = skm_codec_policy_parse(text, length, "POLICY", &policy, err);

	if (r < 0)
		return r;
	/* whatever is taken has a canonical form that is taken too, and means the same */
	canonical = skm_codec_policy_format(&policy);
	assert_int_equal(skm_codec_policy_parse(canonical, strlen(canonical), "POLICY", &back, err), 0);
	assert_int_equal(back.tcpmem_limit.kind, policy.tcpmem_limit.kind);
	assert_int_equal(back.tcpmem_limit.value, policy.tcpmem_limit.value);
	assert_int_equal(back.mode, policy.mode);
	return 0;
}

static int parse_tcpmem(const char *text, size_t length, struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	return skm_codec_tcpmem_parse(text, length, "POLICY", &policy, err);
}

static int parse_state(const char *text, size_t length, struct skm_err *err)
{
	struct skm_state state = SKM_STATE_INIT;
	struct skm_policy policy = SKM_POLICY_INIT;
	struct skm_err ignored;
	int r = skm_codec_state_parse(text, length, &state, err);

	if (r < 0)
		return r;
	assert_true(*state.id && *state.bundle == '/' && state.pid >= 0);
	/* whether the policy survived is not the question */
	SKM_IGNORE(skm_codec_annotations_policy(&state.annotations, &policy, &ignored));
	skm_codec_state_free(&state);
	return 0;
}

static int parse_config(const char *text, size_t length, struct skm_err *err)
{
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	int r = skm_codec_bundle_parse(text, length, &bundle, err);

	assert_true(bundle.kernel_tcp_bytes <= INT64_MAX);
	skm_codec_bundle_free(&bundle);
	return r;
}

static int parse_request(const char *text, size_t length, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;

	return skm_codec_request_parse(text, length, &request, err);
}

static int parse_answer(const char *text, size_t length, struct skm_err *err)
{
	cleanup_free char *data = NULL;

	return skm_codec_answer_parse(text, length, &data, err);
}

static int parse_pong(const char *text, size_t length, struct skm_err *err)
{
	struct skm_pong pong;

	return skm_codec_pong_parse(text, length, &pong, err);
}

static int parse_reports(const char *text, size_t length, struct skm_err *err)
{
	cleanup_free struct skm_report *reports = NULL;
	size_t count;

	return skm_codec_reports_parse(text, length, &reports, &count, err);
}

static int parse_events(const char *text, size_t length, struct skm_err *err)
{
	cleanup_free struct skm_tagged_event *events = NULL;
	size_t count;

	return skm_codec_events_parse(text, length, &events, &count, err);
}

static int parse_record(const char *text, size_t length, struct skm_err *err)
{
	cleanup_free struct skm_event *events = NULL;
	struct skm_report report;
	size_t count;

	return skm_codec_record_parse(text, length, &report, &events, &count, err);
}

static int parse_journal(const char *text, size_t length, struct skm_err *err)
{
	struct skm_journal journal = {0};
	int r = skm_codec_journal_parse(text, length, &journal, err);

	skm_codec_journal_free(&journal);
	return r;
}

static uint64_t random_state;

/* xorshift64: the same numbers everywhere for one seed */
static uint64_t roll(uint64_t sides)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % sides;
}

/* Gives the parser a block of just that length, so that a sanitizer sees a step past its end. */
static int try(parser parse, const char *text, size_t length)
{
	cleanup_free char *block = malloc(length ? length : 1);
	struct skm_err err = SKM_ERR_INIT;
	int r;

	assert_non_null(block);
	memcpy(block, text, length);
	r = parse(block, length, &err);
	if (r < 0) {
		assert_int_equal(err.code, -r);
		assert_true(strlen(err.text) > 10);
		for (const char *c = err.text; *c; c++)
			assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
	}
	return r;
}

/* Damages a text of at most room bytes in one of the ways in which texts are damaged. Returns its new length. */
static size_t damage(char *text, size_t length, size_t room)
{
	static const char TELLING[] = "{}[]\",:\\u0\0eE.-+9 \xff\xe2\n";
	size_t at = roll(length), other = roll(length), few = 1 + roll(8);

	switch (roll(5)) {
	case 0: /* another byte */
		text[at] = (char)roll(256);
		return length;
	case 1: /* a byte that means something */
		text[at] = TELLING[roll(sizeof(TELLING))];
		return length;
	case 2: /* a part lost */
		few = few < length - at ? few : length - at;
		memmove(text + at, text + at + few, length - at - few);
		return length - few;
	case 3: /* a part twice */
		if (length + few > room || at + few > length)
			return length;
		memmove(text + at + few, text + at, length - at);
		return length + few;
	default: /* two bytes swapped */
		text[at] ^= text[other];
		if (at != other) {
			text[other] ^= text[at];
			text[at] ^= text[other];
		}
		return length;
	}
}

static void torture(parser parse, const char *text)
{
	size_t length = strlen(text), room = length + 64;
	cleanup_free char *work = malloc(room);
	const char *rounds_text = getenv("SKM_ROUNDS");
	long rounds = rounds_text ? atol(rounds_text) : 3000;

	assert_non_null(work);
	assert_int_equal(try(parse, text, length), 0);
	for (size_t cut = 0; cut < length; cut++)
		assert_true(try(parse, text, cut) < 0 || parse == parse_tcpmem);
	for (long round = 0; round < rounds; round++) {
		size_t now = length;

		memcpy(work, text, length);
		for (uint64_t blows = 1 + roll(3); blows > 0 && now > 0; blows--)
			now = damage(work, now, room);
		try(parse, work, now);
	}
}

static void test_policy(void **state)
{
	(void)state;
	torture(parse_policy, "{\"tcpmem\": {\"limit\": \"12.5%\", \"mode\": \"soft\"}}");
	torture(parse_policy, "{\"tcpmem\":67108864}");
	torture(parse_tcpmem, "1.5Gi");
}

static void test_state(void **state)
{
	size_t length;
	cleanup_free char *runc = skm_fixture("state/runc-createRuntime.json", &length);
	cleanup_free char *crun = skm_fixture("state/crun-createRuntime.json", &length);

	(void)state;
	runc[strcspn(runc, "\n")] = crun[strcspn(crun, "\n")] = '\0';
	torture(parse_state, runc);
	torture(parse_state, crun);
	torture(parse_config, "{\"ociVersion\":\"1.0\",\"process\":{\"args\":[\"sh\"],\"env\":[\"PATH=/bin\"],\"cwd\":\"/"
	                      "\"},\"root\":{\"path\":\"r\"},"
	                      "\"linux\":{\"resources\":{\"memory\":{\"kernelTCP\":67108864}}},\"mounts\":[{\"a\":[1]}],"
	                      "\"annotations\":{\"io.sockmem.tcpmem\":\"64Mi\",\"io.kubernetes.cri-o.Metadata\":\"{\\\"name\\\":"
	                      "\\\"web\\\"}\"}}");
}

static void test_messages(void **state)
{
	struct skm_request request = skm_sample_request();
	struct skm_pong pong = {.version = "0.1.0", .pid = 1};
	struct skm_err refusal = {.code = ERANGE, .text = "too small"};
	cleanup_free char *request_text = skm_codec_request_format(&request), *pong_text = skm_codec_pong_format(&pong);
	cleanup_free char *answer_text = skm_codec_answer_format("[{\"a\":1}]", NULL);
	cleanup_free char *refusal_text = skm_codec_answer_format(NULL, &refusal);
	struct skm_err err;

	(void)state;
	torture(parse_request, request_text);
	torture(parse_pong, pong_text);
	torture(parse_answer, answer_text);
	assert_int_equal(parse_answer(refusal_text, strlen(refusal_text), &err), -ERANGE);
}

static void test_reports(void **state)
{
	struct skm_report report = skm_sample_report();
	const struct skm_report *const reports[] = {&report};
	struct skm_tagged_event tagged = {.id = "a", .event = skm_sample_event()};
	cleanup_free char *list = skm_codec_reports_format(reports, 1, true);
	cleanup_free char *events = skm_codec_events_format(&tagged, 1, false);
	cleanup_free char *record = skm_codec_record_format(&report, &tagged.event, 1);

	(void)state;
	torture(parse_reports, list);
	torture(parse_events, events);
	torture(parse_record, record);
}

static void test_journal(void **state)
{
	struct skm_socket_baseline sockets[] = {{1, 2, 3, 0, 0}, {4, 5, 6, 7, 0}};
	struct skm_memory_baseline memory = {.cgroup = "/a", .cgroup_inode = 7, .baseline = UINT64_MAX, .written = 8};
	struct skm_journal journal = skm_sample_journal(sockets, 2, &memory, 1);
	cleanup_free char *text = skm_codec_journal_format(&journal);

	(void)state;
	torture(parse_journal, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_policy),  cmocka_unit_test(test_state),   cmocka_unit_test(test_messages),
	        cmocka_unit_test(test_reports), cmocka_unit_test(test_journal),
	};
	const char *seed = getenv("SKM_SEED");

	random_state = seed ? strtoull(seed, NULL, 0) : 0x736f636b6d656d;
	printf("SKM_SEED=0x%" PRIx64 "\n", random_state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
