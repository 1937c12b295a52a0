/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/bundle.h"

#include "codec/bundle-rules.h"
#include "codec/json.h"
#include "codec/value.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/* What limit_in_bytes of cgroup v1 holds where there is none: PAGE_COUNTER_MAX pages, 2^63 less one page of whatever size
 * (include/linux/page_counter.h, 6.1; the largest page is 64 KiB). */
#define NO_LIMIT (INT64_MAX - 65536)

void skm_codec_bundle_free(struct skm_bundle *bundle)
{
	skm_codec_annotations_free(&bundle->annotations);
	free(bundle->program);
	free(bundle->path);
	free(bundle->cwd);
	*bundle = SKM_BUNDLE_INIT;
}

static struct json_object *member(struct json_object *object, const char *key, enum json_type type)
{
	struct json_object *value = NULL;

	if (!json_object_is_type(object, json_type_object) || !json_object_object_get_ex(object, key, &value))
		return NULL;
	return json_object_is_type(value, type) ? value : NULL;
}

/* *ret: the value at the end of the keys, NULL where one is absent or null. Returns 0, or -EINVAL where one is no object. */
int skm_bundle_find(const struct skm_place *root, struct json_object *document, const char *const *keys, struct json_object **ret,
                    struct skm_err *err)
{
	struct skm_place inside = SKM_PLACE_KEY(root, *keys);
	struct json_object *value;
	int r;

	*ret = NULL;
	if (!json_object_object_get_ex(document, *keys, &value) || !value)
		return 0;
	if (!keys[1]) {
		*ret = value;
		return 0;
	}
	r = skm_value_object(&inside, value, "as the OCI runtime specification has it", err);
	return r < 0 ? r : skm_bundle_find(&inside, value, keys + 1, ret, err);
}

int skm_bundle_kernel_tcp(const struct skm_place *root, struct json_object *document, bool *ret_set, uint64_t *ret_bytes,
                          struct skm_err *err)
{
	static const char *const KEYS[] = {"linux", "resources", "memory", "kernelTCP", NULL};
	const struct skm_place linux_ = SKM_PLACE_KEY(root, KEYS[0]), resources = SKM_PLACE_KEY(&linux_, KEYS[1]),
	                       memory = SKM_PLACE_KEY(&resources, KEYS[2]), place = SKM_PLACE_KEY(&memory, KEYS[3]);
	struct json_object *value;
	char echo[SKM_ECHO_MAX];
	int64_t bytes;
	int r = skm_bundle_find(root, document, KEYS, &value, err);

	if (r < 0)
		return r;
	*ret_set = value;
	*ret_bytes = 0;
	if (!value)
		return 0;
	if (!json_object_is_type(value, json_type_int))
		return skm_place_fail(&place, err, "%s, wanted bytes as an integer, or -1 for no limit", skm_value_kind(value));
	bytes = json_object_get_int64(value); /* saturates where it is over 2^63 */
	if (bytes < -1)
		return skm_place_fail(&place, err, "%s: wanted bytes, or -1 for no limit", skm_value_echo(value, echo));
	*ret_bytes = bytes <= 0 || bytes >= NO_LIMIT ? 0 : (uint64_t)bytes;
	return 0;
}

static int take_annotations(const struct skm_place *root, struct json_object *document, struct skm_annotations *ret,
                            struct skm_err *err)
{
	struct skm_place place = SKM_PLACE_KEY(root, "annotations");
	struct json_object *value;

	if (!json_object_object_get_ex(document, place.key, &value) || !value)
		return 0;
	return skm_annotations_read(&place, value, ret, err);
}

static char *copy_text(struct json_object *value)
{
	return value ? strdup(json_object_get_string(value)) : NULL;
}

/* The last one counts, as it does for the container's program. */
static char *find_path(struct json_object *env)
{
	const char *path = NULL;

	for (size_t i = 0; env && i < json_object_array_length(env); i++) {
		struct json_object *one = json_object_array_get_idx(env, i);

		if (json_object_is_type(one, json_type_string) && strncmp(json_object_get_string(one), "PATH=", 5) == 0)
			path = json_object_get_string(one) + 5;
	}
	return path ? strdup(path) : NULL;
}

