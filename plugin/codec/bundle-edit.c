/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/bundle-edit.h"

#include "base/cleanup.h"
#include "codec/bundle-rules.h"
#include "codec/bundle.h"
#include "codec/json-text.h"
#include "codec/json.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds that a runtime gives the hook, which needs two at most (hooks.d says the same). */
#define HOOK_TIMEOUT 10

void skm_codec_bundle_edited_free(struct skm_bundle_edited *edited)
{
	free(edited->text);
	*edited = SKM_BUNDLE_EDITED_INIT;
}

static int out_of_memory(struct skm_err *err)
{
	return skm_err_set(err, ENOMEM, SKM_BUNDLE_NAME ": out of memory");
}

/* The object below `object` of that key, made where there is none. */
static int need_object(struct skm_json_doc *doc, const char *key, struct skm_json_span *ret)
{
	if (skm_json_text_find(doc, skm_json_text_root(doc), key, ret))
		return 0;
	if (skm_json_text_add_member(doc, skm_json_text_root(doc), key, "{}") < 0)
		return -ENOMEM;
	return skm_json_text_find(doc, skm_json_text_root(doc), key, ret) ? 0 : -ENOMEM;
}

/* -- the hooks -- */

static bool is_called_like(const char *path, const char *hook)
{
	const char *name = strrchr(path, '/'), *wanted = strrchr(hook, '/');

	return name && wanted && strcmp(name, wanted) == 0;
}

/* Whether the hook is an element of this stage's array. Returns 1, 0 or -EINVAL. */
static int stands_in(const struct skm_place *place, struct json_object *array, const char *hook, struct skm_err *err)
{
	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted an array of hooks", skm_value_kind(array));
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct skm_place element = SKM_PLACE_INDEX(place, i), inside = SKM_PLACE_KEY(&element, "path");
		struct json_object *one = json_object_array_get_idx(array, i), *path;
		int r = skm_value_object(&element, one, "a hook has a path", err);

		if (r < 0)
			return r;
		if (!json_object_object_get_ex(one, inside.key, &path) || !json_object_is_type(path, json_type_string))
			return skm_place_fail(&inside, err, "no path; a hook has one");
		if (strcmp(json_object_get_string(path), hook) == 0)
			return 1;
		if (is_called_like(json_object_get_string(path), hook)) {
			char echo[SKM_ECHO_MAX];

			return skm_place_fail(&inside, err, "%s is another sockmem-hook than %s; take one of them out",
			                      skm_value_echo(path, echo), hook);
		}
	}
	return 0;
}

/* The same for a stage that may not be there. */
static int stands_at(struct json_object *document, const char *stage, const char *hook, struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT(SKM_BUNDLE_NAME), hooks = SKM_PLACE_KEY(&root, "hooks"),
	                       place = SKM_PLACE_KEY(&hooks, stage);
	const char *const keys[] = {hooks.key, stage, NULL};
	struct json_object *array;
	int r = skm_bundle_find(&root, document, keys, &array, err);

	return r < 0 || !array ? r : stands_in(&place, array, hook, err);
}

/* A hook as config.json has it; NULL: out of memory. */
static char *format_hook(const char *hook, const char *stage)
{
	cleanup_json struct json_object *path = json_object_new_string(hook);
	cleanup_free char *quoted = path ? skm_json_text(path, false) : NULL;
	char *text;

	if (!quoted || asprintf(&text, "{\"path\": %s, \"args\": [\"sockmem-hook\", \"%s\"], \"timeout\": %d}", quoted, stage,
	                        HOOK_TIMEOUT) < 0)
		return NULL;
	return text;
}

static int add_hook(struct skm_json_doc *doc, const char *hook, const char *stage)
{
	cleanup_free char *text = format_hook(hook, stage), *array = NULL;
	struct skm_json_span hooks, found;

	if (!text || need_object(doc, "hooks", &hooks) < 0)
		return -ENOMEM;
	if (skm_json_text_find(doc, hooks, stage, &found))
		return skm_json_text_add_element(doc, found, text);
	if (asprintf(&array, "[%s]", text) < 0)
		return -ENOMEM;
	return skm_json_text_add_member(doc, hooks, stage, array);
}

static int add_hooks(struct skm_json_doc *doc, struct json_object *document, const char *hook, struct skm_bundle_edited *edited,
                     struct skm_err *err)
{
	int create = stands_at(document, "createRuntime", hook, err), prestart, poststop;

