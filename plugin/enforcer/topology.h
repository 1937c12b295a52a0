/* SPDX-License-Identifier: Apache-2.0 */
/* Where a container stands: which cgroup's sockets its limit is on, whose its network namespace is, and who of several squeezes.
 */
#ifndef SKM_ENFORCER_TOPOLOGY_H
#define SKM_ENFORCER_TOPOLOGY_H

#include "enforcer/container.h"

/* Opens the container's memory cgroup (container->memcg) and, for scope pod, the one above it (container->pod), whose sockets the
 * limit is then on; the memory controller's own files stay the container's. cgroup_fd: where its process is.
 * Returns 0; -EOPNOTSUPP where the host or the cgroup has no memory controller on v2, or there is no pod, with the reason;
 * -ENODEV where it is gone; -errno. */
int skm_topology_open(struct skm_container *container, int cgroup_fd, enum skm_scope scope, struct skm_err *err);

/* The cgroup whose sockets the limit is on. */
const struct skm_memcg *skm_topology_governed(const struct skm_container *container);

/* What policy, backend and network namespace let us write; the rest is listed as skipped. */
void skm_topology_choose_actuators(struct skm_container *container);

/* Whether the network namespace has sockets that are not the container's: it is the host's, or another container that is held is
 * in it. */
bool skm_topology_shares_netns(const struct skm_container *container);

/* Of several containers with the same limited cgroup (a pod's) the one with the smallest limit squeezes, for their sockets are
 * the same: whether this is it. */
bool skm_topology_leads(const struct skm_container *container);

/* Now and then counts the container's processes that someone has moved out of the cgroup whose sockets are limited, and tells it
 * where the number has changed. They are left where they are. containers: how many share the node's one per cent. */
void skm_topology_check_outside(struct skm_container *container, uint64_t now_usec, uint32_t containers);

/* Another container whose sockets are the same and that squeezes or has squeezed; NULL: none. after: NULL, or the last one. */
struct skm_container *skm_topology_next_peer(const struct skm_container *container, struct skm_container *after);

#endif
