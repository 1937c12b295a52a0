/* SPDX-License-Identifier: Apache-2.0 */
/* The C side of tests/contract: `codec-verdict KIND` reads documents of that kind from stdin, each as its length in decimal, a
 * newline and its bytes, and writes one line for each: "ok", or the parser's error. `codec-verdict sample inspect|list|events`
 * writes one document of ours. */
#include "codec-samples.h"

#include "base/cleanup.h"
#include "codec/check.h"
#include "codec/message.h"

#include <errno.h>
#include <stdio.h>

/* Returns 1, 0 at the end of stdin, -1 where stdin is not as promised. */
static int judge_one(enum skm_document kind)
{
	cleanup_free char *text = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t length;

	if (scanf("%zu", &length) != 1)
		return feof(stdin) ? 0 : -1;
	text = malloc(length + 1);
	if (!text || getchar() != '\n' || fread(text, 1, length, stdin) != length)
		return -1;
	puts(skm_codec_check(kind, text, length, "DOCUMENT", NULL, &err) >= 0 ? "ok" : err.text);
	return 1;
}

static int judge(const char *name)
{
	int kind = skm_name_find(&skm_document_names, name), r = -1;

	if (kind < 0)
		return -1;
	do
		r = judge_one((enum skm_document)kind);
	while (r > 0);
	return r;
}

static int write_sample(const char *name)
{
	struct skm_report full = skm_sample_report(), empty = {.id = "empty", .policy = SKM_POLICY_INIT};
	const struct skm_report *const reports[] = {&full, &empty};
	struct skm_tagged_event events[] = {{.id = "a", .event = skm_sample_event()}, {.id = "b"}};
	cleanup_free char *text = NULL;

	empty.limit_bytes = empty.memory_max_bytes = empty.decision.fair_cap_bytes = UINT64_MAX;
	events[1].event.limit_bytes = events[1].event.fair_cap_bytes = UINT64_MAX;
	if (strcmp(name, "inspect") == 0)
		text = skm_codec_report_format(&full, true);
	else if (strcmp(name, "list") == 0)
		text = skm_codec_reports_format(reports, 2, true);
	else if (strcmp(name, "events") == 0)
		text = skm_codec_events_format(events, 2, true);
	return text && puts(text) >= 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	int r = -1;

	if (argc == 2)
		r = judge(argv[1]);
	else if (argc == 3 && strcmp(argv[1], "sample") == 0)
		r = write_sample(argv[2]);
	return r < 0 ? 2 : 0;
}
