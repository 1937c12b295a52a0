/* SPDX-License-Identifier: Apache-2.0 */
/* The words for every enum of the model. */
#include "model/decision.h"
#include "model/event.h"
#include "model/policy.h"
#include "model/report.h"
#include "model/request.h"

#define TABLE(name, ...)                                                                                                         \
	static const char *const name##_words[] = {__VA_ARGS__};                                                                 \
	const struct skm_names name = {name##_words, sizeof(name##_words) / sizeof(*name##_words)}

TABLE(skm_mode_names, "auto", "soft", "observe");
TABLE(skm_policy_source_names, "none", SKM_ANNOTATION_POLICY, SKM_ANNOTATION_TCPMEM);
TABLE(skm_step_names, "none", "cap", "squeeze", "shed");
TABLE(skm_reason_names, "rest", "occupancy", "hold", "relaxed", "burst", "too-small");
TABLE(skm_event_kind_names, "registered", "step", "sysctl", "squeezed", "restored", "foreign-write", "trouble", "adopted",
      "oom-kill", "ended");
TABLE(skm_backend_names, "soft", "observe");
TABLE(skm_verb_names, "register", "release", "list", "inspect", "events", "ping");
