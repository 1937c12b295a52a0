/* SPDX-License-Identifier: Apache-2.0 */
/* Containers in places that are not their own alone: the host's network namespace, a pod, a host that counts no sockets. */
#include "enforcer-stage.h"

#include "enforcer/journal.h"
#include "enforcer/topology.h"

#define PLAIN "4096\t131072\t6291456"

static void use_host(struct skm_host host)
{
	skm_registry_close(stage.registry, true);
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &host, dup(stage.journal), dup(stage.ended), NULL), 0);
}

static uint64_t our_netns(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	return st.st_ino;
}

static void use_hosts_namespace(void)
{
	struct skm_host host = *skm_registry_host(stage.registry);

	host.netns_inode = our_netns();
	use_host(host);
}

static bool is_skipped(const char *part)
{
	for (uint32_t i = 0; i < report()->skipped_count; i++)
		if (strstr(report()->skipped[i], part))
			return true;
	return false;
}

/* Its 41 sockets are the host's; the plain folder that stands for the cgroup is none that a socket was made in. */
static void test_the_hosts_namespace_is_left_alone(void **state)
{
	uint32_t before = 0, after = 0;
	socklen_t length = sizeof(before);

	(void)state;
	use_hosts_namespace();
	assert_int_equal(getsockopt(connections[1], SOL_SOCKET, SO_RCVBUF, &before, &length), 0);
	register_plain("web", SKM_MODE_AUTO);
	sysctl_is("tcp_rmem", PLAIN);
	assert_true(is_skipped("throttle.sysctl: the container is in the host's network namespace"));
	put_sock(LIMIT * 2);
	run_until(SKM_STEP_SHED);
	serve(1200);
	assert_int_equal(report()->sockets, 0);
	assert_int_equal(report()->decision.fair_cap_bytes, UINT64_MAX);
	assert_int_equal(report()->squeezed_sockets, 0);
	assert_int_equal(report()->sysctl_writes, 0);
	sysctl_is("tcp_rmem", PLAIN);
	sysctl_is("tcp_wmem", "4096\t16384\t4194304");
	assert_int_equal(getsockopt(connections[1], SOL_SOCKET, SO_RCVBUF, &after, &length), 0);
	assert_int_equal(after, before);
	/* and no baseline of the host's is journaled: nobody is to put one back */
	assert_true(skm_registry_head(stage.registry)->journal.baseline[SKM_NETNS_TCP_RMEM][0] == '\0');
}

/* What was counted is what the fair cap is made of, not what the whole namespace has. */
static void test_the_census_makes_the_cap(void **state)
{
	struct skm_container *container;

	(void)state;
	use_hosts_namespace();
	register_plain("web", SKM_MODE_OBSERVE);
	serve(300);
	container = skm_registry_head(stage.registry);
	assert_true(container->census.known);
	assert_int_equal(container->census.sockets, 0);
	skm_census_took(container, 4, 0);
	put_sock(LIMIT * 3 / 4);
	run_until(SKM_STEP_CAP);
	assert_int_equal(report()->sockets, 4);
	assert_int_equal(report()->decision.fair_cap_bytes, LIMIT * 95 / 100 / 4);
}

static struct skm_container *observed_in_the_hosts_namespace(void)
{
	use_hosts_namespace();
	register_plain("web", SKM_MODE_OBSERVE);
	return skm_registry_head(stage.registry);
}

/* Counting a large namespace is dear: all of it stays below a hundredth of a processor. */
static void test_the_census_keeps_its_budget(void **state)
{
	struct skm_container *container;
	uint64_t now;

	(void)state;
	container = observed_in_the_hosts_namespace();
	assert_true(skm_census_is_due(container, skm_now_usec()));
	skm_census_took(container, 4, 1000);
	now = container->census.tried_usec;
	assert_false(skm_census_is_due(container, now + 4900000));
	assert_true(skm_census_is_due(container, now + 5000000));
	container->ladder.decision.step = SKM_STEP_CAP;
	assert_false(skm_census_is_due(container, now + 240000));
	assert_true(skm_census_is_due(container, now + 250000));
	skm_census_began(container);
	skm_census_took(container, 4, 50000);
	assert_false(skm_census_is_due(container, container->census.tried_usec + 4900000));
	assert_true(skm_census_is_due(container, container->census.tried_usec + 5000000));
}

/* What sockets ask for is believed until they hold an eighth of the limit more, or for as long as squeezing looks away. */
static void test_demands_grow_old(void **state)
{
	struct skm_demands demands = {.hungry = 3};
	struct skm_container *container;
	uint64_t now;

	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	container = skm_registry_head(stage.registry);
	assert_null(skm_census_demands(container, 0, skm_now_usec()));
	container->report.sock_bytes = LIMIT / 2;
	skm_census_saw(container, &demands);
	now = container->census.demands_usec;
	assert_int_equal(skm_census_demands(container, LIMIT * 5 / 8, now + 5000000)->hungry, 3);
	assert_null(skm_census_demands(container, LIMIT * 5 / 8 + 1, now));
	assert_null(skm_census_demands(container, LIMIT / 2, now + 5000001));
}

