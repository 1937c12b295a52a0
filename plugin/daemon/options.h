/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKM_DAEMON_OPTIONS_H
#define SKM_DAEMON_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct skm_daemon_options {
	bool on_demand; /* started by a hook: own cgroup, own priorities, log to syslog */
	bool debug;
	const char *config; /* the node file; one of argv, or a constant */
	uint64_t idle_usec; /* leaves after so long without a container; 0: never */
	pid_t runtime;      /* whose hook started us; 0: none */
};

/* Returns -1 to go on, or the exit status: 0 after --help and --version, 2 for a usage error (said on stderr). */
int skm_daemon_options_parse(int argc, char **argv, struct skm_daemon_options *ret);

#endif
