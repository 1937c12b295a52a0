/* SPDX-License-Identifier: Apache-2.0 */
/* What the administrator does to containers that are held. The sysctls are written by this file, in place of
 * actuate/netns_sysctl.c, so that a write can fail where a test wants it to. */
#include "enforcer-stage.h"

#include "actuate/netns_sysctl.h"
#include "codec/journal.h"
#include "enforcer/change.h"

#define SMALL (2 * SKM_MIB) /* 41 sockets of the namespace have a fair cap below what they were born with */

/* SOCK_RCVBUF_LOCK of include/uapi/linux/socket.h */
#define RCVBUF_LOCKED 2

static bool writes_fail;

int skm_actuate_netns_write(const struct skm_netns *netns, enum skm_netns_key key, const char *text, struct skm_err *err)
{
	if (writes_fail)
		return skm_err_set(err, EPERM, "a write that a test lets fail");
	return skm_pwrite_text(netns->sysctl[key], text);
}

static struct skm_request limit_of(uint64_t bytes)
{
	struct skm_request request = SKM_REQUEST_INIT;

	strcpy(request.id, "web");
	request.policy = policy_of(SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, bytes});
	request.policy.set = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT);
	request.policy.source = SKM_SOURCE_ADMINISTRATOR;
	return request;
}

static void change(const struct skm_request *request)
{
	struct skm_err err = SKM_ERR_INIT;

	if (skm_registry_change(stage.registry, request, &err) < 0)
		fail_msg("set: %s", err.text);
}

static void change_limit(uint64_t bytes)
{
	struct skm_request request = limit_of(bytes);

	request.limit_only = true;
	change(&request);
}

static void change_mode(enum skm_mode mode, uint64_t bytes)
{
	struct skm_request request = limit_of(bytes);

	request.policy.mode = mode;
	request.policy.set |= SKM_KEY_BIT(SKM_KEY_TCPMEM_MODE);
	change(&request);
}

/* What is on disk of the only container. */
static struct skm_journal journal_on_disk(void)
{
	cleanup_dir DIR *dir = fdopendir(openat(stage.journal, ".", O_RDONLY | O_DIRECTORY));
	static char text[65536];
	struct skm_journal journal;
	struct skm_err err = SKM_ERR_INIT;
	struct dirent *entry;
	ssize_t length;

	while ((entry = readdir(dir)) && entry->d_name[0] == '.')
		continue;
	assert_non_null(entry);
	length = skm_read_text_at(stage.journal, entry->d_name, text, sizeof(text));
	assert_true(length > 0);
	if (skm_codec_journal_parse(text, (size_t)length, &journal, &err) < 0)
		fail_msg("%s", err.text);
	skm_codec_journal_free(&journal);
	return journal;
}

static bool is_squeezed(int connection)
{
	int value;
	socklen_t size = sizeof(value);

	assert_int_equal(getsockopt(connection, SOL_SOCKET, SO_RCVBUF, &value, &size), 0);
	return value < 100000;
}

static bool is_locked(int connection)
{
	int value;
	socklen_t size = sizeof(value);

	assert_int_equal(getsockopt(connection, SOL_SOCKET, SO_BUF_LOCK, &value, &size), 0);
	return value & RCVBUF_LOCKED;
}

static int count_squeezed(void)
{
	int count = 0;

	for (int i = 1; i <= 2 * PAIRS; i++)
		count += is_squeezed(connections[i]);
	return count;
}

/* A container whose sockets are this process's, each of them squeezed. */
static void hold_squeezed(void)
{
	put_pid(getpid());
	register_limit(SMALL);
	put_sock(SMALL * 90 / 100);
	for (int i = 0; i < 50 && count_squeezed() < 2 * PAIRS; i++)
		serve(100);
	assert_int_equal(count_squeezed(), 2 * PAIRS);
	sysctl_is("tcp_rmem", "4096\t16384\t35805");
}

static void nothing_is_left(void)
{
	for (int i = 1; i <= 2 * PAIRS; i++) {
		assert_false(is_squeezed(connections[i]));
		assert_false(is_locked(connections[i]));
	}
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
	sysctl_is("tcp_wmem", "4096\t16384\t4194304");
	sysctl_is("tcp_notsent_lowat", "4294967295");
}

