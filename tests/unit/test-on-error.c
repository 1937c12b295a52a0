/* SPDX-License-Identifier: Apache-2.0 */
/* Which containers are made although their policy cannot be enforced. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "hook/on_error.h"

#include <stdio.h>
#include <stdlib.h>

static bool goes_on(const char *node, const struct skm_policy *policy)
{
	char name[] = "/tmp/skm-on-error-XXXXXX";
	cleanup_fd int fd = mkstemp(name);
	bool r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, node, strlen(node)), strlen(node));
	r = skm_hook_goes_on(policy, name);
	unlink(name);
	return r;
}

struct one {
	const char *node;
	enum skm_policy_source source;
	enum skm_on_error own;
	const char *profile;
	bool goes_on;
};

#define DEFAULTS(word) "{\"defaults\":{\"tcpmem\":\"1Mi\",\"onError\":\"" word "\"}}"
#define PROFILES                                                                                                                 \
	"\"profiles\":{\"w\":{\"tcpmem\":\"1Mi\",\"onError\":\"warn\"},\"f\":{\"tcpmem\":\"1Mi\",\"onError\":\"fail\"},"         \
	"\"n\":{\"tcpmem\":\"1Mi\"}}"

static const struct one ONES[] = {
        {"{}", SKM_SOURCE_ANNOTATION_TCPMEM, SKM_ON_ERROR_UNSET, "", false},
        {"{}", SKM_SOURCE_KERNEL_TCP, SKM_ON_ERROR_UNSET, "", false},
        {"{}", SKM_SOURCE_ANNOTATION_POLICY, SKM_ON_ERROR_WARN, "", true},
        {"{\"onError\":\"warn\"}", SKM_SOURCE_ANNOTATION_TCPMEM, SKM_ON_ERROR_UNSET, "", true},
        {"{\"onError\":\"warn\"}", SKM_SOURCE_ANNOTATION_POLICY, SKM_ON_ERROR_FAIL, "", false},
        {"{\"onError\":\"fail\"}", SKM_SOURCE_ANNOTATION_POLICY, SKM_ON_ERROR_WARN, "", true},
        {"{\"onError\":\"warn\",\"allow\":[\"tcpmem\"]}", SKM_SOURCE_ANNOTATION_POLICY, SKM_ON_ERROR_WARN, "", false},
        {"{\"allow\":[\"onError\"]}", SKM_SOURCE_ANNOTATION_CONTAINER, SKM_ON_ERROR_WARN, "", true},
        {"{}", SKM_SOURCE_NODE_DEFAULTS, SKM_ON_ERROR_UNSET, "", true},
        {"{\"onError\":\"fail\"}", SKM_SOURCE_NODE_DEFAULTS, SKM_ON_ERROR_UNSET, "", false},
        {DEFAULTS("fail"), SKM_SOURCE_NODE_DEFAULTS, SKM_ON_ERROR_UNSET, "", false},
        {DEFAULTS("warn"), SKM_SOURCE_NODE_DEFAULTS, SKM_ON_ERROR_UNSET, "", true},
        {DEFAULTS("warn"), SKM_SOURCE_ANNOTATION_TCPMEM, SKM_ON_ERROR_UNSET, "", false}, /* the defaults are not its policy */
        {"{" PROFILES "}", SKM_SOURCE_ANNOTATION_PROFILE, SKM_ON_ERROR_UNSET, "w", true},
        {"{" PROFILES "}", SKM_SOURCE_ANNOTATION_PROFILE, SKM_ON_ERROR_UNSET, "f", false},
        {"{" PROFILES "}", SKM_SOURCE_ANNOTATION_PROFILE, SKM_ON_ERROR_UNSET, "n", false},
        {"{" PROFILES ",\"onError\":\"warn\"}", SKM_SOURCE_ANNOTATION_PROFILE, SKM_ON_ERROR_UNSET, "f", false},
        {"{" PROFILES ",\"onError\":\"warn\"}", SKM_SOURCE_ANNOTATION_PROFILE, SKM_ON_ERROR_UNSET, "n", true},
        {"{" PROFILES ",\"onError\":\"warn\"}", SKM_SOURCE_ANNOTATION_PROFILE, SKM_ON_ERROR_UNSET, "x",
         false}, /* none of this node */
        {"{\"onError\":\"warn\"", SKM_SOURCE_ANNOTATION_TCPMEM, SKM_ON_ERROR_UNSET, "", false},
        {"{\"onError\":\"warn\"", SKM_SOURCE_ANNOTATION_POLICY, SKM_ON_ERROR_WARN, "", true},
        {"", SKM_SOURCE_NODE_DEFAULTS, SKM_ON_ERROR_UNSET, "", true},
        {"", SKM_SOURCE_ANNOTATION_PROFILE, SKM_ON_ERROR_UNSET, "w", false},
};

static void test_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ONES) / sizeof(*ONES); i++) {
		struct skm_policy policy = SKM_POLICY_INIT;

		policy.source = ONES[i].source;
		policy.on_error = ONES[i].own;
		strcpy(policy.profile, ONES[i].profile);
		if (goes_on(ONES[i].node, &policy) != ONES[i].goes_on)
			fail_msg("number %zu, node file %s", i, ONES[i].node);
	}
}

static void test_no_file(void **state)
{
	struct skm_policy policy = SKM_POLICY_INIT;

	(void)state;
	policy.source = SKM_SOURCE_ANNOTATION_TCPMEM;
	assert_false(skm_hook_goes_on(&policy, "/nonexistent/sockmem.json"));
	assert_false(skm_hook_goes_on(&policy, "/dev")); /* no regular file */
	policy.source = SKM_SOURCE_NODE_DEFAULTS;
	assert_true(skm_hook_goes_on(&policy, "/nonexistent/sockmem.json"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_no_file)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
