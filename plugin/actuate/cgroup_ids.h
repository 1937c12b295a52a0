/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of a cgroup and of all below it, by which the kernel says where a socket was made. For this room's own files. */
#ifndef SKM_ACTUATE_CGROUP_IDS_H
#define SKM_ACTUATE_CGROUP_IDS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Ascending; the caller frees *ret (NULL on failure). Returns 0 or -ENOMEM. */
int skm_actuate_cgroup_ids(int cgroup_fd, uint64_t **ret, size_t *ret_count, struct skm_err *err);

#endif
