/* SPDX-License-Identifier: Apache-2.0 */
/* What `inspect` and `list` show. The keys are schemas/inspect.schema.json. */
#include "codec/report.h"

#include "codec/grant.h"
#include "codec/message.h"

static const struct skm_field target_table[] = {
        SKM_U64_OR_NULL("rmem_max_bytes", struct skm_report, decision.targets.rmem_max_bytes, 0),
        SKM_U64_OR_NULL("wmem_max_bytes", struct skm_report, decision.targets.wmem_max_bytes, 0),
        SKM_U64_OR_NULL("notsent_lowat_bytes", struct skm_report, decision.targets.notsent_lowat_bytes, 0),
};
static const struct skm_fields target_fields = SKM_FIELDS(target_table);

static const struct skm_field decision_table[] = {
        SKM_WORD("step", struct skm_report, decision.step, skm_step_names),
        SKM_WORD("reason", struct skm_report, decision.reason, skm_reason_names),
        SKM_SHARE("occupancy", struct skm_report, decision.occupancy_permyriad),
        SKM_U64_OR_NULL("fair_cap_bytes", struct skm_report, decision.fair_cap_bytes, UINT64_MAX),
        SKM_U64_OR_NULL("squeeze_above_bytes", struct skm_report, decision.squeeze_above_bytes, 0),
        SKM_OBJECT("targets", target_fields),
};
static const struct skm_fields decision_fields = SKM_FIELDS(decision_table);

SKM_GRANT_FIELDS(struct skm_report);

static const struct skm_field protection_table[] = {
        SKM_BOOL("known", struct skm_report, protection.known),
        SKM_U64_OR_NULL("effective_min_bytes", struct skm_report, protection.effective_min_bytes, UINT64_MAX),
        SKM_U64_OR_NULL("effective_low_bytes", struct skm_report, protection.effective_low_bytes, UINT64_MAX),
        SKM_TEXT("cut_by", struct skm_report, protection.cut_by),
        SKM_TEXT("shared_with", struct skm_report, protection.shared_with),
};
static const struct skm_fields protection_fields = SKM_FIELDS(protection_table);

static const struct skm_field small_windows_table[] = {
        SKM_U64_OR_NULL("rmem_max_bytes", struct skm_report, small_windows.rmem_max_bytes, 0),
        SKM_U64_OR_NULL("since_realtime_usec", struct skm_report, small_windows.since_realtime_usec, 0),
        SKM_U64_OR_NULL("until_realtime_usec", struct skm_report, small_windows.until_realtime_usec, 0),
};
static const struct skm_fields small_windows_fields = SKM_FIELDS(small_windows_table);

static const struct skm_field reclaim_table[] = {
        SKM_WORD("end", struct skm_report, reclaim.end, skm_reclaim_end_names),
        SKM_U64("asked_bytes", struct skm_report, reclaim.asked_bytes),
        SKM_U64("reclaimed_bytes", struct skm_report, reclaim.reclaimed_bytes),
        SKM_U64("took_usec", struct skm_report, reclaim.took_usec),
        SKM_U32("steps", struct skm_report, reclaim.steps),
        SKM_U32("errno", struct skm_report, reclaim.error),
};
static const struct skm_fields reclaim_fields = SKM_FIELDS(reclaim_table);

static const struct skm_field shape_table[] = {
        SKM_WORD("where", struct skm_report, shape.where, skm_shape_where_names),
        SKM_U64_OR_NULL("rate_bytes_per_sec", struct skm_report, shape.rate_bytes_per_sec, 0),
        SKM_U64_OR_NULL("egress_bytes_per_sec", struct skm_report, shape.egress_bytes_per_sec, 0),
        SKM_U64_OR_NULL("drain_bytes_per_sec", struct skm_report, shape.drain_bytes_per_sec, 0),
        SKM_U64("passed_bytes", struct skm_report, shape.passed_bytes),
        SKM_U64("dropped", struct skm_report, shape.dropped),
        SKM_U64("queued_bytes", struct skm_report, shape.queued_bytes),
        SKM_U64("changes", struct skm_report, shape.changes),
};
static const struct skm_fields shape_fields = SKM_FIELDS(shape_table);

