/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include "base/units.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define IDLE_DEFAULT_SEC 60
#define IDLE_MAX_SEC (7 * 24 * 3600)

static const char HELP[] = "usage: sockmemd [--idle SECONDS] [--on-demand] [--debug]\n"
                           "\n"
                           "Holds the socket memory of containers at the limits that sockmem-hook hands it.\n"
                           "\n"
                           "  --idle SECONDS  end after SECONDS without a container; 0: never (default 60)\n"
                           "  --on-demand     how sockmem-hook starts it: moves to a cgroup of its own (/sockmem),\n"
                           "                  raises its priority, logs to syslog\n"
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

int skm_daemon_options_parse(int argc, char **argv, struct skm_daemon_options *ret)
{
	static const struct option OPTIONS[] = {
	        {"idle", required_argument, NULL, 'i'}, {"on-demand", no_argument, NULL, 'o'}, {"debug", no_argument, NULL, 'd'},
	        {"help", no_argument, NULL, 'h'},       {"version", no_argument, NULL, 'V'},   {0},
	};
	int option;

	*ret = (struct skm_daemon_options){.idle_usec = IDLE_DEFAULT_SEC * SKM_USEC_PER_SEC};
	while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1) {
		switch (option) {
		case 'i': {
			int r = parse_idle(optarg, &ret->idle_usec);

			if (r >= 0)
				return r;
			break;
		}
		case 'o':
			ret->on_demand = true;
			break;
		case 'd':
			ret->debug = true;
			break;
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
	if (optind < argc) {
		fprintf(stderr, "sockmemd: %s: no operand is taken; see sockmemd --help\n", argv[optind]);
		return 2;
	}
	return -1;
}
