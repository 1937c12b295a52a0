/* SPDX-License-Identifier: Apache-2.0 */
/* Where a container is shaped, at what rate, and that only what is ours is ever touched. Real links in network namespaces of its
 * own; exits 77 where it may not make one. */
#include "tc-stage.h"

#include "base/cleanup.h"

#include <linux/bpf.h>
#include <net/if.h>
#include <sys/syscall.h>

static const struct skm_tc_want WANT = {.ingress = 12500000, .ingress_burst = 65536, .protocols = TCP_ONLY};

static struct skm_htb_class bulk_of(bool in_container, int ifindex)
{
	struct skm_htb_class class;

	if (skm_probe_htb_class(in_container ? stage.ends.inside : stage.ends.host, ifindex, SKM_TC_BULK, &class, &trouble) < 0)
		fail_msg("%s", trouble.text);
	return class;
}

static int inside_ifindex(const char *name)
{
	cleanup_free char *text = NULL;
	char command[64];

	snprintf(command, sizeof(command), "ip -o link show %s", name);
	text = output_of(true, command);
	return atoi(text);
}

static int our_ifb(void)
{
	cleanup_free char *text = output_of(true, "ip -o link show group 7564141");

	assert_contains(text, "skm-ifb");
	return atoi(text);
}

static void refuse_plan(int code, const char *part)
{
	struct skm_tc_plan plan;

	assert_int_equal(skm_actuate_tc_plan(&stage.ends, &plan, &trouble), code);
	assert_contains(trouble.text, part);
}

static int count_of(const char *text, const char *part)
{
	int count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void test_host_side(void **state)
{
	cleanup_free char *before = NULL, *text = NULL, *after = NULL, *within = NULL, *within_after = NULL;
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	before = tc_text(false);
	within = tc_text(true);
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_HOST_SIDE);
	assert_int_equal(plan.host_ifindex, if_nametoindex("eh"));
	assert_int_equal(plan.link_count, 1);
	assert_int_equal(plan.links[0], inside_ifindex("e"));
	assert_int_equal(plan.mtu, 1500);
	assert_true(plan.gso_max_bytes >= 65536);
	assert_true(plan.egress);
	assert_string_equal(plan.why_not, "");
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	text = tc_text(false);
	assert_contains(text, "qdisc htb 736b: dev eh root");
	assert_contains(text, "class htb 736b:b root leaf 736d: prio 1 rate 100Mbit ceil 100Mbit");
	assert_contains(text, "class htb 736b:5 root leaf 736c: prio 0");
	assert_contains(text, "filter parent 736b: protocol ipv6 pref 29548 u32");
	within_after = tc_text(true);
	assert_string_equal(within, within_after);
	assert_done(skm_actuate_tc_remove(&stage.ends, NULL, &trouble));
	after = tc_text(false);
	assert_string_equal(before, after);
	assert_done(skm_actuate_tc_remove(&stage.ends, NULL, &trouble)); /* nothing there */
	/* by the host's side alone */
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	assert_done(skm_actuate_tc_remove_host(plan.host_ifindex, &trouble));
	free(after);
	after = tc_text(false);
	assert_string_equal(before, after);
	host("tc qdisc add dev eh root handle 9: htb");
	assert_done(skm_actuate_tc_remove_host(plan.host_ifindex, &trouble));
	assert_done(skm_actuate_tc_remove_host(9999, &trouble));
	free(after);
	after = tc_text(false);
	assert_contains(after, "qdisc htb 9: dev eh root");
}

