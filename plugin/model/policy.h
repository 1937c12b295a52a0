/* SPDX-License-Identifier: Apache-2.0 */
/* What a container asked for: DESIGN.md, section 3. Plain data, no pointers, so that it can be copied and compared. */
#ifndef SKM_MODEL_POLICY_H
#define SKM_MODEL_POLICY_H

#include "base/units.h"
#include "model/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the limit is held. What a host or this build cannot do is the enforcer's to refuse, not the parser's. */
enum skm_mode { SKM_MODE_AUTO, SKM_MODE_HARD, SKM_MODE_SOFT, SKM_MODE_OBSERVE, SKM_MODE_V1 };
extern const struct skm_names skm_mode_names;

/* pod: the limit is the parent cgroup's, for a sandbox whose containers share one network namespace. */
enum skm_scope { SKM_SCOPE_CONTAINER, SKM_SCOPE_POD };
extern const struct skm_names skm_scope_names;

/* What happens where a valid policy cannot be enforced. unset: fail where the container itself asked, warn for node defaults. */
enum skm_on_error { SKM_ON_ERROR_UNSET, SKM_ON_ERROR_FAIL, SKM_ON_ERROR_WARN };
extern const struct skm_names skm_on_error_names;

/* Where the policy came from. */
enum skm_policy_source {
	SKM_SOURCE_NONE,
	SKM_SOURCE_ANNOTATION_CONTAINER, /* io.sockmem.policy.container.NAME: one container of a pod */
	SKM_SOURCE_ANNOTATION_POLICY,    /* io.sockmem.policy */
	SKM_SOURCE_ANNOTATION_PROFILE,   /* io.sockmem.profile: policy.profile holds the name */
	SKM_SOURCE_ANNOTATION_TCPMEM,    /* io.sockmem.tcpmem */
	SKM_SOURCE_KERNEL_TCP,           /* linux.resources.memory.kernelTCP of config.json */
	SKM_SOURCE_NODE_DEFAULTS,        /* `defaults` of the node file */
	SKM_SOURCE_ADMINISTRATOR,        /* sockmem set, sockmem adopt */
};
extern const struct skm_names skm_policy_source_names;

/* Every value of a policy, by the path that documents, allow lists and `inspect` use. */
enum skm_policy_key {
	SKM_KEY_TCPMEM_LIMIT,
	SKM_KEY_TCPMEM_MODE,
	SKM_KEY_TCPMEM_SCOPE,
	SKM_KEY_MEMORY_MIN,
	SKM_KEY_MEMORY_LOW,
	SKM_KEY_MEMORY_HIGH,
	SKM_KEY_MEMORY_MAX,
	SKM_KEY_MEMORY_PROPAGATE,
	SKM_KEY_THROTTLE_SYSCTL,
	SKM_KEY_THROTTLE_SOCKETS,
	SKM_KEY_THROTTLE_TC,
	SKM_KEY_THROTTLE_RECLAIM,
	SKM_KEY_THROTTLE_DESTROY,
	SKM_KEY_THROTTLE_PROTOCOLS,
	SKM_KEY_THROTTLE_FLOOR,
	SKM_KEY_THROTTLE_EGRESS,
	SKM_KEY_PRESSURE_SOME,
	SKM_KEY_PRESSURE_WINDOW,
	SKM_KEY_ON_ERROR,
	SKM_POLICY_KEYS
};
extern const struct skm_names skm_policy_key_names; /* "tcpmem.limit", …, "onError" */

#define SKM_KEY_BIT(key) (UINT32_C(1) << (key))

/* The files of the memory controller that a policy may set. */
enum skm_memory_file { SKM_MEMORY_FILE_MIN, SKM_MEMORY_FILE_LOW, SKM_MEMORY_FILE_HIGH, SKM_MEMORY_FILE_MAX, SKM_MEMORY_FILES };
extern const struct skm_names skm_memory_file_names; /* "memory.min", … */

enum skm_protocol { SKM_PROTOCOL_TCP, SKM_PROTOCOL_UDP };
extern const struct skm_names skm_protocol_names;

struct skm_throttle {
	bool sysctl, sockets, tc, reclaim, destroy;
	uint32_t protocols;           /* 1 << enum skm_protocol */
	uint64_t floor_bits_per_sec;  /* tc never shapes below it */
	uint64_t egress_bits_per_sec; /* 0: egress is not shaped */
};

