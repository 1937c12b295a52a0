/* SPDX-License-Identifier: Apache-2.0 */
/* The hook's talk with the enforcer. */
#ifndef SKM_HOOK_ENFORCER_H
#define SKM_HOOK_ENFORCER_H

#include "base/err.h"
#include "hook/paths.h"
#include "model/request.h"

#include <stdint.h>

/* Hands the container over; starts the enforcer where none listens. The request keeps its descriptors.
 * Returns 0; -EINVAL where the enforcer finds the policy itself invalid, or not allowed; -ENODATA where the node's defaults were
 * asked for and it has none; -ETIMEDOUT at deadline_usec (CLOCK_MONOTONIC); another refusal or -errno, with err set. */
int skm_hook_register(const struct skm_hook_paths *paths, const struct skm_request *request, uint64_t deadline_usec,
                      struct skm_err *err);

/* Tells that the container has ended: a hint. Where no enforcer listens but a journal was left behind, one is started, which puts
 * back what stands in it. Returns 0, also where the enforcer does not know the container; -errno with err set. */
int skm_hook_release(const struct skm_hook_paths *paths, const char *id, uint64_t deadline_usec, struct skm_err *err);

#endif
