/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/on_error.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "codec/node.h"

#include <fcntl.h>
#include <string.h>

/* ret: SKM_NODE_INIT where the file cannot be read, else for skm_codec_node_free. Returns whether it could. */
static bool read_node(const char *path, struct skm_node *ret)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	cleanup_free char *text = NULL;
	size_t length;

	*ret = SKM_NODE_INIT;
	return fd >= 0 && skm_read_to_end(fd, SKM_NODE_TEXT_MAX, &text, &length) == 0 &&
	       skm_codec_node_parse(text, length, path, ret, NULL) == 0;
}

/* What the policy itself says, which for a profile and the defaults stands in the node file. A profile that is not there is no
 * valid policy, nor is one that says what annotations may not say here: both fail. */
static enum skm_on_error own_word(const struct skm_policy *policy, const struct skm_node *node)
{
	if (policy->source == SKM_SOURCE_NODE_DEFAULTS)
		return node->has_defaults ? node->defaults.on_error : SKM_ON_ERROR_UNSET;
	if (policy->on_error != SKM_ON_ERROR_UNSET && !(node->allow & SKM_KEY_BIT(SKM_KEY_ON_ERROR)))
		return SKM_ON_ERROR_FAIL;
	if (policy->source != SKM_SOURCE_ANNOTATION_PROFILE)
		return policy->on_error;
	for (size_t i = 0; i < node->profile_count; i++)
		if (strcmp(node->profiles[i].name, policy->profile) == 0)
			return node->profiles[i].policy.on_error;
	return SKM_ON_ERROR_FAIL;
}

bool skm_hook_goes_on(const struct skm_policy *policy, const char *node_file)
{
	bool asked = policy->source != SKM_SOURCE_NODE_DEFAULTS;
	enum skm_on_error word;
	struct skm_node node;

	if (!read_node(node_file, &node) && policy->on_error == SKM_ON_ERROR_UNSET)
		return !asked;
	word = own_word(policy, &node);
	if (word == SKM_ON_ERROR_UNSET)
		word = node.on_error;
	skm_codec_node_free(&node);
	if (word == SKM_ON_ERROR_UNSET)
		return !asked;
	return word == SKM_ON_ERROR_WARN;
}
