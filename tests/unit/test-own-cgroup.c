/* SPDX-License-Identifier: Apache-2.0 */
/* What holds on any host. That the process moves is shown in a guest (tests/vm), where /sys/fs/cgroup is the test's. */
#include "skm-test.h"

#include "actuate/own_cgroup.h"
#include "probe/host.h"

#include <errno.h>

static void test_bad_names(void **state)
{
	static const char *const BAD[] = {"", ".", "..", "/", "a/b", "/sockmem", ".hidden"};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_err err = SKM_ERR_INIT;

		if (skm_actuate_own_cgroup(BAD[i], &err) != -EINVAL)
			fail_msg("\"%s\" was taken", BAD[i]);
	}
}

static void test_no_memory_on_v2(void **state)
{
	struct skm_host host;
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(skm_probe_host("", &host, &err), 0);
	if (host.memory == SKM_MEMORY_V2) {
		print_message("the memory controller is on cgroup v2 here: not tried\n");
		return;
	}
	assert_int_equal(skm_actuate_own_cgroup("sockmem", &err), -EOPNOTSUPP);
	assert_contains(err.text, "cgroup v2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_bad_names),
	        cmocka_unit_test(test_no_memory_on_v2),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
