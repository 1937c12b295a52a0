/* SPDX-License-Identifier: Apache-2.0 */
/* How much to ask memory.reclaim for at once. Pure.
 *
 * A quarter of what is left: large steps far from the goal, small ones near it. One request for all of it takes far too much on
 * kernels to 6.5 (107.8 MiB too much of 1 GiB on 6.1), and 32 pages at a time are slow (FACTS.md, section 4). */
#ifndef SKM_CONTROL_RECLAIM_H
#define SKM_CONTROL_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

/* No smaller step: the kernel takes 32 pages at least (SWAP_CLUSTER_MAX), and each write costs a look at every LRU list. */
#define SKM_RECLAIM_STEP_MIN_BYTES (UINT64_C(1) << 20)

/* The next request when left_bytes are still to be reclaimed, in whole pages; 0 where less than a page is left. */
uint64_t skm_control_reclaim_step(uint64_t left_bytes, uint64_t page_bytes);

/* What the last step asks for where memory.max is near: enough that a quarter of the limit is free again, 0 where it is.
 * current, max and limit in bytes; max UINT64_MAX: no limit, never near. */
uint64_t skm_control_reclaim_need(uint64_t current_bytes, uint64_t max_bytes, uint64_t limit_bytes);

#endif
