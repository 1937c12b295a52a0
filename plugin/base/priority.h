/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs when. A burst is what starves the enforcer: its sockets grow while it waits for a processor. */
#ifndef SKM_BASE_PRIORITY_H
#define SKM_BASE_PRIORITY_H

/* The calling thread, and what it starts from here on, comes before every ordinary task (SCHED_RR, the lowest of its priorities).
 * The kernel keeps a twentieth of each second for others (sched_rt_runtime_us). Returns 0; -EPERM without CAP_SYS_NICE; -errno.
 */
int skm_priority_prompt(void);

/* Back among ordinary tasks: for threads and processes whose work is long and not pressing. Never fails for want of a right. */
void skm_priority_ordinary(void);

#endif
