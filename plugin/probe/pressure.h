/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel shows of reclaim and stalls in a cgroup and above it. */
#ifndef SKM_PROBE_PRESSURE_H
#define SKM_PROBE_PRESSURE_H

#include "base/err.h"
#include "model/pressure.h"

#include <stdbool.h>
#include <stdint.h>

/* A container's cgroup and its ancestors below the root of cgroup v2; the deepest Kubernetes hierarchies have six. */
#define SKM_PRESSURE_LEVELS_MAX 8

struct skm_pressure_files {
	int stat[SKM_PRESSURE_LEVELS_MAX]; /* memory.stat of the cgroup itself, of its parent, … */
	uint32_t levels;
	int psi; /* memory.pressure of the cgroup itself; -1 where the kernel has no PSI */
};

#define SKM_PRESSURE_FILES_INIT ((struct skm_pressure_files){.psi = -1})

/* Opens what there is below the cgroup directory cgroup_fd and above it in the same mount. An ancestor without the memory
 * controller ends the list: pressure does not come from above it. Returns 0; -ENODEV where the cgroup is gone; -errno. */
int skm_probe_pressure_open(int cgroup_fd, struct skm_pressure_files *ret, struct skm_err *err);
void skm_probe_pressure_close(struct skm_pressure_files *files);

/* The counters of level i. ret_apart: whether the kernel counts proactive reclaim apart, so that it could be taken off.
 * Returns 0; -ENODEV where that cgroup is gone; -EINVAL where a line is missing or is no number; -errno. */
int skm_probe_pressure_counts(const struct skm_pressure_files *files, uint32_t i, struct skm_reclaim_counts *ret, bool *ret_apart,
                              struct skm_err *err);

/* Pages that reclaim of any kind, proactive too, has taken from level 0 so far. Returns as above. */
int skm_probe_pressure_stolen(const struct skm_pressure_files *files, uint64_t *ret_pages, struct skm_err *err);

/* The text of memory.stat taken apart, for the above. Returns 0 or -EINVAL. */
int skm_probe_reclaim_parse(const char *text, struct skm_reclaim_counts *ret, bool *ret_apart);

/* `total` of the line `some`, in microseconds since the cgroup was made. Returns 0; -ENOENT without PSI (psi=0: -EOPNOTSUPP);
 * -EINVAL; -errno. */
int skm_probe_psi_total(const struct skm_pressure_files *files, uint64_t *ret_usec, struct skm_err *err);
int skm_probe_psi_parse(const char *text, uint64_t *ret_usec);

/* A descriptor that epoll says EPOLLPRI of when tasks of the cgroup stalled for some_usec within window_usec (500 ms to 10 s;
 * Documentation/accounting/psi.rst). The caller closes it, which ends the trigger. Returns it; -ENOENT, -EOPNOTSUPP without PSI;
 * -EINVAL for another window; -errno. */
int skm_probe_psi_trigger(int cgroup_fd, uint64_t some_usec, uint64_t window_usec, struct skm_err *err);

#endif