#define SKM_PROFILE_MAX 63 /* a label value of Kubernetes is no longer, and channels that cut do not cut before that */

/* What a profile's name may be, in the node file and in the annotation: a label value of Kubernetes, which no channel has to
 * quote. 1 to SKM_PROFILE_MAX letters, digits, '-', '_' and '.', the first and the last a letter or a digit. ret_reason: what is
 * wrong with one that is not. */
bool skm_policy_is_profile_name(const char *text, size_t length, const char **ret_reason);

struct skm_policy {
	uint32_t set;                 /* SKM_KEY_BIT of each value that the document had; the others are defaults */
	struct skm_size tcpmem_limit; /* bytes, a share of memory.max, or max: no limit */
	enum skm_mode mode;
	enum skm_scope scope;
	struct skm_size memory[SKM_MEMORY_FILES]; /* meaningful where set; min and low may be a multiple of the program's size */
	bool propagate;
	struct skm_throttle throttle;
	uint32_t pressure_some_permyriad;
	uint64_t pressure_window_usec;
	enum skm_on_error on_error;
	enum skm_policy_source source;
	char profile[SKM_PROFILE_MAX + 1]; /* of the node file; empty: none was named */
};

/* What stands where a policy says nothing. */
#define SKM_POLICY_INIT                                                                                                          \
	((struct skm_policy){                                                                                                    \
	        .tcpmem_limit = {.kind = SKM_SIZE_MAX},                                                                          \
	        .throttle = {.sysctl = true,                                                                                     \
	                     .sockets = true,                                                                                    \
	                     .reclaim = true,                                                                                    \
	                     .protocols = UINT32_C(1) << SKM_PROTOCOL_TCP,                                                       \
	                     .floor_bits_per_sec = UINT64_C(10) * 1000 * 1000},                                                  \
	        .pressure_some_permyriad = 1000,                                                                                 \
	        .pressure_window_usec = SKM_USEC_PER_SEC,                                                                        \
	})

/* What made a size smaller than it was asked for. */
enum skm_cut { SKM_CUT_NOTHING, SKM_CUT_CEILING, SKM_CUT_RUNTIME };
extern const struct skm_names skm_cut_names; /* "nothing", "ceiling": of the node file, "runtime": what the runtime itself set */

/* One size of the policy as it is in force. */
struct skm_in_force {
	bool set; /* the policy has it */
	bool cut; /* it was asked for larger */
	enum skm_cut cut_by;
	uint64_t asked_bytes; /* what the policy's size came to; UINT64_MAX: max */
	uint64_t bytes;       /* what is enforced */
};

/* The sizes of a policy: its limit, then the memory controller's files. */
enum { SKM_IN_FORCE_LIMIT, SKM_IN_FORCE_MEMORY, SKM_IN_FORCE_COUNT = SKM_IN_FORCE_MEMORY + SKM_MEMORY_FILES };

#define SKM_ANNOTATION_POLICY "io.sockmem.policy"
#define SKM_ANNOTATION_CONTAINER "io.sockmem.policy.container."
#define SKM_ANNOTATION_PROFILE "io.sockmem.profile"
#define SKM_ANNOTATION_TCPMEM "io.sockmem.tcpmem"

/* Bounds of what is read from tenants: DESIGN.md, section 3. */
#define SKM_POLICY_TEXT_MAX (64 * 1024)
#define SKM_POLICY_DEPTH_MAX 8

/* A container id as runtimes take it: 1 to this many bytes, shown escaped, never used as a path. */
#define SKM_ID_MAX 1024

static inline bool skm_policy_has(const struct skm_policy *policy, enum skm_policy_key key)
{
	return policy->set & SKM_KEY_BIT(key);
}

/* Whether the policy sets any of memory.min, low, high, max. */
static inline bool skm_policy_has_memory(const struct skm_policy *policy)
{
	return policy->set & (SKM_KEY_BIT(SKM_KEY_MEMORY_MIN) | SKM_KEY_BIT(SKM_KEY_MEMORY_LOW) |
	                      SKM_KEY_BIT(SKM_KEY_MEMORY_HIGH) | SKM_KEY_BIT(SKM_KEY_MEMORY_MAX));
}

#endif
