/* SPDX-License-Identifier: Apache-2.0 */
/* Structs in which every member has a value of its own, so that a member that gets lost or swapped in JSON shows. */
#ifndef SKM_TEST_CODEC_SAMPLES_H
#define SKM_TEST_CODEC_SAMPLES_H

#include "codec/message.h"
#include "model/journal.h"

#include <string.h>

static inline struct skm_policy skm_sample_policy(void)
{
	return (struct skm_policy){
	        .tcpmem_limit = {.kind = SKM_SIZE_PERCENT, .value = 1225},
	        .mode = SKM_MODE_OBSERVE,
	        .source = SKM_SOURCE_ANNOTATION_TCPMEM,
	};
}

static inline struct skm_report skm_sample_report(void)
{
	return (struct skm_report){
	        .id = "web-1 \xc3\xa9",
	        .cgroup = "/sys/fs/cgroup/a/b",
	        .pid = 4242,
	        .ended = true,
	        .started_realtime_usec = 1700000000000001,
	        .ended_realtime_usec = 1700000000000002,
	        .policy = skm_sample_policy(),
	        .backend = SKM_BACKEND_OBSERVE,
	        .why_not_better = "no \"BTF\"",
	        .limit_bytes = 103,
	        .sock_bytes = 104,
	        .sock_peak_bytes = UINT64_MAX,
	        .current_bytes = 106,
	        .memory_max_bytes = 107,
	        .sockets = UINT32_MAX,
	        .decision =
	                {
	                        .step = SKM_STEP_SHED,
	                        .reason = SKM_REASON_TOO_SMALL,
	                        .fair_cap_bytes = 109,
	                        .targets = {.rmem_max_bytes = 110, .wmem_max_bytes = 111, .notsent_lowat_bytes = 112},
	                        .squeeze_above_bytes = 113,
	                        .occupancy_permyriad = 12345,
	                },
	        .samples = 114,
	        .stat_reads = 115,
	        .decisions = 116,
	        .sysctl_writes = 117,
	        .squeezed_sockets = 118,
	        .squeeze_runs = 119,
	        .over_limit = 120,
	        .throttled_usec = 121,
	        .oom_kills = 122,
	        .events = 123,
	        .events_lost = 124,
	};
}

static inline struct skm_event skm_sample_event(void)
{
	return (struct skm_event){
	        .realtime_usec = 1700000000000003,
	        .kind = SKM_EVENT_FOREIGN,
	        .step = SKM_STEP_SQUEEZE,
	        .reason = SKM_REASON_BURST,
	        .sock_bytes = 201,
	        .limit_bytes = 202,
	        .fair_cap_bytes = 203,
	        .sockets = 204,
	        .text = "tcp_rmem was changed\tby someone else",
	};
}

static inline struct skm_request skm_sample_request(void)
{
	return (struct skm_request){
	        .verb = SKM_VERB_REGISTER,
	        .id = "../../etc/passwd",
	        .pid = 77,
	        .policy = skm_sample_policy(),
	        .fds = {5, 6, 7},
	};
}

/* sockets, memory: lent to the journal. */
static inline struct skm_journal skm_sample_journal(struct skm_socket_baseline *sockets, uint32_t count,
                                                    struct skm_memory_baseline *memory, uint32_t memory_count)
{
	return (struct skm_journal){
	        .id = "web-1",
	        .boot_id = "0b5e2c1e-5b52-4a4c-8a2c-3d8a1c8a7f10",
	        .pid = 301,
	        .cgroup_inode = UINT64_MAX,
	        .netns_inode = 4026532281,
	        .cgroup = "/sys/fs/cgroup/a",
	        .policy = skm_sample_policy(),
	        .started_realtime_usec = 302,
	        .baseline = {"4096\t131072\t6291456", "4096\t16384\t4194304", "4294967295"},
	        .written = {"4096\t1\t2", "4096\t3\t4", "5"},
	        .sockets = sockets,
	        .socket_count = count,
	        .memory = memory,
	        .memory_count = memory_count,
	};
}

#endif
