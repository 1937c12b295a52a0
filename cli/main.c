/* SPDX-License-Identifier: Apache-2.0 */
/* sockmem VERB: takes the command line apart; each verb is a file of its own. */
#include "cli.h"

#include "model/node.h"

#include <locale.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which options a verb takes beside --json. */
enum {
	TAKES_ENDED = 1 << 0,
	TAKES_FOLLOW = 1 << 1,
	TAKES_KIND = 1 << 2,
	TAKES_CONVERT = 1 << 3,
	TAKES_DRY_RUN = 1 << 4,
	TAKES_FORCE = 1 << 5,
	TAKES_ALL = 1 << 6,
	TAKES_CGROUP = 1 << 7,
	TAKES_ID = 1 << 8,
};

struct option {
	const char *name;
	unsigned int bit;
	size_t member;     /* of struct skm_cli: a bool, or where the option takes a value a const char * */
	const char *value; /* as the help calls it; NULL: it takes none */
};

static const struct option options[] = {
        {"--ended", TAKES_ENDED, offsetof(struct skm_cli, ended), NULL},
        {"--follow", TAKES_FOLLOW, offsetof(struct skm_cli, follow), NULL},
        {"--kind", TAKES_KIND, offsetof(struct skm_cli, kind), "KIND"},
        {"--convert", TAKES_CONVERT, offsetof(struct skm_cli, convert), NULL},
        {"--dry-run", TAKES_DRY_RUN, offsetof(struct skm_cli, dry_run), NULL},
        {"--force", TAKES_FORCE, offsetof(struct skm_cli, force), NULL},
        {"--all", TAKES_ALL, offsetof(struct skm_cli, all), NULL},
        {"--cgroup", TAKES_CGROUP, offsetof(struct skm_cli, cgroup), "PATH"},
        {"--id", TAKES_ID, offsetof(struct skm_cli, id), "NAME"},
};

#define OPTION_COUNT (sizeof(options) / sizeof(*options))

struct verb {
	const char *name;
	enum skm_exit (*run)(const struct skm_cli *cli);
	const char *operand; /* as the help calls it; NULL: none is taken */
	bool operand_needed;
	const char *second; /* a second operand, which is needed; NULL: none is taken */
	unsigned int takes;
	bool needs_root;
	const char *help;
};

static const struct verb verbs[] = {
        {"list", skm_cli_list, NULL, false, NULL, TAKES_ENDED, true,
         "Containers with a policy, those whose sockets hold most first.\n"
         "  --ended  those that have ended; works without the enforcer\n"},
        {"inspect", skm_cli_inspect, "ID", true, NULL, 0, true,
         "One container: is it the sockets, what did sockmem do, and why.\n"
         "Takes a beginning of an id that only one has. A running container is\n"
         "preferred; else the newest of that id that has ended is shown, also where\n"
         "the enforcer is not running.\n"},
        {"events", skm_cli_events, "ID", false, NULL, TAKES_FOLLOW, true,
         "What happened, oldest first, in all containers or one; running and ended.\n"
         "  --follow  goes on with what is new; with --json an object a line\n"},
        {"check", skm_cli_check, "DOCUMENT", true, NULL, TAKES_KIND, false,
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
         "Without --kind a text that begins with { is a policy, and any other a size.\n"},
        {"set", skm_cli_set, "ID", true, "POLICY", TAKES_FORCE, true,
         "Gives a running container another policy, all of it or nothing. POLICY is\n"
         "JSON as in " SKM_ANNOTATION_POLICY ", which replaces the whole policy, or a size\n"
         "alone, which changes the limit and nothing else. @FILE reads a file, - stdin.\n"
         "Neither the ceilings nor the allow list of the node file bound it.\n"
         "  --force  memory.max may come below what is in use: reached in steps\n"},
        {"release", skm_cli_release, "ID", false, NULL, TAKES_ALL, true,
         "Puts everything back that was changed for a container, or with --all for all,\n"
         "and lets it go though it runs on: sysctls, the buffers of open sockets, files\n"
         "of the memory controller. Its record is listed as ended.\n"},
        {"adopt", skm_cli_adopt, "POLICY", true, NULL, TAKES_CGROUP | TAKES_ID, true,
         "Gives what no hook has started a policy until its cgroup is empty: a service,\n"
         "a container of Docker. POLICY is JSON, a size, @FILE or -.\n"
         "  --cgroup PATH  as /proc/PID/cgroup shows it behind 0::, or whole\n"
         "  --id NAME      what it is called from here on; the cgroup's name by default\n"},
        {"reclaim", skm_cli_reclaim, "ID", true, "SIZE", 0, true,
         "Reclaims that much of a container's memory, page cache first, in quarters of\n"
         "what is left; stops where the kernel finds no more, where the container's\n"
         "tasks stall for memory, and after 20 s. Needs kernel 5.19.\n"},
        {"hooks", skm_cli_hooks, "add", true, "BUNDLE", TAKES_CONVERT | TAKES_DRY_RUN, false,
         "Adds the hook to the config.json of a bundle for runc or crun, where it is\n"
         "not there yet; nothing else in the file is touched.\n"
         "  --convert  also moves linux.resources.memory.kernelTCP into the annotation\n"
         "             " SKM_ANNOTATION_TCPMEM ": crun refuses it on cgroup v2\n"
         "  --dry-run  prints what the file would be, and leaves it as it is\n"},
        {"metrics", skm_cli_metrics, NULL, false, NULL, 0, true,
         "The running containers as OpenMetrics, for a scrape or a textfile collector;\n"
         "with --json, what list --json prints.\n"},
        {"doctor", skm_cli_doctor, NULL, false, NULL, 0, true,
         "What this host can enforce and why not more, whether the enforcer runs,\n"
         "where the hook is registered, and what it complained of.\n"},
};