/* Applied again it gets the new rate, and the queue stays. */
static void test_rates(void **state)
{
	static const uint64_t RATES[] = {
	        125000, UINT64_C(4294967295), UINT64_C(4294967296), UINT64_C(4294967297), 5000000000u, UINT64_C(50000000000),
	        1250000};
	struct skm_tc_want want = WANT;
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	plan = plan_it();
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
	for (size_t i = 0; i < sizeof(RATES) / sizeof(*RATES); i++) {
		struct skm_htb_class bulk;

		want.ingress = RATES[i];
		want.ingress_burst = 1000000;
		if (i % 2)
			assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
		else
			assert_done(skm_actuate_tc_update(&stage.ends, &plan, &want, &trouble));
		bulk = bulk_of(false, plan.host_ifindex);
		assert_true(bulk.rate_bytes_per_sec == RATES[i] && bulk.ceil_bytes_per_sec == RATES[i]);
		/* the kernel keeps it as time, in ticks of 64 ns */
		assert_in_range(bulk.burst_bytes, 1000000 - RATES[i] / 500000, 1000000 + RATES[i] / 500000);
	}
	{
		cleanup_free char *text = tc_text(false);

		assert_contains(text, "rate 10Mbit ceil 10Mbit");
		assert_int_equal(count_of(text, " fh 800::1 "), 1); /* and the filters are there once */
	}
	want.ingress = 5000000000u;
	assert_done(skm_actuate_tc_update(&stage.ends, &plan, &want, &trouble));
	{
		cleanup_free char *text = tc_text(false);

		assert_contains(text, "rate 40Gbit ceil 40Gbit");
	}
}

static void test_kernel_refuses_rate(void **state)
{
	struct skm_tc_want want = WANT;
	struct skm_tc_plan plan;
	cleanup_free char *before = NULL, *after = NULL;

	(void)state;
	add_veth("e");
	plan = plan_it();
	before = tc_text(false);
	want.ingress = 0;
	want.egress = 0;
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble)); /* nothing asked */
	plan.host_ifindex++;
	assert_int_equal(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble), -ENODEV);
	assert_contains(trouble.text, "other end of e");
	after = tc_text(false);
	assert_string_equal(before, after);
}

static void check_foreign_root(const char *add, const char *shown)
{
	cleanup_free char *before = NULL, *after = NULL, *within = NULL, *within_after = NULL;
	struct skm_tc_want want = WANT;
	struct skm_tc_plan plan;
	int ifb;

	add_veth("e");
	host("tc qdisc add dev eh root %s", add);
	before = tc_text(false);
	within = tc_text(true);
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_IFB);
	assert_contains(plan.why_not, shown);
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
	ifb = our_ifb();
	assert_int_equal(bulk_of(true, ifb).rate_bytes_per_sec, want.ingress);
	want.ingress *= 2;
	assert_done(skm_actuate_tc_update(&stage.ends, &plan, &want, &trouble));
	assert_int_equal(bulk_of(true, ifb).rate_bytes_per_sec, want.ingress);
	after = tc_text(false);
	assert_string_equal(before, after);
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	free(after);
	after = tc_text(false);
	assert_string_equal(before, after);
	within_after = tc_text(true);
	assert_string_equal(within, within_after);
}

static void test_foreign_tbf(void **state)
{
	(void)state;
	check_foreign_root("tbf rate 1gbit burst 100k latency 50ms", "eh has a root qdisc of someone else (tbf 80");
}

static void test_foreign_htb(void **state)
{
	(void)state;
	check_foreign_root("handle 1: htb default 10", "eh has a root qdisc of someone else (htb 1:)");
}

/* With our handle, but not as we make it. */
static void test_foreign_same_handle(void **state)
{
	(void)state;
	check_foreign_root("handle 736b: htb default 10", "someone else (htb 736b:)");
}

