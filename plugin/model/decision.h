/* SPDX-License-Identifier: Apache-2.0 */
/* What the ladder decided, and why: DESIGN.md, section 5. */
#ifndef SKM_MODEL_DECISION_H
#define SKM_MODEL_DECISION_H

#include "model/names.h"

#include <stdint.h>

/* How hard the enforcer leans on the sockets. */
enum skm_step { SKM_STEP_NONE, SKM_STEP_CAP, SKM_STEP_SQUEEZE, SKM_STEP_SHED };
extern const struct skm_names skm_step_names;

enum skm_reason {
	SKM_REASON_REST,      /* far from the limit */
	SKM_REASON_OCCUPANCY, /* u passed the step's entry */
	SKM_REASON_HOLD,      /* u fell below the exit, but not for long enough yet; or u lies between exit and entry */
	SKM_REASON_RELAXED,   /* u stayed below the exit long enough: one or more steps down */
	SKM_REASON_BURST,     /* at its present growth u passes the cap step's entry before that step can work */
	SKM_REASON_PRESSURE,  /* the kernel reclaims in vain, and the sockets hold a share worth having */
	SKM_REASON_TOO_SMALL, /* the fair cap would be below one segment a connection */
};
extern const struct skm_names skm_reason_names;

/* Values of a network namespace's sysctls; 0 means: the baseline. */
struct skm_netns_targets {
	uint64_t rmem_max_bytes;      /* tcp_rmem[2] */
	uint64_t wmem_max_bytes;      /* tcp_wmem[2] */
	uint64_t notsent_lowat_bytes; /* tcp_notsent_lowat */
};

struct skm_decision {
	enum skm_step step;
	enum skm_reason reason;
	uint64_t fair_cap_bytes; /* w, in bytes of sk_rcvbuf; UINT64_MAX while nothing is capped */
	struct skm_netns_targets targets;
	uint64_t squeeze_above_bytes; /* open sockets with a larger receive buffer are set to w; 0: none */
	uint32_t occupancy_permyriad; /* u */
};

#endif
