/* SPDX-License-Identifier: Apache-2.0 */
/* The enforcer over a cgroup of plain files (so that the test says what the sockets hold) and a real network namespace. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "enforcer/journal.h"
#include "enforcer/record.h"
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

static void put(const char *name, const char *text)
{
	cleanup_fd int fd = openat(stage.cgroup, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void put_sock(uint64_t bytes)
{
	char text[128];

	snprintf(text, sizeof(text), "anon 4096\nfile 0\nsock %llu\n", (unsigned long long)bytes);
	put("memory.stat", text);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)bytes + 8192);
	put("memory.current", text);
}

/* Each connection is two sockets of this namespace. */
static void open_connections(void)
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

static int below(const char *name)
{
	assert_int_equal(mkdirat(stage.dir, name, 0700), 0);
	return openat(stage.dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int set_up(void **state)
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
	put("cgroup.events", "populated 1\nfrozen 0\n");
	put("cgroup.procs", "");
	stage.child = fork();
	if (stage.child == 0) {
		close_range(3, ~0U, 0); /* or the test's connections would never end */
		pause();
		_exit(0);
	}
	return skm_registry_open(&stage.registry, stage.epoll, &HOST, dup(stage.journal), dup(stage.ended), NULL);
}

static int tear_down(void **state)
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

static int register_with(const char *id, enum skm_mode mode, struct skm_size limit, struct skm_err *err)
{
	struct skm_request request = SKM_REQUEST_INIT;
	int r;

	request.verb = SKM_VERB_REGISTER;
	snprintf(request.id, sizeof(request.id), "%s", id);
	request.pid = stage.child;
	request.policy = (struct skm_policy){.tcpmem_limit = limit, .mode = mode, .source = SKM_SOURCE_ANNOTATION_TCPMEM};
	request.fds[SKM_FD_PID] = (int)syscall(SYS_pidfd_open, stage.child, 0);
	request.fds[SKM_FD_CGROUP] = dup(stage.cgroup);
	request.fds[SKM_FD_NETNS] = open("/proc/self/ns/net", O_RDONLY);
	r = skm_registry_register(stage.registry, &request, err);
	for (int i = 0; i < SKM_FD_COUNT; i++)
		skm_close_fd(&request.fds[i]);
	return r;
}

static void register_limit(uint64_t limit_bytes)
{
	struct skm_err err = SKM_ERR_INIT;

	if (register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, limit_bytes}, &err) < 0)
		fail_msg("register: %s", err.text);
}

static void register_plain(const char *id, enum skm_mode mode)
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
static void run_until(enum skm_step step)
{
	for (int i = 0; i < 250; i++) {
		skm_registry_run(stage.registry, skm_now_usec());
		if (report()->stat_reads > 0 && report()->decision.step == step)
			return;
		usleep(10000);
	}
	fail_msg("step %s, wanted %s", skm_name_of(&skm_step_names, report()->decision.step), skm_name_of(&skm_step_names, step));
}

static void sysctl_is(const char *name, const char *expected)
{
	char path[96], text[128];

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	assert_true(skm_read_text_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	text[strcspn(text, "\n")] = '\0';
	if (strcmp(text, expected) != 0)
		fail_msg("%s is \"%s\", wanted \"%s\"", name, text, expected);
}

static int files_in(int dirfd)
{
	int copy = openat(dirfd, ".", O_RDONLY | O_DIRECTORY), count = 0;
	cleanup_dir DIR *dir = fdopendir(copy);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	return count;
}

static bool has_event(enum skm_event_kind kind)
{
	const struct skm_container *container = skm_registry_first(stage.registry);

	for (uint32_t i = 0; i < skm_registry_event_count(container); i++)
		if (skm_registry_event(container, i)->kind == kind)
			return true;
	return false;
}

static void test_register_prepares_the_namespace(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	assert_int_equal(files_in(stage.journal), 1);
	register_plain("web", SKM_MODE_AUTO); /* once more: nothing changes */
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_int_equal(report()->sysctl_writes, 1);
}

static void test_cap_and_back(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	/* 41 sockets of the namespace are in use: the listener and both ends of twenty connections */
	sysctl_is("tcp_rmem", "4096\t32768\t818400");
	sysctl_is("tcp_wmem", "4096\t16384\t818400");
	sysctl_is("tcp_notsent_lowat", "131072");
	put_sock(0);
	run_until(SKM_STEP_NONE);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	sysctl_is("tcp_wmem", "4096\t16384\t4194304");
	sysctl_is("tcp_notsent_lowat", "4294967295");
	assert_true(report()->throttled_usec >= 900000);
	assert_int_equal(report()->sock_peak_bytes, LIMIT * 75 / 100);
}

static void test_steady_writes_nothing(void **state)
{
	uint64_t writes;

	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	writes = report()->sysctl_writes;
	for (int i = 0; i < 100; i++) {
		put_sock(LIMIT * 75 / 100 + (uint64_t)(i % 7) * 4096);
		skm_registry_run(stage.registry, skm_now_usec());
		usleep(10000);
	}
	assert_int_equal(report()->sysctl_writes, writes);
	assert_true(report()->stat_reads >= 4);
}

static void test_the_host_namespace_is_refused(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_host host = *skm_registry_host(stage.registry);
	struct stat st;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	host.netns_inode = st.st_ino;
	skm_registry_close(stage.registry, true);
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &host, dup(stage.journal), dup(stage.ended), NULL), 0);
	assert_int_equal(register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EOPNOTSUPP);
	assert_contains(err.text, "host's network namespace");
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
}

