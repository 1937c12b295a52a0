/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known of one container, live or ended: what `inspect` shows and what an ended record keeps. */
#ifndef SKM_MODEL_REPORT_H
#define SKM_MODEL_REPORT_H

#include "model/decision.h"
#include "model/policy.h"
#include "model/reclaim.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The backend that holds the limit, after `auto` was resolved. */
/* none: the policy has no limit on sockets, only other values. */
enum skm_backend { SKM_BACKEND_SOFT, SKM_BACKEND_OBSERVE, SKM_BACKEND_NONE, SKM_BACKEND_V1 };
extern const struct skm_names skm_backend_names;

/* What is not applied of a policy, and why: "netns sysctls: …". */
#define SKM_SKIPPED_MAX 8
#define SKM_SKIPPED_TEXT_MAX 200

/* What the memory controller makes of the policy's min and low. */
struct skm_protection {
	bool known;
	uint64_t effective_min_bytes, effective_low_bytes; /* as the kernel would compute them now */
	char cut_by[256];      /* the ancestor that leaves less than was asked, empty where none does */
	char shared_with[256]; /* names of siblings that have a share of the same parent's protection; cut with "…" */
};

/* cgroup.memory=nosocket: what sockets hold is not 0. */
#define SKM_SOCK_UNKNOWN UINT64_MAX

/* What tc does for it. */
enum skm_shape_where { SKM_SHAPE_NOWHERE, SKM_SHAPE_HOST_SIDE, SKM_SHAPE_IFB };
extern const struct skm_names skm_shape_where_names;

struct skm_shape_report {
	enum skm_shape_where where;                   /* bulk ingress is shaped now */
	uint64_t rate_bytes_per_sec;                  /* of it; 0: not shaped */
	uint64_t egress_bytes_per_sec;                /* of bulk egress; 0: not shaped */
	uint64_t drain_bytes_per_sec;                 /* as fast as its programs read while they were reading; 0: never seen */
	uint64_t passed_bytes, dropped, queued_bytes; /* of ingress, since it was shaped last, at the last look */
	uint64_t changes;                             /* rates that were written */
};

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
	/* What the sockets hold (of the pod's cgroup where the scope is that), and the peak that the samples saw: sampling may
	 * miss a shorter one. */
	uint64_t sock_bytes, sock_peak_bytes; /* SKM_SOCK_UNKNOWN: the kernel does not count it */
	uint64_t current_bytes;
	uint64_t memory_max_bytes; /* UINT64_MAX: none */
	/* TCP sockets in use in the network namespace; where others' are there too (the host's, another container's), the
	 * container's own as last counted. */
	uint32_t sockets;

	struct skm_decision decision; /* the newest */
	uint64_t samples, stat_reads; /* looks at the container; how many of them read memory.stat */
	uint64_t decisions;           /* decisions that changed something */
	uint64_t sysctl_writes, squeezed_sockets, squeeze_runs;
	uint64_t over_limit;     /* samples above the limit: the counterpart of v1's failcnt */
	uint64_t throttled_usec; /* time spent in a step above none */
	uint64_t oom_kills;      /* memory.events oom_kill since the start */

	struct skm_in_force in_force[SKM_IN_FORCE_COUNT];
	enum skm_policy_source sources[SKM_POLICY_KEYS]; /* where each value of the policy came from; none: built in */
	uint64_t kernel_tcp_bytes;                       /* what kernelTCP of config.json says beside the policy; 0: nothing */
	uint64_t program_bytes;                          /* size of the container's program file; 0: not known */
	struct skm_protection protection;
	uint64_t memory_writes;            /* to files of the memory controller */
	uint64_t memory_reasserted;        /* values that others rewrote and that were put back to the policy's */
	uint64_t memory_taken_over;        /* stricter values of others that were kept */
	struct skm_reclaim_result reclaim; /* the newest */
	uint64_t reclaimed_bytes;          /* by all of them */
	struct skm_shape_report shape;
	/* Connections opened while throttling had tcp_rmem[2] lowered keep a smaller TCP window scale for life: the lowest value,
	 * when the first could be opened, and when the last (0: they still can). rmem_max_bytes 0: none. */
	struct skm_small_windows {
		uint64_t rmem_max_bytes, since_realtime_usec, until_realtime_usec;
	} small_windows;
	/* UDP datagrams that sockets of its network namespace lost while it was held: for a full receive buffer, and for want of
	 * memory (RcvbufErrors, MemErrors). UINT64_MAX: not known, or the namespace is not the container's alone. */
	uint64_t udp_rcvbuf_errors, udp_mem_errors;
	uint64_t destroyed_sockets; /* connections that throttle.destroy has ended */
	uint64_t destroyed_bytes;   /* of their send queues, that this freed */
	uint32_t outside_processes; /* of the container, that are not in its cgroup: their sockets are counted elsewhere */
	uint32_t skipped_count;
	char skipped[SKM_SKIPPED_MAX][SKM_SKIPPED_TEXT_MAX];
	uint32_t events, events_lost;
};

#endif
