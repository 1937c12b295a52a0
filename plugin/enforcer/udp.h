/* SPDX-License-Identifier: Apache-2.0 */
/* UDP is left alone below the limit, but what its sockets lose is shown: whoever looks for lost datagrams is not to be sent to
 * the throttling of TCP. */
#ifndef SKM_ENFORCER_UDP_H
#define SKM_ENFORCER_UDP_H

struct skm_container;

/* From here on drops are the container's: its start, or that of an enforcer that takes it over. */
void skm_udp_begin(struct skm_container *container);

/* Takes the drops so far into the report. Read for whoever asks and at the end, never in the sampling path. */
void skm_udp_refresh(struct skm_container *container);

#endif
