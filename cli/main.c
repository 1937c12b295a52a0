/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem VERB: takes the command line apart; each verb is a file of its own. */
#include "cli.h"

#include "model/node.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct verb {
	const char *name;
	enum skm_exit (*run)(const struct skm_cli *cli);
	const char *operand; /* as the help calls it; NULL: none is taken */
	bool operand_needed, takes_ended, needs_root;
	const char *help;
	bool takes_kind;
	const char *second; /* a second operand, which is needed; NULL: none is taken */
};

static const struct verb verbs[] = {
        {"list", skm_cli_list, NULL, false, true, true,
         "Containers with a policy, those whose sockets hold most first.\n"
         "  --ended  those that have ended; works without the enforcer\n"},
        {"inspect", skm_cli_inspect, "ID", true, false, true,
         "One container: is it the sockets, what did sockmem do, and why.\n"
         "Takes a beginning of an id that only one has. A running container is\n"
         "preferred; else the newest of that id that has ended is shown, also where\n"
         "the enforcer is not running.\n"},
        {"events", skm_cli_events, "ID", false, false, true,
         "What happened, oldest first, in all containers or one; running and ended.\n"
         "  --follow  goes on with what is new; with --json an object a line\n"},
        {"check", skm_cli_check, "DOCUMENT", true, false, false,
         "Says whether a policy, or another document, is valid: the verdict is that of\n"
         "whoever reads it. DOCUMENT is the text itself; @FILE reads a file, - stdin.\n"
         "  --kind KIND  policy: JSON as in " SKM_ANNOTATION_POLICY "\n"
         "               tcpmem: a size as in " SKM_ANNOTATION_TCPMEM "\n"
         "               profile: a name as in " SKM_ANNOTATION_PROFILE "\n"
         "               node: " SKM_NODE_FILE "\n"
         "               state, config: what a runtime gives a hook, a bundle's\n"
         "               config.json, and the policy that they ask for\n"
         "               list, inspect, events: what those verbs print with --json\n"
         "               record, journal: files of ended and of running containers\n"
         "Without --kind a text that begins with { is a policy, and any other a size.\n",
         .takes_kind = true},
        {"hooks", skm_cli_hooks, "add", true, false, false,
         "Adds the hook to the config.json of a bundle for runc or crun, where it is\n"
         "not there yet; nothing else in the file is touched.\n"
         "  --convert  also moves linux.resources.memory.kernelTCP into the annotation\n"
         "             " SKM_ANNOTATION_TCPMEM ": crun refuses it on cgroup v2\n"
         "  --dry-run  prints what the file would be, and leaves it as it is\n",
         .second = "BUNDLE"},
        {"doctor", skm_cli_doctor, NULL, false, false, true,
         "What this host can enforce and why not more, whether the enforcer runs,\n"
         "where the hook is registered, and what it complained of.\n"},
};

static const char help_text[] = "Usage: sockmem VERB [OPTION...] [OPERAND]\n"
                                "\n"
                                "Shows what socket memory (tcpmem) limits are enforced on this node's containers.\n"
                                "\n"
                                "  list [--ended]   containers with a policy, or those that have ended\n"
                                "  inspect ID       is it the sockets, what did sockmem do, and why\n"
                                "  events [ID]      what happened, oldest first\n"
                                "  check POLICY     whether a policy is valid (JSON, a size, @FILE or -);\n"
                                "                   with --kind KIND another document\n"
                                "  hooks add BUNDLE puts the hook into a bundle's config.json\n"
                                "  doctor           what this host can enforce, and why not more\n"
                                "\n"
                                "  --json           for programs; every verb takes it\n"
                                "  --help           this, or after a verb about it\n"
                                "  --version\n"
                                "  --               what follows is no option\n"
                                "\n"
                                "An ID may be shortened while it is the only one with that beginning.\n"
                                "Exit status: 0 success, 1 failure, 2 usage, 3 no such container,\n"
                                "4 the enforcer is not running.\n";

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

struct words {
	struct skm_cli cli;
	const struct verb *verb;
	bool help, version;
};

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* An option that takes a value: --NAME VALUE or --NAME=VALUE. Returns whether argv[*at] is that option; *at is then its last
 * word, and *ret NULL where the value is missing. */
static bool take_value(const char *name, char **argv, int *at, const char **ret)
{
	size_t length = strlen(name);

	if (strncmp(argv[*at], name, length) != 0 || (argv[*at][length] != '\0' && argv[*at][length] != '='))
		return false;
	if (argv[*at][length] == '=')
		*ret = argv[*at] + length + 1;
	else
		*ret = argv[*at + 1]; /* NULL at the end */
	if (argv[*at][length] == '\0' && *ret)
		(*at)++;
	return true;
}

