/* SPDX-License-Identifier: Apache-2.0 */
/* The last step shapes bulk where the policy turns tc on: from a drain that was seen, journaled first, and taken away whatever
 * ends. The test's namespace is the container's; a peer in another one floods a reader of the test. */
#include "enforcer-stage.h"

#include "actuate/tc_parts.h"
#include "codec/journal.h"
#include "enforcer/journal.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

#define READ_RATE 4000000u /* bytes per second */
#define FLOOR_BITS 1000000

static struct {
	pid_t peer;
	int fd;
	pthread_t thread;
	atomic_bool reading, over;
} flow;

/* -- the flow ------------------------------------------------------------------------------------------------------- */

_Noreturn static void flood(uint16_t port)
{
	static char data[65536];
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "10.99.0.1", &to.sin_addr);
	if (system("ip addr add 10.99.0.2/24 dev peer0 && ip link set peer0 up") != 0)
		_exit(1);
	for (int i = 0; i < 200 && connect(fd, (void *)&to, sizeof(to)) < 0; i++)
		usleep(10000);
	while (send(fd, data, sizeof(data), 0) > 0)
		;
	_exit(0);
}

static void start_peer(uint16_t port)
{
	int ready[2], go[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go), 0);
	flow.peer = fork();
	if (flow.peer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) < 0 || write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		close_range(3, ~0U, 0);
		flood(port);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	{
		char command[200];

		snprintf(command, sizeof(command),
		         "ip link add name skm0 type veth peer name peer0 netns %d && ip addr add 10.99.0.1/24 dev skm0 && ip "
		         "link "
		         "set skm0 up",
		         (int)flow.peer);
		assert_int_equal(system(command), 0);
	}
	assert_int_equal(write(go[1], "", 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(go[0]);
	close(go[1]);
}

static void *read_slowly(void *data)
{
	static char buffer[READ_RATE / 100];

	(void)data;
	while (!atomic_load(&flow.over)) {
		if (atomic_load(&flow.reading))
			SKM_IGNORE(recv(flow.fd, buffer, sizeof(buffer), MSG_DONTWAIT) < 0);
		usleep(10000);
	}
	return NULL;
}

static void start_flow(bool reading)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(7001)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, room = 4 << 20;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)), 0);
	assert_int_equal(bind(listener, (void *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, 1), 0);
	start_peer(7001);
	flow.fd = accept(listener, NULL, NULL);
	assert_int_not_equal(flow.fd, -1);
	close(listener);
	atomic_store(&flow.reading, reading);
	atomic_store(&flow.over, false);
	assert_int_equal(pthread_create(&flow.thread, NULL, read_slowly, NULL), 0);
}

static int set_up_flow(void **state)
{
	int r = set_up(state);

	start_flow(true);
	return r;
}

static int tear_down_flow(void **state)
{
	int r = tear_down(state);

	atomic_store(&flow.over, true);
	pthread_join(flow.thread, NULL);
	close(flow.fd);
	kill(flow.peer, SIGKILL);
	waitpid(flow.peer, NULL, 0);
	for (int i = 0; i < 500 && system("ip link show type veth | grep -q skm0") == 0; i++)
		usleep(10000);
	return r;
}

/* -- what is asked -------------------------------------------------------------------------------------------------- */

static struct skm_policy tc_policy(enum skm_mode mode)
{
	struct skm_policy policy = policy_of(mode, (struct skm_size){SKM_SIZE_BYTES, LIMIT});

	policy.throttle.tc = true;
	policy.throttle.sysctl = policy.throttle.sockets = policy.throttle.reclaim = false;
	policy.throttle.floor_bits_per_sec = FLOOR_BITS;
	policy.set |= SKM_KEY_BIT(SKM_KEY_THROTTLE_TC);
	return policy;
}

static void register_shaped(enum skm_mode mode)
{
	struct skm_policy policy = tc_policy(mode);
	struct skm_err err = SKM_ERR_INIT;

	if (register_policy("web", &policy, &err) < 0)
		fail_msg("register: %s", err.text);
}

static bool is_there(void)
{
	return system("ip -o link show type ifb | grep -q skm-ifb") == 0;
}

/* Of the bulk class. */
static uint64_t kernel_rate(void)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_htb_class class = {0};
	struct skm_rtnl *rtnl;

	assert_int_equal(skm_probe_rtnl_open(-1, &rtnl, &err), 0);
	if (skm_probe_htb_class(rtnl, (int)if_nametoindex("skm-ifb0"), SKM_TC_BULK, &class, &err) < 0)
		fail_msg("%s", err.text);
	skm_probe_rtnl_close(rtnl);
	return class.rate_bytes_per_sec;
}

