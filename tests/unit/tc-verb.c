/* SPDX-License-Identifier: Apache-2.0 */
/* The tc actuator by hand, for tests/guest/tc.
 *
 * tc-verb NETNS plan|apply|update|remove|seen [ingress=BYTES/S] [egress=BYTES/S] [udp]
 *     NETNS: a path such as /run/netns/NAME. Bursts are those that the enforcer would take. Prints one line of JSON; exit 1 with
 * one line on stderr where it fails */
#include "actuate/tc.h"
#include "base/cleanup.h"
#include "control/shape.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

struct call {
	const char *verb;
	struct skm_tc_ends ends;
	struct skm_tc_plan plan;
	struct skm_tc_want want;
};

static int parse_words(struct call *call, char **words)
{
	call->want.protocols = UINT32_C(1) << SKM_PROTOCOL_TCP;
	for (; *words; words++) {
		if (strcmp(*words, "udp") == 0)
			call->want.protocols |= UINT32_C(1) << SKM_PROTOCOL_UDP;
		else if (sscanf(*words, "ingress=%" SCNu64, &call->want.ingress) != 1 &&
		         sscanf(*words, "egress=%" SCNu64, &call->want.egress) != 1)
			return -1;
	}
	return 0;
}

static void set_bursts(struct call *call)
{
	const struct skm_shape_path path = {.mtu = call->plan.mtu, .gso_max_bytes = call->plan.gso_max_bytes};

	call->want.ingress_burst = skm_control_shape_burst(&path, call->want.ingress);
	call->want.egress_burst = skm_control_shape_burst(&path, call->want.egress);
	call->want.egress_split = skm_control_shape_split(&path, call->want.egress);
}

static void print_plan(const struct skm_tc_plan *plan)
{
	static const char *const WHERE[] = {"nowhere", "host", "ifb"};

	printf("{\"where\": \"%s\", \"host_ifindex\": %d, \"links\": %" PRIu32 ", \"mtu\": %" PRIu32 ", \"gso\": %" PRIu32
	       ", \"egress\": %s, \"why_not\": \"%s\"}\n",
	       WHERE[plan->where], plan->host_ifindex, plan->link_count, plan->mtu, plan->gso_max_bytes,
	       plan->egress ? "true" : "false", plan->why_not);
}

static int print_seen(const struct call *call, struct skm_err *err)
{
	struct skm_tc_look look;
	int r = skm_actuate_tc_look(&call->ends, &call->plan, &look, err);

	if (r == 0)
		printf("{\"rate\": %" PRIu64 ", \"sent\": %" PRIu64 ", \"drops\": %" PRIu64 ", \"backlog\": %" PRIu32 "}\n",
		       look.seen.rate, look.seen.sent_bytes, look.seen.drops, look.seen.backlog_bytes);
	return r;
}

static int run(struct call *call, struct skm_err *err)
{
	int r;

	if (strcmp(call->verb, "remove") == 0)
		return skm_actuate_tc_remove(&call->ends, NULL, err);
	r = skm_actuate_tc_plan(&call->ends, &call->plan, err);
	if (r < 0)
		return r;
	set_bursts(call);
	if (strcmp(call->verb, "apply") == 0)
		r = skm_actuate_tc_apply(&call->ends, &call->plan, &call->want, err);
	else if (strcmp(call->verb, "update") == 0)
		r = skm_actuate_tc_update(&call->ends, &call->plan, &call->want, err);
	else if (strcmp(call->verb, "seen") == 0)
		return print_seen(call, err);
	if (r == 0)
		print_plan(&call->plan);
	return r;
}

int main(int argc, char **argv)
{
	struct call call = {.ends = SKM_TC_ENDS_INIT};
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int netns = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	int r;

	if (netns < 0 || parse_words(&call, argv + 3) < 0) {
		fprintf(stderr, "usage: tc-verb NETNS plan|apply|update|remove|seen [ingress=BYTES] [egress=BYTES] [udp]\n");
		return 2;
	}
	call.verb = argv[2];
	r = skm_actuate_tc_open(netns, &call.ends, &err);
	if (r == 0)
		r = run(&call, &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.text);
	skm_actuate_tc_close(&call.ends);
	return r < 0;
}
