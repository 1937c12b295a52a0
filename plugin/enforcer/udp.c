/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/udp.h"

#include "enforcer/container.h"
#include "enforcer/topology.h"

/* A counter of the kernel only grows; one that has not is another namespace's. */
static uint64_t since(uint64_t begin, uint64_t now)
{
	return now >= begin ? now - begin : 0;
}

void skm_udp_begin(struct skm_container *container)
{
	container->counts_udp = skm_probe_netns_udp_drops(&container->group->netns, &container->udp_begin, NULL) == 0;
	skm_udp_refresh(container);
}

void skm_udp_refresh(struct skm_container *container)
{
	struct skm_report *report = &container->report;
	struct skm_udp_drops now;

	report->udp_rcvbuf_errors = report->udp_mem_errors = UINT64_MAX;
	if (!container->counts_udp || !container->group || skm_topology_shares_netns(container) ||
	    skm_probe_netns_udp_drops(&container->group->netns, &now, NULL) < 0)
		return;
	report->udp_rcvbuf_errors = since(container->udp_begin.rcvbuf_errors, now.rcvbuf_errors);
	report->udp_mem_errors = since(container->udp_begin.mem_errors, now.mem_errors);
}
