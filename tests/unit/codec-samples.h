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
	        .set = SKM_KEY_BIT(SKM_POLICY_KEYS) - 1,
	        .tcpmem_limit = {.kind = SKM_SIZE_PERCENT, .value = 1225},
	        .mode = SKM_MODE_OBSERVE,
	        .scope = SKM_SCOPE_POD,
	        .memory = {{SKM_SIZE_PROGRAM, 1}, {SKM_SIZE_PROGRAM, 64}, {SKM_SIZE_PERCENT, 4}, {SKM_SIZE_BYTES, 5 * SKM_MIB}},
	        .propagate = true,
	        .throttle = {.tc = true,
	                     .destroy = true,
	                     .protocols = UINT32_C(1) << SKM_PROTOCOL_UDP,
	                     .floor_bits_per_sec = UINT64_C(1) << 33,
	                     .egress_bits_per_sec = INT64_MAX},
	        .pressure_some_permyriad = 1234,
	        .pressure_window_usec = 6543 * SKM_USEC_PER_MSEC,
	        .on_error = SKM_ON_ERROR_WARN,
	        .source = SKM_SOURCE_ANNOTATION_PROFILE,
	        .profile = "front.end-1",
	};
}

static inline bool skm_same_size(const struct skm_size *a, const struct skm_size *b)
{
	return a->kind == b->kind && a->value == b->value;
}

/* Sizes of memory that are not set mean nothing. */
static inline bool skm_same_policy(const struct skm_policy *a, const struct skm_policy *b)
{
	for (int i = 0; i < SKM_MEMORY_FILES; i++)
		if (skm_policy_has(a, SKM_KEY_MEMORY_MIN + i) && !skm_same_size(&a->memory[i], &b->memory[i]))
			return false;
	return a->set == b->set && skm_same_size(&a->tcpmem_limit, &b->tcpmem_limit) && a->mode == b->mode &&
	       a->scope == b->scope && a->propagate == b->propagate && a->throttle.sysctl == b->throttle.sysctl &&
	       a->throttle.sockets == b->throttle.sockets && a->throttle.tc == b->throttle.tc &&
	       a->throttle.reclaim == b->throttle.reclaim && a->throttle.destroy == b->throttle.destroy &&
	       a->throttle.protocols == b->throttle.protocols &&
	       a->throttle.floor_bits_per_sec == b->throttle.floor_bits_per_sec &&
	       a->throttle.egress_bits_per_sec == b->throttle.egress_bits_per_sec &&
	       a->pressure_some_permyriad == b->pressure_some_permyriad && a->pressure_window_usec == b->pressure_window_usec &&
	       a->on_error == b->on_error && a->source == b->source && strcmp(a->profile, b->profile) == 0;
}

static inline struct skm_decision skm_sample_decision(void)
{
	return (struct skm_decision){
	        .step = SKM_STEP_SHED,
	        .reason = SKM_REASON_TOO_SMALL,
	        .fair_cap_bytes = 109,
	        .targets = {.rmem_max_bytes = 110, .wmem_max_bytes = 111, .notsent_lowat_bytes = 112},
	        .squeeze_above_bytes = 113,
	        .occupancy_permyriad = 12345,
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
	        .sock_peak_bytes = UINT64_MAX - 1,
	        .current_bytes = 106,
	        .memory_max_bytes = 107,
	        .sockets = UINT32_MAX,
	        .decision = skm_sample_decision(),
	        .samples = 114,
	        .stat_reads = 115,
	        .decisions = 116,
	        .sysctl_writes = 117,
	        .squeezed_sockets = 118,
	        .squeeze_runs = 119,
	        .over_limit = 120,
	        .throttled_usec = 121,
	        .oom_kills = 122,
	        .in_force = {{true, false, SKM_CUT_RUNTIME, 131, 132},
	                     {true, true, SKM_CUT_CEILING, 133, 134},
	                     {false, true, SKM_CUT_NOTHING, 135, 136},
	                     {true, false, SKM_CUT_RUNTIME, 137, 138},
	                     {false, false, SKM_CUT_CEILING, 139, 140}},
	        .sources = {1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5},
	        .kernel_tcp_bytes = 141,
	        .program_bytes = 142,
	        .protection = {true, 143, 144, "/sys/fs/cgroup/a", "web-2"},
	        .memory_writes = 145,
	        .memory_reasserted = 146,
	        .memory_taken_over = 147,
	        .reclaim = {SKM_RECLAIM_STALLED, 148, 149, 150, 151, 153},
	        .reclaimed_bytes = 152,
	        .shape = {SKM_SHAPE_IFB, 155, 156, 157, 158, 159, 160, 161},
	        .udp_rcvbuf_errors = 164,
	        .udp_mem_errors = UINT64_MAX,
	        .destroyed_sockets = 162,
	        .destroyed_bytes = 163,
	        .outside_processes = 154,
	        .small_windows = {165, 166, 167},
	        .skipped_count = SKM_SKIPPED_MAX - 1,
	        .skipped = {"a", "b", "c", "d", "e", "f", "g"},
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
	        .program_bytes = 78,
	        .kernel_tcp_bytes = 79,
	        .limit_only = true,
	        .force = true,
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
	        .shape = {.shaped = true, .host_ifindex = 303, .links = {304, 305}, .link_count = 2},
	};
}

#endif
