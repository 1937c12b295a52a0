/* SPDX-License-Identifier: Apache-2.0 */
/* Reports, events and records: there and back. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec-samples.h"
#include "codec/message.h"

#include <errno.h>

static void assert_same_decision(const struct skm_decision *a, const struct skm_decision *b)
{
	assert_int_equal(a->step, b->step);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->fair_cap_bytes, b->fair_cap_bytes);
	assert_int_equal(a->targets.rmem_max_bytes, b->targets.rmem_max_bytes);
	assert_int_equal(a->targets.wmem_max_bytes, b->targets.wmem_max_bytes);
	assert_int_equal(a->targets.notsent_lowat_bytes, b->targets.notsent_lowat_bytes);
	assert_int_equal(a->squeeze_above_bytes, b->squeeze_above_bytes);
	assert_int_equal(a->occupancy_permyriad, b->occupancy_permyriad);
}

static void assert_same_memory(const struct skm_report *a, const struct skm_report *b)
{
	for (int i = 0; i < SKM_IN_FORCE_COUNT; i++) {
		assert_int_equal(a->in_force[i].set, b->in_force[i].set);
		assert_int_equal(a->in_force[i].cut, b->in_force[i].cut);
		assert_int_equal(a->in_force[i].cut_by, b->in_force[i].cut_by);
		assert_int_equal(a->in_force[i].asked_bytes, b->in_force[i].asked_bytes);
		assert_int_equal(a->in_force[i].bytes, b->in_force[i].bytes);
	}
	for (int i = 0; i < SKM_POLICY_KEYS; i++)
		assert_int_equal(a->sources[i], b->sources[i]);
	assert_int_equal(a->kernel_tcp_bytes, b->kernel_tcp_bytes);
	assert_int_equal(a->program_bytes, b->program_bytes);
	assert_int_equal(a->protection.known, b->protection.known);
	assert_int_equal(a->protection.effective_min_bytes, b->protection.effective_min_bytes);
	assert_int_equal(a->protection.effective_low_bytes, b->protection.effective_low_bytes);
	assert_string_equal(a->protection.cut_by, b->protection.cut_by);
	assert_string_equal(a->protection.shared_with, b->protection.shared_with);
	assert_int_equal(a->memory_writes, b->memory_writes);
	assert_int_equal(a->memory_reasserted, b->memory_reasserted);
	assert_int_equal(a->memory_taken_over, b->memory_taken_over);
	assert_int_equal(a->reclaim.end, b->reclaim.end);
	assert_int_equal(a->reclaim.asked_bytes, b->reclaim.asked_bytes);
	assert_int_equal(a->reclaim.reclaimed_bytes, b->reclaim.reclaimed_bytes);
	assert_int_equal(a->reclaim.took_usec, b->reclaim.took_usec);
	assert_int_equal(a->reclaim.steps, b->reclaim.steps);
	assert_int_equal(a->reclaim.error, b->reclaim.error);
	assert_int_equal(a->reclaimed_bytes, b->reclaimed_bytes);
	assert_memory_equal(&a->shape, &b->shape, sizeof(a->shape));
	assert_int_equal(a->skipped_count, b->skipped_count);
	for (uint32_t i = 0; i < a->skipped_count; i++)
		assert_string_equal(a->skipped[i], b->skipped[i]);
}

static void assert_same_report(const struct skm_report *a, const struct skm_report *b)
{
	assert_string_equal(a->id, b->id);
	assert_string_equal(a->cgroup, b->cgroup);
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->ended, b->ended);
	assert_int_equal(a->started_realtime_usec, b->started_realtime_usec);
	assert_int_equal(a->ended_realtime_usec, b->ended_realtime_usec);
	assert_true(skm_same_policy(&a->policy, &b->policy));
	assert_int_equal(a->backend, b->backend);
	assert_string_equal(a->why_not_better, b->why_not_better);
	assert_int_equal(a->limit_bytes, b->limit_bytes);
	assert_int_equal(a->sock_bytes, b->sock_bytes);
	assert_int_equal(a->sock_peak_bytes, b->sock_peak_bytes);
	assert_int_equal(a->current_bytes, b->current_bytes);
	assert_int_equal(a->memory_max_bytes, b->memory_max_bytes);
	assert_int_equal(a->sockets, b->sockets);
	assert_same_decision(&a->decision, &b->decision);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->stat_reads, b->stat_reads);
	assert_int_equal(a->decisions, b->decisions);
	assert_int_equal(a->sysctl_writes, b->sysctl_writes);
	assert_int_equal(a->squeezed_sockets, b->squeezed_sockets);
	assert_int_equal(a->squeeze_runs, b->squeeze_runs);
	assert_int_equal(a->over_limit, b->over_limit);
	assert_int_equal(a->throttled_usec, b->throttled_usec);
	assert_int_equal(a->oom_kills, b->oom_kills);
	assert_same_memory(a, b);
	assert_true(a->udp_rcvbuf_errors == b->udp_rcvbuf_errors);
	assert_true(a->udp_mem_errors == b->udp_mem_errors);
	assert_int_equal(a->outside_processes, b->outside_processes);
	assert_memory_equal(&a->small_windows, &b->small_windows, sizeof(a->small_windows));
	assert_int_equal(a->events, b->events);
	assert_int_equal(a->events_lost, b->events_lost);
}

static void assert_same_event(const struct skm_event *a, const struct skm_event *b)
{
	assert_int_equal(a->realtime_usec, b->realtime_usec);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->step, b->step);
	assert_int_equal(a->reason, b->reason);
	assert_int_equal(a->sock_bytes, b->sock_bytes);
	assert_int_equal(a->limit_bytes, b->limit_bytes);
	assert_int_equal(a->fair_cap_bytes, b->fair_cap_bytes);
	assert_int_equal(a->sockets, b->sockets);
	assert_string_equal(a->text, b->text);
}

static void round_trip(const struct skm_report *report, bool pretty)
{
	cleanup_free char *text = skm_codec_report_format(report, pretty);
	struct skm_report back;
	struct skm_err err = SKM_ERR_INIT;

	memset(&back, 0xa5, sizeof(back));
	if (skm_codec_report_parse(text, strlen(text), &back, &err) != 0)
		fail_msg("%s", err.text);
	assert_same_report(report, &back);
}

static void test_report(void **state)
{
	struct skm_report full = skm_sample_report(), empty = {.policy = SKM_POLICY_INIT};

	(void)state;
	round_trip(&full, false);
	round_trip(&full, true);
	round_trip(&empty, false);
	full.limit_bytes = full.memory_max_bytes = full.decision.fair_cap_bytes = UINT64_MAX;
	round_trip(&full, false);
	/* as a double a little less than 0.0029, so that it has to be rounded */
	full.decision.occupancy_permyriad = 29;
	round_trip(&full, false);
}

