/* SPDX-License-Identifier: Apache-2.0 */
/* The node file in a running enforcer: read at the start and on SIGHUP. A file that is broken never keeps a node from running. */
#ifndef SKM_DAEMON_NODE_H
#define SKM_DAEMON_NODE_H

#include "base/err.h"
#include "model/node.h"

#include <stdint.h>

struct skm_daemon_node {
	const char *path;      /* of the file */
	struct skm_node node;  /* in force; at one address for the enforcer's life */
	uint64_t loaded_usec;  /* CLOCK_REALTIME, when what is in force was read; 0: the rules of a node without a file */
	struct skm_err broken; /* why the file as it is now is not in force; no code: it is, or there is none */
};

/* At the start. Where the file is broken the newest valid one that an enforcer read since the boot is in force (a copy below
 * run_dir), and without one the rules of a node without a file: nothing that takes from neighbours, no profiles, no defaults.
 * Says what it found. */
void skm_daemon_node_start(struct skm_daemon_node *node, int run_dir);

/* On SIGHUP. A file that is broken leaves all as it was. Says what it found. */
void skm_daemon_node_reload(struct skm_daemon_node *node, int run_dir);

#endif