static void test_foreign_clsact(void **state)
{
	cleanup_free char *within = NULL, *after = NULL;

	(void)state;
	add_veth("e");
	host("tc qdisc add dev eh root handle 1: htb");
	inside("tc qdisc add dev e clsact");
	within = tc_text(true);
	refuse_plan(-EOPNOTSUPP, "e has an ingress qdisc of someone else (clsact)");
	refuse_plan(-EOPNOTSUPP, "eh has a root qdisc of someone else (htb 1:), and");
	assert_int_equal(skm_actuate_tc_remove(&stage.ends, NULL, &trouble), 0);
	after = tc_text(true);
	assert_string_equal(within, after);
	inside("tc filter add dev e ingress protocol ip prio 5 u32 match u32 0 0 flowid :1");
	refuse_plan(-EOPNOTSUPP, "e has an ingress qdisc of someone else (clsact)");
	inside("tc qdisc del dev e clsact");
	inside("tc qdisc add dev e ingress");
	refuse_plan(-EOPNOTSUPP, "e has an ingress qdisc of someone else (ingress)");
	/* the host's side being free, it is not asked */
	host("tc qdisc del dev eh root");
	assert_int_equal(plan_it().where, SKM_TC_HOST_SIDE);
}

/* The smallest program there is, on the link's tcx ingress (kernel 6.6). Returns the link's descriptor, or -1. */
static int attach_tcx(const char *name)
{
	const struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = -1},
	                                {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SCHED_CLS,
	                       .insns = (uint64_t)(uintptr_t)code,
	                       .insn_cnt = 2,
	                       .license = (uint64_t)(uintptr_t) "GPL"};
	cleanup_fd int program = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));

	if (program < 0)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)program;
	attr.link_create.target_ifindex = if_nametoindex(name);
	attr.link_create.attach_type = 46; /* BPF_TCX_INGRESS */
	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* Programs on the host's side may hand packets past its queue. */
static void test_bpf_on_the_host_side(void **state)
{
	int tcx;

	(void)state;
	add_veth("e");
	host("tc qdisc add dev eh clsact");
	host("tc filter add dev eh ingress protocol ip prio 5 u32 match u32 0 0 flowid :1");
	assert_int_equal(plan_it().where, SKM_TC_HOST_SIDE); /* filters alone do not */
	host("tc filter add dev eh ingress prio 6 bpf bytecode '1,6 0 0 4294967295' flowid :1");
	assert_int_equal(plan_it().where, SKM_TC_IFB);
	assert_contains(plan_it().why_not, "BPF programs on eh may bypass its queue");
	host("tc filter del dev eh ingress prio 6");
	assert_int_equal(plan_it().where, SKM_TC_HOST_SIDE);
	tcx = attach_tcx("eh");
	if (tcx < 0) {
		print_message("this kernel has no tcx, or lets us load no program\n");
		return;
	}
	assert_int_equal(plan_it().where, SKM_TC_IFB);
	close(tcx);
	assert_int_equal(plan_it().where, SKM_TC_HOST_SIDE);
}

static void test_foreign_between(void **state)
{
	struct skm_tc_look look;
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	plan = plan_it();
	host("tc qdisc add dev eh root handle 7: htb");
	assert_int_equal(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble), -EEXIST);
	{
		cleanup_free char *text = tc_text(false);

		assert_contains(text, "qdisc htb 7: dev eh root");
	}
	host("tc qdisc del dev eh root");
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	assert_done(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble));
	assert_int_equal(look.seen.rate, WANT.ingress);
	host("tc qdisc replace dev eh root handle 8: tbf rate 1gbit burst 100k latency 50ms");
	assert_int_equal(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble), -ESTALE);
	assert_int_equal(skm_actuate_tc_update(&stage.ends, &plan, &WANT, &trouble), -ESTALE);
	assert_contains(trouble.text, "tbf 8:");
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	{
		cleanup_free char *text = tc_text(false);

		assert_contains(text, "qdisc tbf 8: dev eh root");
	}
}

