/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem check [--kind KIND] DOCUMENT */
#include "cli.h"

#include "base/cleanup.h"
#include "codec/check.h"
#include "codec/policy.h"
#include "codec/writer.h"
#include "document.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum skm_exit print_json(enum skm_document kind, bool valid, const struct skm_policy *policy, const struct skm_err *err)
{
	struct skm_writer *writer = skm_writer_new_object();

	skm_writer_bool(writer, "valid", valid);
	skm_writer_text(writer, "kind", skm_name_of(&skm_document_names, kind));
	if (policy)
		skm_codec_policy_write(writer, "policy", policy);
	else
		skm_writer_null(writer, "policy");
	if (valid) {
		skm_writer_null(writer, "error");
	} else {
		skm_writer_object(writer, "error");
		skm_writer_text(writer, "text", err->text);
		skm_writer_end(writer);
	}
	return skm_cli_print_json(skm_writer_finish(writer, true));
}

/* In a line what it comes to, and where there is more than a limit, all that it sets. */
static enum skm_exit print_policy(const struct skm_policy *policy)
{
	cleanup_free char *text = skm_codec_policy_format(policy);
	char size[SKM_SIZE_TEXT_MAX];

	if (*policy->profile) {
		printf("profile %s of the node file\n", policy->profile);
		return SKM_EXIT_OK;
	}
	if (policy->tcpmem_limit.kind == SKM_SIZE_MAX)
		puts("no limit on sockets");
	else
		printf("limit %s%s, mode %s\n", skm_size_format(&policy->tcpmem_limit, size),
		       policy->tcpmem_limit.kind == SKM_SIZE_PERCENT ? " of memory.max" : "",
		       skm_name_of(&skm_mode_names, policy->mode));
	if (!text)
		return skm_cli_fail(SKM_EXIT_FAILURE, "out of memory");
	if (policy->set & ~(SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_TCPMEM_MODE)))
		printf("%s\n", text);
	return SKM_EXIT_OK;
}

static enum skm_exit print_valid(const struct skm_cli_document *document, const struct skm_policy *policy)
{
	if (!policy) {
		printf("valid (as %s)\n", skm_name_of(&skm_document_names, document->kind));
		return SKM_EXIT_OK;
	}
	if (document->kind == SKM_DOCUMENT_POLICY || document->kind == SKM_DOCUMENT_TCPMEM)
		printf("valid (as %s): ", skm_name_of(&skm_policy_source_names, policy->source));
	else
		printf("valid (as %s), policy of %s: ", skm_name_of(&skm_document_names, document->kind),
		       skm_name_of(&skm_policy_source_names, policy->source));
	return print_policy(policy);
}

/* Returns SKM_EXIT_OK with the kind, or where it has to be guessed with POLICY for now. */
static enum skm_exit take_kind(const char *word, struct skm_cli_document *ret)
{
	int kind = word ? skm_name_find(&skm_document_names, word) : SKM_DOCUMENT_POLICY;
	char known[160] = "";

	for (size_t i = 0; i < skm_document_names.count; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i ? ", " : "",
		         skm_document_names.names[i]);
	if (kind < 0)
		return skm_cli_fail(SKM_EXIT_USAGE, "unknown kind %s; known: %s", word, known);
	ret->guessed = !word;
	ret->kind = (enum skm_document)kind;
	return SKM_EXIT_OK;
}

static enum skm_exit judge(const struct skm_cli *cli, const struct skm_cli_document *document, int r, struct skm_err *err)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	if (r == 0)
		r = skm_codec_check(document->kind, document->text, document->length, document->name, &policy, err);
	if (cli->json) {
		enum skm_exit status = print_json(document->kind, r >= 0, r > 0 ? &policy : NULL, err);

		return r < 0 ? SKM_EXIT_FAILURE : status;
	}
	if (r >= 0)
		return print_valid(document, r > 0 ? &policy : NULL);
	return skm_cli_fail(SKM_EXIT_FAILURE, "invalid%s: %s",
	                    document->guessed && document->kind == SKM_DOCUMENT_TCPMEM ? " (as " SKM_ANNOTATION_TCPMEM
	                                                                                 ", since it does not begin with {)"
	                                                                               : "",
	                    err->text);
}

enum skm_exit skm_cli_check(const struct skm_cli *cli)
{
	struct skm_cli_document document = {0};
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *text = NULL;
	enum skm_exit status = take_kind(cli->kind, &document);
	int r;

	if (status != SKM_EXIT_OK)
		return status;
	r = skm_cli_document_read(cli->operand, &document, &err);
	text = document.text;
	if (r < 0 && r != -E2BIG)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	return judge(cli, &document, r, &err);
}
