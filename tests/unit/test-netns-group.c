/* SPDX-License-Identifier: Apache-2.0 */
/* Two containers in one network namespace: one baseline, the smallest of what they want, and the last one out puts it back. */
#include "enforcer-stage.h"

#define PLAIN "4096\t131072\t6291456"

/* The stage's cgroup and process, twice. */
static struct {
	int cgroup;
	pid_t child;
} places[2];

static void go_to(int place)
{
	stage.cgroup = places[place].cgroup;
	stage.child = places[place].child;
}

static void fill_cgroup(void)
{
	put_sock(0);
	put("memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n");
	put("memory.max", "268435456\n");
	put("memory.high", "max\n");
	put("cgroup.events", "populated 1\nfrozen 0\n");
	put_pid(stage.child);
}

static int set_up_two(void **state)
{
	int r = set_up(state);

	places[0].cgroup = stage.cgroup;
	places[0].child = stage.child;
	places[1].cgroup = below("cgroup2");
	places[1].child = fork();
	if (places[1].child == 0) {
		close_range(3, ~0U, 0);
		pause();
		_exit(0);
	}
	go_to(1);
	fill_cgroup();
	go_to(0);
	return r;
}

static int tear_down_two(void **state)
{
	kill(places[1].child, SIGKILL);
	waitpid(places[1].child, NULL, 0);
	close(places[1].cgroup);
	go_to(0);
	return tear_down(state);
}

static void register_at(int place, const char *id, enum skm_mode mode, uint64_t limit_bytes)
{
	struct skm_err err = SKM_ERR_INIT;

	go_to(place);
	if (register_with(id, mode, (struct skm_size){SKM_SIZE_BYTES, limit_bytes}, &err) < 0)
		fail_msg("register %s: %s", id, err.text);
}

static const struct skm_container *find(const char *id)
{
	struct skm_err err = SKM_ERR_INIT;
	const struct skm_container *container = skm_registry_find(stage.registry, id, &err);

	if (!container)
		fail_msg("%s", err.text);
	return container;
}

static int events_of(const char *id, enum skm_event_kind kind, const char *text)
{
	const struct skm_container *container = find(id);
	int count = 0;

	for (uint32_t i = 0; i < skm_registry_event_count(container); i++)
		count += skm_registry_event(container, i)->kind == kind && strstr(skm_registry_event(container, i)->text, text);
	return count;
}

static void end_at(int place, const char *id)
{
	go_to(place);
	end_child();
	skm_registry_release(stage.registry, id);
}

/* Looks until the container is at the step. */
static void reach(const char *id, enum skm_step step)
{
	for (int i = 0; i < 300; i++) {
		skm_registry_run(stage.registry, skm_now_usec());
		if (skm_registry_report(find(id))->stat_reads > 0 && skm_registry_report(find(id))->decision.step == step)
			return;
		usleep(10000);
	}
	fail_msg("%s is not at step %s", id, skm_name_of(&skm_step_names, step));
}

static void sysctl_max_is(const char *name, uint64_t low, uint64_t high)
{
	char path[96], text[128];
	unsigned long long values[3] = {0};

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/%s", name);
	assert_true(skm_read_text_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	assert_int_equal(sscanf(text, "%llu %llu %llu", &values[0], &values[1], &values[2]), 3);
	if (values[2] < low || values[2] > high)
		fail_msg("%s is %s", name, text);
}

static void test_the_second_inherits_and_the_last_restores(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	register_at(1, "two", SKM_MODE_AUTO, 16 * SKM_MIB);
	sysctl_is("tcp_rmem", "4096\t16384\t6291456"); /* the smaller start of both */
	assert_int_equal(find("two")->start_buffer_bytes, 16384);
	end_at(1, "two");
	sysctl_is("tcp_rmem", "4096\t32768\t6291456"); /* the other's again: not ours as a baseline, nor a baseline under it */
	end_at(0, "one");
	sysctl_is("tcp_rmem", PLAIN);
	assert_int_equal(files_in(stage.journal), 0);
}

static void test_the_first_may_go_first(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 16 * SKM_MIB);
	register_at(1, "two", SKM_MODE_AUTO, 32 * SKM_MIB);
	end_at(0, "one");
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	end_at(1, "two");
	sysctl_is("tcp_rmem", PLAIN);
}

