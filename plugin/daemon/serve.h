/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of a request: what is asked, and the answer. */
#ifndef SKM_DAEMON_SERVE_H
#define SKM_DAEMON_SERVE_H

#include "base/err.h"
#include "daemon/node.h"
#include "enforcer/registry.h"
#include "enforcer/watch.h"

#include <stdint.h>

/* Connections at once; one more is closed. A client asks and goes. */
#define SKM_CLIENTS_MAX 64

struct skm_server {
	struct skm_watch watch;
	struct skm_registry *registry;
	const struct skm_daemon_node *node;
	int epoll_fd, listen_fd;
	uint64_t started_realtime_usec;
	uint32_t clients;
	uint64_t requests; /* answered so far */
};

/* Watches the listening socket. Returns 0 or -errno. */
int skm_serve_start(struct skm_server *server, struct skm_err *err);

#endif