/* In a namespace of its own they are looked at before a cap, not at rest, nor in a burst, nor while squeezing sees them. */
static void test_demands_are_looked_at_before_a_cap(void **state)
{
	struct skm_container *container;
	uint64_t now = skm_now_usec();

	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	container = skm_registry_head(stage.registry);
	assert_false(skm_census_is_due(container, now));
	container->ladder.decision.occupancy_permyriad = 3500;
	assert_true(skm_census_is_due(container, now));
	container->pace.growth_bytes_per_sec = LIMIT + 1;
	assert_false(skm_census_is_due(container, now));
	container->pace.growth_bytes_per_sec = LIMIT;
	container->ladder.decision.step = SKM_STEP_CAP;
	assert_false(skm_census_is_due(container, now));
	container->ladder.decision.step = SKM_STEP_NONE;
	skm_census_took(container, 4, 20000);
	now = container->census.tried_usec;
	assert_false(skm_census_is_due(container, now + 1990000));
	assert_true(skm_census_is_due(container, now + 2000000));
}

/* A dear count at rest, of no socket, must not be all that is known in the burst that follows. */
static void test_one_count_is_due_when_a_cap_comes_near(void **state)
{
	struct skm_container *container;
	uint64_t now;

	(void)state;
	container = observed_in_the_hosts_namespace();
	skm_census_began(container);
	skm_census_took(container, 0, 200000);
	now = container->census.tried_usec;
	assert_false(skm_census_is_due(container, now + 19900000));
	container->ladder.decision.occupancy_permyriad = 3500;
	assert_false(skm_census_is_due(container, now + 240000));
	assert_true(skm_census_is_due(container, now + 250000));
	skm_census_began(container);
	skm_census_took(container, 4, 200000);
	now = container->census.tried_usec;
	container->ladder.decision.step = SKM_STEP_SHED; /* the same burst: what the count costs is waited for */
	assert_false(skm_census_is_due(container, now + 19900000));
	assert_true(skm_census_is_due(container, now + 20000000));
}

static void put_at(int dirfd, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* The stage's folder is the pod. */
static void make_pod(uint64_t sock_bytes)
{
	char text[128];

	snprintf(text, sizeof(text), "anon 4096\nsock %llu\n", (unsigned long long)sock_bytes);
	put_at(stage.dir, "memory.stat", text);
	put_at(stage.dir, "memory.current", "500000000\n");
	put_at(stage.dir, "memory.events", "oom_kill 0\n");
	put_at(stage.dir, "memory.low", "0\n");
	put_at(stage.dir, "cgroup.procs", "");
}

static int register_in_pod(const char *id, uint64_t limit_bytes, struct skm_err *err)
{
	struct skm_policy policy = policy_of(SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, limit_bytes});

	policy.scope = SKM_SCOPE_POD;
	policy.set |= SKM_KEY_BIT(SKM_KEY_TCPMEM_SCOPE);
	return register_policy(id, &policy, err);
}

static void must_register_in_pod(const char *id, uint64_t limit_bytes)
{
	struct skm_err err = SKM_ERR_INIT;

	if (register_in_pod(id, limit_bytes, &err) < 0)
		fail_msg("register %s: %s", id, err.text);
}

static void test_a_pods_sockets_are_limited(void **state)
{
	(void)state;
	make_pod(LIMIT * 3 / 4);
	put_sock(4096);
	must_register_in_pod("web", LIMIT);
	run_until(SKM_STEP_CAP);
	assert_int_equal(report()->sock_bytes, LIMIT * 3 / 4);
	assert_string_equal(report()->cgroup, stage.path);
	assert_int_equal(report()->current_bytes, 4096 + 8192); /* memory's figures are the container's own */
	assert_int_equal(report()->memory_max_bytes, 268435456);
	assert_int_not_equal(skm_registry_head(stage.registry)->journal.cgroup_inode,
	                     skm_registry_head(stage.registry)->governed_inode);
	/* it ends with its own cgroup, though the pod lives on */
	end_child();
	skm_registry_release(stage.registry, "web");
	assert_int_equal(skm_registry_count(stage.registry), 0);
	sysctl_is("tcp_rmem", PLAIN);
}

static void test_what_is_no_pod(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	put_at(stage.dir, "cgroup.procs", "");
	assert_int_equal(register_in_pod("web", LIMIT, &err), -EOPNOTSUPP);
	assert_contains(err.text, "scope pod");
	assert_int_equal(files_in(stage.journal), 0);
	sysctl_is("tcp_rmem", PLAIN);
}

