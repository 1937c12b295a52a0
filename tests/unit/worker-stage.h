/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the socket worker stand on: real connections in a network namespace of their own (exits 77 where it may not
 * make one). Its cgroup is a plain directory with a cgroup.procs that names the test's children, so that no cgroup v2 is needed.
 * The sockets are held by such a child and by the test as well, which can so look at them. */
#ifndef WORKER_STAGE_H
#define WORKER_STAGE_H

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

__attribute__((unused)) static int count_fds(void)
{
	cleanup_dir DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	return count;
}

__attribute__((unused)) static int write_procs(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", test.directory, name);
	file = fopen(path, "w");
	return file && fputs(text, file) >= 0 && fclose(file) == 0 ? 0 : -1;
}

__attribute__((unused)) static int setup(void **state)
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
__attribute__((unused)) static int teardown(void **state)
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

__attribute__((unused)) static struct connection make_connection(void)
{
	struct connection pair = {.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	assert_int_equal(connect(pair.client, (void *)&test.address, sizeof(test.address)), 0);
	pair.server = accept4(test.listener, NULL, NULL, SOCK_CLOEXEC);
	assert_int_not_equal(pair.server, -1);
	return pair;
}

__attribute__((unused)) static void close_connection(struct connection *pair)
{
	const struct linger reset = {.l_onoff = 1};

	setsockopt(pair->client, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(pair->client);
	close(pair->server);
}

/* Forks a program that holds all that is open now, and makes it a member of the cgroup `procs` says. */
__attribute__((unused)) static void start_program(int which, const char *procs)
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

__attribute__((unused)) static uint32_t option(int fd, int name)
{
	uint32_t value = 0;
	socklen_t length = sizeof(value);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, name, &value, &length), 0);
	return value;
}

__attribute__((unused)) static void set_option(int fd, int name, uint32_t value)
{
	assert_int_equal(setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value)), 0);
}

__attribute__((unused)) static uint64_t cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length), 0);
	return cookie;
}

/* The next message, which has to come within 5 s. */
__attribute__((unused)) static struct skm_worker_message expect_news(void)
{
	struct pollfd poll_fd = {.fd = test.worker.fd, .events = POLLIN};
	struct skm_worker_message message = {0};
	struct skm_err err = SKM_ERR_INIT;

	assert_int_equal(poll(&poll_fd, 1, 5000), 1);
	if (skm_actuate_worker_receive(&test.worker, &message, &err) != 0)
		fail_msg("%s", err.text);
	return message;
}

/* The same, and it has to be this one. */
__attribute__((unused)) static struct skm_worker_message expect(enum skm_worker_news news)
{
	struct skm_worker_message message = expect_news();

	if (message.news != news)
		fail_msg("news %d where %d was awaited; trouble: %s", message.news, news, message.trouble);
	return message;
}

__attribute__((unused)) static void order_squeeze(uint32_t above, uint32_t target)
{
	struct skm_err err = SKM_ERR_INIT;

	if (skm_actuate_worker_squeeze(&test.worker, above, target, &err) != 0)
		fail_msg("%s", err.text);
}

__attribute__((unused)) static struct skm_worker_message go_until_done(void)
{
	assert_int_equal(skm_actuate_worker_go(&test.worker, NULL), 0);
	return expect(SKM_NEWS_DONE);
}

__attribute__((unused)) static struct skm_worker_message restore(const struct skm_socket_baseline *sockets, uint32_t count)
{
	struct skm_err err = SKM_ERR_INIT;

	if (skm_actuate_worker_restore(&test.worker, sockets, count, &err) != 0)
		fail_msg("%s", err.text);
	return expect(SKM_NEWS_DONE);
}

__attribute__((unused)) static const struct skm_socket_baseline *baseline_of(const struct skm_worker_message *message, int fd)
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

#define with_worker(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