/* Connections that come and go move the fair cap a little at each look: within an eighth of what stands nothing is written. */
static void test_small_moves_are_not_written(void **state)
{
	uint64_t writes;

	(void)state;
	register_limit(2 * SKM_MIB); /* so that tcp_notsent_lowat is below its own maximum and moves too */
	put_sock(2 * SKM_MIB * 75 / 100);
	run_until(SKM_STEP_CAP);
	writes = report()->sysctl_writes;
	close(connections[2 * PAIRS]);
	close(connections[2 * PAIRS - 1]);
	for (int i = 0; i < 300 && report()->sockets != 2 * PAIRS - 1; i++) {
		skm_registry_run(stage.registry, skm_now_usec());
		usleep(10000);
	}
	assert_int_equal(report()->sockets, 2 * PAIRS - 1);
	assert_int_equal(report()->sysctl_writes, writes);
}

static void end_child(void)
{
	kill(stage.child, SIGKILL);
	waitpid(stage.child, NULL, 0);
	put("cgroup.events", "populated 0\nfrozen 0\n");
	put("memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\n");
}

static void test_end_puts_everything_back(void **state)
{
	struct epoll_event event;

	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	end_child();
	/* the socket worker's messages come through the same set */
	while (skm_registry_count(stage.registry) > 0 && epoll_wait(stage.epoll, &event, 1, 1000) == 1)
		((struct skm_watch *)event.data.ptr)->ready(event.data.ptr, event.events);
	assert_int_equal(skm_registry_count(stage.registry), 0);
	assert_int_equal(files_in(stage.journal), 0);
	assert_int_equal(files_in(stage.ended), 1);
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	sysctl_is("tcp_wmem", "4096\t16384\t4194304");
	sysctl_is("tcp_notsent_lowat", "4294967295");
}

static void test_poststop_is_a_hint(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	skm_registry_release(stage.registry, "web");
	assert_int_equal(skm_registry_count(stage.registry), 1);
	skm_registry_release(stage.registry, "no such id");
	end_child();
	skm_registry_release(stage.registry, "web");
	assert_int_equal(skm_registry_count(stage.registry), 0);
}

static void test_foreign_write_is_left_alone(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	assert_int_equal(system("echo '4096 65536 1000000' > /proc/sys/net/ipv4/tcp_rmem"), 0);
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	assert_true(has_event(SKM_EVENT_FOREIGN));
	sysctl_is("tcp_rmem", "4096\t65536\t1000000");
	sysctl_is("tcp_wmem", "4096\t16384\t818400"); /* the other keys are held as before */
	end_child();
	skm_registry_release(stage.registry, "web");
	sysctl_is("tcp_rmem", "4096\t65536\t1000000");
}

static void test_observe_writes_nothing(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_OBSERVE);
	put_sock(LIMIT * 2);
	run_until(SKM_STEP_SHED);
	assert_int_equal(report()->backend, SKM_BACKEND_OBSERVE);
	assert_true(has_event(SKM_EVENT_STEP));
	assert_int_equal(report()->sysctl_writes, 0);
	assert_false(has_event(SKM_EVENT_TROUBLE)); /* nor does it try */
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	assert_true(report()->over_limit > 0);
}

static void test_percentage_of_memory_max(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_PERCENT, 1250}, &err), 0);
	assert_int_equal(report()->limit_bytes, 32 * SKM_MIB);
}

