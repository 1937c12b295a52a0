/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the enforcer stand on: a cgroup of plain files (so that the test says what the sockets hold) and a real network
 * namespace. Not every test uses all of it. */
#ifndef SKM_ENFORCER_STAGE_H
#define SKM_ENFORCER_STAGE_H

#include "skm-test.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "enforcer/container.h"
#include "enforcer/registry.h"
#include "skm-netns.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LIMIT (32 * SKM_MIB)
#define PAIRS 20

/* What one test stands on. The test process itself lives in the namespace; the container's process is a child that sleeps. */
struct stage {
	char path[40];
	int dir, cgroup, journal, ended, epoll;
	pid_t child;
	struct skm_registry *registry;
};

static struct stage stage;
static int connections[2 * PAIRS + 1];

__attribute__((unused)) static void put(const char *name, const char *text)
{
	cleanup_fd int fd = openat(stage.cgroup, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

__attribute__((unused)) static void put_sock(uint64_t bytes)
{
	char text[128];

	snprintf(text, sizeof(text), "anon 4096\nfile 0\nsock %llu\n", (unsigned long long)bytes);
	put("memory.stat", text);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)bytes + 8192);
	put("memory.current", text);
}

__attribute__((unused)) static void put_pid(pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d\n", pid);
	put("cgroup.procs", text);
}

/* Each connection is two sockets of this namespace. */
__attribute__((unused)) static void open_connections(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	connections[0] = listener;
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(listener, PAIRS), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	for (int i = 0; i < PAIRS; i++) {
		connections[2 * i + 1] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(connections[2 * i + 1], (struct sockaddr *)&address, sizeof(address)), 0);
		connections[2 * i + 2] = accept(listener, NULL, NULL);
		assert_true(connections[2 * i + 2] >= 0);
	}
}

__attribute__((unused)) static int below(const char *name)
{
	assert_int_equal(mkdirat(stage.dir, name, 0700), 0);
	return openat(stage.dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

__attribute__((unused)) static int set_up(void **state)
{
	static const struct skm_host HOST = {
	        .cgroup2_mounted = true,
	        .memory = SKM_MEMORY_V2,
	        .processors = 2,
	        .page_bytes = 4096,
	        .charge_slack_bytes = 512 * SKM_KIB,
	};

	(void)state;
	snprintf(stage.path, sizeof(stage.path), "/tmp/skm-test-enforcer-XXXXXX");
	assert_non_null(mkdtemp(stage.path));
	stage.dir = open(stage.path, O_RDONLY | O_DIRECTORY);
	stage.cgroup = below("cgroup");
	stage.journal = below("journal");
	stage.ended = below("ended");
	stage.epoll = epoll_create1(0);
	put_sock(0);
	put("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
	put("memory.max", "268435456\n");
	put("memory.high", "max\n");
	put("cgroup.events", "populated 1\nfrozen 0\n");
	stage.child = fork();
	if (stage.child == 0) {
		close_range(3, ~0U, 0); /* or the test's connections would never end */
		pause();
		_exit(0);
	}
	put_pid(stage.child);
	return skm_registry_open(&stage.registry, stage.epoll, &HOST, dup(stage.journal), dup(stage.ended), NULL);
}

__attribute__((unused)) static int tear_down(void **state)
{
	char command[128];

	(void)state;
	if (stage.registry)
		skm_registry_close(stage.registry, true);
	kill(stage.child, SIGKILL);
	waitpid(stage.child, NULL, 0);
	close(stage.cgroup);
	close(stage.journal);
	close(stage.ended);
	close(stage.dir);
	close(stage.epoll);
	snprintf(command, sizeof(command), "rm -rf %.39s; echo '4096 131072 6291456' > /proc/sys/net/ipv4/tcp_rmem", stage.path);
	return system(command);
}

__attribute__((unused)) static int register_policy(const char *id, const struct skm_policy *policy, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;
	int r;

	request.verb = SKM_VERB_REGISTER;
	snprintf(request.id, sizeof(request.id), "%s", id);
	request.pid = stage.child;
	request.policy = *policy;
	request.fds[SKM_FD_PID] = (int)syscall(SYS_pidfd_open, stage.child, 0);
	request.fds[SKM_FD_CGROUP] = dup(stage.cgroup);
	request.fds[SKM_FD_NETNS] = open("/proc/self/ns/net", O_RDONLY);
	r = skm_registry_register(stage.registry, &request, err);
	for (int i = 0; i < SKM_FD_COUNT; i++)
		skm_close_fd(&request.fds[i]);
	return r;
}

static struct skm_policy policy_of(enum skm_mode mode, struct skm_size limit)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	policy.tcpmem_limit = limit;
	policy.mode = mode;
	policy.source = SKM_SOURCE_ANNOTATION_TCPMEM;
	return policy;
}

__attribute__((unused)) static int register_with(const char *id, enum skm_mode mode, struct skm_size limit, struct skm_err *err)
{
	struct skm_policy policy = policy_of(mode, limit);

	return register_policy(id, &policy, err);
}

__attribute__((unused)) static void register_limit(uint64_t limit_bytes)
{
	struct skm_err err = SKM_ERR_INIT;

	if (register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, limit_bytes}, &err) < 0)
		fail_msg("register: %s", err.text);
}

