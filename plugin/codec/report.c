/* SPDX-License-Identifier: Apache-2.0 */
/* What `inspect` and `list` show. The keys are schemas/inspect.schema.json. */
#include "codec/report.h"

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

/* One size each: what was asked for and what is enforced; null is max. */
#define IN_FORCE(name, index)                                                                                                    \
	static const struct skm_field name##_table[] = {                                                                         \
	        SKM_BOOL("set", struct skm_report, in_force[index].set),                                                         \
	        SKM_BOOL("cut", struct skm_report, in_force[index].cut),                                                         \
	        SKM_WORD("cut_by", struct skm_report, in_force[index].cut_by, skm_cut_names),                                    \
	        SKM_U64_OR_NULL("asked_bytes", struct skm_report, in_force[index].asked_bytes, UINT64_MAX),                      \
	        SKM_U64_OR_NULL("bytes", struct skm_report, in_force[index].bytes, UINT64_MAX),                                  \
	};                                                                                                                       \
	static const struct skm_fields name##_fields = SKM_FIELDS(name##_table)

IN_FORCE(limit, SKM_IN_FORCE_LIMIT);
IN_FORCE(min, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MIN);
IN_FORCE(low, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_LOW);
IN_FORCE(high, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_HIGH);
IN_FORCE(max, SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILE_MAX);

static const struct skm_field in_force_table[] = {
        SKM_OBJECT("tcpmem.limit", limit_fields), SKM_OBJECT("memory.min", min_fields), SKM_OBJECT("memory.low", low_fields),
        SKM_OBJECT("memory.high", high_fields),   SKM_OBJECT("memory.max", max_fields),
};
static const struct skm_fields in_force_fields = SKM_FIELDS(in_force_table);

/* Where each value of the policy came from. */
#define SOURCE(name, key) SKM_WORD(name, struct skm_report, sources[key], skm_policy_source_names)

static const struct skm_field sources_table[] = {
        SOURCE("tcpmem.limit", SKM_KEY_TCPMEM_LIMIT),
        SOURCE("tcpmem.mode", SKM_KEY_TCPMEM_MODE),
        SOURCE("tcpmem.scope", SKM_KEY_TCPMEM_SCOPE),
        SOURCE("memory.min", SKM_KEY_MEMORY_MIN),
        SOURCE("memory.low", SKM_KEY_MEMORY_LOW),
        SOURCE("memory.high", SKM_KEY_MEMORY_HIGH),
        SOURCE("memory.max", SKM_KEY_MEMORY_MAX),
        SOURCE("memory.propagate", SKM_KEY_MEMORY_PROPAGATE),
        SOURCE("throttle.sysctl", SKM_KEY_THROTTLE_SYSCTL),
        SOURCE("throttle.sockets", SKM_KEY_THROTTLE_SOCKETS),
        SOURCE("throttle.tc", SKM_KEY_THROTTLE_TC),
        SOURCE("throttle.reclaim", SKM_KEY_THROTTLE_RECLAIM),
        SOURCE("throttle.destroy", SKM_KEY_THROTTLE_DESTROY),
        SOURCE("throttle.protocols", SKM_KEY_THROTTLE_PROTOCOLS),
        SOURCE("throttle.floor", SKM_KEY_THROTTLE_FLOOR),
        SOURCE("throttle.egress", SKM_KEY_THROTTLE_EGRESS),
        SOURCE("pressure.some", SKM_KEY_PRESSURE_SOME),
        SOURCE("pressure.window", SKM_KEY_PRESSURE_WINDOW),
        SOURCE("onError", SKM_KEY_ON_ERROR),
};
static const struct skm_fields sources_fields = SKM_FIELDS(sources_table);

static const struct skm_field protection_table[] = {
        SKM_BOOL("known", struct skm_report, protection.known),
        SKM_U64_OR_NULL("effective_min_bytes", struct skm_report, protection.effective_min_bytes, UINT64_MAX),
        SKM_U64_OR_NULL("effective_low_bytes", struct skm_report, protection.effective_low_bytes, UINT64_MAX),
        SKM_TEXT("cut_by", struct skm_report, protection.cut_by),
        SKM_TEXT("shared_with", struct skm_report, protection.shared_with),
};
static const struct skm_fields protection_fields = SKM_FIELDS(protection_table);

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
        SKM_U64("sock_bytes", struct skm_report, sock_bytes),
        SKM_U64("sock_peak_bytes", struct skm_report, sock_peak_bytes),
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
        SKM_TEXTS("skipped", struct skm_report, skipped, skipped_count),
        SKM_U32("events", struct skm_report, events),
        SKM_U32("events_lost", struct skm_report, events_lost),
};
const struct skm_fields skm_report_fields = SKM_FIELDS(report_table);

char *skm_codec_report_format(const struct skm_report *report, bool pretty)
{
	return skm_fields_format(&skm_report_fields, report, pretty);
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
