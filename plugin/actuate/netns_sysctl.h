/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the sysctls of a container's network namespace. Knows values and grain, not containers: what to write is decided
 * elsewhere. */
#ifndef SKM_ACTUATE_NETNS_SYSCTL_H
#define SKM_ACTUATE_NETNS_SYSCTL_H

#include "base/err.h"
#include "model/journal.h"
#include "probe/netns.h"

/* Writes text ("4096 32768 6291456") and reads it back. Returns 0; -EIO where the kernel took another value (both named); -errno.
 */
int skm_actuate_netns_write(const struct skm_netns *netns, enum skm_netns_key key, const char *text, struct skm_err *err);

#endif
