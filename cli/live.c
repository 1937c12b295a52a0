/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include "codec/message.h"

#include <string.h>

static int most_sock_first(const void *a, const void *b)
{
	const struct skm_report *one = *(const struct skm_report *const *)a, *other = *(const struct skm_report *const *)b;

	/* what is not known comes last: the number that stands for it wraps to 0 */
	if (one->sock_bytes != other->sock_bytes)
		return one->sock_bytes + 1 < other->sock_bytes + 1 ? 1 : -1;
	return strcmp(one->id, other->id);
}

enum skm_exit skm_cli_live_load(struct skm_live *ret)
{
	cleanup_free char *data = NULL;
	struct skm_err err = SKM_ERR_INIT;
	enum skm_cli_asked asked = skm_cli_ask(SKM_VERB_LIST, NULL, &data, &err);

	if (asked == SKM_ASKED_ABSENT)
		return skm_cli_fail(SKM_EXIT_NO_ENFORCER, SKM_CLI_ABSENT_TEXT);
	if (asked == SKM_ASKED_REFUSED)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	if (!data || skm_codec_reports_parse(data, strlen(data), &ret->reports, &ret->count, &err) < 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "the enforcer's list: %s", data ? err.text : "nothing came");
	ret->sorted = calloc(ret->count + 1, sizeof(*ret->sorted));
	if (!ret->sorted)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	for (size_t i = 0; i < ret->count; i++)
		ret->sorted[i] = &ret->reports[i];
	qsort(ret->sorted, ret->count, sizeof(*ret->sorted), most_sock_first);
	return SKM_EXIT_OK;
}