/* podman's default command of an infra container, catatonit as a pause program (pkg/specgen/generate/pod_create.go). */
static bool is_pause(struct json_object *args)
{
	return args && json_object_array_length(args) == 2 &&
	       strcmp(json_object_get_string(json_object_array_get_idx(args, 0)), "/catatonit") == 0 &&
	       strcmp(json_object_get_string(json_object_array_get_idx(args, 1)), "-P") == 0;
}

static bool are_texts(struct json_object *array)
{
	for (size_t i = 0; array && i < json_object_array_length(array); i++)
		if (!json_object_is_type(json_object_array_get_idx(array, i), json_type_string))
			return false;
	return array && json_object_array_length(array) > 0;
}

static void take_program(struct json_object *document, struct skm_bundle *bundle)
{
	struct json_object *process = member(document, "process", json_type_object);
	struct json_object *args = member(process, "args", json_type_array);
	struct json_object *root = member(member(document, "root", json_type_object), "path", json_type_string);

	if (root && (size_t)json_object_get_string_len(root) < sizeof(bundle->root))
		strcpy(bundle->root, json_object_get_string(root));
	if (!are_texts(args))
		return;
	bundle->program = copy_text(json_object_array_get_idx(args, 0));
	bundle->path = find_path(member(process, "env", json_type_array));
	bundle->cwd = copy_text(member(process, "cwd", json_type_string));
	bundle->is_infra = bundle->annotations.is_podmans && is_pause(args);
}

int skm_bundle_read(const char *text, size_t length, struct json_object **ret, struct skm_err *err)
{
	/* What we read of it. Where such a key stands twice, runtimes differ in which one they take. */
	static const char *const unique_keys[] = {
	        "annotations", "io.sockmem.", "process",   "args",  "env",           "cwd",      "root",     "linux",
	        "resources",   "memory",      "kernelTCP", "hooks", "createRuntime", "prestart", "poststop", NULL,
	};
	const struct skm_json_rules rules = {
	        .name = SKM_BUNDLE_NAME,
	        .right = "wanted the bundle's configuration, an object",
	        .text_max = SKM_BUNDLE_TEXT_MAX,
	        .depth_max = 64,
	        .unique_keys = unique_keys,
	};
	const struct skm_place root = SKM_PLACE_ROOT(rules.name);
	struct json_object *document = NULL;
	int r = skm_json_read(text, length, &rules, &document, err);

	if (r == 0)
		r = skm_value_object(&root, document, rules.right, err);
	if (r < 0)
		json_object_put(document);
	else
		*ret = document;
	return r;
}

int skm_codec_bundle_parse(const char *text, size_t length, struct skm_bundle *ret, struct skm_err *err)
{
	const struct skm_place root = SKM_PLACE_ROOT(SKM_BUNDLE_NAME);
	cleanup_json struct json_object *document = NULL;
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	bool unused;
	int r = skm_bundle_read(text, length, &document, err);

	if (r == 0)
		r = take_annotations(&root, document, &bundle.annotations, err);
	if (r == 0)
		r = skm_bundle_kernel_tcp(&root, document, &unused, &bundle.kernel_tcp_bytes, err);
	if (r < 0) {
		skm_codec_bundle_free(&bundle);
		return r;
	}
	take_program(document, &bundle);
	*ret = bundle;
	return 0;
}

struct skm_policy skm_codec_kernel_tcp_policy(uint64_t bytes)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	policy.source = SKM_SOURCE_KERNEL_TCP;
	policy.set = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	policy.tcpmem_limit = (struct skm_size){.kind = SKM_SIZE_BYTES, .value = bytes};
	return policy;
}

int skm_codec_bundle_policy(const struct skm_bundle *bundle, struct skm_policy *ret, struct skm_err *err)
{
	int found;

	if (bundle->annotations.is_sandbox || bundle->is_infra)
		return 0;
	found = skm_codec_annotations_policy(&bundle->annotations, ret, err);
	if (found != 0 || bundle->kernel_tcp_bytes == 0)
		return found;
	*ret = skm_codec_kernel_tcp_policy(bundle->kernel_tcp_bytes);
	return 1;
}