/* A second place in the pod. */
static int make_second(void)
{
	int fd = below("second");

	put_at(fd, "memory.stat", "sock 0\n");
	put_at(fd, "memory.current", "0\n");
	put_at(fd, "memory.events", "oom_kill 0\n");
	put_at(fd, "memory.max", "max\n");
	put_at(fd, "memory.high", "max\n");
	put_at(fd, "cgroup.events", "populated 1\n");
	put_at(fd, "cgroup.procs", "");
	return fd;
}

static struct skm_container *held(const char *id)
{
	for (struct skm_container *c = skm_registry_head(stage.registry); c; c = c->next)
		if (strcmp(c->report.id, id) == 0)
			return c;
	fail_msg("%s is not held", id);
	return NULL;
}

/* Their sockets are the same: the one with the smaller limit squeezes for both, and what it has squeezed goes on to the other. */
static void test_one_of_a_pod_squeezes(void **state)
{
	const struct skm_socket_baseline squeezed = {.cookie = 77, .rcvbuf = 131072};
	int first = stage.cgroup, second = make_second();

	(void)state;
	make_pod(0);
	must_register_in_pod("wide", 2 * LIMIT);
	assert_int_equal(skm_journal_add_sockets(held("wide"), &squeezed, 1), 1);
	stage.cgroup = second;
	must_register_in_pod("tight", LIMIT);
	assert_false(skm_topology_shares_netns(held("wide"))); /* the namespace's sockets are the pod's */
	assert_true(skm_topology_leads(held("tight")));
	assert_false(skm_topology_leads(held("wide")));
	make_pod(2 * LIMIT);
	serve(1500);
	assert_true(held("tight")->report.squeeze_runs > 0);
	assert_int_equal(held("wide")->report.squeeze_runs, 0);
	assert_int_equal(held("wide")->report.decision.step, SKM_STEP_SHED);
	assert_int_equal(held("wide")->journal.socket_count, 0);
	assert_int_equal(held("tight")->journal.socket_count, 1);
	stage.cgroup = second;
	put("cgroup.events", "populated 0\n");
	kill(stage.child, SIGKILL);
	waitpid(stage.child, NULL, 0);
	skm_registry_release(stage.registry, "tight");
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_int_equal(held("wide")->journal.socket_count, 1);
	assert_int_equal(held("wide")->journal.sockets[0].rcvbuf, 131072);
	assert_true(skm_topology_leads(held("wide")));
	close(second);
	stage.cgroup = first;
	put("cgroup.events", "populated 0\nfrozen 0\n");
}

static void test_a_host_without_the_controller(void **state)
{
	struct skm_host host = *skm_registry_host(stage.registry);
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	host.memory = SKM_MEMORY_NONE;
	use_host(host);
	assert_int_equal(unlinkat(stage.cgroup, "memory.stat", 0), 0);
	assert_int_equal(unlinkat(stage.cgroup, "memory.current", 0), 0);
	assert_int_equal(register_with("web", SKM_MODE_OBSERVE, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EOPNOTSUPP);
	assert_contains(err.text, "cgroup v2 has no memory controller here");
	host.memory = SKM_MEMORY_V2;
	use_host(host);
	assert_int_equal(register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EOPNOTSUPP);
	assert_contains(err.text, "/cgroup has no memory controller");
}

static void test_a_kernel_that_counts_no_sockets(void **state)
{
	struct skm_host host = *skm_registry_host(stage.registry);
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	host.nosocket = true;
	use_host(host);
	assert_int_equal(register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EOPNOTSUPP);
	assert_contains(err.text, "nosocket");
	register_plain("web", SKM_MODE_OBSERVE);
	run_until(SKM_STEP_NONE);
	assert_int_equal(report()->sock_bytes, SKM_SOCK_UNKNOWN);
	assert_int_equal(report()->sock_peak_bytes, SKM_SOCK_UNKNOWN);
	assert_int_equal(report()->over_limit, 0);
	assert_true(is_skipped("tcpmem: what sockets hold is not known"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_the_hosts_namespace_is_left_alone),
	        STAGED(test_the_census_makes_the_cap),
	        STAGED(test_the_census_keeps_its_budget),
	        STAGED(test_demands_grow_old),
	        STAGED(test_demands_are_looked_at_before_a_cap),
	        STAGED(test_one_count_is_due_when_a_cap_comes_near),
	        STAGED(test_a_pods_sockets_are_limited),
	        STAGED(test_what_is_no_pod),
	        STAGED(test_one_of_a_pod_squeezes),
	        STAGED(test_a_host_without_the_controller),
	        STAGED(test_a_kernel_that_counts_no_sockets),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
