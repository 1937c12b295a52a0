/* SPDX-License-Identifier: Apache-2.0 */
/* Backend v1: on a host whose memory controller is on cgroup v1 the kernel itself holds the limit. It is written before the
 * container's first socket, looked after like every other value of ours, and given back. */
#ifndef SKM_ENFORCER_KERNEL_LIMIT_H
#define SKM_ENFORCER_KERNEL_LIMIT_H

#include "base/err.h"
#include "model/journal.h"

#include <stdint.h>

struct skm_container;

/* Brings the kernel's limit to what container->report says: limit_bytes where the backend is v1, else the baseline where we wrote
 * before. The baseline is in the journal, on disk, before the first write. Nothing on a host with cgroup v2.
 * Returns 0; what skm_actuate_kernel_limit_write says; -errno of the journal. */
int skm_kernel_limit_apply(struct skm_container *container, struct skm_err *err);

/* Takes the kernel's counters into the report (usage is the sample's). A limit that somebody else has written is told, becomes
 * the baseline, and is left alone from then on. Returns 0; -ENODEV where the cgroup is gone; -errno. */
int skm_kernel_limit_look(struct skm_container *container, struct skm_err *err);

/* Puts the baseline back where ours still stands. A failure is told. */
void skm_kernel_limit_give_back(struct skm_container *container);

/* The same for a container that cannot be adopted: by the journal alone. Where its cgroup is gone there is nothing to do. */
void skm_kernel_limit_restore(const struct skm_journal *journal);

#endif
