/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKM_BASE_CLOCK_H
#define SKM_BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in microseconds. */
uint64_t skm_now_usec(void);

/* What the calling thread has used of a processor, in microseconds: CLOCK_THREAD_CPUTIME_ID. */
uint64_t skm_cpu_usec(void);

/* CLOCK_REALTIME in microseconds since 1970, for what a person reads. */
uint64_t skm_realtime_usec(void);

#endif
