/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem reclaim ID SIZE */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "format.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often it asks how far it has come. */
#define LOOK_MSEC 100

static enum skm_exit take_size(const char *text, uint64_t *ret)
{
	const char *reason = "not a size";
	struct skm_size size;

	if (skm_size_parse(text, strlen(text), &size, &reason) < 0)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s: %s", text, reason);
	if (size.kind != SKM_SIZE_BYTES)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s: how much is to be reclaimed is a size such as 64Mi", text);
	*ret = size.value;
	return SKM_EXIT_OK;
}

/* Waits until the reclaim has come to its end. */
static enum skm_exit wait_for_end(const char *id, struct skm_report *ret)
{
	for (;;) {
		cleanup_free char *data = NULL;
		struct skm_err err = SKM_ERR_INIT;
		enum skm_cli_asked asked = skm_cli_ask(SKM_VERB_INSPECT, id, &data, &err);

		if (asked != SKM_ASKED_ANSWERED)
			return skm_cli_refused(asked, &err);
		if (!data || skm_codec_report_parse(data, strlen(data), ret, &err) < 0)
			return skm_cli_fail(SKM_EXIT_FAILURE, "the enforcer's report: %s", data ? err.text : "nothing came");
		if (ret->reclaim.end != SKM_RECLAIM_RUNNING)
			return SKM_EXIT_OK;
		SKM_IGNORE(poll(NULL, 0, LOOK_MSEC));
	}
}

static enum skm_exit print(const struct skm_reclaim_result *result)
{
	static const char *const ends[] = {
	        [SKM_RECLAIM_DONE] = "",
	        [SKM_RECLAIM_EXHAUSTED] = "; the kernel found no more to reclaim",
	        [SKM_RECLAIM_STALLED] = "; stopped, as the container's tasks stalled for memory",
	        [SKM_RECLAIM_LATE] = "; stopped, as its time was over",
	        [SKM_RECLAIM_CANCELLED] = "; the container has gone",
	};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t over = result->reclaimed_bytes > result->asked_bytes ? result->reclaimed_bytes - result->asked_bytes : 0;
	char got[SKM_FORMAT_MAX], asked[SKM_FORMAT_MAX], too_much[SKM_FORMAT_MAX], took[SKM_FORMAT_MAX];

	if (result->end == SKM_RECLAIM_FAILED)
		return skm_cli_fail(SKM_EXIT_FAILURE, "reclaim: %s", strerror((int)result->error));
	printf("Reclaimed %s of %s in %s and %u steps", skm_cli_bytes(result->reclaimed_bytes, got),
	       skm_cli_bytes(result->asked_bytes, asked), skm_cli_duration(result->took_usec, took), result->steps);
	if (result->took_usec > 0)
		printf(", %llu pages/s",
		       (unsigned long long)skm_scale(result->reclaimed_bytes / page, SKM_USEC_PER_SEC, result->took_usec));
	if (over > 0)
		printf(", %s too much", skm_cli_bytes(over, too_much));
	printf("%s.\n", (size_t)result->end < sizeof(ends) / sizeof(*ends) && ends[result->end] ? ends[result->end] : "");
	return SKM_EXIT_OK;
}

enum skm_exit skm_cli_reclaim(const struct skm_cli *cli)
{
	cleanup_free struct skm_report *report = calloc(1, sizeof(*report));
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *data = NULL;
	enum skm_cli_asked asked;
	enum skm_exit status = take_size(cli->second, &request.reclaim_bytes);

	if (status != SKM_EXIT_OK)
		return status;
	if (!report)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	request.verb = SKM_VERB_RECLAIM;
	asked = skm_cli_ask_for(&request, cli->operand, &data, &err);
	if (asked != SKM_ASKED_ANSWERED)
		return skm_cli_refused(asked, &err);
	status = wait_for_end(cli->operand, report);
	if (status != SKM_EXIT_OK)
		return status;
	status = cli->json ? skm_cli_print_json(skm_codec_reclaim_format(&report->reclaim, true)) : print(&report->reclaim);
	/* part of what was asked for is no success, as for a program that goes on from here */
	return status == SKM_EXIT_OK && report->reclaim.end != SKM_RECLAIM_DONE ? SKM_EXIT_FAILURE : status;
}
