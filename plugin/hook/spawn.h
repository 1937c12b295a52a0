/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the enforcer where no systemd does. */
#ifndef SKM_HOOK_SPAWN_H
#define SKM_HOOK_SPAWN_H

#include "base/err.h"

#include <stdint.h>

/* Runs `program --on-demand` in a session of its own: no inherited descriptor (runc waits until the last holder of the hook's
 * stdout and stderr has closed them), /dev/null as its standard ones, cwd /, umask 077, default signals, a clean environment.
 * deadline_usec: CLOCK_MONOTONIC, for the program to be executed.
 * Returns a pidfd of it that the caller closes (readable once it has ended); -ENOENT, -EACCES, … where it cannot be executed;
 * -ESRCH where it has ended already; -ETIMEDOUT; -errno. */
int skm_hook_spawn(const char *program, uint64_t deadline_usec, struct skm_err *err);

#endif
