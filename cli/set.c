/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem set ID POLICY */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "document.h"
#include "report.h"

#include <string.h>

enum skm_exit skm_cli_set(const struct skm_cli *cli)
{
	cleanup_free struct skm_report *report = calloc(1, sizeof(*report));
	struct skm_request request = SKM_REQUEST_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *data = NULL;
	enum skm_cli_asked asked;

	if (!report)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	if (skm_cli_policy_read(cli->second, &request.policy, &request.limit_only, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "invalid: %s", err.text);
	request.verb = SKM_VERB_SET;
	request.policy.source = SKM_SOURCE_ADMINISTRATOR;
	request.force = cli->force;
	asked = skm_cli_ask_for(&request, cli->operand, &data, &err);
	if (asked != SKM_ASKED_ANSWERED)
		return skm_cli_refused(asked, &err);
	if (!data || skm_codec_report_parse(data, strlen(data), report, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "it is set, but the enforcer's report: %s",
		                    data ? err.text : "nothing came");
	if (cli->json)
		return skm_cli_print_json(skm_codec_report_format(report, true));
	skm_cli_print_in_force(report);
	return SKM_EXIT_OK;
}
