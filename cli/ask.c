/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "ipc/ipc.h"
#include "paths.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

/* How long a person waits. The enforcer answers in milliseconds; a node that has no time for it has other troubles. */
#define PATIENCE_USEC (5 * 1000 * 1000)

enum skm_cli_asked skm_cli_ask_for(struct skm_request *request, const char *id, char **ret_data, struct skm_err *err)
{
	uint64_t deadline_usec = skm_now_usec() + PATIENCE_USEC;

	if (id && strlen(id) > SKM_ID_MAX) {
		skm_err_set(err, ENOENT, "no container: an id has at most %d bytes", SKM_ID_MAX);
		return SKM_ASKED_REFUSED;
	}
	if (id)
		strcpy(request->id, id);
	for (;;) {
		cleanup_fd int fd = skm_ipc_connect(skm_cli_paths()->socket, err);
		int r;

		if (fd == -ENOENT || fd == -ECONNREFUSED)
			return SKM_ASKED_ABSENT;
		r = fd < 0 ? fd : skm_ipc_call(fd, request, deadline_usec, ret_data, err);
		if (r == 0)
			return SKM_ASKED_ANSWERED;
		/* Its queue is full, or it left for want of containers between our connect and our request. */
		if ((fd >= 0 || r != -EAGAIN) && r != -ECONNRESET)
			return SKM_ASKED_REFUSED;
		if (skm_now_usec() >= deadline_usec)
			return SKM_ASKED_REFUSED;
		SKM_IGNORE(poll(NULL, 0, 20)); /* a pause of 20 ms, before the next attempt */
	}
}

enum skm_cli_asked skm_cli_ask(enum skm_verb verb, const char *id, char **ret_data, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;

	request.verb = verb;
	return skm_cli_ask_for(&request, id, ret_data, err);
}

bool skm_cli_is_unknown(const struct skm_err *err)
{
	return err->code == ENOENT || err->code == ESRCH || err->code == EEXIST;
}

enum skm_exit skm_cli_refused(enum skm_cli_asked asked, const struct skm_err *err)
{
	if (asked == SKM_ASKED_ABSENT)
		return skm_cli_fail(SKM_EXIT_NO_ENFORCER, SKM_CLI_ABSENT_TEXT);
	return skm_cli_fail(skm_cli_is_unknown(err) ? SKM_EXIT_NO_CONTAINER : SKM_EXIT_FAILURE, "%s", err->text);
}
