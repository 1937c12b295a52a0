/* SPDX-License-Identifier: Apache-2.0 */
/* The socket worker as a process: killed, left without an answer, held by a socket, without its parent or its namespace. */
#include "worker-stage.h"

static void test_killed_in_the_middle(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message baselines, done;
	struct skm_err err = SKM_ERR_INIT;
	uint32_t before = option(pair.server, SO_RCVBUF);
	struct pollfd poll_fd = {.events = POLLIN};

	(void)state;
	set_option(pair.client, SO_RCVBUF, 5000);
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	assert_int_equal(skm_actuate_worker_squeeze(&test.worker, ABOVE, TARGET, &err), -EBUSY);
	expect(SKM_NEWS_BASELINES);
	kill(test.worker.pid, SIGKILL);
	poll_fd.fd = test.worker.pidfd;
	assert_int_equal(poll(&poll_fd, 1, 5000), 1);
	expect(SKM_NEWS_GONE);
	assert_false(test.worker.busy);
	assert_int_equal(skm_actuate_worker_squeeze(&test.worker, ABOVE, TARGET, &err), -EPIPE);
	assert_int_equal(option(pair.server, SO_RCVBUF), before);
	skm_actuate_worker_stop(&test.worker);
	assert_int_equal(test.worker.fd, -1);
	assert_int_equal(skm_actuate_worker_squeeze(&test.worker, ABOVE, TARGET, &err), -EPIPE);

	/* the next one works, and restores what another has squeezed */
	assert_int_equal(skm_actuate_worker_start(&test.worker, test.cgroup, test.netns, &err), 0);
	order_squeeze(ABOVE, TARGET);
	baselines = expect(SKM_NEWS_BASELINES);
	done = go_until_done();
	assert_int_equal(done.changed, 1);
	skm_actuate_worker_stop(&test.worker);
	assert_int_equal(skm_actuate_worker_start(&test.worker, test.cgroup, test.netns, &err), 0);
	assert_int_equal(restore(baselines.sockets, baselines.count).changed, 1);
	assert_int_equal(option(pair.server, SO_RCVBUF), before);
	close_connection(&pair);
}

static void test_no_go(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message message;
	uint32_t before = option(pair.server, SO_RCVBUF);

	(void)state;
	start_program(0, "cgroup.procs");
	assert_int_equal(skm_actuate_worker_receive(&test.worker, &message, NULL), 0);
	assert_int_equal(message.news, SKM_NEWS_NOTHING);
	order_squeeze(ABOVE, TARGET);
	expect(SKM_NEWS_BASELINES);
	message = expect(SKM_NEWS_DONE);
	assert_contains(message.trouble, "go");
	assert_int_equal(message.changed, 0);
	assert_int_equal(option(pair.server, SO_RCVBUF), before);
	/* a go that comes late is for no other batch: neither between two jobs nor within the next */
	skm_actuate_worker_go(&test.worker, NULL);
	order_squeeze(ABOVE, TARGET);
	skm_actuate_worker_go(&test.worker, NULL);
	expect(SKM_NEWS_BASELINES);
	usleep(50000);
	assert_int_equal(option(pair.server, SO_RCVBUF), before);
	assert_int_equal(go_until_done().changed, 2);
	close_connection(&pair);
}

/* A program that closes a lingering socket, its peer not reading, while the worker has it in its hand: the worker's close is the
 * last, and would wait for the peer. */
