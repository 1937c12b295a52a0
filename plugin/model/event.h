/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKM_MODEL_EVENT_H
#define SKM_MODEL_EVENT_H

#include "model/decision.h"

#include <stdint.h>

enum skm_event_kind {
	SKM_EVENT_REGISTERED,
	SKM_EVENT_STEP,     /* the ladder moved */
	SKM_EVENT_SYSCTL,   /* a value of the network namespace was written */
	SKM_EVENT_SQUEEZED, /* open sockets were given smaller buffers */
	SKM_EVENT_RESTORED, /* baselines were put back */
	SKM_EVENT_FOREIGN,  /* a value changed that sockmem did not change */
	SKM_EVENT_TROUBLE,  /* an actuator or a probe failed */
	SKM_EVENT_ADOPTED,  /* taken over from an enforcer that ended without releasing */
	SKM_EVENT_OOM,      /* the kernel OOM-killed in the container */
	SKM_EVENT_ENDED,
	SKM_EVENT_POLICY,    /* a policy was changed live, cut to a ceiling, or a part of it is not applied here */
	SKM_EVENT_MEMORY,    /* a file of the memory controller was written, put back, re-asserted or taken over */
	SKM_EVENT_SHAPED,    /* bulk traffic is shaped, or at another rate, or no longer */
	SKM_EVENT_DESTROYED, /* a connection was ended, by the last resort */
	SKM_EVENT_KINDS,
};
extern const struct skm_names skm_event_kind_names;

#define SKM_EVENT_TEXT_MAX 240

struct skm_event {
	uint64_t realtime_usec;
	enum skm_event_kind kind;
	enum skm_step step;
	enum skm_reason reason;
	uint64_t sock_bytes;                  /* UINT64_MAX: not known (SKM_SOCK_UNKNOWN) */
	uint64_t limit_bytes, fair_cap_bytes; /* fair cap: UINT64_MAX while nothing is capped */
	uint32_t sockets;
	char text[SKM_EVENT_TEXT_MAX]; /* a sentence for a person */
};

#endif
