/* SPDX-License-Identifier: Apache-2.0 */
/* A document that a person gives on the command line: the text itself, @FILE, or - for stdin. */
#ifndef SKM_CLI_DOCUMENT_H
#define SKM_CLI_DOCUMENT_H

#include "base/err.h"
#include "codec/check.h"

#include <stdbool.h>
#include <stddef.h>

struct skm_cli_document {
	enum skm_document kind;
	bool guessed;   /* the kind was not told: JSON by its first character, else a size */
	char *text;     /* owned */
	size_t length;  /* without the newlines that editors and echo leave at the end */
	char name[128]; /* how errors call it */
};

/* Reads it. ret->kind: set before, with ret->guessed where it is only a first guess, POLICY, which is then made right.
 * Returns 0; -E2BIG for more than a document of that kind may have; -errno. The text is to be freed in any case. */
int skm_cli_document_read(const char *operand, struct skm_cli_document *ret, struct skm_err *err);

/* Reads a policy, JSON or a size alone, and parses it. *ret_is_size: it is a size. Returns 0; -EINVAL, -E2BIG; -errno. */
int skm_cli_policy_read(const char *operand, struct skm_policy *ret, bool *ret_is_size, struct skm_err *err);

#endif
