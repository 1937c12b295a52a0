/* SPDX-License-Identifier: Apache-2.0 */
/* The two annotations that hold a policy. */
#include "properties.h"

typedef int (*parser)(const char *text, size_t length, const char *name, struct skm_policy *ret, struct skm_err *err);

static void try(parser parse, const char *text, size_t length)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_policy policy;
	int r;

	memset(&policy, FUZZ_FILL, sizeof(policy));
	r = parse(text, length, "POLICY", &policy, &err);
	if (r < 0) {
		fuzz_check_refusal(r, &err);
		fuzz_check_untouched(&policy, sizeof(policy));
		return;
	}
	policy.source = SKM_SOURCE_NONE; /* the caller's */
	memset(policy.profile, 0, sizeof(policy.profile));
	FUZZ_CHECK(policy.set != 0 && policy.set < SKM_KEY_BIT(SKM_POLICY_KEYS));
	FUZZ_CHECK(policy.tcpmem_limit.kind != SKM_SIZE_PROGRAM);
	fuzz_check_asked(&policy);
	fuzz_check_sent(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try(skm_codec_policy_parse, (const char *)data, size);
	try(skm_codec_tcpmem_parse, (const char *)data, size);
	return 0;
}
