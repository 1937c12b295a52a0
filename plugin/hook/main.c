/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem-hook: an OCI runtime runs it when a container is made and when it has ended, with the container's state on stdin.
 * It finds the container's policy and hands both to the enforcer; the order of what follows is the order of what it does. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "codec/state.h"
#include "hook/complain.h"
#include "hook/enforcer.h"
#include "hook/input.h"
#include "hook/paths.h"
#include "hook/stage.h"
#include "probe/process.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* All that a hook may take, from its start: 2 s less what starting and ending a process takes on a slow host. */
#define BUDGET_USEC (1800 * 1000)

static const char help_text[] = "Usage: sockmem-hook [createRuntime|prestart|poststop] < STATE\n"
                                "An OCI hook: OCI runtimes run it, with the container's state (JSON) on stdin.\n"
                                "Without an argument the state says what to do. See sockmem-hook(8).\n";

/* The container's policy: from the annotations in the state, or where the state has none at all, in the bundle.
 * Returns 1 with *ret, 0 where the container asks for nothing, or a negative errno. */
static int find_policy(struct skm_state *state, struct skm_policy *ret, struct skm_err *err)
{
	if (!state->has_annotations) {
		int r = skm_hook_read_bundle(state, err);

		if (r < 0)
			return r;
	}
	return skm_codec_state_policy(state, ret, err);
}

/* Opens what stands for the container and hands it over with the policy. */
static int hand_over(const struct skm_state *state, const struct skm_policy *policy, uint64_t deadline_usec, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_process_fds fds;
	int r = skm_probe_process_open(state->pid, &fds, err);

	if (r < 0)
		return r;
	request.verb = SKM_VERB_REGISTER;
	strcpy(request.id, state->id); /* of the same size */
	request.pid = state->pid;
	request.policy = *policy;
	request.fds[SKM_FD_PID] = fds.pidfd;
	request.fds[SKM_FD_CGROUP] = fds.cgroup;
	request.fds[SKM_FD_NETNS] = fds.netns;
	return skm_hook_register(skm_hook_paths(), &request, deadline_usec, err); /* the descriptors end with the process */
}

static int when_made(struct skm_state *state, uint64_t deadline_usec, struct skm_err *err)
{
	struct skm_policy policy;
	int found = find_policy(state, &policy, err);

	if (found < 0)
		return found;
	if (found == 0) {
		skm_hook_debug(state->id, "no policy: nothing to do");
		return 0;
	}
	if (policy.tcpmem_limit.kind == SKM_SIZE_MAX) {
		skm_hook_debug(state->id, "the limit is \"max\": nothing to do");
		return 0;
	}
	return hand_over(state, &policy, deadline_usec, err);
}

/* Returns the exit status. */
static int run(const char *stage, uint64_t deadline_usec)
{
	struct skm_state state = SKM_STATE_INIT;
	struct skm_err err = SKM_ERR_INIT;
	enum skm_hook_task task = SKM_HOOK_REGISTER;
	bool ends = stage && strcmp(stage, "poststop") == 0;
	int r = skm_hook_read_state(STDIN_FILENO, deadline_usec, &state, &err);

	if (r == 0)
		r = skm_hook_task_of(stage, &state, &task, &err);
	if (r == 0 && task == SKM_HOOK_REGISTER)
		r = when_made(&state, deadline_usec, &err);
	else if (r == 0)
		r = skm_hook_release(skm_hook_paths(), state.id, deadline_usec, &err);
	if (r < 0)
		skm_hook_complain(skm_hook_paths(), state.id, err.text);
	skm_codec_state_free(&state);
	/* A container that has ended is no better off with a hook that fails: the enforcer watches its process anyway. */
	return r < 0 && !ends && task == SKM_HOOK_REGISTER ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	uint64_t deadline_usec = skm_now_usec() + BUDGET_USEC;
	const char *argument = argc > 1 ? argv[1] : NULL;

	skm_hook_open_standard();
	signal(SIGPIPE, SIG_IGN);
	if (argc > 2) {
		skm_hook_complain(skm_hook_paths(), "", "more than one argument: see sockmem-hook --help");
		return EXIT_FAILURE;
	}
	if (argument && strcmp(argument, "--help") == 0)
		return fputs(help_text, stdout) < 0;
	if (argument && strcmp(argument, "--version") == 0)
		return puts("sockmem-hook " SKM_VERSION) < 0;
	return run(argument, deadline_usec);
}
