/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include "base/units.h"
#include "model/node.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define IDLE_DEFAULT_SEC 60
#define IDLE_MAX_SEC (7 * 24 * 3600)

static const char HELP[] = "usage: sockmemd [--config FILE] [--idle SECONDS] [--on-demand] [--debug]\n"
                           "\n"
                           "Holds the socket memory of containers at the limits that sockmem-hook hands it.\n"
                           "\n"
                           "  --config FILE   the node file (default " SKM_NODE_FILE ");\n"
                           "                  read at the start and on SIGHUP\n"
                           "  --idle SECONDS  end after SECONDS without a container; 0: never (default 60)\n"
                           "  --on-demand     how sockmem-hook starts it: moves to a cgroup of its own (/sockmem),\n"
                           "                  raises its priority, logs to syslog\n"
                           "  --runtime PID   the runtime whose hook that was: where it has adopted us and has no child\n"
                           "                  but us any more, it waits for us (crun run does), and we leave\n"
                           "  --debug         log more\n"
                           "  --help, --version\n"
                           "\n"
                           "Its socket is /run/sockmem/sockmemd.sock, or the one that systemd passes.\n";

static int parse_idle(const char *text, uint64_t *ret)
{
	char *end;
	unsigned long seconds;

	errno = 0;
	seconds = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || seconds > IDLE_MAX_SEC) {
		fprintf(stderr, "sockmemd: --idle %s: not a number of seconds from 0 to %d\n", text, IDLE_MAX_SEC);
		return 2;
	}
	*ret = seconds * SKM_USEC_PER_SEC;
	return -1;
}

static int parse_runtime(const char *text, pid_t *ret)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid < 0 || pid > INT_MAX) {
		fprintf(stderr, "sockmemd: --runtime %s: no process id\n", text);
		return 2;
	}
	*ret = (pid_t)pid;
	return -1;
}

/* Returns -1 to go on, or the exit status. */
static int take_option(int option, struct skm_daemon_options *ret)
{
	switch (option) {
	case 'c':
		ret->config = optarg;
		return -1;
	case 'i':
		return parse_idle(optarg, &ret->idle_usec);
	case 'r':
		return parse_runtime(optarg, &ret->runtime);
	case 'o':
		ret->on_demand = true;
		return -1;
	case 'd':
		ret->debug = true;
		return -1;
	case 'h':
		fputs(HELP, stdout);
		return 0;
	case 'V':
		puts("sockmemd " SKM_VERSION);
		return 0;
	default:
		fputs("sockmemd: see sockmemd --help\n", stderr);
		return 2;
	}
}

int skm_daemon_options_parse(int argc, char **argv, struct skm_daemon_options *ret)
{
	static const struct option OPTIONS[] = {
	        {"config", required_argument, NULL, 'c'},  {"idle", required_argument, NULL, 'i'},
	        {"on-demand", no_argument, NULL, 'o'},     {"debug", no_argument, NULL, 'd'},
	        {"help", no_argument, NULL, 'h'},          {"version", no_argument, NULL, 'V'},
	        {"runtime", required_argument, NULL, 'r'}, {0},
	};
	int option;

	*ret = (struct skm_daemon_options){.config = SKM_NODE_FILE, .idle_usec = IDLE_DEFAULT_SEC * SKM_USEC_PER_SEC};
	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		int r = take_option(option, ret);

		if (r >= 0)
			return r;
	}
	if (optind < argc) {
		fprintf(stderr, "sockmemd: %s: no operand is taken; see sockmemd --help\n", argv[optind]);
		return 2;
	}
	return -1;
}
