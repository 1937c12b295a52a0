/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem check POLICY */
#include "cli.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "codec/policy.h"
#include "codec/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* The text to check and how errors call it. */
struct document {
	char *text;
	size_t length;
	char name[128];
};

static int read_file(int fd, struct document *ret, struct skm_err *err)
{
	int r = skm_read_to_end(fd, SKM_POLICY_TEXT_MAX, &ret->text, &ret->length);

	if (r == -EFBIG)
		return skm_err_set(err, E2BIG, "%s is over %d bytes", ret->name, SKM_POLICY_TEXT_MAX);
	if (r < 0)
		return skm_err_set_errno(err, -r, "read %s", ret->name);
	/* The newline that editors and echo leave at the end is not meant; the hook would refuse it after a size. */
	while (ret->length > 0 && ret->text[ret->length - 1] == '\n')
		ret->text[--ret->length] = '\0';
	return 0;
}

static int read_document(const char *operand, struct document *ret, struct skm_err *err)
{
	cleanup_fd int fd = -1;

	if (strcmp(operand, "-") == 0) {
		snprintf(ret->name, sizeof(ret->name), "stdin");
		return read_file(STDIN_FILENO, ret, err);
	}
	if (operand[0] == '@') {
		snprintf(ret->name, sizeof(ret->name), "%.100s", operand + 1);
		fd = open(operand + 1, O_RDONLY | O_CLOEXEC);
		return fd < 0 ? skm_err_set_errno(err, errno, "open %s", operand + 1) : read_file(fd, ret, err);
	}
	snprintf(ret->name, sizeof(ret->name), "POLICY");
	ret->length = strlen(operand);
	ret->text = strdup(operand);
	return ret->text ? 0 : skm_err_set(err, ENOMEM, "out of memory");
}

/* JSON, by its first character that is no white space; else the short form. */
static bool is_json(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '{';
}

static enum skm_exit print_json(bool json, const struct skm_policy *policy, const struct skm_err *err)
{
	struct skm_writer *writer = skm_writer_new_object();
	char size[SKM_SIZE_TEXT_MAX];

	skm_writer_bool(writer, "valid", policy != NULL);
	skm_writer_text(writer, "kind", json ? "policy" : "tcpmem");
	if (policy) {
		skm_writer_object(writer, "policy");
		skm_writer_object(writer, "tcpmem");
		skm_writer_text(writer, "limit", skm_size_format(&policy->tcpmem_limit, size));
		skm_writer_text(writer, "mode", skm_name_of(&skm_mode_names, policy->mode));
		skm_writer_end(writer);
		skm_writer_end(writer);
		skm_writer_null(writer, "error");
	} else {
		skm_writer_null(writer, "policy");
		skm_writer_object(writer, "error");
		skm_writer_text(writer, "text", err->text);
		skm_writer_end(writer);
	}
	return skm_cli_print_json(skm_writer_finish(writer, true));
}

static enum skm_exit print_valid(bool json, const struct skm_policy *policy)
{
	char size[SKM_SIZE_TEXT_MAX];

	printf("valid (as %s): ", json ? SKM_ANNOTATION_POLICY : SKM_ANNOTATION_TCPMEM);
	if (policy->tcpmem_limit.kind == SKM_SIZE_MAX)
		puts("no limit");
	else
		printf("limit %s%s, mode %s\n", skm_size_format(&policy->tcpmem_limit, size),
		       policy->tcpmem_limit.kind == SKM_SIZE_PERCENT ? " of memory.max" : "",
		       skm_name_of(&skm_mode_names, policy->mode));
	return SKM_EXIT_OK;
}

enum skm_exit skm_cli_check(const struct skm_cli *cli)
{
	struct document document = {0};
	struct skm_policy policy = SKM_POLICY_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_free char *text = NULL;
	bool json;
	int r = read_document(cli->operand, &document, &err);

	text = document.text;
	if (r < 0 && r != -E2BIG)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s", err.text);
	json = r < 0 || is_json(text);
	if (r == 0)
		r = json ? skm_codec_policy_parse(text, document.length, document.name, &policy, &err)
		         : skm_codec_tcpmem_parse(text, document.length, document.name, &policy, &err);
	if (cli->json) {
		enum skm_exit status = print_json(json, r == 0 ? &policy : NULL, &err);

		return r < 0 ? SKM_EXIT_FAILURE : status;
	}
	if (r == 0)
		return print_valid(json, &policy);
	return skm_cli_fail(SKM_EXIT_FAILURE, "invalid%s: %s",
	                    json ? "" : " (as " SKM_ANNOTATION_TCPMEM ", since it does not begin with {)", err.text);
}