/* What lies behind the end of a text says nothing. */
static void mark_tail(bool *silent, const void *report, const char *text, size_t size)
{
	for (size_t i = strlen(text) + 1; i < size; i++)
		silent[text - (const char *)report + i] = true;
}

/* Every member of struct skm_report changes the text: a member that the table forgets does not. */
static void test_no_member_is_forgotten(void **state)
{
	struct skm_report report = skm_sample_report();
	cleanup_free char *before = skm_codec_report_format(&report, false);
	bool silent[sizeof(report)] = {false};
	size_t count = 0;

	(void)state;
	mark_tail(silent, &report, report.id, sizeof(report.id));
	mark_tail(silent, &report, report.cgroup, sizeof(report.cgroup));
	mark_tail(silent, &report, report.policy.profile, sizeof(report.policy.profile));
	mark_tail(silent, &report, report.why_not_better, sizeof(report.why_not_better));
	mark_tail(silent, &report, report.protection.cut_by, sizeof(report.protection.cut_by));
	mark_tail(silent, &report, report.protection.shared_with, sizeof(report.protection.shared_with));
	for (int i = 0; i < SKM_SKIPPED_MAX; i++)
		mark_tail(silent, &report, report.skipped[i], sizeof(report.skipped[i]));
	for (size_t at = 0; at < sizeof(report); at++) {
		cleanup_free char *after = NULL;

		if (silent[at])
			continue;
		((unsigned char *)&report)[at] ^= 1;
		after = skm_codec_report_format(&report, false);
		count += strcmp(before, after) == 0;
		((unsigned char *)&report)[at] ^= 1;
	}
	/* 93 bytes of padding, and bytes of 17 that a value of theirs cannot have: set, kinds, percentages, protocols, the
	 * window */
	assert_in_range(count, 1, 93 + 18);
}