/* Someone else's ifb, and filters that someone put beside ours. */
static void test_foreign_beside(void **state)
{
	cleanup_free char *text = NULL;
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	inside("ip link add name skm-ifb0 type ifb");
	host("tc qdisc add dev eh root handle 1: htb");
	plan = plan_it();
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	assert_int_not_equal(our_ifb(), inside_ifindex("skm-ifb0"));
	inside("tc filter add dev e egress protocol ip prio 5 u32 match u32 0 0 flowid :1");
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	text = tc_text(true);
	assert_contains(text, "clsact ffff: dev e");
	assert_contains(text, "pref 5 u32");
	assert_null(strstr(text, "pref 29547"));
	assert_contains(text, "skm-ifb0");
	assert_null(strstr(text, "skm-ifb1"));
}

static void test_other_end_elsewhere(void **state)
{
	struct skm_tc_plan plan;
	pid_t other;

	(void)state;
	other = stage.container;
	skm_actuate_tc_close(&stage.ends);
	close(stage.netns_fd);
	start_container();
	assert_done(skm_actuate_tc_open(stage.netns_fd, &stage.ends, &trouble));
	inside("ip link add name e type veth peer name f netns %d", (int)other);
	inside("ip link set e up");
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_IFB);
	assert_contains(plan.why_not, "other end of e is not in the host's network namespace");
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

static void test_several_and_late(void **state)
{
	struct skm_tc_look look;
	struct skm_tc_plan plan;
	int ifb;

	(void)state;
	refuse_plan(-ENODEV, "no link leads out");
	add_veth("e");
	add_veth("f");
	inside("ip link add name in1 type veth peer name in2"); /* leads nowhere */
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_IFB);
	assert_int_equal(plan.link_count, 2);
	assert_contains(plan.why_not, "2 links lead out");
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	ifb = our_ifb();
	add_veth("g");
	assert_done(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble));
	assert_true(look.links_changed);
	inside("ip link set e down");
	inside("ip link set e name renamed");
	inside("ip link set renamed up");
	inside("ip link del f");
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_IFB);
	assert_int_equal(plan.link_count, 2);
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	assert_int_equal(our_ifb(), ifb);
	{
		cleanup_free char *text = tc_text(true);

		assert_contains(text, "clsact ffff: dev g");
		assert_contains(text, "clsact ffff: dev renamed");
		assert_null(strstr(text, "dev in1 parent ffff:"));
	}
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	{
		cleanup_free char *text = tc_text(true);

		assert_null(strstr(text, "clsact"));
		assert_null(strstr(text, "skm-ifb"));
	}
}

static void test_renamed_and_gone(void **state)
{
	struct skm_tc_look look;
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	plan = plan_it();
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	host("ip link set eh down");
	host("ip link set eh name other");
	host("ip link set other up");
	inside("ip link set e down");
	inside("ip link set e name eth7");
	assert_done(skm_actuate_tc_update(&stage.ends, &plan, &WANT, &trouble));
	assert_done(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble));
	assert_false(look.links_changed);
	inside("ip link set eth7 mtu 1400");
	assert_done(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble));
	assert_true(look.links_changed);
	host("ip link del other");
	assert_int_equal(skm_actuate_tc_look(&stage.ends, &plan, &look, &trouble), -ENODEV);
	assert_int_equal(skm_actuate_tc_update(&stage.ends, &plan, &WANT, &trouble), -ENODEV);
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	refuse_plan(-ENODEV, "no link leads out");
}

static void test_macvlan(void **state)
{
	struct skm_tc_plan plan;

	(void)state;
	host("ip link add name low type veth peer name lower");
	host("ip link set low up");
	host("ip link add link low name mv type macvlan mode bridge");
	host("ip link set mv netns %d", (int)stage.container);
	inside("ip link set mv up");
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_IFB);
	assert_contains(plan.why_not, "mv is no veth");
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	assert_int_equal(bulk_of(true, our_ifb()).rate_bytes_per_sec, WANT.ingress);
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	host("ip link del low");
}

