/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/check.h"

#include "base/cleanup.h"
#include "codec/bundle.h"
#include "codec/fields.h"
#include "codec/journal.h"
#include "codec/message.h"
#include "codec/node.h"
#include "codec/policy.h"
#include "codec/state.h"

#include <errno.h>

static int check_policy(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	int r = skm_codec_policy_parse(text, length, name, ret, err);

	ret->source = SKM_SOURCE_ANNOTATION_POLICY;
	return r < 0 ? r : 1;
}

static int check_tcpmem(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	int r = skm_codec_tcpmem_parse(text, length, name, ret, err);

	ret->source = SKM_SOURCE_ANNOTATION_TCPMEM;
	return r < 0 ? r : 1;
}

static int check_profile(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	char echo[SKM_ECHO_MAX];
	const char *reason = "";

	(void)ret;
	if (!skm_policy_is_profile_name(text, length, &reason))
		return skm_err_set(err, EINVAL, "%s: %s: %s", name, skm_text_echo(text, length, echo), reason);
	return 0;
}

static int check_node(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_node node = SKM_NODE_INIT;
	int r = skm_codec_node_parse(text, length, name, &node, err);

	(void)ret;
	skm_codec_node_free(&node);
	return r;
}

/* The policy that is found in a document of the runtime's is judged too, as the hook would. */
static int check_state(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_state state = SKM_STATE_INIT;
	int r = skm_codec_state_parse(text, length, &state, err);

	(void)name;
	if (r == 0 && !state.annotations.is_sandbox)
		r = skm_codec_annotations_policy(&state.annotations, ret, err);
	skm_codec_state_free(&state);
	return r;
}

static int check_config(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	int r = skm_codec_bundle_parse(text, length, &bundle, err);

	(void)name;
	if (r == 0)
		r = skm_codec_bundle_policy(&bundle, ret, err);
	skm_codec_bundle_free(&bundle);
	return r;
}

static int check_list(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	cleanup_free struct skm_report *reports = NULL;
	size_t count;

	(void)name;
	(void)ret;
	return skm_codec_reports_parse(text, length, &reports, &count, err);
}

static int check_inspect(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_report report;
	int r = skm_codec_report_parse(text, length, &report, err);

	(void)name;
	if (r < 0)
		return r;
	*ret = report.policy;
	return 1;
}

static int check_events(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	cleanup_free struct skm_tagged_event *events = NULL;
	size_t count;

	(void)name;
	(void)ret;
	return skm_codec_events_parse(text, length, &events, &count, err);
}

static int check_record(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	cleanup_free struct skm_event *events = NULL;
	struct skm_report report;
	size_t count;
	int r = skm_codec_record_parse(text, length, &report, &events, &count, err);

	(void)name;
	if (r < 0)
		return r;
	*ret = report.policy;
	return 1;
}

static int check_journal(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err)
{
	struct skm_journal journal = {0};
	int r = skm_codec_journal_parse(text, length, &journal, err);

	(void)name;
	if (r < 0)
		return r;
	*ret = journal.policy;
	skm_codec_journal_free(&journal);
	return 1;
}

static const struct kind {
	size_t text_max;
	bool names_itself; /* in errors, instead of by the name that it is given */
	int (*check)(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err);
} KINDS[] = {
        [SKM_DOCUMENT_POLICY] = {SKM_POLICY_TEXT_MAX, false, check_policy},
        [SKM_DOCUMENT_TCPMEM] = {SKM_POLICY_TEXT_MAX, false, check_tcpmem},
        [SKM_DOCUMENT_PROFILE] = {SKM_POLICY_TEXT_MAX, false, check_profile},
        [SKM_DOCUMENT_NODE] = {SKM_NODE_TEXT_MAX, false, check_node},
        [SKM_DOCUMENT_STATE] = {SKM_STATE_TEXT_MAX, true, check_state},
        [SKM_DOCUMENT_CONFIG] = {SKM_BUNDLE_TEXT_MAX, true, check_config},
        [SKM_DOCUMENT_LIST] = {SKM_FIELDS_TEXT_MAX, true, check_list},
        [SKM_DOCUMENT_INSPECT] = {SKM_FIELDS_TEXT_MAX, true, check_inspect},
        [SKM_DOCUMENT_EVENTS] = {SKM_FIELDS_TEXT_MAX, true, check_events},
        [SKM_DOCUMENT_RECORD] = {SKM_FIELDS_TEXT_MAX, true, check_record},
        [SKM_DOCUMENT_JOURNAL] = {SKM_FIELDS_TEXT_MAX, true, check_journal},
};

static const char *const names[] = {"policy", "tcpmem",  "profile", "node",   "state",  "config",
                                    "list",   "inspect", "events",  "record", "journal"};
const struct skm_names skm_document_names = {names, sizeof(names) / sizeof(*names)};

size_t skm_codec_check_max(enum skm_document kind)
{
	return KINDS[kind].text_max;
}

int skm_codec_check(enum skm_document kind, const char *text, size_t length, const char *name, struct skm_policy *ret,
                    struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT;
	int r = KINDS[kind].check(text, length, name, &policy, err);

	if (r < 0 && KINDS[kind].names_itself)
		return skm_err_wrap(err, "%s", name), r;
	if (r > 0 && ret)
		*ret = policy;
	return r;
}