static void test_the_smallest_cap_is_written(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	register_at(1, "two", SKM_MODE_AUTO, 8 * SKM_MIB);
	go_to(0);
	put_sock(32 * SKM_MIB * 3 / 4);
	reach("one", SKM_STEP_CAP);
	sysctl_max_is("tcp_rmem", 700000, 1000000); /* 32 MiB for some 41 sockets */
	go_to(1);
	put_sock(8 * SKM_MIB * 3 / 4);
	reach("two", SKM_STEP_CAP);
	sysctl_max_is("tcp_rmem", 150000, 250000);
	assert_true(events_of("one", SKM_EVENT_SYSCTL, "for container two") >= 1); /* it is told who lowers its windows */
	assert_true(events_of("two", SKM_EVENT_SYSCTL, "for container two") >= 1);
	/* the tighter one lets go: back to the wider cap, not to the baseline */
	put_sock(0);
	reach("two", SKM_STEP_NONE);
	sysctl_max_is("tcp_rmem", 700000, 1000000);
	go_to(0);
	put_sock(0);
	reach("one", SKM_STEP_NONE);
	sysctl_is("tcp_wmem", "4096\t16384\t4194304");
	sysctl_is("tcp_notsent_lowat", "4294967295");
	sysctl_max_is("tcp_rmem", 6291456, 6291456);
}

/* It also looks, and has no hand in it: its end restores nothing, and its baselines are the first's. */
static void test_an_observer_has_no_hand_in_it(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	register_at(1, "looker", SKM_MODE_OBSERVE, 1 * SKM_MIB);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	assert_int_equal(find("looker")->start_buffer_bytes, 16384);
	go_to(1);
	put_sock(1 * SKM_MIB);
	reach("looker", SKM_STEP_SHED);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	end_at(1, "looker");
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	end_at(0, "one");
	sysctl_is("tcp_rmem", PLAIN);
}

