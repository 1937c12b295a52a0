/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/stage.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define WHAT_TO_DO "register it for createRuntime and poststop"

static bool is_one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(word, *words) == 0)
			return true;
	return false;
}

static int task_of_argument(const char *argument, const struct skm_state *state, enum skm_hook_task *ret, struct skm_err *err)
{
	static const char *const starts[] = {"createRuntime", "prestart", NULL};
	static const char *const others[] = {"createContainer", "startContainer", "poststart", NULL};

	if (is_one_of(argument, others))
		return skm_err_set(err, EINVAL, "the hook is of no use at stage %s: " WHAT_TO_DO, argument);
	if (strcmp(argument, "poststop") == 0) {
		*ret = SKM_HOOK_RELEASE;
		return 0;
	}
	if (!is_one_of(argument, starts))
		return skm_err_set(err, EINVAL, "unknown stage %.32s: " WHAT_TO_DO, argument);
	if (state->pid <= 1)
		return skm_err_set(err, EINVAL, "the state gives pid %d at %s, which is not a container's on the host",
		                   (int)state->pid, argument);
	*ret = SKM_HOOK_REGISTER;
	return 0;
}

int skm_hook_task_of(const char *argument, const struct skm_state *state, enum skm_hook_task *ret, struct skm_err *err)
{
	static const char *const being_made[] = {"creating", "created", NULL};
	bool starts = is_one_of(state->status, being_made);

	if (argument)
		return task_of_argument(argument, state, ret, err);
	if (strcmp(state->status, "stopped") == 0 || (state->pid == 0 && !*state->status)) {
		*ret = SKM_HOOK_RELEASE;
		return 0;
	}
	/* A hook of a container-side stage sees its pid from inside the pid namespace; crun calls that status "starting". */
	if (state->pid <= 1 || strcmp(state->status, "starting") == 0)
		return skm_err_set(err, EINVAL,
		                   "the state gives status %s with pid %d, as inside the container (createContainer, "
		                   "startContainer): " WHAT_TO_DO,
		                   state->status, (int)state->pid);
	if (!starts)
		return skm_err_set(err, EINVAL, "the state gives status %s, as after the start (poststart): " WHAT_TO_DO,
		                   state->status);
	*ret = SKM_HOOK_REGISTER;
	return 0;
}