static void test_the_limit_alone(void **state)
{
	struct skm_policy asked = policy_of(SKM_MODE_SOFT, (struct skm_size){SKM_SIZE_BYTES, LIMIT});
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	asked.source = SKM_SOURCE_ANNOTATION_POLICY;
	asked.set = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_TCPMEM_MODE);
	assert_int_equal(register_policy("web", &asked, &err), 0);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	change_limit(2 * LIMIT);
	sysctl_is("tcp_rmem", "4096\t65536\t6291456");
	assert_int_equal(report()->limit_bytes, 2 * LIMIT);
	assert_int_equal(report()->policy.mode, SKM_MODE_SOFT);
	assert_int_equal(report()->policy.source, SKM_SOURCE_ANNOTATION_POLICY);
	assert_int_equal(report()->sources[SKM_KEY_TCPMEM_LIMIT], SKM_SOURCE_ADMINISTRATOR);
	assert_int_equal(report()->sources[SKM_KEY_TCPMEM_MODE], SKM_SOURCE_ANNOTATION_POLICY);
	assert_int_equal(journal_on_disk().in_force[SKM_IN_FORCE_LIMIT].bytes, 2 * LIMIT);
	assert_int_equal(count_events(SKM_EVENT_POLICY, "limit 32.0 MiB -> 64.0 MiB"), 1);
	put_sock(LIMIT * 150 / 100); /* 0.75 of it */
	run_until(SKM_STEP_CAP);
	change_limit(5 * LIMIT); /* 0.30 of it: no longer a burst */
	run_until(SKM_STEP_NONE);
	change_limit(LIMIT); /* one and a half of it, at the next look */
	skm_registry_run(stage.registry, skm_now_usec());
	assert_int_equal(report()->decision.step, SKM_STEP_SHED);
	end_child();
	skm_registry_release(stage.registry, "web");
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
}

static void test_a_whole_policy_replaces(void **state)
{
	struct skm_policy asked = policy_of(SKM_MODE_SOFT, (struct skm_size){SKM_SIZE_BYTES, LIMIT});
	struct skm_request request = limit_of(2 * LIMIT);

	(void)state;
	asked.throttle.sockets = false;
	asked.set = SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_TCPMEM_MODE) | SKM_KEY_BIT(SKM_KEY_THROTTLE_SOCKETS);
	assert_int_equal(register_policy("web-1", &asked, NULL), 0);
	change(&request); /* a beginning of the id will do */
	assert_int_equal(report()->policy.mode, SKM_MODE_AUTO);
	assert_true(report()->policy.throttle.sockets);
	assert_int_equal(report()->policy.source, SKM_SOURCE_ADMINISTRATOR);
	assert_int_equal(report()->sources[SKM_KEY_TCPMEM_MODE], SKM_SOURCE_NONE);
	assert_int_equal(count_events(SKM_EVENT_POLICY, "mode soft -> auto, throttle.sockets on"), 1);
	change(&request);
	assert_int_equal(count_events(SKM_EVENT_POLICY, "no size, mode or switch changes"), 1);
	assert_int_equal(journal_on_disk().policy.source, SKM_SOURCE_ADMINISTRATOR);
}

static void test_observe_gives_everything_back_and_soft_takes_it_again(void **state)
{
	(void)state;
	hold_squeezed();
	change_mode(SKM_MODE_OBSERVE, SMALL);
	assert_int_equal(report()->backend, SKM_BACKEND_OBSERVE);
	for (int i = 0; i < 50 && count_squeezed() > 0; i++)
		serve(100);
	nothing_is_left();
	assert_int_equal(journal_on_disk().socket_count, 0);
	change_mode(SKM_MODE_SOFT, SMALL);
	for (int i = 0; i < 50 && count_squeezed() < 2 * PAIRS; i++)
		serve(100);
	assert_int_equal(count_squeezed(), 2 * PAIRS);
	sysctl_is("tcp_rmem", "4096\t16384\t35805");
}

