/* SPDX-License-Identifier: Apache-2.0 */
/* What the enforcer and its worker send each other: whole structs in SOCK_SEQPACKET messages, both ends one program image.
 * For this room's own files. */
#ifndef SKM_ACTUATE_WORKER_WIRE_H
#define SKM_ACTUATE_WORKER_WIRE_H

#include "actuate/worker.h"

enum skm_worker_order_kind { SKM_ORDER_SQUEEZE, SKM_ORDER_RESTORE, SKM_ORDER_COUNT, SKM_ORDER_GO };

/* Enforcer to worker. RESTORE carries a memfd with `count` struct skm_socket_baseline: there may be thousands, more than one
 * message takes. */
struct skm_worker_order {
	enum skm_worker_order_kind kind;
	uint32_t above_bytes, rcvbuf_bytes; /* SQUEEZE */
	bool shared;                        /* SQUEEZE, COUNT */
	uint32_t count;                     /* RESTORE */
	uint32_t batch;                     /* GO: of the BASELINES it answers; one that comes late is for no other */
};

/* Worker to enforcer. */
struct skm_worker_report {
	uint32_t batch; /* BASELINES: counts up over the worker's life */
	struct skm_worker_message message;
};

/* The child's whole life: never returns. socket, cgroup_fd, netns_fd: the three descriptors that it keeps; parent: the process
 * that it dies with. */
_Noreturn void skm_actuate_worker_main(int socket, int cgroup_fd, int netns_fd, pid_t parent);

#endif