static const struct skm_field report_table[] = {
        SKM_VERSION_FIELD,
        SKM_TEXT("id", struct skm_report, id),
        SKM_TEXT("cgroup", struct skm_report, cgroup),
        SKM_PID("pid", struct skm_report, pid),
        SKM_BOOL("ended", struct skm_report, ended),
        SKM_U64("started_realtime_usec", struct skm_report, started_realtime_usec),
        SKM_U64_OR_NULL("ended_realtime_usec", struct skm_report, ended_realtime_usec, 0),
        SKM_POLICY("policy", struct skm_report, policy),
        SKM_WORD("backend", struct skm_report, backend, skm_backend_names),
        SKM_TEXT("why_not_better", struct skm_report, why_not_better),
        SKM_U64_OR_NULL("limit_bytes", struct skm_report, limit_bytes, UINT64_MAX),
        SKM_U64_OR_NULL("sock_bytes", struct skm_report, sock_bytes, SKM_SOCK_UNKNOWN),
        SKM_U64_OR_NULL("sock_peak_bytes", struct skm_report, sock_peak_bytes, SKM_SOCK_UNKNOWN),
        SKM_U64("current_bytes", struct skm_report, current_bytes),
        SKM_U64_OR_NULL("memory_max_bytes", struct skm_report, memory_max_bytes, UINT64_MAX),
        SKM_U32("sockets", struct skm_report, sockets),
        SKM_OBJECT("decision", decision_fields),
        SKM_U64("samples", struct skm_report, samples),
        SKM_U64("stat_reads", struct skm_report, stat_reads),
        SKM_U64("decisions", struct skm_report, decisions),
        SKM_U64("sysctl_writes", struct skm_report, sysctl_writes),
        SKM_U64("squeezed_sockets", struct skm_report, squeezed_sockets),
        SKM_U64("squeeze_runs", struct skm_report, squeeze_runs),
        SKM_U64("over_limit", struct skm_report, over_limit),
        SKM_U64("throttled_usec", struct skm_report, throttled_usec),
        SKM_U64("oom_kills", struct skm_report, oom_kills),
        SKM_OBJECT("in_force", in_force_fields),
        SKM_OBJECT("sources", sources_fields),
        SKM_U64_OR_NULL("kernel_tcp_bytes", struct skm_report, kernel_tcp_bytes, 0),
        SKM_U64_OR_NULL("program_bytes", struct skm_report, program_bytes, 0),
        SKM_OBJECT("protection", protection_fields),
        SKM_U64("memory_writes", struct skm_report, memory_writes),
        SKM_U64("memory_reasserted", struct skm_report, memory_reasserted),
        SKM_U64("memory_taken_over", struct skm_report, memory_taken_over),
        SKM_OBJECT("reclaim", reclaim_fields),
        SKM_U64("reclaimed_bytes", struct skm_report, reclaimed_bytes),
        SKM_OBJECT("shape", shape_fields),
        SKM_U64_OR_NULL("udp_rcvbuf_errors", struct skm_report, udp_rcvbuf_errors, UINT64_MAX),
        SKM_U64_OR_NULL("udp_mem_errors", struct skm_report, udp_mem_errors, UINT64_MAX),
        SKM_U64("destroyed_sockets", struct skm_report, destroyed_sockets),
        SKM_U64("destroyed_bytes", struct skm_report, destroyed_bytes),
        SKM_U32("outside_processes", struct skm_report, outside_processes),
        SKM_OBJECT("small_windows", small_windows_fields),
        SKM_TEXTS("skipped", struct skm_report, skipped, skipped_count),
        SKM_U32("events", struct skm_report, events),
        SKM_U32("events_lost", struct skm_report, events_lost),
};
const struct skm_fields skm_report_fields = SKM_FIELDS(report_table);

char *skm_codec_report_format(const struct skm_report *report, bool pretty)
{
	return skm_fields_format(&skm_report_fields, report, pretty);
}

char *skm_codec_reclaim_format(const struct skm_reclaim_result *result, bool pretty)
{
	const struct skm_report report = {.reclaim = *result};
	struct skm_writer *writer = skm_writer_new_object();

	skm_writer_uint(writer, "version", SKM_PROTOCOL_VERSION);
	skm_fields_write(writer, &reclaim_fields, &report);
	return skm_writer_finish(writer, pretty);
}

int skm_codec_report_parse(const char *text, size_t length, struct skm_report *ret, struct skm_err *err)
{
	struct skm_report report = {0};
	int r = skm_fields_parse(text, length, "report", &skm_report_fields, &report, err);

	if (r == 0)
		*ret = report;
	return r;
}

char *skm_codec_reports_format(const struct skm_report *const *reports, size_t count, bool pretty)
{
	struct skm_writer *writer = skm_writer_new_array();

	for (size_t i = 0; i < count; i++) {
		skm_writer_object(writer, NULL);
		skm_fields_write(writer, &skm_report_fields, reports[i]);
		skm_writer_end(writer);
	}
	return skm_writer_finish(writer, pretty);
}

int skm_codec_reports_parse(const char *text, size_t length, struct skm_report **ret, size_t *ret_count, struct skm_err *err)
{
	void *reports;
	int r = skm_fields_parse_array(text, length, "list of reports", &skm_report_fields, sizeof(**ret), &reports, ret_count,
	                               err);

	if (r == 0)
		*ret = reports;
	return r;
}