static void test_no_limit(void **state)
{
	struct skm_request request = limit_of(0);

	(void)state;
	hold_squeezed();
	request.policy.tcpmem_limit = (struct skm_size){SKM_SIZE_MAX, 0};
	request.limit_only = true;
	change(&request);
	assert_int_equal(report()->backend, SKM_BACKEND_NONE);
	assert_int_equal(report()->decision.step, SKM_STEP_NONE);
	assert_int_equal(report()->decision.fair_cap_bytes, UINT64_MAX);
	for (int i = 0; i < 50 && count_squeezed() > 0; i++)
		serve(100);
	nothing_is_left();
	change_limit(SMALL);
	run_until(SKM_STEP_SQUEEZE);
	assert_int_equal(report()->backend, SKM_BACKEND_SOFT);
}

/* The request is refused, and all is as it was: in the report, on disk, in the namespace. */
static void refused(const struct skm_request *request, int code, const char *part)
{
	static struct skm_report before;
	struct skm_journal journal = journal_on_disk(), now;
	struct skm_err err = SKM_ERR_INIT;

	before = *report();
	assert_int_equal(skm_registry_change(stage.registry, request, &err), -code);
	assert_contains(err.text, part);
	assert_memory_equal(&report()->policy, &before.policy, sizeof(before.policy));
	assert_memory_equal(report()->in_force, before.in_force, sizeof(before.in_force));
	assert_memory_equal(report()->sources, before.sources, sizeof(before.sources));
	assert_int_equal(report()->backend, before.backend);
	assert_int_equal(report()->limit_bytes, before.limit_bytes);
	assert_int_equal(report()->skipped_count, before.skipped_count);
	assert_string_equal(report()->skipped[0], before.skipped[0]);
	now = journal_on_disk();
	assert_memory_equal(now.in_force, journal.in_force, sizeof(now.in_force));
	assert_int_equal(now.policy.mode, journal.policy.mode);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	assert_int_equal(count_events(SKM_EVENT_POLICY, "set by the administrator"), 0);
}

static void test_a_refusal_changes_nothing(void **state)
{
	struct skm_policy asked = policy_of(SKM_MODE_SOFT, (struct skm_size){SKM_SIZE_BYTES, LIMIT});
	struct skm_request request = limit_of(4096);
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	asked.throttle.egress_bits_per_sec = 1000; /* which is skipped */
	asked.set = SKM_KEY_BIT(SKM_KEY_THROTTLE_EGRESS);
	assert_int_equal(register_policy("web", &asked, NULL), 0);
	assert_int_equal(report()->skipped_count, 1);
	refused(&request, EOPNOTSUPP, "may lag behind");
	request.limit_only = true;
	refused(&request, EOPNOTSUPP, "may lag behind");
	request = limit_of(LIMIT);
	request.policy.mode = SKM_MODE_HARD;
	refused(&request, EOPNOTSUPP, "mode hard");
	request = limit_of(LIMIT);
	request.policy.scope = SKM_SCOPE_POD;
	refused(&request, EOPNOTSUPP, "scope");
	request = limit_of(LIMIT);
	request.policy.throttle.destroy = true;
	refused(&request, EINVAL, "throttle.destroy");
	request = limit_of(2 * LIMIT);
	request.policy.memory[SKM_MEMORY_FILE_LOW] = (struct skm_size){SKM_SIZE_BYTES, SKM_GIB};
	request.policy.memory[SKM_MEMORY_FILE_MAX] = (struct skm_size){SKM_SIZE_BYTES, SKM_MIB};
	request.policy.set |= SKM_KEY_BIT(SKM_KEY_MEMORY_LOW) | SKM_KEY_BIT(SKM_KEY_MEMORY_MAX);
	refused(&request, EINVAL, "memory.low");
	strcpy(request.id, "other");
	assert_int_equal(skm_registry_change(stage.registry, &request, &err), -ENOENT);
}

static void test_a_write_that_fails_is_undone(void **state)
{
	struct skm_request request = limit_of(2 * LIMIT);

	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	writes_fail = true;
	refused(&request, EPERM, "a write that a test lets fail");
	writes_fail = false;
	change(&request); /* nor does the failure keep a later one from being written */
	sysctl_is("tcp_rmem", "4096\t65536\t6291456");
}

static void give_back(const char *id, struct skm_tagged_event **ret, size_t *ret_count)
{
	const struct skm_container *only = id ? skm_registry_find(stage.registry, id, NULL) : NULL;

	assert_int_equal(skm_registry_give_back(stage.registry, only, ret, ret_count, NULL), 0);
}

