/* SPDX-License-Identifier: Apache-2.0 */
#include "util.h"
#include "verbs.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
        {"serve", verb_serve, "in a container: accept, read at a rate, grow memory beside, answer echoes"},
        {"blast", verb_blast, "many connections that send as fast as they can, at once or after an idle time"},
        {"push", verb_push, "in a container: send as fast as possible to slow peers"},
        {"drain", verb_drain, "the slow peers: many connections read at a total rate"},
        {"stream", verb_stream, "one connection, its throughput in a window"},
        {"echo", verb_echo, "request and response, the percentiles of the round trip"},
        {"udp", verb_udp, "datagrams sent at a rate, or received and counted"},
        {"watch", verb_watch, "sample a cgroup's socket memory into JSON lines"},
};

#define N_VERBS (sizeof verbs / sizeof verbs[0])

static void show_help(void)
{
	puts("usage: sockload VERB [--option VALUE]...      (sockload VERB --help)\n");
	for (size_t i = 0; i < N_VERBS; i++)
		printf("  %-8s %s\n", verbs[i].name, verbs[i].help);
	puts("\nEach prints one JSON object on stdout at its end, also on SIGTERM and SIGINT.");
	puts("Exit codes: 0 done, 1 failure, 2 bad usage.");
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		complain("which verb? (see sockload --help)");
		return USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		show_help();
		return DONE;
	}
	for (size_t i = 0; i < N_VERBS; i++) {
		if (strcmp(argv[1], verbs[i].name) == 0) {
			catch_signals();
			return verbs[i].run(argc - 2, argv + 2);
		}
	}
	complain("no verb '%s' (see sockload --help)", argv[1]);
	return USAGE;
}
