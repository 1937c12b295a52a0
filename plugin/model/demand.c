/* SPDX-License-Identifier: Apache-2.0 */
#include "model/demand.h"

#define FIRST_BYTES UINT64_C(4096)

uint64_t skm_demand_bound(uint32_t bucket)
{
	uint64_t base;

	if (bucket == 0)
		return 0;
	if (bucket >= SKM_DEMAND_BUCKETS)
		return UINT64_MAX;
	base = FIRST_BYTES << (bucket - 1) / 4;
	return base + base / 4 * ((bucket - 1) % 4);
}

static uint32_t bucket_of(uint64_t bytes)
{
	uint32_t bucket = 0;

	while (bytes >= skm_demand_bound(bucket + 1))
		bucket++;
	return bucket;
}

void skm_demand_add(struct skm_demands *demands, uint32_t rmem_alloc_bytes, uint32_t rcvbuf_bytes, uint32_t wmem_queued_bytes)
{
	uint32_t bucket;

	if (rmem_alloc_bytes > 0 || wmem_queued_bytes > 0) {
		demands->hungry++;
		return;
	}
	bucket = bucket_of(rcvbuf_bytes);
	demands->count[bucket]++;
	demands->bytes[bucket] += rcvbuf_bytes;
}
