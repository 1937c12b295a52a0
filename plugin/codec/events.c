/* SPDX-License-Identifier: Apache-2.0 */
/* Events, and the record of an ended container, which is its report with its events. */
#include "codec/json.h"
#include "codec/message.h"
#include "codec/report.h"

#include <errno.h>
#include <json-c/json.h>

#define EVENT_FIELDS(type, member)                                                                                               \
	SKM_U64("realtime_usec", type, member realtime_usec), SKM_WORD("kind", type, member kind, skm_event_kind_names),         \
	        SKM_WORD("step", type, member step, skm_step_names), SKM_WORD("reason", type, member reason, skm_reason_names),  \
	        SKM_U64_OR_NULL("sock_bytes", type, member sock_bytes, SKM_SOCK_UNKNOWN),                                        \
	        SKM_U64_OR_NULL("limit_bytes", type, member limit_bytes, UINT64_MAX),                                            \
	        SKM_U64_OR_NULL("fair_cap_bytes", type, member fair_cap_bytes, UINT64_MAX),                                      \
	        SKM_U32("sockets", type, member sockets), SKM_TEXT("text", type, member text)

/* In a record, whose report has version and id. */
static const struct skm_field event_table[] = {EVENT_FIELDS(struct skm_event, )};
static const struct skm_fields event_fields = SKM_FIELDS(event_table);

static const struct skm_field tagged_table[] = {
        SKM_VERSION_FIELD,
        SKM_TEXT("id", struct skm_tagged_event, id),
        EVENT_FIELDS(struct skm_tagged_event, event.),
};
static const struct skm_fields tagged_fields = SKM_FIELDS(tagged_table);

char *skm_codec_events_format(const struct skm_tagged_event *events, size_t count, bool pretty)
{
	struct skm_writer *writer = skm_writer_new_array();

	for (size_t i = 0; i < count; i++) {
		skm_writer_object(writer, NULL);
		skm_fields_write(writer, &tagged_fields, &events[i]);
		skm_writer_end(writer);
	}
	return skm_writer_finish(writer, pretty);
}

char *skm_codec_event_format(const struct skm_tagged_event *event)
{
	return skm_fields_format(&tagged_fields, event, false);
}

int skm_codec_events_parse(const char *text, size_t length, struct skm_tagged_event **ret, size_t *ret_count, struct skm_err *err)
{
	void *events;
	int r = skm_fields_parse_array(text, length, "list of events", &tagged_fields, sizeof(**ret), &events, ret_count, err);

	if (r == 0)
		*ret = events;
	return r;
}

char *skm_codec_record_format(const struct skm_report *report, const struct skm_event *events, size_t count)
{
	struct skm_writer *writer = skm_writer_new_object();

	skm_writer_uint(writer, "version", SKM_PROTOCOL_VERSION);
	skm_writer_object(writer, "report");
	skm_fields_write(writer, &skm_report_fields, report);
	skm_writer_end(writer);
	skm_writer_array(writer, "events");
	for (size_t i = 0; i < count; i++) {
		skm_writer_object(writer, NULL);
		skm_fields_write(writer, &event_fields, &events[i]);
		skm_writer_end(writer);
	}
	return skm_writer_finish(writer, false);
}

static int read_record(const struct skm_place *root, struct json_object *record, struct skm_report *report, void **ret_events,
                       size_t *ret_count, struct skm_err *err)
{
	struct skm_place report_place = SKM_PLACE_KEY(root, "report"), events_place = SKM_PLACE_KEY(root, "events");
	struct json_object *report_value, *events_value;
	int r = skm_value_object(root, record, "it is written by sockmem itself", err);

	if (r == 0)
		r = skm_fields_check_version(root, record, err);
	if (r < 0)
		return r;
	if (!json_object_object_get_ex(record, report_place.key, &report_value) ||
	    !json_object_object_get_ex(record, events_place.key, &events_value) || json_object_object_length(record) != 3)
		return skm_place_fail(root, err, "wanted version, report and events, and nothing else");
	r = skm_fields_read(&report_place, report_value, &skm_report_fields, report, err);
	if (r < 0)
		return r;
	return skm_fields_read_array(&events_place, events_value, &event_fields, sizeof(struct skm_event), ret_events, ret_count,
	                             err);
}

int skm_codec_record_parse(const char *text, size_t length, struct skm_report *ret, struct skm_event **ret_events,
                           size_t *ret_count, struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT("record");
	cleanup_json struct json_object *document = NULL;
	struct skm_report report = {0};
	void *events = NULL;
	size_t count = 0;
	int r = skm_fields_read_text(text, length, root.key, &document, err);

	if (r == 0)
		r = read_record(&root, document, &report, &events, &count, err);
	if (r < 0)
		return r;
	*ret = report;
	*ret_events = events;
	*ret_count = count;
	return 0;
}
