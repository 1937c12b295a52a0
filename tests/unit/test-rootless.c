/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "hook/rootless.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int check(uid_t euid, const char *map, struct skm_err *err)
{
	char name[] = "/tmp/skm-rootless-XXXXXX";
	cleanup_fd int fd = mkstemp(name);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, map, strlen(map)), strlen(map));
	r = skm_hook_check_root(euid, name, err);
	unlink(name);
	return r;
}

static void test_root(void **state)
{
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	assert_int_equal(check(0, "         0          0 4294967295\n", &err), 0);
	assert_int_equal(skm_hook_check_root(0, "/nonexistent/uid_map", &err), 0); /* a kernel without user namespaces */
}

static void test_others(void **state)
{
	static const struct {
		uid_t euid;
		const char *map, *part;
	} OTHERS[] = {
	        {1000, "         0          0 4294967295\n", "rootless: the runtime runs as user 1000"},
	        {0, "         0       1000          1\n         1     100000      65536\n", "root here is user 1000 outside"},
	        {0, "         0          0          1\n", "root here is user 0 outside"},
	        {0, "         0     100000 4294867295\n", "root here is user 100000 outside"},
	        {0, "         1       1000          1\n", "rootless: the runtime runs in a user namespace"},
	        {0, "", "rootless: the runtime runs in a user namespace"},
	        {0, "garbage\n", "rootless: the runtime runs in a user namespace"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(OTHERS) / sizeof(*OTHERS); i++) {
		struct skm_err err = SKM_ERR_INIT;

		if (check(OTHERS[i].euid, OTHERS[i].map, &err) != -EPERM)
			fail_msg("%u with %s is taken", (unsigned int)OTHERS[i].euid, OTHERS[i].map);
		assert_contains(err.text, OTHERS[i].part);
		assert_contains(err.text, "run the container as root");
		assert_null(strchr(err.text, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_root), cmocka_unit_test(test_others)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
