/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, answers, reports and events as JSON text. Every object holds "version": SKM_PROTOCOL_VERSION. */
#ifndef SKM_CODEC_MESSAGE_H
#define SKM_CODEC_MESSAGE_H

#include "base/err.h"
#include "model/event.h"
#include "model/report.h"
#include "model/request.h"

#include <stdbool.h>
#include <stddef.h>

/* A request without its descriptors. The caller frees the text; NULL: out of memory. */
char *skm_codec_request_format(const struct skm_request *request);

/* ret: untouched on failure; its fds are left as they were. Returns 0; -EPROTO for another version (both numbers named);
 * -EINVAL; -ENOMEM. */
int skm_codec_request_parse(const char *text, size_t length, struct skm_request *ret, struct skm_err *err);

/* Answers. {"version":1,"ok":true,"data":DATA} where data is JSON text (NULL: no data) or
 * {"version":1,"ok":false,"error":{"code":ERRNO,"text":"…"}} where err is not NULL. The caller frees; NULL: out of memory. */
char *skm_codec_answer_format(const char *data, const struct skm_err *err);

/* Takes an answer apart: 0 with *ret_data (JSON text, the caller frees; NULL where there was none), or the error that the
 * enforcer sent, as -code with its text; -EPROTO for another version or no answer at all. */
int skm_codec_answer_parse(const char *text, size_t length, char **ret_data, struct skm_err *err);

/* What answers PING. */
struct skm_pong {
	char version[32]; /* of the program, "0.1.0" */
	pid_t pid;
	uint64_t started_realtime_usec;
	uint32_t containers;
	char node_file[256];                 /* its path */
	uint64_t node_loaded_realtime_usec;  /* when the rules in force were read; 0: those of a node without a file */
	char node_trouble[SKM_ERR_TEXT_MAX]; /* why the file as it is now is not in force; empty: it is, or there is none */
};
char *skm_codec_pong_format(const struct skm_pong *pong);
int skm_codec_pong_parse(const char *text, size_t length, struct skm_pong *ret, struct skm_err *err);

/* Reports (schemas/inspect.schema.json). pretty: indented for a person's --json. with_policy etc. is always full. */
char *skm_codec_report_format(const struct skm_report *report, bool pretty);
/* What `sockmem reclaim --json` shows (schemas/reclaim.schema.json). */
char *skm_codec_reclaim_format(const struct skm_reclaim_result *result, bool pretty);
int skm_codec_report_parse(const char *text, size_t length, struct skm_report *ret, struct skm_err *err);

/* An array of reports (schemas/list.schema.json). parse: *ret is an array that the caller frees. */
char *skm_codec_reports_format(const struct skm_report *const *reports, size_t count, bool pretty);
int skm_codec_reports_parse(const char *text, size_t length, struct skm_report **ret, size_t *ret_count, struct skm_err *err);

/* An array of events (schemas/events.schema.json), each with the id of its container.
 * ids: one per event, or NULL where all have the same `id`. */
struct skm_tagged_event {
	char id[SKM_ID_MAX + 1];
	struct skm_event event;
};
char *skm_codec_events_format(const struct skm_tagged_event *events, size_t count, bool pretty);
/* One of them alone, in one line. */
char *skm_codec_event_format(const struct skm_tagged_event *event);
int skm_codec_events_parse(const char *text, size_t length, struct skm_tagged_event **ret, size_t *ret_count,
                           struct skm_err *err);

/* The record of an ended container, a file: {"version":1,"report":…,"events":[…]}. */
char *skm_codec_record_format(const struct skm_report *report, const struct skm_event *events, size_t count);
int skm_codec_record_parse(const char *text, size_t length, struct skm_report *ret, struct skm_event **ret_events,
                           size_t *ret_count, struct skm_err *err);

#endif
