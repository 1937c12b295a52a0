/* SPDX-License-Identifier: Apache-2.0 */
#include "document.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "model/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Bounded by the longest that the kind may be; where the kind is not told, by that of a policy. */
static int read_file(int fd, struct skm_cli_document *ret, struct skm_err *err)
{
	size_t max = skm_codec_check_max(ret->kind);
	int r = skm_read_to_end(fd, max, &ret->text, &ret->length);

	if (r == -EFBIG)
		return skm_err_set(err, E2BIG, "%s is over %zu bytes", ret->name, max);
	if (r < 0)
		return skm_err_set_errno(err, -r, "read %s", ret->name);
	/* The newline that editors and echo leave at the end is not meant; the hook would refuse it after a size. */
	while (ret->length > 0 && ret->text[ret->length - 1] == '\n')
		ret->text[--ret->length] = '\0';
	return 0;
}

static int read_text(const char *operand, struct skm_cli_document *ret, struct skm_err *err)
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
	snprintf(ret->name, sizeof(ret->name), ret->kind == SKM_DOCUMENT_POLICY ? "POLICY" : "DOCUMENT");
	ret->length = strlen(operand);
	ret->text = strdup(operand);
	return ret->text ? 0 : skm_err_set(err, ENOMEM, "out of memory");
}

/* JSON, by its first character that is no white space; else the short form. */
static enum skm_document guess_kind(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '{' ? SKM_DOCUMENT_POLICY : SKM_DOCUMENT_TCPMEM;
}

int skm_cli_document_read(const char *operand, struct skm_cli_document *ret, struct skm_err *err)
{
	int r = read_text(operand, ret, err);

	if (r == 0 && ret->guessed)
		ret->kind = guess_kind(ret->text);
	return r;
}

int skm_cli_policy_read(const char *operand, struct skm_policy *ret, bool *ret_is_size, struct skm_err *err)
{
	struct skm_cli_document document = {.kind = SKM_DOCUMENT_POLICY, .guessed = true};
	int r = skm_cli_document_read(operand, &document, err);

	if (r == 0)
		r = skm_codec_check(document.kind, document.text, document.length, document.name, ret, err);
	free(document.text);
	if (r < 0)
		return r;
	*ret_is_size = document.kind == SKM_DOCUMENT_TCPMEM;
	return 0;
}
