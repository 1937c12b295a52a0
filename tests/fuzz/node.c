/* SPDX-License-Identifier: Apache-2.0 */
/* The node file. */
#include "properties.h"

#include "codec/node.h"

static void check_ceiling(const struct skm_node *node, enum skm_policy_key key, const struct skm_size *ceiling)
{
	if (!(node->ceilings & SKM_KEY_BIT(key)))
		return;
	FUZZ_CHECK(ceiling->kind == SKM_SIZE_BYTES || ceiling->kind == SKM_SIZE_PERCENT);
	FUZZ_CHECK(ceiling->value > 0);
}

static void check_node(const struct skm_node *node)
{
	const char *reason = "";

	FUZZ_CHECK(node->allow < SKM_KEY_BIT(SKM_POLICY_KEYS) && (node->lower_only & ~node->allow) == 0);
	check_ceiling(node, SKM_KEY_TCPMEM_LIMIT, &node->tcpmem_ceiling);
	for (int file = 0; file < SKM_MEMORY_FILES; file++)
		check_ceiling(node, SKM_KEY_MEMORY_MIN + file, &node->memory_ceiling[file]);
	if (node->has_defaults) {
		fuzz_check_asked(&node->defaults);
		fuzz_check_sent(&node->defaults);
	}
	for (size_t i = 0; i < node->profile_count; i++) {
		const struct skm_node_profile *profile = &node->profiles[i];

		FUZZ_CHECK(skm_policy_is_profile_name(profile->name, strlen(profile->name), &reason));
		FUZZ_CHECK(strcmp(profile->name, profile->policy.profile) == 0);
		fuzz_check_asked(&profile->policy);
		fuzz_check_sent(&profile->policy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_node node;
	int r;

	memset(&node, FUZZ_FILL, sizeof(node));
	r = skm_codec_node_parse((const char *)data, size, "NODE", &node, &err);
	if (r < 0) {
		fuzz_check_refusal(r, &err);
		fuzz_check_untouched(&node, sizeof(node));
		return 0;
	}
	check_node(&node);
	skm_codec_node_free(&node);
	return 0;
}
