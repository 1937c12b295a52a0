/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that nobody waits for: one that sleeps in the kernel may end long after it was told to. For this room's own
 * files. */
#ifndef SKM_ACTUATE_CHILDREN_H
#define SKM_ACTUATE_CHILDREN_H

#include <stdbool.h>
#include <sys/types.h>

/* Forks with all signals blocked: none of the enforcer's handlers may run in the child before it has reset them. Returns as fork,
 * or -errno. */
pid_t skm_actuate_children_fork(void);

/* Reaps a child that has ended; remembers one that has not, for skm_actuate_children_reap. */
void skm_actuate_children_leave(pid_t pid);

/* Reaps every child that was left and has ended by now. Never waits. */
void skm_actuate_children_reap(void);

#endif
