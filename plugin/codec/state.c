/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/state.h"

#include "codec/json.h"
#include "codec/value.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#define STATE_RIGHT "wanted the OCI state, an object with id and bundle"

/* A string that may be absent, null or empty: then buffer stays empty. */
static int read_text(const struct skm_place *place, struct json_object *object, const char *key, char *buffer, size_t size,
                     struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, key);
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !value)
		return 0;
	return skm_value_text(&inside, value, buffer, size, err);
}

static int read_bundle(const struct skm_place *place, struct json_object *object, struct skm_state *state, struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, "bundle");
	char echo[SKM_ECHO_MAX];
	int r = read_text(place, object, inside.key, state->bundle, sizeof(state->bundle), err);

	if (r == 0 && !*state->bundle) {
		inside.key = "bundlePath";
		r = read_text(place, object, inside.key, state->bundle, sizeof(state->bundle), err);
	}
	if (r < 0)
		return r;
	if (!*state->bundle)
		return skm_place_fail(place, err, "bundle is missing or empty; " STATE_RIGHT);
	if (*state->bundle != '/')
		return skm_place_fail(&inside, err, "%s is no absolute path",
		                      skm_text_echo(state->bundle, strlen(state->bundle), echo));
	return 0;
}

static int read_pid(const struct skm_place *place, struct json_object *object, pid_t *ret, struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, "pid");
	struct json_object *value;
	uint64_t pid = 0;
	int r;

	if (!json_object_object_get_ex(object, "pid", &value) || !value)
		return 0;
	if (json_object_is_type(value, json_type_int) && json_object_get_int64(value) < 0)
		return 0; /* seen as -1 where there is no process */
	r = skm_value_uint(&inside, value, INT_MAX, &pid, err);
	if (r == 0)
		*ret = (pid_t)pid;
	return r;
}

static int read_annotations(const struct skm_place *place, struct json_object *object, struct skm_annotations *ret,
                            struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, "annotations");
	struct json_object *value;

	if (!json_object_object_get_ex(object, inside.key, &value) || !value)
		return 0;
	return skm_annotations_read(&inside, value, ret, err);
}

static int read_state(const struct skm_place *place, struct json_object *object, struct skm_state *state, struct skm_err *err)
{
	int r = skm_value_object(place, object, STATE_RIGHT, err);

	if (r == 0)
		r = read_text(place, object, "id", state->id, sizeof(state->id), err);
	if (r == 0 && !*state->id)
		r = skm_place_fail(place, err, "id is missing or empty; " STATE_RIGHT);
	if (r == 0)
		r = read_bundle(place, object, state, err);
	if (r == 0)
		r = read_text(place, object, "status", state->status, sizeof(state->status), err);
	if (r == 0)
		r = read_pid(place, object, &state->pid, err);
	return r < 0 ? r : read_annotations(place, object, &state->annotations, err);
}

int skm_codec_state_parse(const char *text, size_t length, struct skm_state *ret, struct skm_err *err)
{
	/* What we read of it. The rest of it is not ours to judge, not even where a key stands twice. */
	static const char *const unique_keys[] = {"id",  "bundle",      "bundlePath",  "status",
	                                          "pid", "annotations", "io.sockmem.", NULL};
	const struct skm_json_rules rules = {
	        .name = "OCI state",
	        .right = STATE_RIGHT,
	        .text_max = SKM_STATE_TEXT_MAX,
	        .depth_max = 64,
	        .unique_keys = unique_keys,
	};
	const struct skm_place root = SKM_PLACE_ROOT(rules.name);
	cleanup_json struct json_object *document = NULL;
	struct skm_state state = SKM_STATE_INIT;
	int r = skm_json_read(text, length, &rules, &document, err);

	if (r == 0)
		r = read_state(&root, document, &state, err);
	if (r < 0)
		skm_codec_state_free(&state);
	else
		*ret = state;
	return r;
}

void skm_codec_state_free(struct skm_state *state)
{
	skm_codec_annotations_free(&state->annotations);
}
