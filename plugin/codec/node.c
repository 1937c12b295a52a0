/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/node.h"

#include "codec/json.h"
#include "codec/policy-kind.h"
#include "codec/policy-table.h"
#include "codec/policy-value.h"

#include <arpa/inet.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define RIGHT "write {\"defaults\": {\"tcpmem\": \"64Mi\"}}, or {}"
#define ADDRESS_RIGHT "write \"127.0.0.1:9477\", \"[::1]:9477\", or \":9477\" for every address of the host"

static int read_defaults(const struct skm_place *place, struct json_object *value, struct skm_node *node, struct skm_err *err)
{
	node->defaults = SKM_POLICY_INIT;
	node->defaults.source = SKM_SOURCE_NODE_DEFAULTS;
	node->has_defaults = true;
	return skm_policy_read_asked(place, value, &node->defaults, err);
}

static int read_profile(const struct skm_place *place, struct json_object *value, struct skm_node_profile *ret,
                        struct skm_err *err)
{
	size_t length = strlen(place->key);
	const char *reason = "";

	if (!skm_policy_is_profile_name(place->key, length, &reason))
		return skm_place_fail(place, err, "%s", reason);
	memcpy(ret->name, place->key, length + 1);
	memcpy(ret->policy.profile, place->key, length + 1);
	ret->policy.source = SKM_SOURCE_ANNOTATION_PROFILE;
	return skm_policy_read_asked(place, value, &ret->policy, err);
}

static int read_profiles(const struct skm_place *place, struct json_object *object, struct skm_node *node, struct skm_err *err)
{
	int r = skm_value_object(place, object, "it maps names to policies: {\"small\": {\"tcpmem\": \"16Mi\"}}", err);

	if (r < 0)
		return r;
	/* bounded by the length of the text; one more, so that none is no failure */
	node->profiles = calloc((size_t)json_object_object_length(object) + 1, sizeof(*node->profiles));
	if (!node->profiles)
		return skm_err_set(err, ENOMEM, "%s: out of memory", skm_place_document(place));
	json_object_object_foreach(object, name, value)
	{
		struct skm_place inside = SKM_PLACE_KEY(place, name);

		r = read_profile(&inside, value, &node->profiles[node->profile_count], err);
		if (r < 0)
			return r;
		node->profile_count++;
	}
	return 0;
}

static int read_ceiling(const struct skm_place *place, struct json_object *value, enum skm_policy_key key, struct skm_size *ret,
                        struct skm_node *node, struct skm_err *err)
{
	struct skm_size size;
	int r = skm_kind_read(SKM_KIND_PROTECTION, NULL, place, value, &size, err);

	if (r < 0)
		return r;
	if (size.kind == SKM_SIZE_MAX)
		return skm_place_fail(place, err, "\"max\" is no ceiling; leave the key out");
	if (size.kind == SKM_SIZE_PROGRAM)
		return skm_place_fail(place, err, "the size of a program is no ceiling; write bytes or \"12%%\"");
	if (size.value == 0)
		return skm_place_fail(place, err, "a ceiling of 0 leaves nothing to ask for; write an allow list without %s",
		                      skm_name_of(&skm_policy_key_names, key));
	*ret = size;
	node->ceilings |= SKM_KEY_BIT(key);
	return 0;
}

static int read_memory_ceilings(const struct skm_place *place, struct json_object *object, struct skm_node *node,
                                struct skm_err *err)
{
	static const char *const known[] = {"min", "low", "high", "max", NULL};
	int r = skm_value_object(place, object, "write {\"low\": \"1Gi\"}", err);

	if (r == 0)
		r = skm_value_check_keys(place, object, known, err);
	for (int file = 0; r == 0 && file < SKM_MEMORY_FILES; file++) {
		struct skm_place inside = SKM_PLACE_KEY(place, known[file]);
		struct json_object *value;

		if (json_object_object_get_ex(object, inside.key, &value))
			r = read_ceiling(&inside, value, SKM_KEY_MEMORY_MIN + file, &node->memory_ceiling[file], node, err);
	}
	return r;
}

