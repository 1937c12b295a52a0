/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup for the enforcer itself, by libcgroup: what it uses is then not the container's that happened to start it, and it
 * outlives that container's cgroup. */
#ifndef SKM_ACTUATE_OWN_CGROUP_H
#define SKM_ACTUATE_OWN_CGROUP_H

#include "base/err.h"

/* Moves the calling process into the cgroup `name` ("sockmem") at the root of cgroup v2, made where it is missing, with the
 * memory controller on. Some 300 stat calls: for the start.
 * Returns 0; -EINVAL for a name that is not one path component; -EOPNOTSUPP where the memory controller is not on cgroup v2 (v1,
 * hybrid, none: libcgroup makes no v2 cgroup without a controller); -EPERM, -ENOENT, -EIO as libcgroup says. */
int skm_actuate_own_cgroup(const char *name, struct skm_err *err);

#endif