__attribute__((unused)) static void register_plain(const char *id, enum skm_mode mode)
{
	struct skm_err err = SKM_ERR_INIT;

	if (register_with(id, mode, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err) < 0)
		fail_msg("register: %s", err.text);
}

static const struct skm_report *report(void)
{
	const struct skm_container *container = skm_registry_first(stage.registry);

	assert_non_null(container);
	return skm_registry_report(container);
}

/* Runs the enforcer until the step is reached, at most two and a half seconds. */
__attribute__((unused)) static void run_until(enum skm_step step)
{
	for (int i = 0; i < 250; i++) {
		skm_registry_run(stage.registry, skm_now_usec());
		if (report()->stat_reads > 0 && report()->decision.step == step)
			return;
		usleep(10000);
	}
	fail_msg("step %s, wanted %s", skm_name_of(&skm_step_names, report()->decision.step), skm_name_of(&skm_step_names, step));
}

__attribute__((unused)) static void sysctl_is(const char *name, const char *expected)
{
	char path[96], text[128];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	assert_true(skm_read_text_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, expected) != 0)
		fail_msg("%s is \"%s\", wanted \"%s\"", name, text, expected);
}

__attribute__((unused)) static int files_in(int dirfd)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY), count = 0;
	cleanup_dir DIR *dir = fdopendir(copy);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	return count;
}

__attribute__((unused)) static bool has_event(enum skm_event_kind kind)
{
	const struct skm_container *container = skm_registry_first(stage.registry);

	for (uint32_t i = 0; i < skm_registry_event_count(container); i++)
		if (skm_registry_event(container, i)->kind == kind)
			return true;
	return false;
}

__attribute__((unused)) static void end_child(void)
{
	kill(stage.child, SIGKILL);
	waitpid(stage.child, NULL, 0);
	put("cgroup.events", "populated 0\nfrozen 0\n");
	put("memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\n");
}

/* How many events of the kind have this text. */
__attribute__((unused)) static int count_events(enum skm_event_kind kind, const char *text)
{
	const struct skm_container *container = skm_registry_first(stage.registry);
	int count = 0;

	for (uint32_t i = 0; i < skm_registry_event_count(container); i++) {
		const struct skm_event *event = skm_registry_event(container, i);

		count += event->kind == kind && strstr(event->text, text);
	}
	return count;
}

/* The worker's messages come through the daemon's set. */
__attribute__((unused)) static void serve(int milliseconds)
{
	uint64_t end_usec = skm_now_usec() + (uint64_t)milliseconds * SKM_USEC_PER_MSEC;

	while (skm_now_usec() < end_usec) {
		struct epoll_event event;

		skm_registry_run(stage.registry, skm_now_usec());
		if (epoll_wait(stage.epoll, &event, 1, 10) == 1)
			((struct skm_watch *)event.data.ptr)->ready(event.data.ptr, event.events);
	}
}

/* Enters a namespace that is the same on every kernel (from 6.16 the default of tcp_rmem[2] is another) and connects. */
__attribute__((unused)) static int enter_stage(void)
{
	skm_test_enter_new_netns();
	if (system("echo '4096 131072 6291456' > /proc/sys/net/ipv4/tcp_rmem && echo '4096 16384 4194304' > "
	           "/proc/sys/net/ipv4/tcp_wmem"))
		return -1;
	open_connections();
	return 0;
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
