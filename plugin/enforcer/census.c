/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer/census.h"

#include "base/clock.h"
#include "enforcer/container.h"
#include "enforcer/registry.h"
#include "enforcer/topology.h"

/* How often at most: while the count decides about a cap, and at rest. */
#define THROTTLED_USEC (UINT64_C(250) * SKM_USEC_PER_MSEC)
#define REST_USEC (UINT64_C(5) * SKM_USEC_PER_SEC)
/* All counting together may take one part in this of a processor. */
#define COST_SHARE 100
/* The occupancy from which a cap may be near. */
#define NEAR_PERMYRIAD 3500

/* What the sockets ask for changes as they are used: it is believed for as long as squeezing looks away at most, and while they
 * do not hold this part of the limit more. */
#define DEMANDS_OLD_USEC (UINT64_C(5) * SKM_USEC_PER_SEC)
#define DEMANDS_GROWTH_SHARE 8
/* Before a cap they are looked at no more often than this. */
#define DEMANDS_USEC SKM_USEC_PER_SEC

int skm_census_read(struct skm_container *container, uint32_t *ret, struct skm_err *err)
{
	const struct skm_census *census = &container->census;
	uint32_t in_use, more;
	int r = skm_probe_netns_tcp_in_use(&container->group->netns, &in_use, err);

	if (r < 0)
		return r;
	if (!skm_topology_shares_netns(container)) {
		*ret = in_use;
		return 0;
	}
	if (container->journal.netns_inode == skm_registry_host(container->registry)->netns_inode) {
		*ret = census->known ? census->sockets : 0;
		return 0;
	}
	more = in_use > census->in_use ? in_use - census->in_use : 0;
	*ret = census->known && census->sockets + more < in_use ? census->sockets + more : in_use;
	return 0;
}

static bool is_near(const struct skm_container *container)
{
	const struct skm_decision *decision = &container->ladder.decision;

	return decision->step != SKM_STEP_NONE || decision->occupancy_permyriad >= NEAR_PERMYRIAD;
}

const struct skm_demands *skm_census_demands(const struct skm_container *container, uint64_t sock_bytes, uint64_t now_usec)
{
	const struct skm_census *census = &container->census;

	if (census->demands_usec == 0 || now_usec - census->demands_usec > DEMANDS_OLD_USEC ||
	    sock_bytes > census->demands_sock_bytes + container->report.limit_bytes / DEMANDS_GROWTH_SHARE)
		return NULL;
	return &census->demands;
}

void skm_census_saw(struct skm_container *container, const struct skm_demands *demands)
{
	struct skm_census *census = &container->census;

	census->demands = *demands;
	census->demands_usec = skm_now_usec();
	census->demands_sock_bytes = container->report.sock_bytes;
}

/* A namespace of its own: whether what the sockets ask for is to be looked at. */
static bool demands_are_due(const struct skm_container *container, uint64_t now_usec)
{
	const struct skm_census *census = &container->census;
	const struct skm_decision *decision = &container->ladder.decision;
	uint64_t affordable = census->cpu_usec * COST_SHARE * skm_registry_count(container->registry);
	uint64_t since = census->demands_usec > census->tried_usec ? census->demands_usec : census->tried_usec;

	/* where squeezing looks at them, it does so from the cap step on */
	if (container->squeezes ? decision->step != SKM_STEP_NONE : container->report.backend != SKM_BACKEND_OBSERVE)
		return false;
	return is_near(container) && container->pace.growth_bytes_per_sec <= container->report.limit_bytes &&
	       now_usec >= since + (affordable > DEMANDS_USEC ? affordable : DEMANDS_USEC);
}

bool skm_census_is_due(const struct skm_container *container, uint64_t now_usec)
{
	const struct skm_census *census = &container->census;
	bool near = is_near(container);
	uint64_t pause = near ? THROTTLED_USEC : REST_USEC;
	uint64_t affordable = census->cpu_usec * COST_SHARE * skm_registry_count(container->registry);

	if (container->report.backend == SKM_BACKEND_NONE)
		return false;
	if (!skm_topology_shares_netns(container))
		return demands_are_due(container, now_usec);
	if (near && !census->was_near)
		affordable = 0;
	return census->tried_usec == 0 || now_usec >= census->tried_usec + (affordable > pause ? affordable : pause);
}

void skm_census_began(struct skm_container *container)
{
	container->census.was_near = is_near(container);
}

void skm_census_took(struct skm_container *container, uint32_t sockets, uint64_t cpu_usec)
{
	struct skm_census *census = &container->census;

	if (skm_probe_netns_tcp_in_use(&container->group->netns, &census->in_use, NULL) < 0)
		census->in_use = 0; /* then all that are in use are new */
	census->sockets = sockets;
	census->known = true;
	census->tried_usec = skm_now_usec();
	census->cpu_usec = cpu_usec;
}

void skm_census_failed(struct skm_container *container)
{
	container->census.tried_usec = skm_now_usec();
}
