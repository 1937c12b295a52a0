/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/state.h"

#include "codec/json.h"
#include "codec/policy.h"
#include "codec/value.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define STATE_RIGHT "wanted the OCI state, an object with id and bundle"
#define ANNOTATION_PREFIX "io.sockmem."

/* What we read out of the runtime's documents. The rest of them is not ours to judge, not even where a key stands twice. */
static const char *const unique_keys[] = {
        "id", "bundle", "bundlePath", "status", "pid", "annotations", SKM_ANNOTATION_POLICY, SKM_ANNOTATION_TCPMEM, NULL,
};

static const struct skm_words annotation_words = {
        .known = (const char *const[]){SKM_ANNOTATION_POLICY, SKM_ANNOTATION_TCPMEM, NULL},
        .later = (const char *const[]){"io.sockmem.profile", NULL},
};

/* *ret: the annotation's text, left as it is where there is no such annotation. */
static int read_annotation(const struct skm_place *place, struct json_object *object, const char *key, char **ret,
                           struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, key);
	struct json_object *value;
	char *copy;

	if (!json_object_object_get_ex(object, key, &value))
		return 0;
	if (!json_object_is_type(value, json_type_string))
		return skm_place_fail(&inside, err, "%s, wanted a string: the value of an annotation is text, JSON in it too",
		                      skm_value_kind(value));
	copy = strdup(json_object_get_string(value));
	if (!copy)
		return skm_err_set(err, ENOMEM, "%s: out of memory", skm_place_document(place));
	*ret = copy;
	return 0;
}

static bool is_known_annotation(const char *key)
{
	return strcmp(key, SKM_ANNOTATION_POLICY) == 0 || strcmp(key, SKM_ANNOTATION_TCPMEM) == 0;
}

static int refuse_annotation(const struct skm_place *place, struct skm_err *err)
{
	static const char for_one[] = SKM_ANNOTATION_POLICY ".container.";
	const char *const *later = annotation_words.later;
	char hint[SKM_WORDS_TEXT_MAX];

	skm_words_hint(annotation_words.known, place->key, hint);
	if (strcmp(place->key, *later) == 0 || strncmp(place->key, for_one, strlen(for_one)) == 0)
		return skm_place_fail(place, err, "not supported by this version (%s); leave it out", hint);
	return skm_place_fail(place, err, "unknown annotation; %s", hint);
}

static int read_annotations(const struct skm_place *place, struct json_object *object, struct skm_state *state,
                            struct skm_err *err)
{
	int r = skm_value_object(place, object, "it maps names to strings", err);

	if (r < 0)
		return r;
	json_object_object_foreach(object, key, unused)
	{
		struct skm_place inside = SKM_PLACE_KEY(place, key);

		(void)unused;
		if (strncmp(key, ANNOTATION_PREFIX, strlen(ANNOTATION_PREFIX)) == 0 && !is_known_annotation(key))
			return refuse_annotation(&inside, err);
	}
	r = read_annotation(place, object, SKM_ANNOTATION_POLICY, &state->annotation_policy, err);
	return r < 0 ? r : read_annotation(place, object, SKM_ANNOTATION_TCPMEM, &state->annotation_tcpmem, err);
}

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

static int read_annotations_of(const struct skm_place *place, struct json_object *object, struct skm_state *state,
                               struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(place, "annotations");
	struct json_object *value;

	if (!json_object_object_get_ex(object, inside.key, &value) || !value)
		return 0;
	state->has_annotations = true;
	return read_annotations(&inside, value, state, err);
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
	return r < 0 ? r : read_annotations_of(place, object, state, err);
}

static struct skm_json_rules rules_for(const char *name, const char *right, size_t text_max)
{
	return (struct skm_json_rules){
	        .name = name,
	        .right = right,
	        .text_max = text_max,
	        .depth_max = 64,
	        .unique_keys = unique_keys,
	};
}

int skm_codec_state_parse(const char *text, size_t length, struct skm_state *ret, struct skm_err *err)
{
	const struct skm_json_rules rules = rules_for("OCI state", STATE_RIGHT, SKM_STATE_TEXT_MAX);
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

int skm_codec_state_read_config(const char *text, size_t length, struct skm_state *state, struct skm_err *err)
{
	const struct skm_json_rules rules =
	        rules_for("config.json", "wanted the bundle's configuration, an object", SKM_CONFIG_TEXT_MAX);
	const struct skm_place root = SKM_PLACE_ROOT(rules.name);
	cleanup_json struct json_object *document = NULL;
	struct skm_state found = SKM_STATE_INIT;
	int r = skm_json_read(text, length, &rules, &document, err);

	if (r == 0)
		r = skm_value_object(&root, document, rules.right, err);
	if (r == 0)
		r = read_annotations_of(&root, document, &found, err);
	if (r < 0) {
		skm_codec_state_free(&found);
		return r;
	}
	if (found.annotation_policy) {
		free(state->annotation_policy);
		state->annotation_policy = found.annotation_policy;
	}
	if (found.annotation_tcpmem) {
		free(state->annotation_tcpmem);
		state->annotation_tcpmem = found.annotation_tcpmem;
	}
	return 0;
}

void skm_codec_state_free(struct skm_state *state)
{
	free(state->annotation_policy);
	free(state->annotation_tcpmem);
	state->annotation_policy = NULL;
	state->annotation_tcpmem = NULL;
}

int skm_codec_state_policy(const struct skm_state *state, struct skm_policy *ret, struct skm_err *err)
{
	const char *text = state->annotation_policy ? state->annotation_policy : state->annotation_tcpmem;
	struct skm_policy policy = SKM_POLICY_INIT;
	int r;

	if (!text)
		return 0;
	if (text == state->annotation_policy) {
		policy.source = SKM_SOURCE_ANNOTATION_POLICY;
		r = skm_codec_policy_parse(text, strlen(text), "annotation " SKM_ANNOTATION_POLICY, &policy, err);
	} else {
		policy.source = SKM_SOURCE_ANNOTATION_TCPMEM;
		r = skm_codec_tcpmem_parse(text, strlen(text), "annotation " SKM_ANNOTATION_TCPMEM, &policy, err);
	}
	if (r < 0)
		return r;
	*ret = policy;
	return 1;
}
