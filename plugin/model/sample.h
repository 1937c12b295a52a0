/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKM_MODEL_SAMPLE_H
#define SKM_MODEL_SAMPLE_H

#include "model/demand.h"
#include "model/pressure.h"

#include <stdint.h>

/* One look at a container. */
struct skm_sample {
	uint64_t when_usec;                /* CLOCK_MONOTONIC */
	uint64_t sock_bytes;               /* S: `sock` of memory.stat */
	uint64_t current_bytes;            /* memory.current */
	uint64_t growth_bytes_per_sec;     /* of S since the look before; 0 where it fell */
	uint32_t sockets;                  /* TCP sockets in use in the container's network namespace (sockstat, both families) */
	const struct skm_demands *demands; /* of the newest dump of the sockets; NULL where none tells of the present */
	enum skm_pressure pressure;        /* reclaim pressure: the highest of the container and its ancestors */
	uint32_t psi_some_permyriad;       /* PSI `some` of memory.pressure over the policy's window; 0 where there is no PSI */
};

#endif
