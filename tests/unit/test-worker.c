/* SPDX-License-Identifier: Apache-2.0 */
/* The socket worker: which sockets it sets, to what, and what it gives back. */
#include "worker-stage.h"

#include "own-cgroup2.h"

#include <linux/close_range.h>
#include <sched.h>
#include <sys/syscall.h>

static void test_squeeze_and_restore(void **state)
{
	struct skm_worker_message baselines, done;
	struct connection pairs[3];
	uint32_t before[6];
	int fds[6];

	(void)state;
	for (int i = 0; i < 3; i++) {
		pairs[i] = make_connection();
		fds[2 * i] = pairs[i].client;
		fds[2 * i + 1] = pairs[i].server;
	}
	for (int i = 0; i < 6; i++) {
		before[i] = option(fds[i], SO_RCVBUF);
		assert_true(before[i] > ABOVE);
	}
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	baselines = expect(SKM_NEWS_BASELINES);
	assert_int_equal(baselines.count, 6);
	usleep(50000); /* before the go nothing is touched, however long it takes */
	for (int i = 0; i < 6; i++) {
		const struct skm_socket_baseline *baseline = baseline_of(&baselines, fds[i]);

		assert_non_null(baseline);
		assert_int_equal(baseline->rcvbuf, before[i]);
		assert_int_equal(baseline->buf_lock, 0);
		assert_int_equal(option(fds[i], SO_RCVBUF), before[i]);
		assert_int_equal(option(fds[i], SO_BUF_LOCK), 0);
	}
	assert_true(test.worker.busy);
	done = go_until_done();
	assert_false(test.worker.busy);
	assert_int_equal(done.job, SKM_WORKER_SQUEEZE);
	assert_string_equal(done.trouble, "");
	assert_true(done.found == 6 && done.changed == 6 && done.failed == 0 && done.unreachable == 0);
	assert_true(done.took_usec >= 50000);
	assert_true(done.cpu_usec > 0 && done.cpu_usec + 40000 < done.took_usec); /* the wait costs no processor */
	for (int i = 0; i < 6; i++) {
		assert_int_equal(option(fds[i], SO_RCVBUF), TARGET);
		assert_int_equal(option(fds[i], SO_BUF_LOCK), SOCK_RCVBUF_LOCK);
	}

	/* nothing is above the cap any more */
	order_squeeze(ABOVE, TARGET);
	done = expect(SKM_NEWS_DONE);
	assert_int_equal(done.found, 0);

	done = restore(baselines.sockets, baselines.count);
	assert_int_equal(done.job, SKM_WORKER_RESTORE);
	assert_true(done.found == 6 && done.changed == 6 && done.failed == 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(option(fds[i], SO_RCVBUF), before[i]);
		assert_int_equal(option(fds[i], SO_BUF_LOCK), 0);
	}
	for (int i = 0; i < 3; i++)
		close_connection(&pairs[i]);
}

/* What a program has locked itself comes back locked, whatever else it does meanwhile. */
static void test_locks_of_the_program(void **state)
{
	struct connection large = make_connection(), small = make_connection();
	struct skm_worker_message baselines, done;

	(void)state;
	set_option(large.server, SO_RCVBUF, 100000);
	set_option(small.server, SO_RCVBUF, 15000); /* above 20,000 and below the target: never raised */
	set_option(large.client, SO_RCVBUF, 5000);
	set_option(small.client, SO_RCVBUF, 5000);
	start_program(0, "cgroup.procs");
	order_squeeze(20000, 40000);
	baselines = expect(SKM_NEWS_BASELINES);
	assert_int_equal(baselines.count, 1);
	assert_int_equal(baselines.sockets[0].cookie, cookie_of(large.server));
	assert_int_equal(baselines.sockets[0].rcvbuf, 200000);
	assert_int_equal(baselines.sockets[0].buf_lock, SOCK_RCVBUF_LOCK);
	done = go_until_done();
	assert_true(done.found == 2 && done.changed == 1);
	assert_int_equal(option(large.server, SO_RCVBUF), 40000);
	assert_int_equal(option(small.server, SO_RCVBUF), 30000);
	set_option(large.server, SO_SNDBUF, 50000);
	restore(baselines.sockets, baselines.count);
	assert_int_equal(option(large.server, SO_RCVBUF), 200000);
	assert_int_equal(option(large.server, SO_BUF_LOCK), SOCK_RCVBUF_LOCK | SOCK_SNDBUF_LOCK);
	close_connection(&large);
	close_connection(&small);
}

