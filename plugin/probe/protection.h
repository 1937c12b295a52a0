/* SPDX-License-Identifier: Apache-2.0 */
/* What the memory controller makes of a cgroup's memory.min and memory.low: a protection counts only as far as every cgroup above
 * affords it. */
#ifndef SKM_PROBE_PROTECTION_H
#define SKM_PROBE_PROTECTION_H

#include "base/err.h"
#include "model/report.h"

#include <stdbool.h>
#include <stdint.h>

/* One cgroup beside its parent, for min or for low. Bytes. */
struct skm_protection_claim {
	uint64_t usage, setting;
	uint64_t parent_usage, parent_effective;
	uint64_t siblings_protected; /* the sum over the parent's children, this one too, of min(usage, setting) */
};

/* How much of the claim is protected. Pure. The kernel's own computation: effective_protection of mm/memcontrol.c (5.7 to 6.10)
 * and mm/page_counter.c (6.11 to 7.0), in pages there. Claims beyond what the parent affords get shares by what is used; what the
 * children leave unclaimed is, with recursive (mount option memory_recursiveprot), shared by what each uses unprotected. */
uint64_t skm_probe_effective_protection(const struct skm_protection_claim *claim, bool recursive);

/* The protection of the cgroup at dirfd, whose path is `path` (names in the result are taken from it). own_levels: how many
 * cgroups from it upwards are the container's own, 1 or 2. Reads every ancestor and every sibling of each.
 * ret: untouched on failure. Returns 0; -ENODEV where the cgroup is gone or has no memory controller; -E2BIG below
 * more than 64 ancestors; -EINVAL; -errno. */
int skm_probe_protection(int dirfd, const char *path, unsigned int own_levels, bool recursive, struct skm_protection *ret,
                         struct skm_err *err);

#endif
