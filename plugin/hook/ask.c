/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/ask.h"

#include "hook/input.h"
#include "probe/program.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static int nothing(struct skm_hook_asked *ret, const char *why)
{
	ret->why_nothing = why;
	return 0;
}

/* A limit that was lifted, and nothing else wanted. A profile's is not known here. */
static bool wants_nothing(const struct skm_policy *policy)
{
	return policy->source != SKM_SOURCE_ANNOTATION_PROFILE && policy->tcpmem_limit.kind == SKM_SIZE_MAX &&
	       !skm_policy_has_memory(policy);
}

/* What neither annotations nor a readable config.json tell. */
static int ask_node(bool node_defaults, const char *node_file, struct skm_hook_asked *ret)
{
	if (!node_defaults)
		return nothing(ret, "no policy");
	if (access(node_file, F_OK) < 0) /* then it has no defaults, and nobody needs to be asked for them */
		return nothing(ret, "no policy, and no file of the node with defaults");
	ret->policy = SKM_POLICY_INIT;
	ret->policy.source = SKM_SOURCE_NODE_DEFAULTS;
	return 1;
}

/* config.json could not be read, for bundle_err, and no annotation of the state is a policy. */
static int without_bundle(const struct skm_state *state, bool node_defaults, const struct skm_err *bundle_err,
                          struct skm_hook_asked *ret, struct skm_err *err)
{
	if (bundle_err->code == ENOENT && state->annotations.present && !node_defaults)
		return nothing(ret, "no policy in the state's annotations, and no config.json");
	ret->by_nobody = node_defaults && state->annotations.count == 0;
	*err = *bundle_err;
	return -err->code;
}

int skm_hook_ask(struct skm_state *state, bool node_defaults, const char *node_file, struct skm_bundle *bundle,
                 struct skm_hook_asked *ret, struct skm_err *ret_aside, struct skm_err *err)
{
	int unreadable = skm_hook_read_bundle(state->bundle, bundle, ret_aside), found;

	*ret = (struct skm_hook_asked){.policy = SKM_POLICY_INIT};
	if (unreadable == 0 && skm_codec_annotations_fill(&state->annotations, &bundle->annotations) < 0)
		return skm_err_set(err, ENOMEM, "out of memory");
	if (state->annotations.is_sandbox || bundle->is_infra)
		return nothing(ret, "a pod's own container, which runs none of its programs");
	found = skm_codec_annotations_policy(&state->annotations, &ret->policy, err);
	if (found < 0)
		return found;
	if (found == 0 && unreadable < 0)
		return without_bundle(state, node_defaults, ret_aside, ret, err);
	if (found == 0 && bundle->kernel_tcp_bytes == 0)
		return ask_node(node_defaults, node_file, ret);
	if (found == 0)
		ret->policy = skm_codec_kernel_tcp_policy(bundle->kernel_tcp_bytes);
	else
		ret->kernel_tcp_bytes = bundle->kernel_tcp_bytes;
	if (wants_nothing(&ret->policy) && access(node_file, F_OK) < 0) /* else the node's ceilings may cut it */
		return nothing(ret, "the limit is \"max\"");
	return 1;
}

uint64_t skm_hook_program_bytes(const struct skm_bundle *bundle, const char *bundle_path)
{
	char root[2 * PATH_MAX];
	const struct skm_program program = {
	        .root = root,
	        .file = bundle->program,
	        .path = bundle->path,
	        .cwd = bundle->cwd,
	};

	if (!bundle->program || !*bundle->root)
		return 0;
	if (*bundle->root == '/')
		snprintf(root, sizeof(root), "%s", bundle->root);
	else
		snprintf(root, sizeof(root), "%s/%s", bundle_path, bundle->root);
	return skm_probe_program_bytes(&program);
}