/* What has no value is null, so that no reader takes 2^64-1 for a size. */
static void test_nulls(void **state)
{
	struct skm_report report = {.limit_bytes = UINT64_MAX, .memory_max_bytes = UINT64_MAX};
	cleanup_free char *text = NULL;

	(void)state;
	report.decision.fair_cap_bytes = UINT64_MAX;
	report.sock_peak_bytes = SKM_SOCK_UNKNOWN;
	text = skm_codec_report_format(&report, false);
	assert_contains(text, "\"limit_bytes\":null");
	assert_contains(text, "\"memory_max_bytes\":null");
	assert_contains(text, "\"fair_cap_bytes\":null");
	assert_contains(text, "\"ended_realtime_usec\":null");
	assert_contains(text, "\"targets\":{\"rmem_max_bytes\":null,\"wmem_max_bytes\":null,\"notsent_lowat_bytes\":null}");
	assert_contains(text, "\"sock_bytes\":0,\"sock_peak_bytes\":null");
}

/* Puts `with` in place of the first `what` and gives the parser the result. */
static int parse_changed(const char *what, const char *with, struct skm_err *err)
{
	struct skm_report report = skm_sample_report();
	cleanup_free char *text = skm_codec_report_format(&report, false), *changed = NULL;
	char *at = strstr(text, what);
	struct skm_report back;

	if (!at)
		fail_msg("\"%s\" is not in %s", what, text);
	if (asprintf(&changed, "%.*s%s%s", (int)(at - text), text, with, at + strlen(what)) < 0)
		return -ENOMEM;
	*err = SKM_ERR_INIT;
	return skm_codec_report_parse(changed, strlen(changed), &back, err);
}

struct change {
	const char *what, *with;
	int result;
	const char *part;
};

static const struct change CHANGES[] = {
        {"\"version\":1", "\"version\":2", -EPROTO, "report has version 2, this program knows version 1"},
        {"\"version\":1,", "", -EINVAL, "version is missing"},
        {"\"version\":1", "\"version\":\"1\"", -EINVAL, "$.version: a string, wanted an integer"},
        {"\"pid\":4242,", "", -EINVAL, "$: pid is missing"},
        {"\"pid\":4242", "\"pid\":-4", -EINVAL, "$.pid: -4 is out of range"},
        {"\"pid\":4242", "\"pid\":2147483648", -EINVAL, "$.pid: 2147483648 is out of range"},
        {"\"sockets\":4294967295", "\"sockets\":4294967296", -EINVAL, "$.sockets: 4294967296 is out of range"},
        {"\"current_bytes\":106", "\"current_bytes\":null", -EINVAL, "$.current_bytes: null, wanted an integer"},
        {"\"sock_bytes\":104", "\"sock_bytes\":104.5", -EINVAL, "$.sock_bytes: a number that is not written as an integer"},
        {"\"ended\":true", "\"ended\":1", -EINVAL, "$.ended: an integer, wanted a boolean"},
        {"\"step\":\"shed\"", "\"step\":\"high\"", -EINVAL, "$.decision.step: \"high\" is no word"},
        {"\"step\":\"shed\"", "\"step\":3", -EINVAL, "$.decision.step: 3 is no word"},
        {"\"occupancy\":1.2345", "\"occupancy\":-1", -EINVAL, "$.decision.occupancy: -1 is out of range"},
        {"\"occupancy\":1.2345", "\"occupancy\":1e999", -EINVAL, "$.decision.occupancy: 1e999 is out of range"},
        {"\"occupancy\":1.2345", "\"occupancy\":\"1\"", -EINVAL, "$.decision.occupancy: a string, wanted a number"},
        {"\"occupancy\":1.2345", "\"occupancy\":2", 0, ""},
        {"\"rmem_max_bytes\":110", "\"rmem_max\":110", -EINVAL, "$.decision.targets: rmem_max_bytes is missing"},
        {"\"rmem_max_bytes\":110", "\"rmem_max_bytes\":110,\"x\":1", -EINVAL, "$.decision.targets.x: unknown key"},
        {"\"backend\":\"observe\"", "\"backend\":\"observe\",\"colour\":1", -EINVAL, "$.colour: unknown key"},
        {"\"source\":\"io.sockmem.profile\"", "\"source\":\"here\"", -EINVAL, "$.policy.source: \"here\" is no source"},
        {",\"source\":\"io.sockmem.profile\"", "", -EINVAL, "$.policy.source: null is no source"},
        {"\"limit\":\"12.25%\"", "\"limit\":\"0\"", -EINVAL, "$.policy.tcpmem.limit: \"0\""},
        {"\"limit\":\"12.25%\"", "\"limit\":null", -EINVAL, "$.policy.tcpmem.limit: null, wanted a size"},
        {"\"scope\":\"pod\"", "\"scope\":\"pod\",\"x\":1", -EINVAL, "$.policy.tcpmem: unknown keys"},
        {",\"scope\":\"pod\"", "", -EINVAL, "$.policy.tcpmem: scope is missing"},
        {"\"memory\":{", "\"memory\":null,\"y\":{", -EINVAL, "$.policy.memory: null, wanted an object"},
        {"\"pressure\":{", "\"pressures\":{", -EINVAL, "$.policy: pressure is missing"},
        {"\"min\":\"exe\"", "\"min\":null", -EINVAL, "$.policy.memory.min: null, wanted a size"},
        {"\"memory.min\",\"memory.low\"", "\"memory.low\"", -EINVAL, "$.policy.memory.min: a value that set does not name"},
        {"\"memory.min\",\"memory.low\"", "\"memory.low\",\"memory.low\"", -EINVAL, "$.policy.set[4]: \"memory.low\""},
        {"\"memory.min\",\"memory.low\"", "\"memory\"", -EINVAL, "$.policy.set[3]: \"memory\" is no key"},
        {"\"memory.min\",\"memory.low\"", "7", -EINVAL, "$.policy.set[3]: 7 is no key"},
        {"\"onError\":\"warn\"", "\"onError\":null", -EINVAL, "$.policy.onError: null, wanted a string"},
        {"\"profile\":\"front.end-1\"", "\"profile\":null", -EINVAL, "$.policy.profile: null, wanted a string"},
        {"\"profile\":\"front.end-1\"", "\"profile\":\"front.end-1\",\"z\":0", -EINVAL, "$.policy: unknown keys"},
        {"\"skipped\":[\"a\"", "\"skipped\":[\"8\",\"9\",\"a\"", -EINVAL, "$.skipped: 9 elements, wanted at most 8"},
        {"\"skipped\":[\"a\"", "\"skipped\":[1", -EINVAL, "$.skipped[0]: an integer, wanted a string"},
        {"\"targets\":{", "\"targets\":{\"targets\":{}},\"y\":{", -EINVAL, "$.decision.targets: rmem_max_bytes is missing"},
};

