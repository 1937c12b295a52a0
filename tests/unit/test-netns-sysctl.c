/* SPDX-License-Identifier: Apache-2.0 */
/* In a network namespace of its own; exits 77 where it may not make one. */
#include "skm-test.h"
#include "skm-netns.h"

#include "actuate/netns_sysctl.h"
#include "base/cleanup.h"
#include "base/io.h"

#include <errno.h>

static struct skm_netns netns = SKM_NETNS_INIT;

static int open_netns(void **state)
{
	cleanup_fd int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)state;
	return skm_probe_netns_open(fd, true, &netns, NULL);
}

static int close_netns(void **state)
{
	(void)state;
	skm_probe_netns_close(&netns);
	return 0;
}

static void test_write_is_read_back(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	char text[128];

	(void)state;
	/* spaces in, tabs out: the same value */
	assert_int_equal(skm_actuate_netns_write(&netns, SKM_NETNS_TCP_RMEM, "4096 32768 262144", &err), 0);
	assert_true(skm_read_text_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_rmem", text, sizeof(text)) > 0);
	assert_string_equal(text, "4096\t32768\t262144\n");
	assert_int_equal(skm_actuate_netns_write(&netns, SKM_NETNS_TCP_WMEM, "4096\t16384\t524288", &err), 0);
	assert_true(skm_read_text_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_wmem", text, sizeof(text)) > 0);
	assert_string_equal(text, "4096\t16384\t524288\n");
	/* the default, which is no positive int, must be writable: it is what is put back */
	assert_int_equal(skm_actuate_netns_write(&netns, SKM_NETNS_NOTSENT_LOWAT, "131072", &err), 0);
	assert_int_equal(skm_actuate_netns_write(&netns, SKM_NETNS_NOTSENT_LOWAT, "4294967295", &err), 0);
	assert_true(skm_read_text_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_notsent_lowat", text, sizeof(text)) > 0);
	assert_string_equal(text, "4294967295\n");
}

static void test_refused_value(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_actuate_netns_write(&netns, SKM_NETNS_TCP_RMEM, "0 0 0", &err), -EINVAL);
	assert_contains(err.text, "tcp_rmem");
	assert_contains(err.text, "0 0 0");
}

/* The kernel takes two numbers of three and leaves the last one: seen only by reading back. */
static void test_other_value_taken(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_actuate_netns_write(&netns, SKM_NETNS_TCP_RMEM, "4096 65536", &err), -EIO);
	assert_contains(err.text, "4096 65536");
	assert_contains(err.text, "4096\t65536\t");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(test_write_is_read_back, open_netns, close_netns),
	        cmocka_unit_test_setup_teardown(test_refused_value, open_netns, close_netns),
	        cmocka_unit_test_setup_teardown(test_other_value_taken, open_netns, close_netns),
	};

	skm_test_enter_new_netns();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
