/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known of one container, live or ended: what `inspect` shows and what an ended record keeps. */
#ifndef SKM_MODEL_REPORT_H
#define SKM_MODEL_REPORT_H

#include "model/decision.h"
#include "model/policy.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The backend that holds the limit, after `auto` was resolved. */
enum skm_backend { SKM_BACKEND_SOFT, SKM_BACKEND_OBSERVE };
extern const struct skm_names skm_backend_names;

struct skm_report {
	char id[SKM_ID_MAX + 1];
	char cgroup[PATH_MAX]; /* as the host sees it */
	pid_t pid;             /* the container's init */
	bool ended;
	uint64_t started_realtime_usec, ended_realtime_usec;

	struct skm_policy policy;
	enum skm_backend backend;
	char why_not_better[160]; /* why auto did not take a better backend; empty where none is better */

	uint64_t limit_bytes;
	uint64_t sock_bytes, sock_peak_bytes; /* the peak that the samples saw: sampling may miss a shorter one */
	uint64_t current_bytes;
	uint64_t memory_max_bytes; /* UINT64_MAX: none */
	uint32_t sockets;          /* TCP sockets in use in the network namespace */

	struct skm_decision decision; /* the newest */
	uint64_t samples, stat_reads; /* looks at the container; how many of them read memory.stat */
	uint64_t decisions;           /* decisions that changed something */
	uint64_t sysctl_writes, squeezed_sockets, squeeze_runs;
	uint64_t over_limit;     /* samples above the limit: the counterpart of v1's failcnt */
	uint64_t throttled_usec; /* time spent in a step above none */
	uint64_t oom_kills;      /* memory.events oom_kill since the start */
	uint32_t events, events_lost;
};

#endif