/* The program sets its buffer after the squeeze: a foreign write, which a restore leaves. */
static void test_program_sets_its_own_meanwhile(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message baselines, done;

	(void)state;
	set_option(pair.client, SO_RCVBUF, 5000);
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	baselines = expect(SKM_NEWS_BASELINES);
	go_until_done();
	set_option(pair.server, SO_RCVBUF, 30000);
	done = restore(baselines.sockets, baselines.count);
	assert_true(done.found == 1 && done.changed == 0);
	assert_int_equal(option(pair.server, SO_RCVBUF), 60000);
	assert_int_equal(option(pair.server, SO_BUF_LOCK), SOCK_RCVBUF_LOCK);
	close_connection(&pair);
}

/* A lower target later: what restores is the first baseline, and the second names what the first squeeze left. */
static void test_squeezed_twice(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message first, second;
	uint32_t before = option(pair.server, SO_RCVBUF);

	(void)state;
	set_option(pair.client, SO_RCVBUF, 2000);
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	first = expect(SKM_NEWS_BASELINES);
	go_until_done();
	order_squeeze(16384, 16384);
	second = expect(SKM_NEWS_BASELINES);
	go_until_done();
	assert_int_equal(second.sockets[0].cookie, first.sockets[0].cookie);
	assert_int_equal(second.sockets[0].rcvbuf, TARGET);
	assert_int_equal(option(pair.server, SO_RCVBUF), 16384);
	restore(first.sockets, first.count);
	assert_int_equal(option(pair.server, SO_RCVBUF), before);
	assert_int_equal(option(pair.server, SO_BUF_LOCK), 0);
	close_connection(&pair);
}

/* The program sets a larger buffer between two squeezes: that is the baseline from then on. */
static void test_program_sets_its_own_between(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message second;

	(void)state;
	set_option(pair.client, SO_RCVBUF, 5000);
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	assert_int_equal(expect(SKM_NEWS_BASELINES).sockets[0].renewed, 0);
	go_until_done();
	set_option(pair.server, SO_RCVBUF, 90000);
	order_squeeze(ABOVE, TARGET);
	second = expect(SKM_NEWS_BASELINES);
	go_until_done();
	assert_int_equal(second.count, 1);
	assert_int_equal(second.sockets[0].rcvbuf, 180000);
	assert_int_equal(second.sockets[0].buf_lock, SOCK_RCVBUF_LOCK);
	assert_int_equal(second.sockets[0].renewed, SKM_SIDE_RECEIVE);
	assert_int_equal(option(pair.server, SO_RCVBUF), TARGET);
	restore(second.sockets, second.count);
	assert_int_equal(option(pair.server, SO_RCVBUF), 180000);
	assert_int_equal(option(pair.server, SO_BUF_LOCK), SOCK_RCVBUF_LOCK);
	close_connection(&pair);
}