static int read_ceilings(const struct skm_place *place, struct json_object *object, struct skm_node *node, struct skm_err *err)
{
	static const char *const known[] = {"tcpmem", "memory", NULL};
	struct skm_place tcpmem = SKM_PLACE_KEY(place, "tcpmem"), memory = SKM_PLACE_KEY(place, "memory");
	struct json_object *value;
	int r = skm_value_object(place, object, "write {\"tcpmem\": \"256Mi\"}", err);

	if (r == 0)
		r = skm_value_check_keys(place, object, known, err);
	if (r == 0 && json_object_object_get_ex(object, tcpmem.key, &value))
		r = read_ceiling(&tcpmem, value, SKM_KEY_TCPMEM_LIMIT, &node->tcpmem_ceiling, node, err);
	if (r == 0 && json_object_object_get_ex(object, memory.key, &value))
		r = read_memory_ceilings(&memory, value, node, err);
	return r;
}

/* The values that a word of the allow list stands for; 0: it is no such word. */
static uint32_t values_of(const char *word)
{
	int key = skm_name_find(&skm_policy_key_names, word);

	if (key >= 0)
		return SKM_KEY_BIT(key);
	for (size_t i = 0; i < SKM_POLICY_GROUPS; i++)
		if (strcmp(skm_policy_groups[i].name, word) == 0)
			/* who wants sockets destroyed has to write it */
			return skm_policy_group_bits(&skm_policy_groups[i]) & ~SKM_KEY_BIT(SKM_KEY_THROTTLE_DESTROY);
	return 0;
}

static int refuse_allowed(const struct skm_place *place, const char *word, struct skm_err *err)
{
	const char *words[SKM_POLICY_KEYS + SKM_POLICY_GROUPS + 1] = {NULL}, *nearest;
	char echo[SKM_ECHO_MAX];
	size_t count = 0;

	for (size_t i = 0; i < SKM_POLICY_GROUPS; i++)
		words[count++] = skm_policy_groups[i].name;
	for (size_t i = 0; i < skm_policy_key_names.count; i++)
		words[count++] = skm_policy_key_names.names[i];
	nearest = skm_words_nearest(words, word);
	return skm_place_fail(place, err,
	                      "%s: no value of a policy; write tcpmem, memory, throttle, pressure, onError, or one such as "
	                      "memory.high%s%s%s",
	                      skm_text_echo(word, strlen(word), echo), nearest ? "; did you mean " : "", nearest ? nearest : "",
	                      nearest ? "?" : "");
}

static int read_allow(const struct skm_place *place, struct json_object *array, struct skm_node *node, struct skm_err *err)
{
	if (!json_object_is_type(array, json_type_array))
		return skm_place_fail(place, err, "%s, wanted a list; write [\"tcpmem\"], or [] for nothing",
		                      skm_value_kind(array));
	node->allow = 0;
	node->lower_only = 0;
	for (size_t i = 0; i < json_object_array_length(array); i++) {
		struct skm_place inside = SKM_PLACE_INDEX(place, i);
		struct json_object *value = json_object_array_get_idx(array, i);
		const char *word = json_object_get_string(value);

		if (!json_object_is_type(value, json_type_string))
			return skm_place_fail(&inside, err, "%s, wanted a string such as \"tcpmem\"", skm_value_kind(value));
		if (values_of(word) == 0)
			return refuse_allowed(&inside, word, err);
		for (size_t j = 0; j < i; j++)
			if (strcmp(json_object_get_string(json_object_array_get_idx(array, j)), word) == 0)
				return skm_place_fail(&inside, err, "\"%s\" stands twice; keep one of the two", word);
		node->allow |= values_of(word);
	}
	return 0;
}

/* Whether host[0..length) is an address: nothing, for all of them; of IPv4; or of IPv6 in brackets, without an IPv4 tail. No
 * names: the enforcer asks no resolver. */
