/* SPDX-License-Identifier: Apache-2.0 */
/* The words for every enum of the model. */
#include "model/decision.h"
#include "model/event.h"
#include "model/policy.h"
#include "model/pressure.h"
#include "model/reclaim.h"
#include "model/report.h"
#include "model/request.h"

#define TABLE(name, ...)                                                                                                         \
	static const char *const name##_words[] = {__VA_ARGS__};                                                                 \
	const struct skm_names name = {name##_words, sizeof(name##_words) / sizeof(*name##_words)}

TABLE(skm_mode_names, "auto", "hard", "soft", "observe", "v1");
TABLE(skm_scope_names, "container", "pod");
TABLE(skm_on_error_names, "unset", "fail", "warn");
TABLE(skm_policy_source_names, "none", "io.sockmem.policy.container", SKM_ANNOTATION_POLICY, SKM_ANNOTATION_PROFILE,
      SKM_ANNOTATION_TCPMEM, "kernelTCP", "defaults", "administrator");
TABLE(skm_policy_key_names, "tcpmem.limit", "tcpmem.mode", "tcpmem.scope", "memory.min", "memory.low", "memory.high",
      "memory.max", "memory.propagate", "throttle.sysctl", "throttle.sockets", "throttle.tc", "throttle.reclaim",
      "throttle.destroy", "throttle.protocols", "throttle.floor", "throttle.egress", "pressure.some", "pressure.window",
      "onError");
TABLE(skm_memory_file_names, "memory.min", "memory.low", "memory.high", "memory.max");
TABLE(skm_protocol_names, "tcp", "udp");
TABLE(skm_pressure_names, "low", "medium", "critical");
TABLE(skm_reclaim_end_names, "none", "running", "done", "exhausted", "stalled", "late", "cancelled", "failed");
TABLE(skm_shape_where_names, "nowhere", "host-side", "ifb");
TABLE(skm_step_names, "none", "cap", "squeeze", "shed");
TABLE(skm_reason_names, "rest", "occupancy", "hold", "relaxed", "burst", "pressure", "too-small");
TABLE(skm_event_kind_names, "registered", "step", "sysctl", "squeezed", "restored", "foreign-write", "trouble", "adopted",
      "oom-kill", "ended", "policy", "memory", "shaped", "destroyed");
TABLE(skm_backend_names, "soft", "observe", "none", "v1");
TABLE(skm_cut_names, "nothing", "ceiling", "runtime");
TABLE(skm_verb_names, "register", "release", "list", "inspect", "events", "ping", "set", "give-back", "reclaim");
