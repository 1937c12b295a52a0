/* SPDX-License-Identifier: Apache-2.0 */
/* The C side of tests/contract.
 *
 * codec-verdict policy|node|inspect|list|events
 *     reads documents from stdin, each as its length in decimal, a newline and its bytes, and writes one line for each: "ok", or the
 *     parser's error
 * codec-verdict sample inspect|list|events
 *     writes one document of ours */
#include "codec-samples.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "codec/node.h"
#include "codec/policy.h"

#include <errno.h>
#include <stdio.h>

typedef int (*parser)(const char *text, size_t length, struct skm_err *err);

static int parse_policy(const char *text, size_t length, struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	return skm_codec_policy_parse(text, length, "POLICY", &policy, err);
}

static int parse_node(const char *text, size_t length, struct skm_err *err)
{
	struct skm_node node = SKM_NODE_INIT;
	int r = skm_codec_node_parse(text, length, "NODE", &node, err);

	skm_codec_node_free(&node);
	return r;
}

static int parse_inspect(const char *text, size_t length, struct skm_err *err)
{
	struct skm_report report;

	return skm_codec_report_parse(text, length, &report, err);
}

static int parse_list(const char *text, size_t length, struct skm_err *err)
{
	cleanup_free struct skm_report *reports = NULL;
	size_t count;

	return skm_codec_reports_parse(text, length, &reports, &count, err);
}

static int parse_events(const char *text, size_t length, struct skm_err *err)
{
	cleanup_free struct skm_tagged_event *events = NULL;
	size_t count;

	return skm_codec_events_parse(text, length, &events, &count, err);
}

static const struct {
	const char *name;
	parser parse;
} PARSERS[] = {
        {"policy", parse_policy}, {"node", parse_node},     {"inspect", parse_inspect},
        {"list", parse_list},     {"events", parse_events},
};

/* Returns 1, 0 at the end of stdin, -1 where stdin is not as promised. */
static int judge_one(parser parse)
{
	cleanup_free char *text = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t length;

	if (scanf("%zu", &length) != 1)
		return feof(stdin) ? 0 : -1;
	text = malloc(length + 1);
	if (!text || getchar() != '\n' || fread(text, 1, length, stdin) != length)
		return -1;
	puts(parse(text, length, &err) == 0 ? "ok" : err.text);
	return 1;
}

static int judge(const char *name)
{
	int r = -1;

	for (size_t i = 0; i < sizeof(PARSERS) / sizeof(*PARSERS); i++) {
		if (strcmp(PARSERS[i].name, name) != 0)
			continue;
		do
			r = judge_one(PARSERS[i].parse);
		while (r > 0);
	}
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
