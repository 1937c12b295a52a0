/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "probe/host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int look(const char *name, struct skm_host *ret, struct skm_err *err)
{
	const char *fixtures = getenv("SKM_FIXTURES");
	char path[PATH_MAX];

	assert_non_null(fixtures);
	snprintf(path, sizeof(path), "%s/host/%s", fixtures, name);
	return skm_probe_host(path, ret, err);
}

static struct skm_host look_well(const char *name)
{
	struct skm_host host;
	struct skm_err err = SKM_ERR_INIT;

	if (look(name, &host, &err) != 0)
		fail_msg("%s: %s", name, err.text);
	return host;
}

static void test_v2(void **state)
{
	struct skm_host host = look_well("v2");
	char text[256];

	(void)state;
	assert_string_equal(host.kernel, "6.1.0-50-cloud-amd64");
	assert_true(host.cgroup2_mounted);
	assert_string_equal(host.cgroup2_path, "/sys/fs/cgroup");
	assert_int_equal(host.memory, SKM_MEMORY_V2);
	assert_true(host.recursive_protection);
	assert_false(host.nosocket);
	assert_true(host.psi);
	assert_true(host.btf);
	assert_true(host.bpf_fs);
	assert_int_equal(host.processors, 2);
	assert_int_equal(host.page_bytes, sysconf(_SC_PAGESIZE));
	assert_int_equal(host.charge_slack_bytes, 2 * 64 * host.page_bytes);
	assert_null(skm_probe_host_soft_refusal(&host, 0, text, sizeof(text)));
	assert_null(skm_probe_host_soft_refusal(&host, host.charge_slack_bytes, text, sizeof(text)));
}

static void test_limit_below_the_slack(void **state)
{
	struct skm_host host = look_well("v2");
	char text[256];

	(void)state;
	host.charge_slack_bytes = 524288; /* whatever the page size here */
	assert_non_null(skm_probe_host_soft_refusal(&host, 524287, text, sizeof(text)));
	assert_contains(text, "524287");
	assert_contains(text, "524288");
	assert_contains(text, "512.0 KiB");
}

static void test_v1(void **state)
{
	struct skm_host host = look_well("v1");
	char text[256];

	(void)state;
	assert_false(host.cgroup2_mounted);
	assert_int_equal(host.memory, SKM_MEMORY_V1);
	assert_contains(skm_probe_host_soft_refusal(&host, 0, text, sizeof(text)), "cgroup v1");
}

/* cgroup2 is there, memory is not in it: no v2 as far as a limit goes. */
static void test_hybrid(void **state)
{
	struct skm_host host = look_well("hybrid");
	char text[256];

	(void)state;
	assert_true(host.cgroup2_mounted);
	assert_string_equal(host.cgroup2_path, "/sys/fs/cgroup/unified");
	assert_int_equal(host.memory, SKM_MEMORY_V1);
	assert_false(host.recursive_protection);
	assert_contains(skm_probe_host_soft_refusal(&host, 0, text, sizeof(text)), "cgroup v1");
}

static void test_nosocket(void **state)
{
	struct skm_host host = look_well("nosocket");
	char text[256];

	(void)state;
	assert_int_equal(host.memory, SKM_MEMORY_V2);
	assert_true(host.nosocket);
	assert_contains(skm_probe_host_soft_refusal(&host, 1 << 30, text, sizeof(text)), "nosocket");
}

static void test_disabled(void **state)
{
	struct skm_host host = look_well("disabled");
	char text[256];

	(void)state;
	assert_int_equal(host.memory, SKM_MEMORY_NONE);
	assert_contains(skm_probe_host_soft_refusal(&host, 0, text, sizeof(text)), "memory controller");
}

static void test_old(void **state)
{
	struct skm_host host = look_well("old");

	(void)state;
	assert_false(host.nosocket); /* only words that look like it */
	assert_false(host.psi);      /* the file is there and cannot be read */
	assert_false(host.btf);
	assert_false(host.bpf_fs);
	assert_int_equal(host.processors, 64);
	assert_int_equal(host.charge_slack_bytes, 64 * 32 * host.page_bytes);
}

static void test_nothing_there(void **state)
{
	struct skm_host host = {.processors = 77};
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(look("no-such-host", &host, &err), -ENOENT);
	assert_contains(err.text, "osrelease");
	assert_int_equal(host.processors, 77);
}

static void test_no_cgroup2(void **state)
{
	struct skm_host host = {.memory = SKM_MEMORY_NONE};
	char text[256];

	(void)state;
	assert_contains(skm_probe_host_soft_refusal(&host, 0, text, sizeof(text)), "no cgroup v2");
}

static void test_hard_refusal(void **state)
{
	struct skm_host host = look_well("v2");

	(void)state;
	assert_false(host.hard_built);
	assert_contains(skm_probe_host_hard_refusal(&host), "this build");
	host = (struct skm_host){.hard_built = true};
	assert_contains(skm_probe_host_hard_refusal(&host), "btf");
}

static void test_this_host(void **state)
{
	struct skm_host host;
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_probe_host("", &host, &err), 0);
	assert_int_equal(host.processors, sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_v2),         cmocka_unit_test(test_limit_below_the_slack),
	        cmocka_unit_test(test_v1),         cmocka_unit_test(test_hybrid),
	        cmocka_unit_test(test_nosocket),   cmocka_unit_test(test_disabled),
	        cmocka_unit_test(test_old),        cmocka_unit_test(test_nothing_there),
	        cmocka_unit_test(test_no_cgroup2), cmocka_unit_test(test_hard_refusal),
	        cmocka_unit_test(test_this_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