static const char help_text[] = "Usage: sockmem VERB [OPTION...] [OPERAND]\n"
                                "\n"
                                "Shows and changes the socket memory (tcpmem) limits of this node's containers.\n"
                                "\n"
                                "  list [--ended]   containers with a policy, or those that have ended\n"
                                "  inspect ID       is it the sockets, what did sockmem do, and why\n"
                                "  events [ID]      what happened, oldest first\n"
                                "  check POLICY     whether a policy is valid; --kind KIND: another document\n"
                                "  set ID POLICY    gives a running container another policy\n"
                                "  release ID       puts everything back and lets it go (--all: all of them)\n"
                                "  adopt POLICY     a policy for what no hook started (--cgroup PATH)\n"
                                "  reclaim ID SIZE  reclaims memory of a container, page cache first\n"
                                "  hooks add BUNDLE puts the hook into a bundle's config.json\n"
                                "  metrics          the running containers as OpenMetrics\n"
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
	unsigned int given; /* TAKES_… of the options that came */
	bool help, version;
};

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1] != '\0';
}

/* Takes the value of an option, --NAME VALUE or --NAME=VALUE: argv[*at] is the option, and *at its last word afterwards. */
static const char *take_value(const struct option *option, char **argv, int *at)
{
	const char *value = argv[*at] + strlen(option->name);

	if (*value == '=')
		return value + 1;
	return argv[*at + 1] ? argv[++*at] : NULL;
}

/* Whether the word is that option, alone or with its value behind a =. */
static bool is_named(const struct option *option, const char *word)
{
	size_t length = strlen(option->name);

	return strncmp(word, option->name, length) == 0 && (word[length] == '\0' || (option->value && word[length] == '='));
}

static const struct option *find_option(const char *word)
{
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (is_named(&options[i], word))
			return &options[i];
	return NULL;
}

static int take_verbs_option(char **argv, int *at, struct words *ret)
{
	const struct option *option = find_option(argv[*at]);
	char *member;

	if (!option)
		return skm_cli_fail(SKM_EXIT_USAGE, "unknown option %s: see sockmem --help", argv[*at]);
	ret->given |= option->bit;
	member = (char *)&ret->cli + option->member;
	if (!option->value) {
		*(bool *)member = true;
		return SKM_EXIT_OK;
	}
	*(const char **)member = take_value(option, argv, at);
	return *(const char **)member
	               ? SKM_EXIT_OK
	               : skm_cli_fail(SKM_EXIT_USAGE, "%s needs a %s: see sockmem --help", option->name, option->value);
}

static int take_option(char **argv, int *at, struct words *ret)
{
	const char *word = argv[*at];

	if (strcmp(word, "--json") == 0)
		ret->cli.json = true;
	else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		ret->help = true;
	else if (strcmp(word, "--version") == 0)
		ret->version = true;
	else
		return take_verbs_option(argv, at, ret);
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
	bool may_be_option = true;

	for (int i = 1; i < argc; i++) {
		int r = SKM_EXIT_OK;

		if (may_be_option && strcmp(argv[i], "--") == 0)
			may_be_option = false;
		else if (may_be_option && is_option(argv[i]))
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
	printf("Usage: sockmem %s", verb->name);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (verb->takes & options[i].bit)
			printf(" [%s%s%s]", options[i].name, options[i].value ? " " : "",
			       options[i].value ? options[i].value : "");
	fputs(" [--json]", stdout);
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
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (words->given & options[i].bit & ~verb->takes)
			return skm_cli_fail(SKM_EXIT_USAGE, "%s does not take %s", verb->name, options[i].name);
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
