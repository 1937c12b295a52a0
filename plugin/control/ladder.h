/* SPDX-License-Identifier: Apache-2.0 */
/* sample + limit + previous state -> decision (DESIGN.md, section 5). Pure: a recorded run gives the same decisions again. */
#ifndef SKM_CONTROL_LADDER_H
#define SKM_CONTROL_LADDER_H

#include "model/decision.h"
#include "model/sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step is held this long from its entry: as long as the kernel's own socket pressure (1 s, mm/vmpressure.c). */
#define SKM_STEP_HOLD_USEC UINT64_C(1000000)

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
	uint64_t entered_usec;        /* when the step was entered, or entered again */
	bool by_pressure;             /* the step was entered for pressure alone */
	struct skm_decision decision; /* the last one */
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
