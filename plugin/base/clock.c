/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include "base/units.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SKM_USEC_PER_SEC + (uint64_t)now.tv_nsec / 1000;
}

uint64_t skm_now_usec(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t skm_cpu_usec(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t skm_realtime_usec(void)
{
	return read_clock(CLOCK_REALTIME);
}