static int take_option(char **argv, int *at, struct words *ret)
{
	const char *word = argv[*at];

	if (strcmp(word, "--json") == 0)
		ret->cli.json = true;
	else if (strcmp(word, "--ended") == 0)
		ret->cli.ended = true;
	else if (strcmp(word, "--follow") == 0)
		ret->cli.follow = true;
	else if (strcmp(word, "--convert") == 0)
		ret->cli.convert = true;
	else if (strcmp(word, "--dry-run") == 0)
		ret->cli.dry_run = true;
	else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		ret->help = true;
	else if (strcmp(word, "--version") == 0)
		ret->version = true;
	else if (take_value("--kind", argv, at, &ret->cli.kind))
		return ret->cli.kind ? SKM_EXIT_OK
		                     : skm_cli_fail(SKM_EXIT_USAGE, "--kind needs a kind: see sockmem check --help");
	else
		return skm_cli_fail(SKM_EXIT_USAGE, "unknown option %s: see sockmem --help", word);
	return SKM_EXIT_OK;
}

static int take_operand(const char *word, struct words *ret)
{
	if (!ret->verb) {
		ret->verb = find_verb(word);
		ret->cli.verb = word;
		return ret->verb ? SKM_EXIT_OK : skm_cli_fail(SKM_EXIT_USAGE, "unknown verb %s: see sockmem --help", word);
	}
	if (ret->verb->operand && !ret->cli.operand)
		ret->cli.operand = word;
	else if (ret->verb->second && !ret->cli.second)
		ret->cli.second = word;
	else
		return skm_cli_fail(SKM_EXIT_USAGE, "%s: one operand too many: %s", ret->cli.verb, word);
	return SKM_EXIT_OK;
}

static int take_words(int argc, char **argv, struct words *ret)
{
	bool options = true;

	for (int i = 1; i < argc; i++) {
		int r = SKM_EXIT_OK;

		if (options && strcmp(argv[i], "--") == 0)
			options = false;
		else if (options && is_option(argv[i]))
			r = take_option(argv, &i, ret);
		else
			r = take_operand(argv[i], ret);
		if (r != SKM_EXIT_OK)
			return r;
	}
	return SKM_EXIT_OK;
}

static void print_verb_help(const struct verb *verb)
{
	printf("Usage: sockmem %s%s%s%s [--json]", verb->name, verb->takes_ended ? " [--ended]" : "",
	       verb->takes_kind ? " [--kind KIND]" : "", verb->run == skm_cli_hooks ? " [--convert] [--dry-run]" : "");
	if (verb->operand)
		printf(verb->operand_needed ? " %s" : " [%s]", verb->operand);
	if (verb->second)
		printf(" %s", verb->second);
	printf("\n\n%s", verb->help);
}

static enum skm_exit run(const struct words *words)
{
	const struct verb *verb = words->verb;

	if (words->version) {
		puts("sockmem " SKM_VERSION);
		return SKM_EXIT_OK;
	}
	if (words->help && verb) {
		print_verb_help(verb);
		return SKM_EXIT_OK;
	}
	if (words->help)
		return fputs(help_text, stdout) < 0 ? SKM_EXIT_FAILURE : SKM_EXIT_OK;
	if (!verb)
		return skm_cli_fail(SKM_EXIT_USAGE, "a verb is missing: see sockmem --help");
	if (words->cli.ended && !verb->takes_ended)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s does not take --ended", verb->name);
	if (words->cli.follow && verb->run != skm_cli_events)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s does not take --follow", verb->name);
	if (words->cli.kind && !verb->takes_kind)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s does not take --kind", verb->name);
	if ((words->cli.convert || words->cli.dry_run) && verb->run != skm_cli_hooks)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s does not take --convert or --dry-run", verb->name);
	if (verb->operand_needed && !words->cli.operand)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s: %s is missing: see sockmem %s --help", verb->name, verb->operand,
		                    verb->name);
	if (verb->second && !words->cli.second)
		return skm_cli_fail(SKM_EXIT_USAGE, "%s %s: %s is missing: see sockmem %s --help", verb->name, words->cli.operand,
		                    verb->second, verb->name);
	if (verb->needs_root && geteuid() != 0)
		return skm_cli_fail(SKM_EXIT_FAILURE, "%s has to be run by root: the enforcer talks to no one else", verb->name);
	return verb->run(&words->cli);
}

int main(int argc, char **argv)
{
	struct words words = {0};
	int status;

	setlocale(LC_CTYPE, ""); /* what the terminal takes; without one all but ASCII is escaped */
	status = take_words(argc, argv, &words);
	if (status == SKM_EXIT_OK)
		status = (int)run(&words);
	if (fflush(stdout) != 0 || ferror(stdout))
		return skm_cli_fail(SKM_EXIT_FAILURE, "cannot write to stdout");
	return status;
}
