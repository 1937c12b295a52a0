/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem inspect ID */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "ended.h"
#include "paths.h"
#include "report.h"

#include <errno.h>
#include <string.h>

/* The report of a live container. A report is some kilobytes, so it lives on the heap. */
static enum skm_cli_asked find_live(const char *id, struct skm_report *ret, struct skm_err *err)
{
	cleanup_free char *data = NULL;
	enum skm_cli_asked asked = skm_cli_ask(SKM_VERB_INSPECT, id, &data, err);

	if (asked != SKM_ASKED_ANSWERED)
		return asked;
	if (data && skm_codec_report_parse(data, strlen(data), ret, err) == 0)
		return SKM_ASKED_ANSWERED;
	if (data)
		skm_err_wrap(err, "the enforcer's report");
	else
		skm_err_set(err, EPROTO, "the enforcer's report: nothing came");
	return SKM_ASKED_REFUSED;
}

static enum skm_exit print(const struct skm_cli *cli, const struct skm_report *report)
{
	if (cli->json)
		return skm_cli_print_json(skm_codec_report_format(report, true));
	skm_cli_print_report(report);
	return SKM_EXIT_OK;
}

enum skm_exit skm_cli_inspect(const struct skm_cli *cli)
{
	cleanup_ended struct skm_ended_set set = SKM_ENDED_SET_INIT;
	cleanup_free struct skm_report *live = calloc(1, sizeof(*live));
	const struct skm_ended *ended = NULL;
	struct skm_err err = SKM_ERR_INIT, ended_err = SKM_ERR_INIT;
	enum skm_cli_asked asked;
	int found;

	if (!live)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	asked = find_live(cli->operand, live, &err);
	if (asked == SKM_ASKED_ANSWERED && strcmp(live->id, cli->operand) == 0)
		return print(cli, live);
	if (asked == SKM_ASKED_REFUSED && !skm_cli_is_unknown(&err))
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	if (skm_cli_ended_load(skm_cli_paths()->ended, &set, &ended_err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", ended_err.text);
	found = skm_cli_ended_find(&set, cli->operand, &ended, &ended_err);
	/* A whole id means that container, though it has ended; a beginning means one that runs. */
	if (found == 1 && (asked != SKM_ASKED_ANSWERED || strcmp(ended->report.id, cli->operand) == 0))
		return print(cli, &ended->report);
	if (asked == SKM_ASKED_ANSWERED)
		return print(cli, live);
	if (found < 0 && err.code != EEXIST)
		return skm_cli_fail(SKM_EXIT_NO_CONTAINER, "%s", ended_err.text);
	return skm_cli_none_found(cli->operand, asked, &err);
}
