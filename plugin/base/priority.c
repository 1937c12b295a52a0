/* SPDX-License-Identifier: Apache-2.0 */
#include "base/priority.h"

#include <errno.h>
#include <sched.h>

int skm_priority_prompt(void)
{
	const struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_RR)};

	return sched_setscheduler(0, SCHED_RR, &param) < 0 ? -errno : 0;
}

void skm_priority_ordinary(void)
{
	const struct sched_param param = {.sched_priority = 0};

	/* fails for a thread that does not exist or a policy that does not */
	sched_setscheduler(0, SCHED_OTHER, &param);
}
