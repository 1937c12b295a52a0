/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec-samples.h"
#include "codec/journal.h"

#include <errno.h>

static struct skm_socket_baseline sockets[] = {
        {.cookie = UINT64_MAX, .rcvbuf = 401, .buf_lock = 2},
        {.cookie = 1, .rcvbuf = UINT32_MAX, .buf_lock = 3, .sndbuf = 402},
};

static struct skm_memory_baseline memory[] = {
        {.cgroup = "/sys/fs/cgroup/a/b",
         .cgroup_inode = 501,
         .file = SKM_MEMORY_FILE_HIGH,
         .baseline = UINT64_MAX,
         .written = 502,
         .before = UINT64_MAX},
        {.cgroup = "/sys/fs/cgroup/a",
         .cgroup_inode = UINT64_MAX,
         .file = SKM_MEMORY_FILE_LOW,
         .ancestor = true,
         .baseline = 0,
         .written = 503,
         .before = 504},
};

static void test_round_trip(void **state)
{
	struct skm_journal journal = skm_sample_journal(sockets, 2, memory, 2), back = {0};
	cleanup_free char *text = skm_codec_journal_format(&journal);
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	if (skm_codec_journal_parse(text, strlen(text), &back, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(back.id, journal.id);
	assert_string_equal(back.boot_id, journal.boot_id);
	assert_int_equal(back.pid, journal.pid);
	assert_int_equal(back.cgroup_inode, journal.cgroup_inode);
	assert_int_equal(back.netns_inode, journal.netns_inode);
	assert_string_equal(back.cgroup, journal.cgroup);
	assert_int_equal(back.policy.tcpmem_limit.value, journal.policy.tcpmem_limit.value);
	assert_int_equal(back.policy.source, journal.policy.source);
	assert_int_equal(back.started_realtime_usec, journal.started_realtime_usec);
	for (int i = 0; i < SKM_NETNS_KEYS; i++) {
		assert_string_equal(back.baseline[i], journal.baseline[i]);
		assert_string_equal(back.written[i], journal.written[i]);
	}
	assert_int_equal(back.socket_count, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(back.sockets[i].cookie, sockets[i].cookie);
		assert_int_equal(back.sockets[i].rcvbuf, sockets[i].rcvbuf);
		assert_int_equal(back.sockets[i].buf_lock, sockets[i].buf_lock);
		assert_int_equal(back.sockets[i].sndbuf, sockets[i].sndbuf);
	}
	assert_int_equal(back.memory_count, 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(back.memory[i].cgroup, memory[i].cgroup);
		assert_int_equal(back.memory[i].cgroup_inode, memory[i].cgroup_inode);
		assert_int_equal(back.memory[i].file, memory[i].file);
		assert_int_equal(back.memory[i].ancestor, memory[i].ancestor);
		assert_int_equal(back.memory[i].baseline, memory[i].baseline);
		assert_int_equal(back.memory[i].written, memory[i].written);
		assert_int_equal(back.memory[i].before, memory[i].before);
	}
	assert_memory_equal(&back.shape, &journal.shape, sizeof(back.shape));
	skm_codec_journal_free(&back);
	assert_null(back.sockets);
	assert_null(back.memory);
}

static void test_nothing_written_yet(void **state)
{
	struct skm_journal journal = {.id = "a", .policy = SKM_POLICY_INIT}, back = {.pid = 5};
	cleanup_free char *text = skm_codec_journal_format(&journal);

	(void)state;
	assert_int_equal(skm_codec_journal_parse(text, strlen(text), &back, NULL), 0);
	assert_int_equal(back.pid, 0);
	assert_string_equal(back.baseline[SKM_NETNS_TCP_RMEM], "");
	assert_int_equal(back.socket_count, 0);
	skm_codec_journal_free(&back);
}

/* Baselines that are wrong are worse than none: nothing of a damaged journal is believed. */
static void test_damaged(void **state)
{
	static const struct {
		const char *what, *with;
		int result;
		const char *part;
	} DAMAGES[] = {
	        {"\"version\":1", "\"version\":2", -EPROTO, "journal has version 2, this program knows version 1"},
	        {"\"sockets\":", "\"socket\":", -EINVAL, "sockets is missing"},
	        {"[1,4294967295,3,402]", "[1,4294967296,3,402]", -EINVAL, "$.sockets[1][1]: 4294967296 is out of range"},
	        {"[1,4294967295,3,402]", "[1,4294967295]", -EINVAL, "$.sockets[1]: wanted [cookie, rcvbuf, buf_lock]"},
	        {"[1,4294967295,3,402]", "[1,2,3,4,5]", -EINVAL, "or [cookie, rcvbuf, buf_lock, sndbuf]"},
	        {"[1,4294967295,3,402]", "null", -EINVAL, "$.sockets[1]: wanted [cookie, rcvbuf, buf_lock]"},
	        {"\"tcp_wmem\":", "\"tcp_vmem\":", -EINVAL, "$.sysctls: tcp_wmem is missing"},
	        {"\"written\":\"5\"", "\"written\":5", -EINVAL,
	         "$.sysctls.tcp_notsent_lowat.written: an integer, wanted a string"},
	        {"\"memory\":[", "\"memory\":[0,", -EINVAL, "$.memory[0]: "},
	        {"\"file\":\"memory.low\"", "\"file\":\"memory.stat\"", -EINVAL, "$.memory[1].file: \"memory.stat\" is no word"},
	        {"\"memory\":[", "\"memories\":[", -EINVAL, "memory is missing"},
	        {"\"shape_links\":[304", "\"shape_links\":[-1", -EINVAL, "$.shape_links[0]: "},
	        {"\"shape_links\":[304", "\"shape_links\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", -EINVAL,
	         "17 links, at most 16"},
	        {"\"host_ifindex\":303", "\"host_index\":303", -EINVAL, "$.shape: host_ifindex is missing"},
	        {"\"pid\":301", "\"pid\":301,\"x\":1", -EINVAL, "$.x: unknown key"},
	};
	struct skm_journal journal = skm_sample_journal(sockets, 2, memory, 2);
	cleanup_free char *text = skm_codec_journal_format(&journal);

	(void)state;
	for (size_t i = 0; i < sizeof(DAMAGES) / sizeof(*DAMAGES); i++) {
		struct skm_journal back = {.pid = 5};
		struct skm_err err = SKM_ERR_INIT;
		cleanup_free char *damaged = NULL;
		char *at = strstr(text, DAMAGES[i].what);

		assert_non_null(at);
		assert_true(asprintf(&damaged, "%.*s%s%s", (int)(at - text), text, DAMAGES[i].with,
		                     at + strlen(DAMAGES[i].what)) > 0);
		assert_int_equal(skm_codec_journal_parse(damaged, strlen(damaged), &back, &err), DAMAGES[i].result);
		assert_contains(err.text, DAMAGES[i].part);
		assert_int_equal(back.pid, 5);
		assert_null(back.sockets);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_round_trip),
	        cmocka_unit_test(test_nothing_written_yet),
	        cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
