/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/annotations.h"

#include "codec/json.h"
#include "codec/policy.h"
#include "codec/value.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OURS "io.sockmem."

/* containerd gives its containers these two (pkg/cri/annotations/annotations.go, DefaultCRIAnnotations: a sandbox gets no name).
 */
#define CONTAINERD_TYPE "io.kubernetes.cri.container-type"
#define CONTAINERD_NAME "io.kubernetes.cri.container-name"

/* CRI-O gives its own annotations, the labels that came with the container (the kubelet's among them), and the CRI's metadata as
 * JSON, {"name":"web"} (internal/factory/container/container.go, SpecAddAnnotations). */
#define CRIO_TYPE "io.kubernetes.cri-o.ContainerType"
#define CRIO_METADATA "io.kubernetes.cri-o.Metadata"
#define KUBELET_NAME "io.kubernetes.container.name"

/* "cri-o" or "libpod". podman up to 1.x calls every container outside a pod a sandbox in CRI-O's annotation. */
#define MANAGER "io.container.manager"

static const char *const known_annotations[] = {SKM_ANNOTATION_POLICY, SKM_ANNOTATION_PROFILE, SKM_ANNOTATION_TCPMEM,
                                                SKM_ANNOTATION_CONTAINER "NAME", NULL};

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* The name in io.sockmem.policy.container.NAME; NULL for another annotation. */
static const char *named_container(const char *key)
{
	return begins_with(key, SKM_ANNOTATION_CONTAINER) ? key + strlen(SKM_ANNOTATION_CONTAINER) : NULL;
}

static int check_key(const struct skm_place *place, struct skm_err *err)
{
	const char *name = named_container(place->key);
	char hint[SKM_WORDS_TEXT_MAX];

	if (name && !*name)
		return skm_place_fail(place, err, "names no container; write " SKM_ANNOTATION_CONTAINER "NAME");
	if (name || strcmp(place->key, SKM_ANNOTATION_POLICY) == 0 || strcmp(place->key, SKM_ANNOTATION_PROFILE) == 0 ||
	    strcmp(place->key, SKM_ANNOTATION_TCPMEM) == 0)
		return 0;
	return skm_place_fail(place, err, "unknown annotation; %s", skm_words_hint(known_annotations, place->key, hint));
}

void skm_codec_annotations_free(struct skm_annotations *annotations)
{
	for (size_t i = 0; i < annotations->count; i++) {
		free(annotations->asked[i].key);
		free(annotations->asked[i].text);
	}
	free(annotations->asked);
	free(annotations->container_name);
	*annotations = SKM_ANNOTATIONS_INIT;
}

/* There is room for it in annotations->asked. */
static int take_ours(const struct skm_place *place, struct json_object *value, struct skm_annotations *annotations,
                     struct skm_err *err)
{
	struct skm_annotation *one = &annotations->asked[annotations->count];
	int r = check_key(place, err);

	if (r < 0)
		return r;
	if (!json_object_is_type(value, json_type_string))
		return skm_place_fail(place, err, "%s, wanted a string: the value of an annotation is text, JSON in it too",
		                      skm_value_kind(value));
	one->key = strdup(place->key);
	one->text = strdup(json_object_get_string(value));
	annotations->count++; /* also with one half: both are freed */
	return one->key && one->text ? 0 : skm_err_set(err, ENOMEM, "%s: out of memory", skm_place_document(place));
}

static int take_all_of_ours(const struct skm_place *place, struct json_object *object, struct skm_annotations *annotations,
                            struct skm_err *err)
{
	size_t ours = 0;

