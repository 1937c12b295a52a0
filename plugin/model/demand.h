/* SPDX-License-Identifier: Apache-2.0 */
/* What a container's sockets may hold, as one dump of them shows it: few numbers, however many sockets there are. */
#ifndef SKM_MODEL_DEMAND_H
#define SKM_MODEL_DEMAND_H

#include <stdint.h>

/* Bucket i has the demands from skm_demand_bound(i) to below skm_demand_bound(i + 1); the last all above. Four to a doubling,
 * from 4 KiB to 4 GiB. */
#define SKM_DEMAND_BUCKETS 80

/* Of idle sockets: what the peer of each may send without hearing from it again. */
struct skm_demands {
	uint32_t count[SKM_DEMAND_BUCKETS];
	uint64_t bytes[SKM_DEMAND_BUCKETS]; /* sums */
	uint32_t hungry;                    /* beside them: sockets with a queue, which may take all that they are given */
};

/* The least demand of a bucket, in bytes; 0 for the first, UINT64_MAX from SKM_DEMAND_BUCKETS on. */
uint64_t skm_demand_bound(uint32_t bucket);

/* Counts one socket. With anything queued it is hungry; else it asks for rcvbuf_bytes, which bound what it may receive before its
 * program reads, whatever window it has promised. */
void skm_demand_add(struct skm_demands *demands, uint32_t rmem_alloc_bytes, uint32_t rcvbuf_bytes, uint32_t wmem_queued_bytes);

#endif