static void test_strict(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(CHANGES) / sizeof(*CHANGES); i++) {
		struct skm_err err;
		int r = parse_changed(CHANGES[i].what, CHANGES[i].with, &err);

		if (r != CHANGES[i].result)
			fail_msg("%s: %d, %s", CHANGES[i].with, r, err.text);
		assert_contains(err.text, CHANGES[i].part);
	}
}

/* Texts of the struct's size: the longest goes, one byte more does not, and is not cut in silence. */
static void test_text_bounds(void **state)
{
	struct skm_report report = skm_sample_report();
	cleanup_free char *text = NULL, *longer = NULL;
	struct skm_err err = SKM_ERR_INIT;
	struct skm_report back;

	(void)state;
	memset(report.id, 'i', SKM_ID_MAX);
	report.id[SKM_ID_MAX] = '\0';
	round_trip(&report, false);
	text = skm_codec_report_format(&report, false);
	assert_true(asprintf(&longer, "{\"version\":1,\"id\":\"i%s", strstr(text, "\"id\":\"") + 6) > 0);
	assert_int_equal(skm_codec_report_parse(longer, strlen(longer), &back, &err), -EINVAL);
	assert_contains(err.text, "$.id: a string of 1025 bytes; at most 1024");
}

static void test_list(void **state)
{
	struct skm_report one = skm_sample_report(), two = {.id = "two", .policy = SKM_POLICY_INIT};
	const struct skm_report *const both[] = {&one, &two};
	cleanup_free char *text = skm_codec_reports_format(both, 2, true), *none = skm_codec_reports_format(NULL, 0, false);
	cleanup_free struct skm_report *back = NULL, *nothing = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t count = 99;

	(void)state;
	assert_int_equal(skm_codec_reports_parse(text, strlen(text), &back, &count, &err), 0);
	assert_int_equal(count, 2);
	assert_same_report(&back[0], &one);
	assert_same_report(&back[1], &two);
	assert_int_equal(skm_codec_reports_parse(none, strlen(none), &nothing, &count, &err), 0);
	assert_int_equal(count, 0);
	assert_int_equal(skm_codec_reports_parse("{}", 2, &nothing, &count, &err), -EINVAL);
	assert_contains(err.text, "list of reports: $: an object, wanted an array");
	assert_int_equal(skm_codec_reports_parse("[1]", 3, &nothing, &count, &err), -EINVAL);
	assert_contains(err.text, "$[0]: an integer, wanted an object");
}