static bool is_host(const char *host, size_t length)
{
	bool bracketed = length > 2 && host[0] == '[' && host[length - 1] == ']';
	char text[INET6_ADDRSTRLEN] = "";
	struct in6_addr address;

	if (length == 0)
		return true;
	if (length >= sizeof(text))
		return false;
	memcpy(text, bracketed ? host + 1 : host, bracketed ? length - 2 : length);
	if (bracketed)
		return !strchr(text, '.') && inet_pton(AF_INET6, text, &address) == 1;
	return inet_pton(AF_INET, text, &address) == 1;
}

/* 1 to 65535, in its one form. */
static bool is_port(const char *text)
{
	size_t length = strspn(text, "0123456789");

	return length > 0 && length <= 5 && text[length] == '\0' && *text != '0' && atoi(text) <= UINT16_MAX;
}

static int read_metrics(const struct skm_place *place, struct json_object *value, struct skm_node *node, struct skm_err *err)
{
	char echo[SKM_ECHO_MAX], address[sizeof(node->metrics)] = "";
	const char *colon;
	int r = skm_value_text(place, value, address, sizeof(address), err);

	if (r < 0)
		return r;
	colon = strrchr(address, ':');
	if (!colon || !is_port(colon + 1))
		return skm_place_fail(place, err, "%s: no port from 1 to 65535 at its end; " ADDRESS_RIGHT,
		                      skm_value_echo(value, echo));
	if (!is_host(address, (size_t)(colon - address)))
		return skm_place_fail(place, err, "%s: no address of IPv4, nor one of IPv6 in brackets; " ADDRESS_RIGHT,
		                      skm_value_echo(value, echo));
	memcpy(node->metrics, address, sizeof(address));
	return 0;
}

static int read_destroy(const struct skm_place *place, struct json_object *value, struct skm_node *node, struct skm_err *err)
{
	return skm_kind_read(SKM_KIND_BOOL, NULL, place, value, &node->destroy, err);
}

static int read_on_error(const struct skm_place *place, struct json_object *value, struct skm_node *node, struct skm_err *err)
{
	return skm_kind_read(SKM_KIND_WORD_OR_NOT, &skm_on_error_names, place, value, &node->on_error, err);
}

static const struct part {
	const char *name;
	int (*read)(const struct skm_place *place, struct json_object *value, struct skm_node *node, struct skm_err *err);
} PARTS[] = {
        {"defaults", read_defaults}, {"profiles", read_profiles}, {"ceilings", read_ceilings}, {"allow", read_allow},
        {"destroy", read_destroy},   {"metrics", read_metrics},   {"onError", read_on_error},
};
#define PART_COUNT (sizeof(PARTS) / sizeof(*PARTS))

static int read_node(const struct skm_place *root, struct json_object *document, struct skm_node *node, struct skm_err *err)
{
	const char *known[PART_COUNT + 1] = {NULL};
	int r = skm_value_object(root, document, RIGHT, err);

	for (size_t i = 0; i < PART_COUNT; i++)
		known[i] = PARTS[i].name;
	if (r == 0)
		r = skm_value_check_keys(root, document, known, err);
	for (size_t i = 0; r == 0 && i < PART_COUNT; i++) {
		struct skm_place inside = SKM_PLACE_KEY(root, PARTS[i].name);
		struct json_object *value;

		if (json_object_object_get_ex(document, inside.key, &value))
			r = PARTS[i].read(&inside, value, node, err);
	}
	return r;
}

int skm_codec_node_parse(const char *text, size_t length, const char *name, struct skm_node *ret, struct skm_err *err)
{
	const struct skm_json_rules rules = {
	        .name = name,
	        .right = RIGHT,
	        .text_max = SKM_NODE_TEXT_MAX,
	        .depth_max = SKM_POLICY_DEPTH_MAX,
	};
	const struct skm_place root = SKM_PLACE_ROOT(name);
	cleanup_json struct json_object *document = NULL;
	struct skm_node node = SKM_NODE_INIT;
	int r = skm_json_read(text, length, &rules, &document, err);

	if (r == 0)
		r = read_node(&root, document, &node, err);
	if (r < 0)
		skm_codec_node_free(&node);
	else
		*ret = node;
	return r;
}

void skm_codec_node_free(struct skm_node *node)
{
	free(node->profiles);
	node->profiles = NULL;
	node->profile_count = 0;
}
