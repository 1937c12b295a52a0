/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem release ID, sockmem release --all */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/message.h"

#include <stdio.h>
#include <string.h>

/* A line a container on stdout; what could not be put back on stderr. */
static enum skm_exit print(const struct skm_tagged_event *events, size_t count)
{
	enum skm_exit status = SKM_EXIT_OK;

	if (count == 0)
		puts("No container is held: there is nothing to put back.");
	for (size_t i = 0; i < count; i++) {
		if (events[i].event.kind == SKM_EVENT_TROUBLE) {
			status = skm_cli_fail(SKM_EXIT_FAILURE, "%s: %s", events[i].id, events[i].event.text);
			continue;
		}
		skm_cli_put(events[i].id);
		fputs(": ", stdout);
		skm_cli_put(events[i].event.text);
		putchar('\n');
	}
	return status;
}

static enum skm_exit status_of(const struct skm_tagged_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i].event.kind == SKM_EVENT_TROUBLE)
			return SKM_EXIT_FAILURE;
	return SKM_EXIT_OK;
}

enum skm_exit skm_cli_release(const struct skm_cli *cli)
{
	cleanup_free struct skm_tagged_event *events = NULL;
	cleanup_free char *data = NULL;
	struct skm_err err = SKM_ERR_INIT;
	enum skm_cli_asked asked;
	enum skm_exit status;
	size_t count = 0;

	if (cli->all == !!cli->operand)
		return skm_cli_fail(SKM_EXIT_USAGE, "release takes an ID, or --all: see sockmem release --help");
	if (cli->operand && !*cli->operand) /* which would stand for all */
		return skm_cli_fail(SKM_EXIT_NO_CONTAINER, "no container has an empty id");
	asked = skm_cli_ask(SKM_VERB_GIVE_BACK, cli->operand, &data, &err);
	if (asked == SKM_ASKED_ABSENT)
		return skm_cli_fail(SKM_EXIT_NO_ENFORCER,
		                    "the enforcer is not running, so it holds no container; what one that was killed has left is "
		                    "put back, or taken over, when sockmemd starts");
	if (asked != SKM_ASKED_ANSWERED)
		return skm_cli_refused(asked, &err);
	if (!data || skm_codec_events_parse(data, strlen(data), &events, &count, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "the enforcer's answer: %s", data ? err.text : "nothing came");
	if (!cli->json)
		return print(events, count);
	status = skm_cli_print_json(skm_codec_events_format(events, count, true));
	return status == SKM_EXIT_OK ? status_of(events, count) : status;
}