	if (create < 0)
		return create;
	prestart = stands_at(document, "prestart", hook, err);
	if (prestart < 0)
		return prestart;
	poststop = stands_at(document, "poststop", hook, err);
	if (poststop < 0)
		return poststop;
	edited->create_added = !create && !prestart;
	edited->poststop_added = !poststop;
	if (edited->create_added && add_hook(doc, hook, "createRuntime") < 0)
		return out_of_memory(err);
	if (edited->poststop_added && add_hook(doc, hook, "poststop") < 0)
		return out_of_memory(err);
	return 0;
}

/* -- kernelTCP -- */

static int remove_kernel_tcp(struct skm_json_doc *doc)
{
	static const char *const KEYS[] = {"linux", "resources", "memory"};
	struct skm_json_span span = skm_json_text_root(doc);

	for (size_t i = 0; i < sizeof(KEYS) / sizeof(*KEYS); i++)
		if (!skm_json_text_find(doc, span, KEYS[i], &span))
			return 0;
	return skm_json_text_remove_member(doc, span, "kernelTCP");
}

static int annotate(struct skm_json_doc *doc, uint64_t bytes)
{
	struct skm_size size = {.kind = SKM_SIZE_BYTES, .value = bytes};
	char text[SKM_SIZE_TEXT_MAX], quoted[SKM_SIZE_TEXT_MAX + 2];
	struct skm_json_span annotations;

	if (need_object(doc, "annotations", &annotations) < 0)
		return -ENOMEM;
	snprintf(quoted, sizeof(quoted), "\"%s\"", skm_size_format(&size, text));
	return skm_json_text_add_member(doc, annotations, SKM_ANNOTATION_TCPMEM, quoted);
}

/* Whether the annotations ask for a policy, whatever the container is called: what is said of containers by name may be for
 * others. */
static bool asks(const struct skm_annotations *annotations)
{
	for (size_t i = 0; i < annotations->count; i++)
		if (strncmp(annotations->asked[i].key, SKM_ANNOTATION_CONTAINER, strlen(SKM_ANNOTATION_CONTAINER)) != 0)
			return true;
	return false;
}

static int convert_kernel_tcp(struct skm_json_doc *doc, const struct skm_annotations *annotations,
                              struct skm_bundle_edited *edited, struct skm_err *err)
{
	if (!edited->has_kernel_tcp)
		return 0;
	if (remove_kernel_tcp(doc) < 0)
		return out_of_memory(err);
	if (edited->kernel_tcp_bytes == 0 || asks(annotations))
		return 0;
	edited->annotated = true;
	return annotate(doc, edited->kernel_tcp_bytes) < 0 ? out_of_memory(err) : 0;
}

/* -- the whole -- */

static int look_at_policy(const struct skm_annotations *annotations, struct skm_bundle_edited *edited, struct skm_err *err)
{
	int found = skm_codec_annotations_policy(annotations, &edited->policy, err);

	edited->has_policy = found == 1;
	return found < 0 ? skm_err_wrap(err, SKM_BUNDLE_NAME) : 0;
}

static int change(struct skm_json_doc *doc, const char *hook, bool convert, const struct skm_annotations *annotations,
                  struct skm_bundle_edited *edited, struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT(SKM_BUNDLE_NAME);
	cleanup_json struct json_object *document = NULL;
	int r = skm_bundle_read(doc->text, doc->length, &document, err);

	if (r == 0)
		r = skm_bundle_kernel_tcp(&root, document, &edited->has_kernel_tcp, &edited->kernel_tcp_bytes, err);
	if (r == 0)
		r = add_hooks(doc, document, hook, edited, err);
	if (r == 0 && convert)
		r = convert_kernel_tcp(doc, annotations, edited, err);
	return r;
}

int skm_codec_bundle_edit(const char *text, size_t length, const char *hook, bool convert, struct skm_bundle_edited *ret,
                          struct skm_err *err)
{
	struct skm_bundle_edited edited = {.policy = SKM_POLICY_INIT};
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	struct skm_json_doc doc = {.text = strndup(text, length), .length = length};
	int r = doc.text ? skm_codec_bundle_parse(text, length, &bundle, err) : out_of_memory(err);

	if (r == 0)
		r = look_at_policy(&bundle.annotations, &edited, err);
	if (r == 0)
		r = change(&doc, hook, convert, &bundle.annotations, &edited, err);
	skm_codec_bundle_free(&bundle);
	edited.text = doc.text;
	edited.length = doc.length;
	if (r < 0)
		skm_codec_bundle_edited_free(&edited);
	else
		*ret = edited;
	return r;
}
