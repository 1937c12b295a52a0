/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/enforcer.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "hook/spawn.h"
#include "ipc/ipc.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

/* How long between two attempts to connect: short against the start of a container (FACTS.md: 214 ms and more). */
#define RETRY_MSEC 5

/* How long after the enforcer that we started has ended another one may still appear: two hooks may have started one each, and
 * the one that came second leaves. */
#define GRACE_USEC (300 * 1000)

/* How one attempt went. The enforcer's own refusal may carry any errno, so an absent enforcer is no errno of its own. */
enum attempt { ANSWERED, ABSENT, TRY_AGAIN };

/* *ret: 0 or a negative errno. */
static enum attempt call_once(const struct skm_hook_paths *paths, const struct skm_request *request, uint64_t deadline_usec,
                              int *ret, struct skm_err *err)
{
	cleanup_fd int fd = skm_ipc_connect(paths->socket, err);
	cleanup_free char *data = NULL;

	*ret = fd;
	if (fd == -ENOENT || fd == -ECONNREFUSED)
		return ABSENT;
	if (fd == -EAGAIN) /* its queue is full */
		return TRY_AGAIN;
	if (fd < 0)
		return ANSWERED;
	*ret = skm_ipc_call(fd, request, deadline_usec, &data, err);
	/* It may have left for want of containers between our connect and our request. */
	return *ret == -ECONNRESET ? TRY_AGAIN : ANSWERED;
}

static bool has_ended(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};

	return poll(&ended, 1, 0) > 0;
}

static int give_up(const struct skm_hook_paths *paths, bool ended, struct skm_err *err)
{
	if (ended)
		return skm_err_set(err, ESRCH, "the enforcer %s was started but ended at once: its reason is in the system log",
		                   paths->daemon);
	return skm_err_wrap(err, "no answer from the enforcer in time");
}

int skm_hook_register(const struct skm_hook_paths *paths, const struct skm_request *request, uint64_t deadline_usec,
                      struct skm_err *err)
{
	cleanup_fd int pidfd = -1;
	uint64_t appear_usec = deadline_usec; /* until when somebody has to listen */
	bool started = false, ended = false;

	for (;;) {
		int r;
		enum attempt attempt = call_once(paths, request, deadline_usec, &r, err);

		if (attempt == ANSWERED && r == -ETIMEDOUT && started)
			return skm_err_wrap(err, "the enforcer had to be started first");
		if (attempt == ANSWERED)
			return r;
		/* an attempt that begins when the time is over would only replace the reason by its own */
		if (skm_now_usec() + RETRY_MSEC * SKM_USEC_PER_MSEC >= (attempt == ABSENT ? appear_usec : deadline_usec))
			return give_up(paths, ended && attempt == ABSENT, err);
		if (attempt == ABSENT && !started) {
			started = true;
			pidfd = skm_hook_spawn(paths->daemon, deadline_usec, err);
			if (pidfd == -EINVAL) /* that is the enforcer's alone to say */
				err->code = EIO;
			if (pidfd < 0 && pidfd != -ESRCH)
				return -err->code;
		}
		if (started && !ended && (pidfd < 0 || has_ended(pidfd))) {
			ended = true;
			if (appear_usec > skm_now_usec() + GRACE_USEC)
				appear_usec = skm_now_usec() + GRACE_USEC;
		}
		SKM_IGNORE(poll(NULL, 0, RETRY_MSEC)); /* a signal only shortens the pause */
	}
}

static bool journal_is_left(const char *path)
{
	cleanup_dir DIR *dir = opendir(path);

	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir))
		if (entry->d_name[0] != '.')
			return true;
	return false;
}

int skm_hook_release(const struct skm_hook_paths *paths, const char *id, uint64_t deadline_usec, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;
	cleanup_fd int pidfd = -1;
	enum attempt attempt;
	int r;

	request.verb = SKM_VERB_RELEASE;
	snprintf(request.id, sizeof(request.id), "%s", id);
	attempt = call_once(paths, &request, deadline_usec, &r, err);
	if (attempt != ABSENT) /* an enforcer that leaves has no container any more: nothing is left to release */
		return attempt == TRY_AGAIN || r == -ENOENT || r == -ESRCH ? 0 : r;
	if (!journal_is_left(paths->journal))
		return 0;
	pidfd = skm_hook_spawn(paths->daemon, deadline_usec, err);
	return pidfd < 0 ? pidfd : 0;
}
