/* SPDX-License-Identifier: Apache-2.0 */
/* Drives a container's socket worker: when to squeeze, what to journal, when to give back. Never waits. */
#ifndef SKM_ENFORCER_SQUEEZE_H
#define SKM_ENFORCER_SQUEEZE_H

#include "enforcer/container.h"

/* Gives the worker its next job where the container's decision asks for one, or its sockets are to be counted. A worker past its
 * deadline is ended and told. Of several containers with the same sockets one squeezes (skm_topology_leads), and takes over what
 * the others have squeezed. */
void skm_squeeze_run(struct skm_container *container, uint64_t now_usec);

/* Where the policy does not want sockets squeezed any more: gives those that were their values back, as soon as the worker is
 * free. */
void skm_squeeze_give_back(struct skm_container *container, uint64_t now_usec);

/* The same at once, where there will be no later look: begun for one container after the other, then waited for, each with one
 * deadline (CLOCK_MONOTONIC). wait: returns how many sockets have not got their values back. */
void skm_squeeze_restore_begin(struct skm_container *container);
uint32_t skm_squeeze_restore_wait(struct skm_container *container, uint64_t deadline_usec);

/* Before the container goes: whoever has the same sockets is to give back what was squeezed for this one. */
void skm_squeeze_hand_over(struct skm_container *container);

#endif