/* With the observer left behind nothing of ours stands: who comes then takes what stands then. */
static void test_a_later_writer_reads_anew(void **state)
{
	(void)state;
	register_at(0, "looker", SKM_MODE_OBSERVE, 32 * SKM_MIB);
	register_at(1, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	end_at(1, "one");
	sysctl_is("tcp_rmem", PLAIN);
	assert_int_equal(system("echo '4096 65536 3000000' > /proc/sys/net/ipv4/tcp_rmem"), 0);
	places[1].child = fork();
	if (places[1].child == 0) {
		close_range(3, ~0U, 0);
		pause();
		_exit(0);
	}
	go_to(1);
	fill_cgroup();
	register_at(1, "two", SKM_MODE_AUTO, 32 * SKM_MIB);
	sysctl_is("tcp_rmem", "4096\t32768\t3000000");
	end_at(1, "two");
	sysctl_is("tcp_rmem", "4096\t65536\t3000000");
}

static void test_a_foreign_hand_is_the_groups(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	register_at(1, "two", SKM_MODE_AUTO, 32 * SKM_MIB);
	assert_int_equal(system("echo '4096 65536 3000000' > /proc/sys/net/ipv4/tcp_rmem"), 0);
	go_to(0);
	put_sock(32 * SKM_MIB * 3 / 4);
	reach("one", SKM_STEP_CAP);
	go_to(1);
	put_sock(32 * SKM_MIB * 3 / 4);
	reach("two", SKM_STEP_CAP);
	/* told to both, once */
	assert_int_equal(events_of("one", SKM_EVENT_FOREIGN, "tcp_rmem"), 1);
	assert_int_equal(events_of("two", SKM_EVENT_FOREIGN, "tcp_rmem"), 1);
	sysctl_is("tcp_rmem", "4096\t65536\t3000000");
	end_at(0, "one");
	end_at(1, "two");
	sysctl_is("tcp_rmem", "4096\t65536\t3000000");
	sysctl_is("tcp_wmem", "4096\t16384\t4194304");
}

/* kill -9: nothing is put back, and another enforcer reads the journals. */
static void start_again(void)
{
	static const struct skm_host HOST = {.cgroup2_mounted = true,
	                                     .memory = SKM_MEMORY_V2,
	                                     .processors = 2,
	                                     .page_bytes = 4096,
	                                     .charge_slack_bytes = 512 * SKM_KIB};

	skm_registry_close(stage.registry, false);
	assert_int_equal(skm_registry_open(&stage.registry, stage.epoll, &HOST, dup(stage.journal), dup(stage.ended), NULL), 0);
	skm_registry_recover(stage.registry);
}

static void test_both_are_adopted(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	register_at(1, "two", SKM_MODE_AUTO, 16 * SKM_MIB);
	start_again();
	assert_int_equal(skm_registry_count(stage.registry), 2);
	sysctl_is("tcp_rmem", "4096\t16384\t6291456");
	assert_int_equal(events_of("one", SKM_EVENT_FOREIGN, ""), 0);
	end_at(1, "two");
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	end_at(0, "one");
	sysctl_is("tcp_rmem", PLAIN);
}

static void test_the_dead_do_not_restore_under_the_living(void **state)
{
	(void)state;
	register_at(0, "dead", SKM_MODE_AUTO, 32 * SKM_MIB);
	register_at(1, "alive", SKM_MODE_AUTO, 32 * SKM_MIB);
	go_to(0);
	end_child();
	start_again();
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_int_equal(skm_registry_report(find("alive"))->sysctl_writes, 0); /* nor for a moment */
	assert_int_equal(files_in(stage.journal), 1);
	assert_int_equal(files_in(stage.ended), 1);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456"); /* what the living one wants */
	end_at(1, "alive");
	sysctl_is("tcp_rmem", PLAIN);
}

/* Who lives and only looks has no baselines in its journal, but a hand on the namespace. */
static void test_the_dead_restore_under_an_observer(void **state)
{
	(void)state;
	register_at(0, "dead", SKM_MODE_AUTO, 32 * SKM_MIB);
	register_at(1, "looker", SKM_MODE_OBSERVE, 32 * SKM_MIB);
	go_to(0);
	end_child();
	start_again();
	sysctl_is("tcp_rmem", PLAIN);
	assert_int_equal(find("looker")->ladder_config.rmem_max_baseline_bytes, 6291456);
	assert_int_equal(skm_registry_count(stage.registry), 1);
}

/* The observer's journal is read first; the values that the other wrote are no baselines to it. */
static void test_an_observer_is_adopted_after_the_writers(void **state)
{
	(void)state;
	register_at(1, "looker", SKM_MODE_OBSERVE, 32 * SKM_MIB);
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	go_to(0);
	put_sock(32 * SKM_MIB * 3 / 4);
	reach("one", SKM_STEP_CAP);
	start_again();
	assert_int_equal(find("looker")->ladder_config.rmem_max_baseline_bytes, 6291456);
	assert_int_equal(find("looker")->group->members, 2);
}

/* Its init has ended and a child lives on in its cgroup: it is held by that. Its pid may be another process's by now. */
static void test_a_container_without_its_init_is_adopted(void **state)
{
	pid_t heir = places[1].child;

	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	kill(places[0].child, SIGKILL);
	waitpid(places[0].child, NULL, 0);
	put_pid(heir);
	start_again();
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_int_equal(skm_registry_report(find("one"))->pid, places[0].child);
	assert_true(events_of("one", SKM_EVENT_ADOPTED, "") == 1);
	skm_registry_release(stage.registry, "one"); /* a hint: something of it still runs */
	assert_int_equal(skm_registry_count(stage.registry), 1);
	kill(heir, SIGKILL);
	waitpid(heir, NULL, 0);
	put("cgroup.events", "populated 0\nfrozen 0\n");
	skm_registry_release(stage.registry, "one");
	assert_int_equal(skm_registry_count(stage.registry), 0);
	sysctl_is("tcp_rmem", PLAIN);
}

/* A cgroup that still has processes, none of them in the container's namespace, has nothing of it any more. */
static void test_strangers_in_the_cgroup_are_not_the_container(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	kill(places[0].child, SIGKILL);
	waitpid(places[0].child, NULL, 0);
	put_pid(1);
	start_again();
	assert_int_equal(skm_registry_count(stage.registry), 0);
	assert_int_equal(files_in(stage.ended), 1);
}

static void test_closing_with_two_puts_back_once(void **state)
{
	(void)state;
	register_at(0, "one", SKM_MODE_AUTO, 32 * SKM_MIB);
	register_at(1, "two", SKM_MODE_AUTO, 16 * SKM_MIB);
	skm_registry_close(stage.registry, true);
	stage.registry = NULL;
	sysctl_is("tcp_rmem", PLAIN);
	assert_int_equal(files_in(stage.journal), 2);
}

#define TWO(test) cmocka_unit_test_setup_teardown(test, set_up_two, tear_down_two)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TWO(test_the_second_inherits_and_the_last_restores),
	        TWO(test_the_first_may_go_first),
	        TWO(test_the_smallest_cap_is_written),
	        TWO(test_an_observer_has_no_hand_in_it),
	        TWO(test_a_later_writer_reads_anew),
	        TWO(test_a_foreign_hand_is_the_groups),
	        TWO(test_both_are_adopted),
	        TWO(test_the_dead_do_not_restore_under_the_living),
	        TWO(test_the_dead_restore_under_an_observer),
	        TWO(test_an_observer_is_adopted_after_the_writers),
	        TWO(test_a_container_without_its_init_is_adopted),
	        TWO(test_strangers_in_the_cgroup_are_not_the_container),
	        TWO(test_closing_with_two_puts_back_once),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