static void test_events(void **state)
{
	struct skm_tagged_event events[2] = {{.id = "a"}, {.id = "b", .event = skm_sample_event()}};
	cleanup_free struct skm_tagged_event *back = NULL;
	cleanup_free char *text = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t count = 0;

	(void)state;
	events[0].event.fair_cap_bytes = UINT64_MAX;
	text = skm_codec_events_format(events, 2, false);
	assert_contains(text, "\"fair_cap_bytes\":null");
	if (skm_codec_events_parse(text, strlen(text), &back, &count, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(count, 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(back[i].id, events[i].id);
		assert_same_event(&back[i].event, &events[i].event);
	}
}

/* snprintf may cut a text in the middle of a character: what was written is readable all the same, and not longer. */
static void test_event_text_cut_in_a_character(void **state)
{
	struct skm_tagged_event event = {.id = "a", .event = skm_sample_event()};
	cleanup_free struct skm_tagged_event *back = NULL;
	cleanup_free char *text = NULL;
	size_t count = 0;

	(void)state;
	memset(event.event.text, 'x', sizeof(event.event.text));
	strcpy(event.event.text + sizeof(event.event.text) - 3, "\xe2\x80");
	text = skm_codec_events_format(&event, 1, false);
	assert_int_equal(skm_codec_events_parse(text, strlen(text), &back, &count, NULL), 0);
	assert_string_equal(back->event.text + sizeof(event.event.text) - 3, "??");
}

static void test_record(void **state)
{
	struct skm_report report = skm_sample_report(), back_report = {0};
	struct skm_event events[2] = {skm_sample_event(), {.kind = SKM_EVENT_ENDED}};
	cleanup_free char *text = skm_codec_record_format(&report, events, 2);
	cleanup_free struct skm_event *back = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t count = 0;

	(void)state;
	if (skm_codec_record_parse(text, strlen(text), &back_report, &back, &count, &err) != 0)
		fail_msg("%s", err.text);
	assert_same_report(&back_report, &report);
	assert_int_equal(count, 2);
	assert_same_event(&back[0], &events[0]);
	assert_same_event(&back[1], &events[1]);
}

static void test_bad_records(void **state)
{
	static const struct change BAD[] = {
	        {"[]", NULL, -EINVAL, "record: $: an array, wanted an object"},
	        {"{\"version\":1}", NULL, -EINVAL, "wanted version, report and events"},
	        {"{\"version\":7}", NULL, -EPROTO, "record has version 7, this program knows version 1"},
	        {"{\"version\":1,\"report\":{},\"events\":[]}", NULL, -EINVAL, "record: $.report: version is missing"},
	        {"{\"version\":1,\"report\":{\"version\":3},\"events\":[]}", NULL, -EPROTO, "version 3"},
	        {"{\"version\":1,\"report\":{},\"events\":[],\"x\":1}", NULL, -EINVAL, "nothing else"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_event *events = NULL;
		struct skm_report report;
		struct skm_err err = SKM_ERR_INIT;
		size_t count;

		assert_int_equal(skm_codec_record_parse(BAD[i].what, strlen(BAD[i].what), &report, &events, &count, &err),
		                 BAD[i].result);
		assert_contains(err.text, BAD[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_report),      cmocka_unit_test(test_no_member_is_forgotten),
	        cmocka_unit_test(test_nulls),       cmocka_unit_test(test_strict),
	        cmocka_unit_test(test_text_bounds), cmocka_unit_test(test_list),
	        cmocka_unit_test(test_events),      cmocka_unit_test(test_event_text_cut_in_a_character),
	        cmocka_unit_test(test_record),      cmocka_unit_test(test_bad_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