static void test_refusals_change_nothing(void **state)
{
	const struct {
		struct skm_size limit;
		const char *max, *text;
	} cases[] = {
	        {{SKM_SIZE_PERCENT, 1000}, "max\n", "percentage"},
	        {{SKM_SIZE_MAX, 0}, "268435456\n", "nothing to enforce"},
	        {{SKM_SIZE_BYTES, 4096}, "268435456\n", "may lag behind"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_err err = SKM_ERR_INIT;

		put("memory.max", cases[i].max);
		assert_true(register_with("web", SKM_MODE_AUTO, cases[i].limit, &err) < 0);
		assert_contains(err.text, cases[i].text);
		assert_int_equal(skm_registry_count(stage.registry), 0);
		assert_int_equal(files_in(stage.journal), 0);
		sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	}
}

static void test_a_namespace_has_one_governor(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	assert_int_equal(register_with("other", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EBUSY);
	assert_contains(err.text, "web");
	assert_int_equal(register_with("looker", SKM_MODE_OBSERVE, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), 0);
}

static void test_find_by_beginning(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	register_plain("web-1", SKM_MODE_OBSERVE);
	register_plain("web-12", SKM_MODE_OBSERVE);
	assert_non_null(skm_registry_find(stage.registry, "web-1", &err)); /* a whole id, though another begins with it */
	assert_non_null(skm_registry_find(stage.registry, "web-12", &err));
	assert_null(skm_registry_find(stage.registry, "web", &err));
	assert_int_equal(err.code, EEXIST);
	assert_null(skm_registry_find(stage.registry, "x", &err));
	assert_int_equal(err.code, ENOENT);
}

static void test_closing_gives_back_and_keeps_the_journal(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_AUTO);
	put_sock(LIMIT * 75 / 100);
	run_until(SKM_STEP_CAP);
	skm_registry_close(stage.registry, true);
	stage.registry = NULL;
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	assert_int_equal(files_in(stage.journal), 1);
}

static void test_the_journal_of_sockets_is_bounded(void **state)
{
	struct skm_container container = {0};
	struct skm_socket_baseline batch[64];
	uint64_t cookie = 1;

	(void)state;
	for (int i = 0; i < SKM_JOURNAL_SOCKETS_MAX / 64 + 2; i++) {
		for (int j = 0; j < 64; j++)
			batch[j] = (struct skm_socket_baseline){.cookie = cookie++, .rcvbuf = 1000};
		assert_int_equal(skm_journal_add_sockets(&container, batch, 64), 64);
	}
	assert_int_equal(skm_journal_add_sockets(&container, batch, 64), 0); /* known already: the first baseline counts */
	assert_int_equal(container.journal.socket_count, SKM_JOURNAL_SOCKETS_MAX);
	assert_int_equal(container.journal.sockets[SKM_JOURNAL_SOCKETS_MAX - 1].cookie, cookie - 1);
	free(container.journal.sockets);
}

static void make_record(const char *name, size_t length)
{
	cleanup_fd int fd = openat(stage.ended, name, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(ftruncate(fd, (off_t)length), 0);
}

static void test_records_are_bounded(void **state)
{
	uint64_t now = skm_realtime_usec();

	(void)state;
	for (int i = 0; i < 10; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%020d-7.json", i);
		make_record(name, 1000);
	}
	skm_record_trim(stage.ended, now, 8, 1000000);
	assert_int_equal(files_in(stage.ended), 8);
	assert_int_equal(faccessat(stage.ended, "00000000000000000001-7.json", F_OK, 0), -1); /* the oldest go */
	skm_record_trim(stage.ended, now, 100, 3500);
	assert_int_equal(files_in(stage.ended), 3);
	skm_record_trim(stage.ended, now + UINT64_C(8) * 24 * 3600 * SKM_USEC_PER_SEC, 100, 1000000);
	assert_int_equal(files_in(stage.ended), 0);
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_register_prepares_the_namespace),
	        STAGED(test_cap_and_back),
	        STAGED(test_steady_writes_nothing),
	        STAGED(test_end_puts_everything_back),
	        STAGED(test_poststop_is_a_hint),
	        STAGED(test_foreign_write_is_left_alone),
	        STAGED(test_small_moves_are_not_written), /* the last that counts connections */
	        STAGED(test_small_moves_are_not_written), /* the last that counts connections */
	        STAGED(test_observe_writes_nothing),
	        STAGED(test_percentage_of_memory_max),
	        STAGED(test_refusals_change_nothing),
	        STAGED(test_a_namespace_has_one_governor),
	        STAGED(test_the_host_namespace_is_refused),
	        STAGED(test_find_by_beginning),
	        STAGED(test_closing_gives_back_and_keeps_the_journal),
	        STAGED(test_records_are_bounded),
	        cmocka_unit_test(test_the_journal_of_sockets_is_bounded),
	};

	skm_test_enter_new_netns();
	/* the same on every kernel: from 6.16 the default of tcp_rmem[2] is another */
	if (system("echo '4096 131072 6291456' > /proc/sys/net/ipv4/tcp_rmem && echo '4096 16384 4194304' > "
	           "/proc/sys/net/ipv4/tcp_wmem"))
		return 1;
	open_connections();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
