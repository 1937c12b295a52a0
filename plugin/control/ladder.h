/* SPDX-License-Identifier: Apache-2.0 */
/* sample + limit + previous state -> decision (DESIGN.md, section 5). Pure: a recorded run gives the same decisions again. */
#ifndef SKM_CONTROL_LADDER_H
#define SKM_CONTROL_LADDER_H

#include "model/decision.h"
#include "model/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step is left when u has been below its exit for this long: as long as the kernel's own socket pressure (1 s,
 * mm/vmpressure.c). Counted from the entry instead, the cap went in the middle of a burst as soon as it had worked, the buffers
 * grew back, and 1,000 connections reached 1.22 of 32 MiB. */
#define SKM_STEP_HOLD_USEC UINT64_C(1000000)
/* The way to none where throttling began again soon after it had ended: doubled up to this, and back after a while without. */
#define SKM_STEP_HOLD_MAX_USEC UINT64_C(4000000)
#define SKM_STEP_AGAIN_USEC UINT64_C(2000000)
#define SKM_STEP_CALM_USEC UINT64_C(10000000)
/* None is entered so many times later while the sockets still hold much and may together grow past the limit: a cap
 * that works looks just as if it were not needed. */
#define SKM_STEP_HOLD_DEMAND 4

/* tcp_notsent_lowat is never set below it: less than a page would wake a sender for each segment. */
#define SKM_NOTSENT_MIN_BYTES UINT64_C(4096)

/* What stands for one container as long as its policy does. */
struct skm_ladder_config {
	uint64_t limit_bytes;               /* L, above 0 */
	uint64_t rmem_max_baseline_bytes;   /* tcp_rmem[2] before sockmem */
	uint64_t wmem_start_baseline_bytes; /* tcp_wmem[1]: tcp_wmem[2] is not lowered below it */
	uint64_t wmem_max_baseline_bytes;   /* tcp_wmem[2] */
	uint64_t notsent_lowat_baseline_bytes;
	uint32_t pressure_some_permyriad; /* PSI `some` from which it counts as medium pressure; 0: never */
};

struct skm_ladder_state {
	uint64_t above_usec[SKM_STEP_SHED + 1]; /* when each step's exit was last not passed, or its pressure last felt */
	uint64_t full_usec;                     /* when the sockets were last not drained, or pressed */
	uint64_t released_usec;                 /* when none was last entered; 0: never */
	uint64_t hold_usec;                     /* 0: SKM_STEP_HOLD_USEC */
	bool by_pressure;                       /* the step was entered for pressure alone */
	struct skm_decision decision;           /* the last one */
};

/* Occupancy in permyriad, S / L, saturating at UINT32_MAX / 2. */
uint32_t skm_control_occupancy(uint64_t sock_bytes, uint64_t limit_bytes);

/* Whether the sockets hold a share worth throttling them for where memory is short: a tenth of memory.current. */
bool skm_control_pressure_matters(const struct skm_sample *sample);

/* Decides, keeps the decision in state and returns it. */
const struct skm_decision *skm_control_decide(const struct skm_ladder_config *config, const struct skm_sample *sample,
                                              struct skm_ladder_state *state);

/* Whether a value that was written may stay, although the target has moved: it differs by less than an eighth.
 * 0 means the baseline, which is always exact. */
bool skm_control_within_grain(uint64_t written, uint64_t target);

/* The decision as a sentence for a person. buffer of size bytes, cut where it does not fit. */
void skm_control_explain(const struct skm_decision *decision, const struct skm_sample *sample, uint64_t limit_bytes, char *buffer,
                         size_t size);

#endif
