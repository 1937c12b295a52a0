/* SPDX-License-Identifier: Apache-2.0 */
/* The containers of this node. One thread, driven by the daemon's loop. */
#ifndef SKM_ENFORCER_REGISTRY_H
#define SKM_ENFORCER_REGISTRY_H

#include "base/err.h"
#include "codec/message.h"
#include "model/event.h"
#include "model/node.h"
#include "model/report.h"
#include "model/request.h"
#include "probe/host.h"

#include <stdbool.h>
#include <stdint.h>

struct skm_container;
struct skm_netns_group;
struct skm_registry;

/* epoll_fd: the daemon's, borrowed. host: copied. journal_dir, ended_dir: descriptors, taken.
 * Returns 0 or -ENOMEM. */
int skm_registry_open(struct skm_registry **ret, int epoll_fd, const struct skm_host *host, int journal_dir, int ended_dir,
                      struct skm_err *err);

/* What the node's administrator allows and defaults: borrowed, read at each register; one without a file until this is called.
 * Containers that are held keep what they were granted. */
void skm_registry_use_node(struct skm_registry *registry, const struct skm_node *node);

/* Takes over what an earlier enforcer journaled: adopts what lives, restores the rest. */
void skm_registry_recover(struct skm_registry *registry);

/* Keeps the journals, so that a later enforcer adopts the containers, and frees all. put_back: first puts back what is squeezed
 * and capped, for nobody knows when that one comes; else it is about to, and finds everything as it stands. */
void skm_registry_close(struct skm_registry *registry, bool put_back);

/* Registers a container: grants its policy (control/grant.h), journals its baselines, then prepares its namespace (tcp_rmem[1]
 * before it listens). The same container again (id and cgroup) changes nothing and succeeds; but from the administrator (adopt)
 * what is held already, by either, is refused (-EBUSY). Takes the request's descriptors on
 * success. Returns 0; -EINVAL where the policy itself is wrong or not allowed here; -ENODATA for the node's defaults where it has
 * none; -EOPNOTSUPP, -ERANGE, -errno with err saying why it cannot be enforced; nothing is changed then. */
int skm_registry_register(struct skm_registry *registry, struct skm_request *request, struct skm_err *err);

/* poststop: a hint. A container whose process still runs keeps its record. Always succeeds: an unknown id is fine. */
void skm_registry_release(struct skm_registry *registry, const char *id);

/* The administrator's: request->id (or a beginning that only one has) gets request->policy; see skm_change_policy. Returns as
 * that, or -ENOENT, -EEXIST as skm_registry_find. */
int skm_registry_change(struct skm_registry *registry, const struct skm_request *request, struct skm_err *err);

/* The administrator's. Containers are let go though they live: `only`, or all where it is NULL. Everything is put back, open
 * sockets too, and their records end with why. Takes a second at most. *ret, *ret_count: what was told, by container: failures
 * (SKM_EVENT_TROUBLE), then its end. The caller frees it, also where it is empty. Returns 0 or -ENOMEM: nothing has changed then.
 */
int skm_registry_give_back(struct skm_registry *registry, const struct skm_container *only, struct skm_tagged_event **ret,
                           size_t *ret_count, struct skm_err *err);

/* Looks at every container that is due. Returns when the next one is, CLOCK_MONOTONIC microseconds; UINT64_MAX: none. */
uint64_t skm_registry_run(struct skm_registry *registry, uint64_t now_usec);

uint32_t skm_registry_count(const struct skm_registry *registry);

/* Walks the containers, the newest first. */
const struct skm_container *skm_registry_first(const struct skm_registry *registry);
const struct skm_container *skm_registry_next(const struct skm_container *container);
const struct skm_report *skm_registry_report(const struct skm_container *container);

uint32_t skm_registry_event_count(const struct skm_container *container);
const struct skm_event *skm_registry_event(const struct skm_container *container, uint32_t i);

/* The container whose id is `id` or, where none is, the only one whose id begins with it.
 * Returns NULL with err: ENOENT, or EEXIST where several begin so (two are named). */
const struct skm_container *skm_registry_find(const struct skm_registry *registry, const char *id, struct skm_err *err);

/* Takes into the container's report, for who asks, what work under way has come to by now and what is not sampled: the
 * protection, memory.max. */
void skm_registry_refresh(struct skm_registry *registry, const struct skm_container *container);

/* Begins to reclaim that much of the container's memory; its report says how it goes. Returns 0; -ENOENT where there is no such
 * container; -EBUSY while one is under way; -EOPNOTSUPP before kernel 5.19; -errno. */
int skm_registry_reclaim(struct skm_registry *registry, const char *id, uint64_t bytes, struct skm_err *err);

/* For the rest of this room. */
struct skm_container *skm_registry_head(struct skm_registry *registry);
struct skm_netns_group **skm_registry_groups(struct skm_registry *registry); /* the list's head */
const struct skm_node *skm_registry_node(const struct skm_registry *registry);
const struct skm_host *skm_registry_host(const struct skm_registry *registry);
int skm_registry_epoll(const struct skm_registry *registry);
int skm_registry_journal_dir(const struct skm_registry *registry);
int skm_registry_ended_dir(const struct skm_registry *registry);

/* Takes a container into the set and starts to watch it; from here on the registry owns it. Returns 0 or -errno. */
int skm_registry_insert(struct skm_registry *registry, struct skm_container *container, struct skm_err *err);

/* Puts back what was written for it, but for open sockets, which go with their processes. Twice does no harm. */
void skm_registry_put_back(struct skm_container *container);

/* The same, then writes its record, which says why, and forgets it: the container is freed. */
void skm_registry_end(struct skm_registry *registry, struct skm_container *container, const char *why);

#endif