/* A send buffer is squeezed where its queue is long, and only there; it comes back as the receive buffer does. */
static void test_send_side(void **state)
{
	struct connection slow = make_connection(), quiet = make_connection();
	struct skm_worker_message baselines;
	const struct skm_socket_baseline *baseline;
	char data[65536] = {0};
	uint32_t before;

	(void)state;
	set_option(slow.client, SO_RCVBUF, 5000);
	set_option(slow.server, SO_RCVBUF, 5000);
	set_option(quiet.client, SO_RCVBUF, 5000);
	set_option(quiet.server, SO_RCVBUF, 5000);
	while (send(slow.server, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	before = option(slow.server, SO_SNDBUF);
	assert_true(before > ABOVE && option(quiet.server, SO_SNDBUF) > TARGET);
	start_program(0, "cgroup.procs");
	order_squeeze(TARGET, TARGET);
	baselines = expect(SKM_NEWS_BASELINES);
	baseline = baseline_of(&baselines, slow.server);
	assert_int_equal(baselines.count, 1);
	assert_non_null(baseline);
	assert_true(baseline->rcvbuf == 0 && baseline->sndbuf == before && baseline->buf_lock == 0);
	go_until_done();
	assert_int_equal(option(slow.server, SO_SNDBUF), TARGET);
	assert_int_equal(option(slow.server, SO_BUF_LOCK), SOCK_RCVBUF_LOCK | SOCK_SNDBUF_LOCK);
	restore(baselines.sockets, baselines.count);
	assert_int_equal(option(slow.server, SO_SNDBUF), before);
	assert_int_equal(option(slow.server, SO_BUF_LOCK), SOCK_RCVBUF_LOCK);
	close_connection(&slow);
	close_connection(&quiet);
}

/* Makes the descriptors its own, and holds the only one that is left in the process. */
static int hold_alone(void *pair)
{
	const struct connection *held = pair;

	if (syscall(SYS_close_range, 0, held->server - 1, CLOSE_RANGE_UNSHARE) < 0)
		return 1;
	for (;;)
		pause();
}

/* What only a thread holds that does not share its process's descriptors is taken from it, where the kernel lets us (6.9). */
static void test_private_table(void **state)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct connection pair = make_connection();
	struct skm_worker_message message;
	char text[16];

	(void)state;
	set_option(pair.client, SO_RCVBUF, 5000);
	test.programs[0] = fork();
	if (test.programs[0] == 0) {
		clone(hold_alone, stack + sizeof(stack),
		      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, &pair);
		usleep(200000); /* until the thread has its own */
		close(pair.server);
		close(pair.client);
		for (;;)
			pause();
	}
	usleep(400000);
	snprintf(text, sizeof(text), "%d\n", test.programs[0]);
	assert_int_equal(write_procs("cgroup.procs", text), 0);
	order_squeeze(ABOVE, TARGET);
	message = expect_news();
	if (message.news == SKM_NEWS_DONE) {
		assert_true(message.unreachable == 1 && message.changed == 0);
		assert_contains(message.trouble, "6.9");
	} else {
		assert_non_null(baseline_of(&message, pair.server));
		assert_int_equal(go_until_done().changed, 1);
		assert_int_equal(option(pair.server, SO_RCVBUF), TARGET);
	}
	close_connection(&pair);
}

static void test_shared_nested_and_listening(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message baselines, done;
	uint32_t listener;
	int twin, server = fcntl(pair.server, F_DUPFD_CLOEXEC, 100);

	(void)state;
	/* one end twice in the same process, before the other in its table */
	close(pair.server);
	pair.server = server;
	twin = dup(pair.client);
	assert_true(twin < server);
	set_option(test.listener, SO_RCVBUF, 150000);
	listener = option(test.listener, SO_RCVBUF);
	start_program(0, "cgroup.procs");
	start_program(1, "nested/cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	baselines = expect(SKM_NEWS_BASELINES);
	assert_int_equal(baselines.count, 2); /* both ends, each once */
	assert_null(baseline_of(&baselines, test.listener));
	done = go_until_done();
	assert_true(done.found == 2 && done.changed == 2);
	assert_int_equal(option(test.listener, SO_RCVBUF), listener);
	restore(baselines.sockets, baselines.count);

	/* only below the descendant */
	assert_int_equal(write_procs("cgroup.procs", ""), 0);
	order_squeeze(ABOVE, TARGET);
	expect(SKM_NEWS_BASELINES);
	done = go_until_done();
	assert_int_equal(done.changed, 2);
	close(twin);
	close_connection(&pair);
}

static void test_unreachable(void **state)
{
	struct connection pair = make_connection();
	int waiting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct skm_worker_message done;

	(void)state;
	/* no process is in the cgroup; and a connection that nobody has accepted is held by none at all */
	assert_int_equal(connect(waiting, (void *)&test.address, sizeof(test.address)), 0);
	order_squeeze(ABOVE, TARGET);
	done = expect(SKM_NEWS_DONE);
	assert_true(done.found == 4 && done.unreachable == 4 && done.changed == 0 && done.failed == 0);
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	assert_int_equal(expect(SKM_NEWS_BASELINES).count, 3);
	done = go_until_done();
	assert_true(done.found == 4 && done.unreachable == 1 && done.changed == 3);
	assert_int_equal(close(waiting), 0);
	close_connection(&pair);
}

static void test_batches_hottest_first(void **state)
{
	struct connection pairs[MANY];
	struct skm_socket_baseline all[MANY];
	struct skm_worker_message message;
	char data[20000] = {0};
	uint32_t before = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		pairs[i] = make_connection();
		set_option(pairs[i].client, SO_RCVBUF, 5000);
	}
	assert_int_equal(send(pairs[40].client, data, sizeof(data), 0), sizeof(data));
	assert_int_equal(send(pairs[30].client, data, 5000, 0), 5000);
	before = option(pairs[69].server, SO_RCVBUF);
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	message = expect(SKM_NEWS_BASELINES);
	assert_int_equal(message.count, SKM_WORKER_BATCH);
	assert_int_equal(message.sockets[0].cookie, cookie_of(pairs[40].server));
	assert_int_equal(message.sockets[1].cookie, cookie_of(pairs[30].server));
	memcpy(all, message.sockets, sizeof(message.sockets));
	skm_actuate_worker_go(&test.worker, NULL);
	message = expect(SKM_NEWS_BASELINES);
	assert_int_equal(message.count, MANY - SKM_WORKER_BATCH);
	memcpy(all + SKM_WORKER_BATCH, message.sockets, message.count * sizeof(*all));
	message = go_until_done();
	assert_int_equal(message.changed, MANY);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(option(pairs[i].server, SO_RCVBUF), TARGET);
	assert_int_equal(restore(all, MANY).changed, MANY);
	assert_int_equal(option(pairs[69].server, SO_RCVBUF), before);
	for (int i = 0; i < MANY; i++)
		close_connection(&pairs[i]);
}

static void test_restore_of_what_is_gone(void **state)
{
	struct connection pair = make_connection();
	struct skm_socket_baseline sockets[2] = {{.cookie = UINT64_MAX, .rcvbuf = 1 << 20}, {.rcvbuf = 200000}};
	struct skm_worker_message done;

	(void)state;
	sockets[1].cookie = cookie_of(pair.server);
	start_program(0, "cgroup.procs");
	done = restore(sockets, 2);
	assert_true(done.found == 1 && done.changed == 1 && done.failed == 0 && done.unreachable == 0);
	assert_int_equal(option(pair.server, SO_RCVBUF), 200000);
	done = restore(sockets, 0);
	assert_true(done.found == 0 && done.changed == 0);
	assert_string_equal(done.trouble, "");
	close_connection(&pair);
}

/* As much as makes a socket with the default buffer a hungry one. */
static const char FILL[32768];

static uint64_t demands_in(const struct skm_demands *demands)
{
	uint64_t sum = demands->hungry;

	for (int i = 0; i < SKM_DEMAND_BUCKETS; i++)
		sum += demands->count[i];
	return sum;
}

static struct skm_worker_message count(void)
{
	struct skm_err err = SKM_ERR_INIT;

	if (skm_actuate_worker_count(&test.worker, &err) != 0)
		fail_msg("%s", err.text);
	return expect(SKM_NEWS_DONE);
}

/* In a namespace with others' sockets those count that were made in the cgroup; the stage's is none that a socket was made in. */
static void test_others_sockets_are_not_ours(void **state)
{
	struct connection pair = make_connection();
	uint32_t before = option(pair.server, SO_RCVBUF);
	struct skm_worker_message done = count();

	(void)state;
	assert_int_equal(done.job, SKM_WORKER_COUNT);
	assert_int_equal(done.total, 2);
	assert_string_equal(done.trouble, "");
	assert_int_equal(demands_in(&done.demands), 2);
	assert_int_equal(done.demands.hungry, 0);
	assert_int_equal(send(pair.client, FILL, sizeof(FILL), 0), sizeof(FILL));
	done = count();
	assert_int_equal(demands_in(&done.demands), 2);
	assert_in_range(done.demands.hungry, 1, 2); /* the receiver, which does not read; the sender until it knows */
	start_program(0, "cgroup.procs");
	test.worker.shared = true;
	assert_int_equal(count().total, 0);
	order_squeeze(ABOVE, TARGET);
	done = expect(SKM_NEWS_DONE);
	assert_true(done.found == 0 && done.total == 0 && done.unreachable == 0);
	assert_int_equal(option(pair.server, SO_RCVBUF), before);
	close_connection(&pair);
}

/* The same with the cgroup that this test is in, where the machine has cgroup v2. */
static void test_own_sockets_are_ours(void **state)
{
	struct connection pair = make_connection();
	char mount[PATH_MAX];
	int cgroup = own_cgroup2(mount);

	(void)state;
	if (cgroup >= 0) {
		skm_actuate_worker_stop(&test.worker);
		assert_int_equal(skm_actuate_worker_start(&test.worker, cgroup, test.netns, NULL), 0);
		test.worker.shared = true;
		assert_int_equal(count().total, 2);
		close(cgroup);
	} else {
		print_message("no cgroup v2 here: not tested\n");
	}
	close_connection(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        with_worker(test_others_sockets_are_not_ours),
	        with_worker(test_own_sockets_are_ours),
	        with_worker(test_squeeze_and_restore),
	        with_worker(test_locks_of_the_program),
	        with_worker(test_program_sets_its_own_meanwhile),
	        with_worker(test_squeezed_twice),
	        with_worker(test_program_sets_its_own_between),
	        with_worker(test_send_side),
	        with_worker(test_private_table),
	        with_worker(test_shared_nested_and_listening),
	        with_worker(test_unreachable),
	        with_worker(test_batches_hottest_first),
	        with_worker(test_restore_of_what_is_gone),
	};

	skm_test_enter_new_netns();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
