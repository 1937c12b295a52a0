/* SPDX-License-Identifier: Apache-2.0 */
#include "enforcer-stage.h"

#include "enforcer/journal.h"
#include "enforcer/record.h"
#include "enforcer/squeeze.h"

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
	sysctl_is("tcp_rmem", "4096\t32768\t777480");
	sysctl_is("tcp_wmem", "4096\t16384\t777480");
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
	/* longer than a raise may be put off (control/rate.h) */
	for (int i = 0; i < 70; i++) {
		skm_registry_run(stage.registry, skm_now_usec());
		usleep(10000);
	}
	assert_int_equal(report()->sysctl_writes, writes);
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
	sysctl_is("tcp_wmem", "4096\t16384\t777480"); /* the other keys are held as before */
	end_child();
	skm_registry_release(stage.registry, "web");
	sysctl_is("tcp_rmem", "4096\t65536\t1000000");
}

/* A window scale is for life: which connections have a small one, and why, is in the report. */
static void test_small_windows_are_named(void **state)
{
	const struct skm_small_windows *small;
	struct skm_small_windows first;

	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	small = &report()->small_windows;
	assert_true(small->rmem_max_bytes == 0 && small->since_realtime_usec == 0);
	put_sock(LIMIT * 3 / 4);
	run_until(SKM_STEP_CAP);
	first = *small;
	assert_int_equal(first.rmem_max_bytes, report()->decision.targets.rmem_max_bytes);
	assert_true(first.since_realtime_usec > 0);
	assert_int_equal(first.until_realtime_usec, 0);
	put_sock(0);
	run_until(SKM_STEP_NONE);
	for (int i = 0; i < 100 && small->until_realtime_usec == 0; i++) {
		skm_registry_run(stage.registry, skm_now_usec());
		usleep(10000);
	}
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	assert_true(small->until_realtime_usec > first.since_realtime_usec + 900000);
	assert_int_equal(small->rmem_max_bytes, first.rmem_max_bytes);
	assert_int_equal(small->since_realtime_usec, first.since_realtime_usec);
}

static void test_observe_writes_nothing(void **state)
{
	(void)state;
	register_plain("web", SKM_MODE_OBSERVE);
	put_sock(LIMIT * 2);
	run_until(SKM_STEP_SHED);
	assert_int_equal(report()->backend, SKM_BACKEND_OBSERVE);
	assert_true(has_event(SKM_EVENT_STEP));
	assert_int_equal(count_events(SKM_EVENT_STEP,
	                              "none -> shed: sockets hold 64.0 MiB, 200% of the limit of 32.0 MiB: buffers capped at"),
	                 1);
	put_sock(0);
	run_until(SKM_STEP_NONE);
	assert_int_equal(
	        count_events(SKM_EVENT_STEP,
	                     "-> none: sockets hold 0 B, 0% of the limit of 32.0 MiB: nothing is throttled; before, capped at"),
	        1);
	assert_int_equal(count_events(SKM_EVENT_STEP, "(observe: nothing is written)"), 2);
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
		int code; /* never EINVAL: that is for a policy that is wrong in itself */
	} cases[] = {
	        {{SKM_SIZE_PERCENT, 1000}, "max\n", "percentage", EOPNOTSUPP},
	        {{SKM_SIZE_BYTES, 4096}, "268435456\n", "may lag behind", EOPNOTSUPP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct skm_err err = SKM_ERR_INIT;

		put("memory.max", cases[i].max);
		assert_int_equal(register_with("web", SKM_MODE_AUTO, cases[i].limit, &err), -cases[i].code);
		assert_int_equal(err.code, cases[i].code);
		assert_contains(err.text, cases[i].text);
		assert_int_equal(skm_registry_count(stage.registry), 0);
		assert_int_equal(files_in(stage.journal), 0);
		sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	}
}

/* What this host shows is no fault of the policy's. */
static void test_garbage_is_the_hosts_fault(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	put("memory.max", "garbage\n");
	assert_int_equal(register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT}, &err), -EIO);
	assert_int_equal(err.code, EIO);
	assert_contains(err.text, "memory.max");
}

/* "max" lifts a node's default: the container starts, and its figures show. */
static void test_no_limit_is_held_and_nothing_written(void **state)
{
	(void)state;
	assert_int_equal(register_with("web", SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_MAX, 0}, NULL), 0);
	put_sock(LIMIT * 3);
	for (int i = 0; i < 100 && report()->sock_bytes != LIMIT * 3; i++) {
		skm_registry_run(stage.registry, skm_now_usec());
		usleep(20000);
	}
	assert_int_equal(report()->sock_bytes, LIMIT * 3);
	assert_int_equal(report()->backend, SKM_BACKEND_NONE);
	assert_int_equal(report()->limit_bytes, UINT64_MAX);
	assert_int_equal(report()->decision.step, SKM_STEP_NONE);
	assert_int_equal(report()->over_limit, 0);
	assert_int_equal(report()->sysctl_writes, 0);
	assert_false(has_event(SKM_EVENT_TROUBLE));
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	assert_true(report()->samples < 10); /* nor is it looked at as if a burst could come */
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

/* A long job is not a stuck one: what counts is when its worker last said something. */
static void test_a_worker_is_given_up_when_it_says_nothing(void **state)
{
	uint64_t now_usec = skm_now_usec(), long_ago = now_usec - 3 * SKM_USEC_PER_SEC;
	struct skm_container *container;

	(void)state;
	register_limit(LIMIT);
	container = skm_registry_head(stage.registry);
	container->squeezer.worker.busy = true;
	container->squeezer.job_usec = long_ago;
	container->squeezer.heard_usec = now_usec - SKM_USEC_PER_SEC;
	skm_squeeze_run(container, now_usec);
	assert_true(container->squeezer.worker.busy);
	assert_false(has_event(SKM_EVENT_TROUBLE));
	container->squeezer.heard_usec = long_ago;
	skm_squeeze_run(container, now_usec);
	assert_false(container->squeezer.worker.busy);
	assert_true(has_event(SKM_EVENT_TROUBLE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_register_prepares_the_namespace),
	        STAGED(test_cap_and_back),
	        STAGED(test_steady_writes_nothing),
	        STAGED(test_a_worker_is_given_up_when_it_says_nothing),
	        STAGED(test_end_puts_everything_back),
	        STAGED(test_poststop_is_a_hint),
	        STAGED(test_foreign_write_is_left_alone),
	        STAGED(test_small_moves_are_not_written), /* the last that counts connections */
	        STAGED(test_small_windows_are_named),
	        STAGED(test_observe_writes_nothing),
	        STAGED(test_percentage_of_memory_max),
	        STAGED(test_refusals_change_nothing),
	        STAGED(test_garbage_is_the_hosts_fault),
	        STAGED(test_no_limit_is_held_and_nothing_written),
	        STAGED(test_find_by_beginning),
	        STAGED(test_closing_gives_back_and_keeps_the_journal),
	        STAGED(test_records_are_bounded),
	        cmocka_unit_test(test_the_journal_of_sockets_is_bounded),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