static struct skm_journal read_journal(void)
{
	int copy = openat(stage.journal, ".", O_RDONLY | O_DIRECTORY);
	cleanup_dir DIR *dir = fdopendir(copy);
	struct skm_journal journal = {0};
	struct skm_err err = SKM_ERR_INIT;
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		static char text[65536];

		if (entry->d_name[0] == '.')
			continue;
		assert_true(skm_read_text_at(stage.journal, entry->d_name, text, sizeof(text)) > 0);
		if (skm_codec_journal_parse(text, strlen(text), &journal, &err) < 0)
			fail_msg("%s", err.text);
		skm_codec_journal_free(&journal);
		return journal;
	}
	fail_msg("no journal");
	return journal;
}

static void serve_until_shaped(void)
{
	put_sock(LIMIT * 11 / 10);
	for (int i = 0; i < 100 && report()->shape.where == SKM_SHAPE_NOWHERE; i++)
		serve(50);
	assert_int_equal(report()->shape.where, SKM_SHAPE_IFB);
}

static void serve_until_removed(void)
{
	for (int i = 0; i < 100 && (is_there() || read_journal().shape.shaped); i++)
		serve(50);
	assert_false(is_there());
	assert_false(read_journal().shape.shaped);
}

/* -- tests ---------------------------------------------------------------------------------------------------------- */

static void test_shed_shapes(void **state)
{
	uint64_t drain, rate;

	(void)state;
	register_shaped(SKM_MODE_AUTO);
	assert_false(read_journal().shape.shaped);
	serve_until_shaped();
	drain = report()->shape.drain_bytes_per_sec;
	rate = report()->shape.rate_bytes_per_sec;
	assert_in_range(drain, READ_RATE / 2, READ_RATE * 3 / 2);
	assert_in_range(rate, drain * 4 / 10, drain);
	assert_true(has_event(SKM_EVENT_SHAPED));
	assert_true(read_journal().shape.shaped);
	assert_int_equal(read_journal().shape.link_count, 1);
	assert_int_equal(kernel_rate(), rate);

	/* it goes on reading: what passes is below what is read, and the rate stays where it is to within its grain */
	serve(1500);
	assert_in_range(report()->shape.drain_bytes_per_sec, READ_RATE / 2, READ_RATE * 3 / 2);
	assert_true(report()->shape.passed_bytes > 0);
	assert_in_range(report()->shape.changes, 1, 4);
	assert_int_equal(report()->skipped_count, 0);

	/* the step is left */
	put_sock(0);
	serve_until_removed();
	assert_int_equal(report()->shape.where, SKM_SHAPE_NOWHERE);
	assert_int_equal(report()->shape.rate_bytes_per_sec, 0);
	assert_int_equal(count_events(SKM_EVENT_RESTORED, "no longer shaped"), 1);
}

/* A reader that stops says nothing of how fast it reads, before and while it is shaped. */
static void test_stalled_reader(void **state)
{
	uint64_t drain, rate;

	(void)state;
	atomic_store(&flow.reading, false);
	usleep(300000); /* until its window is full */
	register_shaped(SKM_MODE_AUTO);
	put_sock(LIMIT * 11 / 10);
	serve(1500);
	assert_int_equal(report()->decision.step, SKM_STEP_SHED);
	assert_int_equal(report()->shape.drain_bytes_per_sec, 0);
	assert_false(is_there());
	assert_false(has_event(SKM_EVENT_SHAPED));
	atomic_store(&flow.reading, true);
	serve_until_shaped();
	serve(500);
	drain = report()->shape.drain_bytes_per_sec;
	rate = report()->shape.rate_bytes_per_sec;
	atomic_store(&flow.reading, false);
	serve(2000);
	assert_in_range(report()->shape.drain_bytes_per_sec, drain / 2, drain * 3 / 2);
	assert_in_range(report()->shape.rate_bytes_per_sec, rate / 2, rate * 3 / 2);
}

/* kill -9, as far as one process can play it: nothing is given back, the next enforcer reads the journal. */
static void test_killed_enforcer(void **state)
{
	struct skm_host host;

	(void)state;
	register_shaped(SKM_MODE_AUTO);
	serve_until_shaped();
	host = *skm_registry_host(stage.registry);
	skm_registry_close(stage.registry, false);
	assert_true(is_there());
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &host, dup(stage.journal), dup(stage.ended), NULL), 0);
	put_sock(0);
	skm_registry_recover(stage.registry);
	assert_int_equal(skm_registry_count(stage.registry), 1);
	serve_until_removed();
}

