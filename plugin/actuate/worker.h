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
#include "model/demand.h"
#include "model/journal.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SKM_WORKER_BATCH 64

enum skm_worker_job { SKM_WORKER_SQUEEZE, SKM_WORKER_RESTORE, SKM_WORKER_COUNT };

struct skm_worker {
	pid_t pid;   /* 0: not started */
	int pidfd;   /* readable when it has ended */
	int fd;      /* SOCK_SEQPACKET, non-blocking: poll for input, then skm_actuate_worker_receive */
	bool busy;   /* a job is under way */
	bool shared; /* set by the caller: others' sockets are in the namespace too, so that SQUEEZE and COUNT look only at those
	                that were made in the cgroup or below it (accepted ones where their listener was) */
	uint32_t batch; /* of the last BASELINES: what go answers */
};

#define SKM_WORKER_INIT ((struct skm_worker){.pidfd = -1, .fd = -1})

/* Forks the worker; it enters the namespace netns_fd, keeps cgroup_fd, closes every other descriptor (0 to 2 become /dev/null)
 * and dies with its parent: with the thread that called this. It takes no SIGTERM, SIGINT or SIGHUP, so that a stop of the whole
 * service leaves it to the enforcer. Where it cannot enter the namespace each of its jobs is DONE with that as trouble.
 * ret: untouched on failure. Returns 0 or -errno. */
int skm_actuate_worker_start(struct skm_worker *ret, int cgroup_fd, int netns_fd, struct skm_err *err);

/* Asks for every socket (not listening, held by a process of the cgroup or its descendants) with a receive buffer above
 * above_bytes to be set to rcvbuf_bytes (as the kernel counts: SO_RCVBUF is set to half of it), hottest first; and the send
 * buffer of one where it is above above_bytes and has more than rcvbuf_bytes queued. No buffer is ever raised: one found at or
 * below rcvbuf_bytes is left alone. A socket that was squeezed before comes again with the value and the lock that this left: of
 * the baselines of one cookie and side the first counts, unless it is `renewed`. Returns 0; -EBUSY while a job is under way;
 * -EPIPE where the worker has ended. */
int skm_actuate_worker_squeeze(struct skm_worker *worker, uint32_t above_bytes, uint32_t rcvbuf_bytes, struct skm_err *err);

/* Asks for the given sockets (by cookie; copied) to get their baselines back: buffers and their locks in SO_BUF_LOCK, so that
 * autotuning resumes where it was on. Sockets that are gone are skipped, and so is one whose program has set a buffer of its own
 * since this worker squeezed it (which a worker started later cannot know). No BASELINES come, only DONE: found are the sockets
 * that still exist. Same results; -errno of the list's copy. */
int skm_actuate_worker_restore(struct skm_worker *worker, const struct skm_socket_baseline *sockets, uint32_t count,
                               struct skm_err *err);

/* Asks how many sockets there are (not listening): DONE says it. Reads alone. Same results as above. */
int skm_actuate_worker_count(struct skm_worker *worker, struct skm_err *err);

/* What the worker said. */
enum skm_worker_news { SKM_NEWS_NOTHING, SKM_NEWS_BASELINES, SKM_NEWS_DONE, SKM_NEWS_GONE };
struct skm_worker_message {
	enum skm_worker_news news;
	enum skm_worker_job job;
	uint32_t count; /* BASELINES: in sockets[] */
	struct skm_socket_baseline sockets[SKM_WORKER_BATCH];
	/* DONE: */
	uint32_t total;                  /* sockets there are; of a shared namespace, those of the cgroup */
	uint32_t found, changed, failed; /* sockets above the cap (all of them); set; refused by the kernel */
	uint32_t unreachable;            /* above the cap and held by no process that was found: in the accept queue, orphaned,
	                                    held by another cgroup, or, before kernel 6.9, by a thread with descriptors of its own
	                                    (CLONE_FILES not shared; trouble then names it) */
	uint64_t took_usec;              /* with all waiting */
	uint64_t cpu_usec;               /* of a processor */
	struct skm_demands demands;      /* SQUEEZE and COUNT: of all `total`, as the job found them */
	char trouble[160];               /* the first failure, empty without one */
};

/* Takes one message without waiting. DONE and GONE end the job. Returns 0 (news says what; NOTHING where none waits); -EPROTO;
 * -errno. */
int skm_actuate_worker_receive(struct skm_worker *worker, struct skm_worker_message *ret, struct skm_err *err);

/* The baselines of the last BASELINES message are journaled: the worker may write. It waits 1 s for this, with the sockets in its
 * hands, then lets them go untouched and ends the job with that as trouble. Returns 0; -EPIPE where it has ended; -errno. */
int skm_actuate_worker_go(struct skm_worker *worker, struct skm_err *err);

/* Ends the worker (SIGKILL), reaps it if it has gone and closes the descriptors; one that sleeps in the kernel is left to be
 * reaped by SIGCHLD handling (skm_actuate_worker_reap). */
void skm_actuate_worker_stop(struct skm_worker *worker);

/* Reaps every worker that was stopped, and every other child of this room that was left to itself, and has ended by now. Never
 * waits. */
void skm_actuate_worker_reap(void);

#endif
