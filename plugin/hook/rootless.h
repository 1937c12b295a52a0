/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the hook is run by the host's root: the enforcer takes requests from nobody else. */
#ifndef SKM_HOOK_ROOTLESS_H
#define SKM_HOOK_ROOTLESS_H

#include "base/err.h"

#include <sys/types.h>

/* euid: as geteuid(2) gives it. uid_map: /proc/self/uid_map, which shows 0 0 4294967295 in the host's own user namespace
 * (user_namespaces(7)). Returns 0; -EPERM with the reason and what would be right; -errno where the map cannot be read. */
int skm_hook_check_root(uid_t euid, const char *uid_map, struct skm_err *err);

#endif
