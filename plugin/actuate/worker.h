/* SPDX-License-Identifier: Apache-2.0 */
/* The process that touches a container's open sockets. lock_sock can sleep and the last close of a lingering socket can block
 * for seconds (FACTS.md), so it is a process of its own, one per container, that the enforcer never waits for.
 *
 * Life of a job: the enforcer sends it; the worker finds the sockets (sock_diag in the namespace, /proc/PID/fd of the cgroup's
 * processes, pidfd_getfd) and sends their baselines, a batch at a time, before it touches one; the enforcer journals them and
 * says go; the worker writes that batch, closes its descriptors, and goes on; at the end it sends the sums. */
#ifndef SKM_ACTUATE_WORKER_H
#define SKM_ACTUATE_WORKER_H

#include "base/err.h"
#include "model/journal.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SKM_WORKER_BATCH 64

enum skm_worker_job { SKM_WORKER_SQUEEZE, SKM_WORKER_RESTORE };

struct skm_worker {
	pid_t pid; /* 0: not started */
	int pidfd; /* readable when it has ended */
	int fd;    /* SOCK_SEQPACKET, non-blocking: poll for input, then skm_actuate_worker_receive */
	bool busy; /* a job is under way */
};

#define SKM_WORKER_INIT ((struct skm_worker){.pidfd = -1, .fd = -1})

/* Forks the worker; it enters the namespace netns_fd, keeps cgroup_fd, closes every other descriptor and dies with its parent.
 * Returns 0 or -errno. */
int skm_actuate_worker_start(struct skm_worker *ret, int cgroup_fd, int netns_fd, struct skm_err *err);

/* Asks for every socket (not listening, held by a process of the cgroup or its descendants) with a receive buffer above
 * above_bytes to be set to rcvbuf_bytes (as the kernel counts: SO_RCVBUF is set to half of it), hottest first.
 * Returns 0; -EBUSY while a job is under way; -EPIPE where the worker has ended. */
int skm_actuate_worker_squeeze(struct skm_worker *worker, uint32_t above_bytes, uint32_t rcvbuf_bytes, struct skm_err *err);

/* Asks for the given sockets (by cookie) to get their baselines back: buffer and SO_BUF_LOCK state, so that autotuning resumes
 * where it was on. Sockets that are gone are skipped. Same results. */
int skm_actuate_worker_restore(struct skm_worker *worker, const struct skm_socket_baseline *sockets, uint32_t count,
                               struct skm_err *err);

/* What the worker said. */
enum skm_worker_news { SKM_NEWS_NOTHING, SKM_NEWS_BASELINES, SKM_NEWS_DONE, SKM_NEWS_GONE };
struct skm_worker_message {
	enum skm_worker_news news;
	enum skm_worker_job job;
	uint32_t count; /* BASELINES: in sockets[] */
	struct skm_socket_baseline sockets[SKM_WORKER_BATCH];
	/* DONE: */
	uint32_t found, changed, failed; /* sockets above the cap; set; refused by the kernel */
	uint32_t unreachable;            /* above the cap and held by no process that was found */
	uint64_t took_usec;
	char trouble[160]; /* the first failure, empty without one */
};

/* Takes one message without waiting. Returns 0 (news says what; NOTHING where none waits) or -errno. */
int skm_actuate_worker_receive(struct skm_worker *worker, struct skm_worker_message *ret, struct skm_err *err);

/* The baselines of the last BASELINES message are journaled: the worker may write. */
int skm_actuate_worker_go(struct skm_worker *worker, struct skm_err *err);

/* Ends the worker (SIGKILL), reaps it if it has gone and closes the descriptors; one that sleeps in the kernel is left to be
 * reaped by SIGCHLD handling (skm_actuate_worker_reap). */
void skm_actuate_worker_stop(struct skm_worker *worker);

/* Reaps every worker that was stopped and has ended by now. Never waits. */
void skm_actuate_worker_reap(void);

#endif
