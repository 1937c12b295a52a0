/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem-hook: an OCI runtime runs it when a container is made and when it has ended, with the container's state on stdin.
 * It finds the container's policy and hands both to the enforcer; the order of what follows is the order of what it does. */
#include "base/clock.h"
#include "codec/bundle.h"
#include "codec/state.h"
#include "hook/ask.h"
#include "hook/complain.h"
#include "hook/enforcer.h"
#include "hook/input.h"
#include "hook/on_error.h"
#include "hook/paths.h"
#include "hook/rootless.h"
#include "hook/stage.h"
#include "probe/process.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All that a hook may take, from its start: 2 s less what starting and ending a process takes on a slow host. */
#define BUDGET_USEC (1800 * 1000)

static const char help_text[] = "Usage: sockmem-hook [--node-defaults] [createRuntime|prestart|poststop] < STATE\n"
                                "An OCI hook: OCI runtimes run it, with the container's state (JSON) on stdin.\n"
                                "Without a stage the state says what to do. See sockmem-hook(8).\n"
                                "\n"
                                "  --node-defaults  a container that asks for nothing gets the node's defaults\n";

struct options {
	bool node_defaults;
	const char *stage; /* NULL: the state says it */
};

/* What came of one run. */
enum outcome {
	DONE,
	NOT_ENFORCED, /* said, and the container is made all the same */
	FAILED,
};

/* Opens what stands for the container and hands it over with the policy. */
static int hand_over(const struct skm_state *state, const struct skm_hook_asked *asked, uint64_t program_bytes,
                     uint64_t deadline_usec, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_process_fds fds;
	int r = skm_hook_check_root(geteuid(), "/proc/self/uid_map", err);

	if (r == 0)
		r = skm_probe_process_open(state->pid, &fds, err);
	if (r < 0)
		return r;
	request.verb = SKM_VERB_REGISTER;
	strcpy(request.id, state->id); /* of the same size */
	request.pid = state->pid;
	request.policy = asked->policy;
	request.program_bytes = program_bytes;
	request.kernel_tcp_bytes = asked->kernel_tcp_bytes;
	request.fds[SKM_FD_PID] = fds.pidfd;
	request.fds[SKM_FD_CGROUP] = fds.cgroup;
	request.fds[SKM_FD_NETNS] = fds.netns;
	return skm_hook_register(skm_hook_paths(), &request, deadline_usec, err); /* the descriptors end with the process */
}

/* What follows from how handing over the policy went, r. */
static enum outcome outcome_of(int r, const char *id, const struct skm_policy *policy)
{
	if (r == 0)
		return DONE;
	if (r == -ENODATA && policy->source == SKM_SOURCE_NODE_DEFAULTS) {
		skm_hook_debug(id, "no policy, and the node has no defaults");
		return DONE;
	}
	/* The enforcer's word: the policy itself is at fault. The node's defaults are not the container's fault. */
	if (r == -EINVAL && policy->source != SKM_SOURCE_NODE_DEFAULTS)
		return FAILED;
	return skm_hook_goes_on(policy, skm_hook_paths()->node_file) ? NOT_ENFORCED : FAILED;
}

static enum outcome when_made(const struct options *options, struct skm_state *state, uint64_t deadline_usec, struct skm_err *err)
{
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	struct skm_hook_asked asked;
	struct skm_err aside = SKM_ERR_INIT;
	enum outcome outcome = DONE;
	int found = skm_hook_ask(state, options->node_defaults, skm_hook_paths()->node_file, &bundle, &asked, &aside, err);

	if (found < 0) {
		outcome = asked.by_nobody ? NOT_ENFORCED : FAILED;
	} else if (found == 0) {
		skm_hook_debug(state->id, asked.why_nothing);
	} else {
		if (aside.code)
			skm_hook_debug(state->id, aside.text);
		found = hand_over(state, &asked, skm_hook_program_bytes(&bundle, state->bundle), deadline_usec, err);
		outcome = outcome_of(found, state->id, &asked.policy);
	}
	skm_codec_bundle_free(&bundle);
	return outcome;
}

static enum outcome when_ended(const struct skm_state *state, uint64_t deadline_usec, struct skm_err *err)
{
	return skm_hook_release(skm_hook_paths(), state->id, deadline_usec, err) < 0 ? FAILED : DONE;
}

/* Returns the exit status. */
static int run(const struct options *options, uint64_t deadline_usec)
{
	struct skm_state state = SKM_STATE_INIT;
	struct skm_err err = SKM_ERR_INIT;
	enum skm_hook_task task = SKM_HOOK_REGISTER;
	bool ends = options->stage && strcmp(options->stage, "poststop") == 0;
	enum outcome outcome = FAILED;
	int r = skm_hook_read_state(STDIN_FILENO, deadline_usec, &state, &err);

	if (r == 0)
		r = skm_hook_task_of(options->stage, &state, &task, &err);
	if (r == 0)
		outcome = task == SKM_HOOK_REGISTER ? when_made(options, &state, deadline_usec, &err)
		                                    : when_ended(&state, deadline_usec, &err);
	if (outcome == FAILED)
		skm_hook_complain(skm_hook_paths(), state.id, err.text);
	else if (outcome == NOT_ENFORCED)
		skm_hook_warn(skm_hook_paths(), state.id, err.text);
	skm_codec_state_free(&state);
	/* A container that has ended is no better off with a hook that fails: the enforcer watches its process anyway. */
	return outcome == FAILED && !ends && task == SKM_HOOK_REGISTER ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Returns 0, or the exit status with everything said: negative for success. */
static int take_words(int argc, char **argv, struct options *ret)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			return fputs(help_text, stdout) < 0 ? EXIT_FAILURE : -1;
		if (strcmp(argv[i], "--version") == 0)
			return puts("sockmem-hook " SKM_VERSION) < 0 ? EXIT_FAILURE : -1;
		if (strcmp(argv[i], "--node-defaults") == 0) {
			ret->node_defaults = true;
		} else if (ret->stage) {
			skm_hook_complain(skm_hook_paths(), "", "more than one argument: see sockmem-hook --help");
			return EXIT_FAILURE;
		} else {
			ret->stage = argv[i];
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t deadline_usec = skm_now_usec() + BUDGET_USEC;
	struct options options = {0};
	int r;

	skm_hook_open_standard();
	signal(SIGPIPE, SIG_IGN);
	r = take_words(argc, argv, &options);
	if (r != 0)
		return r < 0 ? EXIT_SUCCESS : r;
	return run(&options, deadline_usec);
}
