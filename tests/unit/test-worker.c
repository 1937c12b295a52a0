/* SPDX-License-Identifier: Apache-2.0 */
/* The socket worker on real connections in a network namespace of its own (exits 77 where it may not make one). Its cgroup is a
 * plain directory with a cgroup.procs that names the test's children, so that no cgroup v2 is needed. The sockets are held by
 * such a child and by the test as well, which can so look at them. */
#include "skm-test.h"
#include "skm-netns.h"

#include "actuate/worker.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <linux/socket.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define MANY 70
#define ABOVE 65536
#define TARGET 32768

static struct {
	char directory[64];
	int cgroup, netns, listener;
	struct sockaddr_in address;
	struct skm_worker worker;
	pid_t programs[2];
	int fds_before;
} test;

static int count_fds(void)
{
	cleanup_dir DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	return count;
}

static int write_procs(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", test.directory, name);
	file = fopen(path, "w");
	return file && fputs(text, file) >= 0 && fclose(file) == 0 ? 0 : -1;
}

static int setup(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	char path[128];

	(void)state;
	memset(&test, 0, sizeof(test));
	test.worker = SKM_WORKER_INIT;
	test.fds_before = count_fds();
	strcpy(test.directory, "/tmp/skm-worker-XXXXXX");
	if (!mkdtemp(test.directory))
		return -1;
	snprintf(path, sizeof(path), "%s/nested", test.directory);
	if (mkdir(path, 0700) < 0 || write_procs("cgroup.procs", "") < 0 || write_procs("nested/cgroup.procs", "") < 0)
		return -1;
	test.cgroup = open(test.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test.netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	test.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(test.listener, (void *)&address, sizeof(address)) < 0 || listen(test.listener, 256) < 0 ||
	    getsockname(test.listener, (void *)&test.address, &length) < 0)
		return -1;
	return skm_actuate_worker_start(&test.worker, test.cgroup, test.netns, NULL);
}

/* Ends what the test started, and looks for descriptors that were left behind. */
static int teardown(void **state)
{
	char command[128];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		if (test.programs[i] <= 0)
			continue;
		kill(test.programs[i], SIGKILL);
		waitpid(test.programs[i], NULL, 0);
	}
	skm_actuate_worker_stop(&test.worker);
	for (int i = 0; i < 200 && waitid(P_ALL, 0, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) == 0; i++) {
		skm_actuate_worker_reap();
		usleep(5000);
	}
	close(test.cgroup);
	close(test.netns);
	close(test.listener);
	snprintf(command, sizeof(command), "rm -rf '%s'", test.directory);
	if (system(command) != 0)
		return -1;
	if (count_fds() != test.fds_before) {
		print_error("%d descriptors where there were %d\n", count_fds(), test.fds_before);
		return -1;
	}
	return 0;
}

struct connection {
	int client, server;
};

static struct connection make_connection(void)
{
	struct connection pair = {.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	assert_int_equal(connect(pair.client, (void *)&test.address, sizeof(test.address)), 0);
	pair.server = accept4(test.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(pair.server, -1);
	return pair;
}

static void close_connection(struct connection *pair)
{
	const struct linger reset = {.l_onoff = 1};

	setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(pair->client);
	close(pair->server);
}

/* Forks a program that holds all that is open now, and makes it a member of the cgroup `procs` says. */
static void start_program(int which, const char *procs)
{
	char text[16];

	test.programs[which] = fork();
	if (test.programs[which] == 0) {
		pause();
		_exit(0);
	}
	snprintf(text, sizeof(text), "%d\n", test.programs[which]);
	assert_int_equal(write_procs(procs, text), 0);
}

static uint32_t option(int fd, int name)
{
	uint32_t value = 0;
	socklen_t length = sizeof(value);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, name, &value, &length), 0);
	return value;
}

static void set_option(int fd, int name, uint32_t value)
{
	assert_int_equal(setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value)), 0);
}

static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length), 0);
	return cookie;
}

/* The next message, which has to come within 5 s and be this one. */
static struct skm_worker_message expect(enum skm_worker_news news)
{
	struct pollfd poll_fd = {.fd = test.worker.fd, .events = POLLIN};
	struct skm_worker_message message = {0};
	struct skm_err err = SKM_ERR_INIT;

	assert_int_equal(poll(&poll_fd, 1, 5000), 1);
	if (skm_actuate_worker_receive(&test.worker, &message, &err) != 0)
		fail_msg("%s", err.text);
	if (message.news != news)
		fail_msg("news %d where %d was awaited; trouble: %s", message.news, news, message.trouble);
	return message;
}

static void order_squeeze(uint32_t above, uint32_t target)
{
	struct skm_err err = SKM_ERR_INIT;

	if (skm_actuate_worker_squeeze(&test.worker, above, target, &err) != 0)
		fail_msg("%s", err.text);
}

static struct skm_worker_message go_until_done(void)
{
	assert_int_equal(skm_actuate_worker_go(&test.worker, NULL), 0);
	return expect(SKM_NEWS_DONE);
}

static struct skm_worker_message restore(const struct skm_socket_baseline *sockets, uint32_t count)
{
	struct skm_err err = SKM_ERR_INIT;

	if (skm_actuate_worker_restore(&test.worker, sockets, count, &err) != 0)
		fail_msg("%s", err.text);
	return expect(SKM_NEWS_DONE);
}

static const struct skm_socket_baseline *baseline_of(const struct skm_worker_message *message, int fd)
{
	const struct skm_socket_baseline *found = NULL;

	for (uint32_t i = 0; i < message->count; i++) {
		if (message->sockets[i].cookie != cookie_of(fd))
			continue;
		assert_null(found); /* each once */
		found = &message->sockets[i];
	}
	return found;
}

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

#define with_worker(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        with_worker(test_squeeze_and_restore),
	        with_worker(test_locks_of_the_program),
	        with_worker(test_program_sets_its_own_meanwhile),
	        with_worker(test_squeezed_twice),
	        with_worker(test_shared_nested_and_listening),
	        with_worker(test_unreachable),
	        with_worker(test_batches_hottest_first),
	        with_worker(test_killed_in_the_middle),
	        with_worker(test_no_go),
	        with_worker(test_lingering_close),
	        with_worker(test_what_the_worker_is),
	        with_worker(test_dies_with_its_parent),
	        with_worker(test_namespaces),
	        with_worker(test_restore_of_what_is_gone),
	};

	skm_test_enter_new_netns();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
