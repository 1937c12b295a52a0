/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem metrics */
#include "cli.h"

#include "codec/message.h"
#include "codec/openmetrics.h"
#include "live.h"

#include <stdio.h>

enum skm_exit skm_cli_metrics(const struct skm_cli *cli)
{
	cleanup_live struct skm_live live = SKM_LIVE_INIT;
	cleanup_free char *text = NULL;
	enum skm_exit status = skm_cli_live_load(&live);

	if (status != SKM_EXIT_OK)
		return status;
	if (cli->json)
		return skm_cli_print_json(skm_codec_reports_format(live.sorted, live.count, true));
	text = skm_codec_openmetrics_format(live.sorted, live.count);
	if (!text)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	fputs(text, stdout);
	return SKM_EXIT_OK;
}