static void test_egress(void **state)
{
	struct skm_tc_want want = {.egress = 625000, .egress_burst = 62500, .protocols = TCP_ONLY};
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	plan = plan_it();
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
	assert_int_equal(bulk_of(true, plan.links[0]).rate_bytes_per_sec, want.egress);
	{
		cleanup_free char *text = tc_text(false);

		assert_null(strstr(text, "htb"));
	}
	/* with splitting and without are two kinds of queue */
	want.egress_split = 9000;
	assert_int_equal(skm_actuate_tc_update(&stage.ends, &plan, &want, &trouble), -ESTALE);
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble));
	assert_done(skm_actuate_tc_update(&stage.ends, &plan, &want, &trouble));
	{
		cleanup_free char *text = tc_text(true);

		assert_contains(text, "qdisc tbf 736e: dev e parent 736b:b");
	}
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	inside("tc qdisc add dev e root handle 9: htb");
	plan = plan_it();
	assert_int_equal(plan.where, SKM_TC_HOST_SIDE);
	assert_false(plan.egress);
	assert_contains(plan.why_no_egress, "e has a root qdisc of someone else (htb 9:)");
	assert_int_equal(skm_actuate_tc_apply(&stage.ends, &plan, &want, &trouble), -EOPNOTSUPP);
	{
		cleanup_free char *text = tc_text(true);

		assert_contains(text, "qdisc htb 9: dev e root");
	}
}

/* A kill -9 between any two messages leaves the first few of them done. */
static void test_after_a_kill(void **state)
{
	cleanup_free char *before = NULL, *within = NULL, *after = NULL, *within_after = NULL;
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	add_veth("f");
	before = tc_text(false);
	within = tc_text(true);
	plan = plan_it();
	host("tc qdisc add dev eh root handle 736b: htb default 5");
	inside("tc qdisc add dev f root handle 736b: htb default 5");
	inside("ip link add name skm-ifb%%d group 7564141 type ifb");
	inside("tc qdisc add dev e clsact");
	inside("tc qdisc add dev f clsact");
	inside("tc filter add dev f ingress protocol ip prio 29547 u32 match u32 0 0 flowid :1");
	assert_done(skm_actuate_tc_remove(&stage.ends, &plan, &trouble));
	after = tc_text(false);
	within_after = tc_text(true);
	assert_string_equal(before, after);
	assert_string_equal(within, within_after);
	/* without a note the empty clsact may be anyone's */
	inside("tc qdisc add dev e clsact");
	assert_done(skm_actuate_tc_remove(&stage.ends, NULL, &trouble));
	free(within_after);
	within_after = tc_text(true);
	assert_contains(within_after, "clsact ffff: dev e");
}

/* What is half made is completed by apply. */
static void test_half_made(void **state)
{
	struct skm_tc_plan plan;

	(void)state;
	add_veth("e");
	plan = plan_it();
	host("tc qdisc add dev eh root handle 736b: htb default 5");
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	{
		cleanup_free char *text = tc_text(false);

		assert_contains(text, "class htb 736b:b root leaf 736d: prio 1 rate 100Mbit");
		assert_contains(text, "pref 29547");
	}
	host("tc filter del dev eh parent 736b:");
	assert_done(skm_actuate_tc_apply(&stage.ends, &plan, &WANT, &trouble));
	{
		cleanup_free char *text = tc_text(false);

		assert_contains(text, "pref 29547");
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_container, tear_down_container)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_host_side),
	        TEST(test_rates),
	        TEST(test_kernel_refuses_rate),
	        TEST(test_foreign_tbf),
	        TEST(test_foreign_htb),
	        TEST(test_foreign_same_handle),
	        TEST(test_foreign_clsact),
	        TEST(test_foreign_between),
	        TEST(test_bpf_on_the_host_side),
	        TEST(test_foreign_beside),
	        TEST(test_other_end_elsewhere),
	        TEST(test_several_and_late),
	        TEST(test_renamed_and_gone),
	        TEST(test_macvlan),
	        TEST(test_egress),
	        TEST(test_after_a_kill),
	        TEST(test_half_made),
	};

	skm_test_enter_new_netns();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
