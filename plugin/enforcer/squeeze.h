/* SPDX-License-Identifier: Apache-2.0 */
/* Drives a container's socket worker: when to squeeze, what to journal, when to give back. Never waits. */
#ifndef SKM_ENFORCER_SQUEEZE_H
#define SKM_ENFORCER_SQUEEZE_H

#include "enforcer/container.h"

/* Gives the worker its next job where the container's decision asks for one. A worker past its deadline is ended and told. */
void skm_squeeze_run(struct skm_container *container, uint64_t now_usec);

/* At the end of the enforcer: gives every squeezed socket its values back and waits for it, at most wait_usec. */
void skm_squeeze_restore_now(struct skm_container *container, uint64_t wait_usec);

#endif
