/* SPDX-License-Identifier: Apache-2.0 */
/* containerd's configuration, as `containerd config default` of 1.6 and of 2.0 shape it, and as people write it. */
#include "skm-test.h"

#include "containerd.h"

#define CRI "plugins.\"io.containerd.grpc.v1.cri\".containerd"

static struct skm_containerd parse(const char *text)
{
	static struct skm_containerd found;

	skm_cli_containerd_parse(text, &found);
	return found;
}

static void test_none(void **state)
{
	(void)state;
	assert_int_equal(parse("").count, 0);
	assert_true(parse("").found);
	assert_int_equal(parse("version = 2\n[plugins]\n  [" CRI "]\n    pod_annotations = [\"io.sockmem.*\"]\n").count, 0);
	assert_int_equal(parse("[" CRI ".runtimes]\n").count, 0);
	assert_int_equal(parse("[" CRI ".runtimes.runc.options]\n  SystemdCgroup = true\n").count, 0);
}

static void test_shapes(void **state)
{
	static const struct {
		const char *text, *name, *missing;
	} SHAPES[] = {
	        {"[" CRI ".runtimes.runc]\n  pod_annotations = []\n", "runc",
	         "io.sockmem.policy, io.sockmem.profile, io.sockmem.tcpmem, io.sockmem.policy.container.NAME"},
	        {"[" CRI ".runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"", "runc",
	         "io.sockmem.policy, io.sockmem.profile, io.sockmem.tcpmem, io.sockmem.policy.container.NAME"},
	        {"[" CRI ".runtimes.runc]\n  pod_annotations = [\"io.sockmem.*\"]\n", "runc", ""},
	        {"[" CRI ".runtimes.runc]\npod_annotations=['io.sockmem.*']", "runc", ""},
	        {"[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.crun]\n  pod_annotations = [\n    'a', # ']\n"
	         "    \"io.sockmem.*\",\n  ]\n",
	         "crun", ""},
	        {"[" CRI ".runtimes.\"kata.2\"]\n  pod_annotations = [\"io.sockmem.t*\", \"io.sockmem.policy\"]\n", "kata.2",
	         "io.sockmem.profile, io.sockmem.policy.container.NAME"},
	        {"[" CRI
	         ".runtimes.runc]\n  # pod_annotations = [\"io.sockmem.*\"]\n  container_annotations = [\"io.sockmem.*\"]\n",
	         "runc", "io.sockmem.policy, io.sockmem.profile, io.sockmem.tcpmem, io.sockmem.policy.container.NAME"},
	        {"[" CRI ".runtimes.runc]\n  pod_annotations = [\"*\"]\n  [" CRI
	         ".runtimes.runc.options]\n    pod_annotations = []\n",
	         "runc", ""},
	        {"[" CRI ".runtimes.runc]\n  pod_annotations = [\"io.sockmem.policy", "runc",
	         "io.sockmem.policy, io.sockmem.profile, io.sockmem.tcpmem, io.sockmem.policy.container.NAME"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(SHAPES) / sizeof(*SHAPES); i++) {
		struct skm_containerd found = parse(SHAPES[i].text);

		if (found.count != 1)
			fail_msg("%s: %zu runtimes", SHAPES[i].text, found.count);
		assert_string_equal(found.runtimes[0].name, SHAPES[i].name);
		assert_string_equal(found.runtimes[0].missing, SHAPES[i].missing);
	}
}

static void test_several(void **state)
{
	struct skm_containerd found = parse("[" CRI ".runtimes.runc]\n  pod_annotations = [\"io.sockmem.*\"]\n"
	                                    "[" CRI ".runtimes.crun]\n[other]\n  pod_annotations = [\"io.sockmem.*\"]\n");

	(void)state;
	assert_int_equal(found.count, 2);
	assert_string_equal(found.runtimes[0].missing, "");
	assert_string_equal(found.runtimes[1].name, "crun");
	assert_contains(found.runtimes[1].missing, "io.sockmem.policy");
}

static void test_bounds(void **state)
{
	char text[8192] = "";

	(void)state;
	for (int i = 0; i < 40; i++)
		strcat(text, "[a.runtimes.x]\n");
	assert_int_equal(parse(text).count, SKM_CONTAINERD_RUNTIMES_MAX);
	strcpy(text, "[a.runtimes.");
	memset(text + strlen(text), 'n', 4000);
	strcat(text, "]\npod_annotations = [\"");
	memset(text + strlen(text), '*', 3000);
	strcat(text, "\"]\n");
	assert_int_equal(strlen(parse(text).runtimes[0].name), 63);
	assert_contains(parse(text).runtimes[0].missing, "io.sockmem.policy");
}

static void test_no_file(void **state)
{
	struct skm_containerd found = {.found = true};

	(void)state;
	skm_cli_containerd_look("/nonexistent/config.toml", &found);
	assert_false(found.found);
	skm_cli_containerd_look("/dev/zero", &found);
	assert_false(found.found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_none),   cmocka_unit_test(test_shapes),  cmocka_unit_test(test_several),
	        cmocka_unit_test(test_bounds), cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