static void wait_until_gone(void)
{
	for (int i = 0; i < 300 && (is_there() || files_in(stage.journal) > 0); i++)
		usleep(10000);
	assert_false(is_there());
	assert_int_equal(files_in(stage.journal), 0);
}

/* Nobody waits for it, and the journal goes last. */
static void test_container_ends(void **state)
{
	uint64_t began;

	(void)state;
	register_shaped(SKM_MODE_AUTO);
	serve_until_shaped();
	end_child();
	began = skm_now_usec();
	skm_registry_release(stage.registry, "web");
	assert_true(skm_now_usec() - began < 100 * SKM_USEC_PER_MSEC);
	assert_int_equal(skm_registry_count(stage.registry), 0);
	wait_until_gone();
}

static void test_released(void **state)
{
	struct skm_tagged_event *events = NULL;
	struct skm_err err = SKM_ERR_INIT;
	size_t count;

	(void)state;
	register_shaped(SKM_MODE_AUTO);
	serve_until_shaped();
	assert_int_equal(skm_registry_give_back(stage.registry, NULL, &events, &count, &err), 0);
	assert_int_equal(count, 1);
	assert_contains(events[0].event.text, "everything is as it was");
	free(events);
	assert_false(is_there());
	assert_int_equal(files_in(stage.journal), 0);
}

static void test_foreign_hand(void **state)
{
	(void)state;
	register_shaped(SKM_MODE_AUTO);
	serve_until_shaped();
	assert_int_equal(system("ip link del skm-ifb0"), 0);
	for (int i = 0; i < 40 && (!has_event(SKM_EVENT_FOREIGN) || read_journal().shape.shaped); i++)
		serve(50);
	assert_int_equal(count_events(SKM_EVENT_FOREIGN, "left alone from now on"), 1);
	assert_false(read_journal().shape.shaped);
	assert_true(system("tc qdisc show dev skm0 | grep -q clsact") != 0);
	serve(1000);
	assert_false(is_there());
}

/* A container with a cgroup of its own in the same network namespace. */
static void register_beside(const struct skm_policy *policy)
{
	struct skm_err err = SKM_ERR_INIT;
	int first = stage.cgroup, r;
	char command[120];

	snprintf(command, sizeof(command), "cp -r %.39s/cgroup %.39s/beside", stage.path, stage.path);
	assert_int_equal(system(command), 0);
	stage.cgroup = openat(stage.dir, "beside", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = register_policy("beside", policy, &err);
	close(stage.cgroup);
	stage.cgroup = first;
	if (r < 0)
		fail_msg("register: %s", err.text);
}

static void test_shared_namespace(void **state)
{
	struct skm_policy policy = tc_policy(SKM_MODE_AUTO);

	(void)state;
	register_shaped(SKM_MODE_AUTO);
	serve_until_shaped();
	policy.throttle.tc = false;
	register_beside(&policy);
	serve_until_removed();
	serve(800);
	assert_false(is_there());
	for (const struct skm_container *c = skm_registry_first(stage.registry); c; c = skm_registry_next(c)) {
		const struct skm_report *its = skm_registry_report(c);

		assert_int_equal(its->skipped_count, strcmp(its->id, "web") == 0);
		if (its->skipped_count)
			assert_contains(its->skipped[0], "throttle.tc: its network namespace is shared");
	}
}

static void test_switched_off(void **state)
{
	struct skm_policy policy = tc_policy(SKM_MODE_AUTO);
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	policy.throttle.tc = false;
	assert_int_equal(register_policy("web", &policy, &err), 0);
	put_sock(LIMIT * 11 / 10);
	serve(1000);
	assert_false(is_there());
	assert_int_equal(report()->shape.drain_bytes_per_sec, 0); /* it was not even looked at */
}

static void test_observed(void **state)
{
	(void)state;
	register_shaped(SKM_MODE_OBSERVE);
	put_sock(LIMIT * 11 / 10);
	for (int i = 0; i < 100 && !has_event(SKM_EVENT_SHAPED); i++)
		serve(50);
	serve(1000);
	assert_int_equal(count_events(SKM_EVENT_SHAPED, "would be shaped to"), 1);
	assert_false(is_there());
	assert_int_equal(report()->shape.where, SKM_SHAPE_NOWHERE);
}

#define FLOWING(test) cmocka_unit_test_setup_teardown(test, set_up_flow, tear_down_flow)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        FLOWING(test_shed_shapes),      FLOWING(test_stalled_reader), FLOWING(test_killed_enforcer),
	        FLOWING(test_container_ends),   FLOWING(test_released),       FLOWING(test_foreign_hand),
	        FLOWING(test_shared_namespace), FLOWING(test_switched_off),   FLOWING(test_observed),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