static void test_lingering_close(void **state)
{
	struct connection pair = make_connection();
	const struct linger linger = {.l_onoff = 1, .l_linger = 30};
	struct skm_worker_message done;
	char data[65536] = {0};
	uint64_t start_usec;

	(void)state;
	set_option(pair.client, SO_RCVBUF, 5000);
	assert_int_equal(setsockopt(pair.server, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	while (send(pair.server, data, sizeof(data), MSG_DONTWAIT) > 0)
		;
	start_program(0, "cgroup.procs");
	close(pair.server); /* the program is the only one that holds it now */
	order_squeeze(ABOVE, TARGET);
	assert_int_equal(expect(SKM_NEWS_BASELINES).count, 1);
	kill(test.programs[0], SIGKILL);
	assert_int_equal(waitpid(test.programs[0], NULL, 0), test.programs[0]);
	test.programs[0] = 0;
	start_usec = skm_now_usec();
	done = go_until_done();
	assert_int_equal(done.changed, 1);
	assert_true(skm_now_usec() - start_usec < 2 * 1000 * 1000);
	close(pair.client);
}

/* All that the worker has, after its jobs too: /dev/null three times, its socket, its cgroup. */
static void test_what_the_worker_is(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message baselines;
	char path[64], text[64];
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;
	int count = 0;

	(void)state;
	start_program(0, "cgroup.procs");
	order_squeeze(ABOVE, TARGET);
	baselines = expect(SKM_NEWS_BASELINES);
	assert_int_equal(go_until_done().changed, 2);
	assert_int_equal(restore(baselines.sockets, baselines.count).changed, 2);
	snprintf(path, sizeof(path), "/proc/%d/comm", test.worker.pid);
	assert_true(skm_read_text_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	assert_string_equal(text, "sockmem-worker\n");
	snprintf(path, sizeof(path), "/proc/%d/fd", test.worker.pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	assert_int_equal(count, 5);
	/* a stop of the whole service must leave it to the enforcer */
	kill(test.worker.pid, SIGTERM);
	kill(test.worker.pid, SIGINT);
	kill(test.worker.pid, SIGHUP);
	usleep(20000);
	assert_int_equal(restore(NULL, 0).found, 0);
	close_connection(&pair);
}

/* Waits until the worker has its name: it has set up what it dies by before. */
static bool is_set_up(pid_t worker)
{
	char path[64], text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", worker);
	for (int i = 0; i < 500 && strcmp(text, "sockmem-worker\n") != 0; i++) {
		usleep(10000);
		if (skm_read_text_at(AT_FDCWD, path, text, sizeof(text)) < 0)
			return false;
	}
	return strcmp(text, "sockmem-worker\n") == 0;
}

static void test_dies_with_its_parent(void **state)
{
	struct pollfd poll_fd = {.events = POLLIN};
	int pair[2], ended;
	pid_t parent, worker = 0;

	(void)state;
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	parent = fork();
	if (parent == 0) {
		struct skm_worker mine = SKM_WORKER_INIT;

		if (skm_actuate_worker_start(&mine, test.cgroup, test.netns, NULL) != 0 ||
		    write(pair[1], &mine.pid, sizeof(mine.pid)) != sizeof(mine.pid))
			_exit(1);
		pause();
	}
	assert_int_equal(read(pair[0], &worker, sizeof(worker)), sizeof(worker));
	poll_fd.fd = pidfd_open(worker, 0);
	assert_int_not_equal(poll_fd.fd, -1);
	assert_true(is_set_up(worker));
	kill(worker, SIGSTOP); /* busy elsewhere: it cannot notice by itself */
	usleep(20000);
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	ended = poll(&poll_fd, 1, 5000);
	pidfd_send_signal(poll_fd.fd, SIGKILL, NULL, 0);
	assert_int_equal(ended, 1);
	close(poll_fd.fd);
	close(pair[0]);
	close(pair[1]);
}

/* It looks into the namespace that it was given, not into ours; and says so where it cannot enter. */
static void test_namespaces(void **state)
{
	struct connection pair = make_connection();
	struct skm_worker_message done;
	cleanup_fd int ours = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	cleanup_fd int other = -1, null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	start_program(0, "cgroup.procs");
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	other = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_int_equal(setns(ours, CLONE_NEWNET), 0);
	skm_actuate_worker_stop(&test.worker);
	assert_int_equal(skm_actuate_worker_start(&test.worker, test.cgroup, other, NULL), 0);
	order_squeeze(ABOVE, TARGET);
	done = expect(SKM_NEWS_DONE);
	assert_int_equal(done.found, 0);
	assert_string_equal(done.trouble, "");
	skm_actuate_worker_stop(&test.worker);
	assert_int_equal(skm_actuate_worker_start(&test.worker, test.cgroup, null, NULL), 0);
	order_squeeze(ABOVE, TARGET);
	assert_contains(expect(SKM_NEWS_DONE).trouble, "namespace");
	close_connection(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        with_worker(test_killed_in_the_middle), with_worker(test_no_go),
	        with_worker(test_lingering_close),      with_worker(test_what_the_worker_is),
	        with_worker(test_dies_with_its_parent), with_worker(test_namespaces),
	};

	skm_test_enter_new_netns();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