	json_object_object_foreach(object, counted, unused)
	{
		(void)unused;
		ours += begins_with(counted, OURS);
	}
	annotations->asked = calloc(ours + 1, sizeof(*annotations->asked));
	if (!annotations->asked)
		return skm_err_set(err, ENOMEM, "%s: out of memory", skm_place_document(place));
	json_object_object_foreach(object, key, value)
	{
		struct skm_place inside = SKM_PLACE_KEY(place, key);
		int r = begins_with(key, OURS) ? take_ours(&inside, value, annotations, err) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* The text of an annotation that others write; "" where there is none. What is not as we know it is not ours to judge. */
static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

/* The member "name" of CRI-O's metadata; NULL where there is none. The caller frees it. */
static char *name_in_metadata(const char *text)
{
	const struct skm_json_rules rules = {.name = CRIO_METADATA, .right = "", .text_max = SKM_POLICY_TEXT_MAX, .depth_max = 8};
	cleanup_json struct json_object *metadata = NULL;
	const char *name;

	if (!*text || skm_json_read(text, strlen(text), &rules, &metadata, NULL) < 0 ||
	    !json_object_is_type(metadata, json_type_object))
		return NULL;
	name = text_of(metadata, "name");
	return *name ? strdup(name) : NULL;
}

static char *find_name(struct json_object *object)
{
	const char *name = text_of(object, CONTAINERD_NAME);

	if (!*name)
		name = text_of(object, KUBELET_NAME);
	return *name ? strdup(name) : name_in_metadata(text_of(object, CRIO_METADATA));
}

int skm_annotations_read(const struct skm_place *place, struct json_object *value, struct skm_annotations *ret,
                         struct skm_err *err)
{
	struct skm_annotations annotations = {.present = true};
	int r = skm_value_object(place, value, "it maps names to strings", err);

	if (r == 0)
		r = take_all_of_ours(place, value, &annotations, err);
	if (r < 0) {
		skm_codec_annotations_free(&annotations);
		return r;
	}
	annotations.container_name = find_name(value);
	annotations.is_podmans = strcmp(text_of(value, MANAGER), "libpod") == 0;
	annotations.is_sandbox = strcmp(text_of(value, CONTAINERD_TYPE), "sandbox") == 0 ||
	                         (strcmp(text_of(value, CRIO_TYPE), "sandbox") == 0 && !annotations.is_podmans);
	*ret = annotations;
	return 0;
}

static const struct skm_annotation *find(const struct skm_annotations *annotations, const char *key)
{
	for (size_t i = 0; i < annotations->count; i++)
		if (strcmp(annotations->asked[i].key, key) == 0)
			return &annotations->asked[i];
	return NULL;
}

int skm_codec_annotations_fill(struct skm_annotations *into, struct skm_annotations *from)
{
	struct skm_annotation *asked = reallocarray(into->asked, into->count + from->count + 1, sizeof(*asked));

	if (!asked)
		return -ENOMEM;
	into->asked = asked;
	for (size_t i = 0; i < from->count; i++) {
		if (find(into, from->asked[i].key))
			continue;
		asked[into->count++] = from->asked[i];
		from->asked[i] = (struct skm_annotation){0};
	}
	for (size_t i = 0; i < from->count;)
		if (from->asked[i].key)
			i++;
		else
			from->asked[i] = from->asked[--from->count];
	if (!into->container_name) {
		into->container_name = from->container_name;
		from->container_name = NULL;
	}
	into->present = into->present || from->present;
	into->is_sandbox = into->is_sandbox || from->is_sandbox;
	into->is_podmans = into->is_podmans || from->is_podmans;
	return 0;
}

static int parse_profile(const char *text, const char *name, struct skm_policy *policy, struct skm_err *err)
{
	const char *reason;
	char echo[SKM_ECHO_MAX];

	if (!skm_policy_is_profile_name(text, strlen(text), &reason))
		return skm_err_set(err, EINVAL, "%s: %s: %s", name, skm_text_echo(text, strlen(text), echo), reason);
	strcpy(policy->profile, text); /* of SKM_PROFILE_MAX bytes at most */
	return 0;
}

/* Parses the annotation's text into ret. Returns 1 or a negative errno. */
static int parse(const struct skm_annotation *one, enum skm_policy_source source, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT;
	char name[SKM_PLACE_TEXT_MAX];
	size_t length = strlen(one->text);
	int r;

	snprintf(name, sizeof(name), "annotation %s", one->key);
	policy.source = source;
	if (source == SKM_SOURCE_ANNOTATION_PROFILE)
		r = parse_profile(one->text, name, &policy, err);
	else if (source == SKM_SOURCE_ANNOTATION_TCPMEM)
		r = skm_codec_tcpmem_parse(one->text, length, name, &policy, err);
	else
		r = skm_codec_policy_parse(one->text, length, name, &policy, err);
	if (r < 0)
		return r;
	*ret = policy;
	return 1;
}

/* *ret: what is said of this very container of a pod, NULL where nothing is. Returns 0 or -EINVAL. */
static int find_for_container(const struct skm_annotations *annotations, const struct skm_annotation **ret, struct skm_err *err)
{
	*ret = NULL;
	for (size_t i = 0; i < annotations->count && !*ret; i++) {
		const char *name = named_container(annotations->asked[i].key);

		if (name && !annotations->container_name)
			return skm_err_set(
			        err, EINVAL,
			        "annotation %s: containerd and CRI-O say in annotations how they call a container, and "
			        "here none does; write " SKM_ANNOTATION_POLICY " instead",
			        annotations->asked[i].key);
		if (name && strcmp(name, annotations->container_name) == 0)
			*ret = &annotations->asked[i];
	}
	return 0;
}

int skm_codec_annotations_policy(const struct skm_annotations *annotations, struct skm_policy *ret, struct skm_err *err)
{
	static const struct {
		const char *key;
		enum skm_policy_source source;
	} ORDER[] = {{SKM_ANNOTATION_POLICY, SKM_SOURCE_ANNOTATION_POLICY},
	             {SKM_ANNOTATION_PROFILE, SKM_SOURCE_ANNOTATION_PROFILE},
	             {SKM_ANNOTATION_TCPMEM, SKM_SOURCE_ANNOTATION_TCPMEM}};
	const struct skm_annotation *one;
	int r = find_for_container(annotations, &one, err);

	if (r < 0)
		return r;
	if (one)
		return parse(one, SKM_SOURCE_ANNOTATION_CONTAINER, ret, err);
	for (size_t i = 0; i < sizeof(ORDER) / sizeof(*ORDER); i++) {
		one = find(annotations, ORDER[i].key);
		if (one)
			return parse(one, ORDER[i].source, ret, err);
	}
	return 0;
}
