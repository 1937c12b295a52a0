/* SPDX-License-Identifier: Apache-2.0 */
/* One container as the enforcer holds it. Private to this room: the daemon sees reports and events. */
#ifndef SKM_ENFORCER_CONTAINER_H
#define SKM_ENFORCER_CONTAINER_H

#include "actuate/worker.h"
#include "base/err.h"
#include "control/ladder.h"
#include "control/pace.h"
#include "control/rate.h"
#include "enforcer/census.h"
#include "enforcer/destroy.h"
#include "enforcer/events.h"
#include "enforcer/memory.h"
#include "enforcer/netns_group.h"
#include "enforcer/pressure.h"
#include "enforcer/reclaim.h"
#include "enforcer/shape.h"
#include "enforcer/watch.h"
#include "model/journal.h"
#include "model/report.h"
#include "model/request.h"
#include "probe/host.h"
#include "probe/memcg.h"
#include "probe/netns.h"
#include "probe/udp_drops.h"

struct skm_grant;
struct skm_registry;

#define SKM_JOURNAL_NAME_MAX 64

/* The sockets actuator's state. */
struct skm_squeezer {
	struct skm_worker worker;
	struct skm_watch watch;
	uint64_t cap_bytes;     /* the cap of the last job; 0: none since the last restore */
	uint64_t job_usec;      /* when the job under way was given */
	uint64_t heard_usec;    /* when the worker last said something */
	uint64_t next_run_usec; /* no job before */
	uint64_t interval_usec; /* between two jobs that found nothing new */
	int failed_restores;    /* in a row */
	uint32_t left;          /* sockets that the last of them could not give back */
};

struct skm_container {
	struct skm_container *next;
	struct skm_registry *registry;
	struct skm_report report;
	struct skm_event_ring events;
	struct skm_event_rate event_rates[SKM_EVENT_KINDS];
	struct skm_journal journal;
	char journal_name[SKM_JOURNAL_NAME_MAX]; /* file names hold numbers only, never the id */

	int fds[SKM_FD_COUNT];
	struct skm_memcg memcg;        /* the container's own */
	struct skm_memcg pod;          /* scope pod: the one above it, whose sockets are limited; else closed */
	struct skm_netns_group *group; /* of its network namespace */
	uint64_t governed_inode;       /* of the cgroup whose sockets are limited */
	struct skm_watch pid_watch, oom_watch;
	uint64_t oom_kills_before;
	bool init_ended; /* the pidfd has said so; the cgroup may still hold others */

	bool writes_sysctls;   /* of its network namespace: soft mode, and the policy allows it */
	bool is_writer;        /* its decisions count among its group's */
	bool squeezes;         /* open sockets: likewise */
	bool begun;            /* its start was told, so that what is skipped is told at once */
	uint32_t skipped_told; /* of report.skipped */

	struct skm_ladder_config ladder_config;
	struct skm_ladder_state ladder;
	uint64_t start_buffer_bytes; /* tcp_rmem[1] while we hold the container */
	struct skm_pace pace;
	uint64_t next_full_usec, next_tripwire_usec;
	struct skm_squeezer squeezer;
	struct skm_census census;
	bool counts_udp;
	struct skm_udp_drops udp_begin; /* what its namespace had lost before */
	uint64_t next_outside_usec;
	struct skm_pressure_gauge pressure;
	struct skm_reclaimer reclaimer;
	struct skm_shaper shaper;
	struct skm_destroyer destroyer;
	struct skm_memory memory;
};

/* Opens what a register request names, resolves the limit and the backend, and reads the baselines. Writes nothing.
 * grant: the node's, its second half still to be done unless sized. Takes the request's descriptors (they become -1) on success
 * only. Returns 0 with *ret; -errno with err naming what cannot be done and why; never -EINVAL: a policy that is wrong in itself
 * gets no grant. */
int skm_container_open(struct skm_registry *registry, struct skm_request *request, const struct skm_grant *grant, bool sized,
                       struct skm_container **ret, struct skm_err *err);

/* Resolves the backend for report.policy and report.limit_bytes, and what may be written. Returns 0; -EOPNOTSUPP where
 * the limit cannot be held; report.backend is then undefined. */
int skm_container_resolve(struct skm_container *container, struct skm_err *err);

/* Takes the ladder's bounds from the baselines of its network namespace. Returns 0, or -EINVAL where one is not as the kernel
 * writes it. */
int skm_container_use_baselines(struct skm_container *container, struct skm_err *err);

/* Closes and frees; writes nothing. */
void skm_container_free(struct skm_container *container);

/* Lists something of the policy that is not applied, with the reason ("throttle.tc: this build shapes no traffic"): in
 * report.skipped, and as an event once the container's start was told. The same text again changes nothing; beyond
 * SKM_SKIPPED_MAX nothing is listed. */
void skm_container_skip(struct skm_container *container, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds an event with the container's present figures. The same again is left out; of what happens too often the first are kept,
 * and the others counted. */
void skm_container_tell(struct skm_container *container, enum skm_event_kind kind, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

/* Tells how many were left out where the time for that has come (CLOCK_MONOTONIC; UINT64_MAX: now). */
void skm_container_tell_left_out(struct skm_container *container, uint64_t now_usec);

#endif
