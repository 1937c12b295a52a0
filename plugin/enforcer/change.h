/* SPDX-License-Identifier: Apache-2.0 */
/* Another policy for a container that is held. */
#ifndef SKM_ENFORCER_CHANGE_H
#define SKM_ENFORCER_CHANGE_H

#include "enforcer/container.h"

/* Another policy for a container that lives, all of it or nothing: after a failure the old one is in force as it was, and the
 * journal says so. request: policy (the administrator's), limit_only (the limit changes, all else stays, whatever the node file
 * says by now), force (memory.max may come below what is in use). What is no longer wanted is put back: sysctls now, open
 * sockets by the worker at the next look. Tells what has changed.
 * Returns 0; -EINVAL where the policy itself is wrong; -EOPNOTSUPP, -ERANGE, -EBUSY, -errno with err saying why it cannot be
 * enforced on this container. */
int skm_change_policy(struct skm_container *container, const struct skm_request *request, struct skm_err *err);

#endif
