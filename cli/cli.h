/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of `sockmem` share. */
#ifndef SKM_CLI_CLI_H
#define SKM_CLI_CLI_H

#include "base/err.h"
#include "model/request.h"

#include <stdbool.h>

enum skm_exit {
	SKM_EXIT_OK = 0,
	SKM_EXIT_FAILURE = 1,
	SKM_EXIT_USAGE = 2,
	SKM_EXIT_NO_CONTAINER = 3, /* none, or a beginning that fits several */
	SKM_EXIT_NO_ENFORCER = 4,
};

/* One command line, taken apart. */
struct skm_cli {
	const char *verb;
	bool json, ended, follow;
	bool convert, dry_run; /* hooks */
	const char *operand;   /* NULL where there is none */
	const char *second;    /* the second operand */
	bool force, all;       /* set; release */
	const char *cgroup;    /* adopt: its path */
	const char *id;        /* adopt: what it is to be called; NULL: its cgroup's name */
	const char *kind;      /* check: of the document; NULL: policy or tcpmem, by its first character */
};

/* The verbs, each in a file of its own. */
enum skm_exit skm_cli_list(const struct skm_cli *cli);
enum skm_exit skm_cli_inspect(const struct skm_cli *cli);
enum skm_exit skm_cli_events(const struct skm_cli *cli);
enum skm_exit skm_cli_check(const struct skm_cli *cli);
enum skm_exit skm_cli_hooks(const struct skm_cli *cli);
enum skm_exit skm_cli_set(const struct skm_cli *cli);
enum skm_exit skm_cli_release(const struct skm_cli *cli);
enum skm_exit skm_cli_adopt(const struct skm_cli *cli);
enum skm_exit skm_cli_reclaim(const struct skm_cli *cli);
enum skm_exit skm_cli_metrics(const struct skm_cli *cli);
enum skm_exit skm_cli_doctor(const struct skm_cli *cli);

/* Prints "sockmem: TEXT" on stderr, escaped, and returns status. */
enum skm_exit skm_cli_fail(enum skm_exit status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints a JSON text and a newline, frees it, and says so where it is NULL (out of memory). */
enum skm_exit skm_cli_print_json(char *text);

/* Prints text on stdout, escaped. */
void skm_cli_put(const char *text);

/* Asks the enforcer. */
enum skm_cli_asked {
	SKM_ASKED_ANSWERED, /* *ret_data is its answer's data, which the caller frees, or NULL */
	SKM_ASKED_REFUSED,  /* err is the enforcer's, or says that it does not answer */
	SKM_ASKED_ABSENT,   /* none is running */
};
enum skm_cli_asked skm_cli_ask_for(struct skm_request *request, const char *id, char **ret_data, struct skm_err *err);
enum skm_cli_asked skm_cli_ask(enum skm_verb verb, const char *id, char **ret_data, struct skm_err *err);

/* Whether the enforcer's refusal means that there is no such container, or that several have that beginning. */
bool skm_cli_is_unknown(const struct skm_err *err);

/* Says what the enforcer refused, or that none is running, and returns the exit status of that. */
enum skm_exit skm_cli_refused(enum skm_cli_asked asked, const struct skm_err *err);

/* Says that there is no container of that id, or beginning of one, with what its hook said of it where it did: one that is not
 * enforced is there, but in no record. err: the enforcer's, where it was asked. Returns the exit status. */
enum skm_exit skm_cli_none_found(const char *id, enum skm_cli_asked asked, const struct skm_err *err);

#define SKM_CLI_ABSENT_TEXT "the enforcer is not running; it starts with the first container that has a policy"

#endif
