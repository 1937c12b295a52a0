/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers: what travels over the daemon's socket. */
#include "codec/message.h"

#include "codec/fields.h"
#include "codec/json.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const struct skm_field request_table[] = {
        SKM_VERSION_FIELD,
        SKM_WORD("verb", struct skm_request, verb, skm_verb_names),
        SKM_TEXT("id", struct skm_request, id),
        SKM_PID("pid", struct skm_request, pid),
        SKM_POLICY("policy", struct skm_request, policy),
        SKM_U64("program_bytes", struct skm_request, program_bytes),
        SKM_U64("kernel_tcp_bytes", struct skm_request, kernel_tcp_bytes),
        SKM_BOOL("limit_only", struct skm_request, limit_only),
        SKM_U64("reclaim_bytes", struct skm_request, reclaim_bytes),
        SKM_BOOL("force", struct skm_request, force),
};
static const struct skm_fields request_fields = SKM_FIELDS(request_table);

static const struct skm_field pong_table[] = {
        SKM_VERSION_FIELD,
        SKM_TEXT("program_version", struct skm_pong, version),
        SKM_PID("pid", struct skm_pong, pid),
        SKM_U64("started_realtime_usec", struct skm_pong, started_realtime_usec),
        SKM_U32("containers", struct skm_pong, containers),
        SKM_TEXT("node_file", struct skm_pong, node_file),
        SKM_U64_OR_NULL("node_loaded_realtime_usec", struct skm_pong, node_loaded_realtime_usec, 0),
        SKM_TEXT("node_trouble", struct skm_pong, node_trouble),
};
static const struct skm_fields pong_fields = SKM_FIELDS(pong_table);

char *skm_codec_request_format(const struct skm_request *request)
{
	return skm_fields_format(&request_fields, request, false);
}

static bool needs_id(enum skm_verb verb)
{
	return verb == SKM_VERB_REGISTER || verb == SKM_VERB_RELEASE || verb == SKM_VERB_INSPECT || verb == SKM_VERB_SET ||
	       verb == SKM_VERB_RECLAIM;
}

int skm_codec_request_parse(const char *text, size_t length, struct skm_request *ret, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;
	int r = skm_fields_parse(text, length, "request", &request_fields, &request, err);

	if (r < 0)
		return r;
	if (needs_id(request.verb) && !*request.id)
		return skm_err_set(err, EINVAL, "request: $.id: empty; %s needs the id of a container",
		                   skm_name_of(&skm_verb_names, request.verb));
	if (request.verb == SKM_VERB_RECLAIM && request.reclaim_bytes == 0)
		return skm_err_set(err, EINVAL, "request: $.reclaim_bytes: 0; reclaim needs how much");
	memcpy(request.fds, ret->fds, sizeof(request.fds));
	*ret = request;
	return 0;
}

static char *format_error(const struct skm_err *err)
{
	struct skm_writer *writer = skm_writer_new_object();

	skm_writer_uint(writer, "version", SKM_PROTOCOL_VERSION);
	skm_writer_bool(writer, "ok", false);
	skm_writer_object(writer, "error");
	skm_writer_int(writer, "code", err->code > 0 ? err->code : EIO);
	skm_writer_text(writer, "text", err->text);
	return skm_writer_finish(writer, false);
}

char *skm_codec_answer_format(const char *data, const struct skm_err *err)
{
	char *text;

	if (err)
		return format_error(err);
	/* data is JSON already, and large: it is put in as it is */
	if (asprintf(&text, "{\"version\":%d,\"ok\":true%s%s}", SKM_PROTOCOL_VERSION, data ? ",\"data\":" : "",
	             data ? data : "") < 0)
		return NULL;
	return text;
}

/* What the enforcer refused with: its errno and its words. */
static int read_refusal(const struct skm_place *place, struct json_object *object, struct skm_err *refusal, struct skm_err *err)
{
	static const struct skm_field table[] = {
	        SKM_U32("code", struct skm_err, code),
	        SKM_TEXT("text", struct skm_err, text),
	};
	static const struct skm_fields fields = SKM_FIELDS(table);
	int r = skm_fields_read(place, object, &fields, refusal, err);

	if (r == 0 && (refusal->code <= 0 || refusal->code > 4095)) /* the kernel's MAX_ERRNO */
		return skm_place_fail(place, err, "code is no errno");
	return r;
}

/* Returns 1 where the answer is good, 0 where it is a refusal, whose place is then *ret; a negative errno. */
static int read_outcome(const struct skm_place *root, struct json_object *answer, struct json_object **ret, struct skm_err *err)
{
	struct json_object *ok;
	bool good, has_part;
	int r = skm_value_object(root, answer, "it is written by sockmemd", err);

	if (r == 0)
		r = skm_fields_check_version(root, answer, err);
	if (r < 0)
		return r;
	if (!json_object_object_get_ex(answer, "ok", &ok) || !json_object_is_type(ok, json_type_boolean))
		return skm_place_fail(root, err, "ok is missing, or no boolean");
	good = json_object_get_boolean(ok);
	has_part = json_object_object_get_ex(answer, good ? "data" : "error", ret);
	if ((!good && !has_part) || json_object_object_length(answer) != 2 + has_part)
		return skm_place_fail(root, err, "wanted version, ok, and data or error");
	if (!has_part)
		*ret = NULL;
	return good;
}

/* Takes an answer that is one apart: *ret_data, or *refusal (its code set). */
static int read_answer(const char *text, size_t length, char **ret_data, struct skm_err *refusal, struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT("answer of sockmemd"), error = SKM_PLACE_KEY(&root, "error");
	cleanup_json struct json_object *answer = NULL;
	struct json_object *part = NULL;
	int r = skm_fields_read_text(text, length, root.key, &answer, err);

	if (r == 0)
		r = read_outcome(&root, answer, &part, err);
	if (r < 0)
		return r;
	if (r == 0)
		return read_refusal(&error, part, refusal, err);
	*ret_data = part ? skm_json_text(part, false) : NULL;
	return part && !*ret_data ? skm_err_set(err, ENOMEM, "%s: out of memory", root.key) : 0;
}

int skm_codec_answer_parse(const char *text, size_t length, char **ret_data, struct skm_err *err)
{
	struct skm_err refusal = SKM_ERR_INIT;
	char *data = NULL;
	int r = read_answer(text, length, &data, &refusal, err);

	if (r < 0 && r != -ENOMEM) {
		/* to the caller all this is one: what answered is no enforcer of this version */
		if (err)
			err->code = EPROTO;
		return -EPROTO;
	}
	if (r == 0 && refusal.code)
		return skm_err_set(err, refusal.code, "%s", refusal.text);
	if (r == 0)
		*ret_data = data;
	return r;
}

char *skm_codec_pong_format(const struct skm_pong *pong)
{
	return skm_fields_format(&pong_fields, pong, false);
}

int skm_codec_pong_parse(const char *text, size_t length, struct skm_pong *ret, struct skm_err *err)
{
	struct skm_pong pong = {0};
	int r = skm_fields_parse(text, length, "answer to ping", &pong_fields, &pong, err);

	if (r == 0)
		*ret = pong;
	return r;
}