static void test_release_puts_everything_back(void **state)
{
	cleanup_free struct skm_tagged_event *events = NULL, *none = NULL;
	size_t count;

	(void)state;
	hold_squeezed();
	give_back("web", &events, &count);
	assert_int_equal(count, 1);
	assert_string_equal(events[0].id, "web");
	assert_int_equal(events[0].event.kind, SKM_EVENT_ENDED);
	assert_contains(events[0].event.text, "released by the administrator: everything is as it was");
	assert_int_equal(skm_registry_count(stage.registry), 0);
	assert_int_equal(files_in(stage.journal), 0);
	assert_int_equal(files_in(stage.ended), 1);
	nothing_is_left();
	give_back(NULL, &none, &count);
	assert_int_equal(count, 0);
}

static void test_release_says_what_it_could_not(void **state)
{
	cleanup_free struct skm_tagged_event *events = NULL;
	size_t count;

	(void)state;
	register_plain("web", SKM_MODE_SOFT);
	writes_fail = true;
	give_back(NULL, &events, &count);
	writes_fail = false;
	assert_int_equal(count, 2);
	assert_int_equal(events[0].event.kind, SKM_EVENT_TROUBLE);
	assert_contains(events[0].event.text, "a write that a test lets fail");
	assert_contains(events[1].event.text, "not everything could be put back");
	assert_int_equal(skm_registry_count(stage.registry), 0);
}

static void test_release_of_one_leaves_the_others(void **state)
{
	cleanup_free struct skm_tagged_event *events = NULL, *rest = NULL;
	size_t count;

	(void)state;
	register_limit(LIMIT);
	register_plain("looker", SKM_MODE_OBSERVE);
	give_back("look", &events, &count);
	assert_int_equal(count, 1);
	assert_string_equal(events[0].id, "looker");
	assert_int_equal(skm_registry_count(stage.registry), 1);
	sysctl_is("tcp_rmem", "4096\t32768\t6291456");
	register_plain("looker", SKM_MODE_OBSERVE);
	give_back(NULL, &rest, &count);
	assert_int_equal(count, 2);
	assert_int_equal(skm_registry_count(stage.registry), 0);
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
}

static int adopt(const char *id, struct skm_err *err)
{
	struct skm_policy policy = policy_of(SKM_MODE_AUTO, (struct skm_size){SKM_SIZE_BYTES, LIMIT});

	policy.source = SKM_SOURCE_ADMINISTRATOR;
	return register_policy(id, &policy, err);
}

static void test_what_is_held_is_not_adopted(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	register_limit(LIMIT);
	assert_int_equal(adopt("web", &err), -EBUSY);
	assert_contains(err.text, "held already, as \"web\"; change its policy with set");
	assert_int_equal(adopt("other", &err), -EBUSY);
	assert_contains(err.text, "held already, as \"web\"");
	assert_int_equal(skm_registry_count(stage.registry), 1);
	assert_int_equal(report()->policy.source, SKM_SOURCE_ANNOTATION_TCPMEM);
}

/* A service goes on when its first process has ended, and ends with its last. */
static void test_what_is_adopted_lives_as_long_as_its_cgroup(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(adopt("service", &err), 0);
	assert_true(journal_on_disk().by_cgroup);
	end_child();
	put("cgroup.events", "populated 1\nfrozen 0\n");
	serve(1200);
	assert_int_equal(skm_registry_count(stage.registry), 1);
	put("cgroup.events", "populated 0\nfrozen 0\n");
	serve(1200);
	assert_int_equal(skm_registry_count(stage.registry), 0);
	assert_int_equal(files_in(stage.ended), 1);
	sysctl_is("tcp_rmem", "4096\t131072\t6291456");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_the_limit_alone),
	        STAGED(test_a_whole_policy_replaces),
	        STAGED(test_observe_gives_everything_back_and_soft_takes_it_again),
	        STAGED(test_no_limit),
	        STAGED(test_a_refusal_changes_nothing),
	        STAGED(test_a_write_that_fails_is_undone),
	        STAGED(test_release_puts_everything_back),
	        STAGED(test_release_says_what_it_could_not),
	        STAGED(test_release_of_one_leaves_the_others),
	        STAGED(test_what_is_held_is_not_adopted),
	        STAGED(test_what_is_adopted_lives_as_long_as_its_cgroup),
	};

	if (enter_stage() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
