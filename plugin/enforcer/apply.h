/* SPDX-License-Identifier: Apache-2.0 */
/* From a decision to the host: writes what moved by more than its grain, and puts everything back. */
#ifndef SKM_ENFORCER_APPLY_H
#define SKM_ENFORCER_APPLY_H

#include "enforcer/container.h"

/* Writes the namespace's sysctls after the container's decision: for each the smallest of what the containers of the namespace
 * want, and only keys whose value changes, each compared first with what sockmem (or the baseline) left there. Another value is a
 * foreign write: it becomes the baseline, is told, and the key is left alone from then on. Failures are told as events; each
 * container of the namespace is told. Nothing for a container that writes no sysctls. */
void skm_apply_netns(struct skm_container *container);

/* Writes what the policies of the namespace want whatever is decided: tcp_rmem[1], beside what is wanted of tcp_rmem[2]. Returns
 * 0, also where the value is someone else's; -errno with err set. */
int skm_apply_start_buffer(struct skm_container *container, struct skm_err *err);

/* The container wants nothing of its namespace's sysctls any more: where it was the last that did, every one goes back to its
 * baseline; else to what the others want. */
void skm_apply_restore_netns(struct skm_container *container);

/* "tcp_rmem", … */
const char *skm_apply_key_name(enum skm_netns_key key);

#endif
