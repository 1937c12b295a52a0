/* SPDX-License-Identifier: Apache-2.0 */
/* What a reclaim of ours came to. */
#ifndef SKM_MODEL_RECLAIM_H
#define SKM_MODEL_RECLAIM_H

#include "model/names.h"

#include <stdbool.h>
#include <stdint.h>

enum skm_reclaim_end {
	SKM_RECLAIM_NONE,      /* none was asked for so far */
	SKM_RECLAIM_RUNNING,   /* one is under way: the figures are those so far */
	SKM_RECLAIM_DONE,      /* all that was asked for */
	SKM_RECLAIM_EXHAUSTED, /* the kernel found nothing more (EAGAIN) */
	SKM_RECLAIM_STALLED,   /* the container's tasks stalled for memory (PSI) */
	SKM_RECLAIM_LATE,      /* its time was over */
	SKM_RECLAIM_CANCELLED, /* the container went, or was let go */
	SKM_RECLAIM_FAILED,    /* any other error: see the events */
};
extern const struct skm_names skm_reclaim_end_names;

struct skm_reclaim_result {
	enum skm_reclaim_end end;
	uint64_t asked_bytes;
	uint64_t reclaimed_bytes; /* pages that reclaim took from the cgroup meanwhile (pgsteal): others' reclaim is in it too */
	uint64_t took_usec;
	uint32_t steps; /* writes of memory.reclaim */
	uint32_t error; /* errno where it failed, else 0 */
};

#endif
