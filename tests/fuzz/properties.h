/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every policy that a parser let pass. */
#ifndef SKM_FUZZ_PROPERTIES_H
#define SKM_FUZZ_PROPERTIES_H

#include "fuzz.h"

#include "../unit/codec-samples.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "codec/policy.h"

/* It formats, and what was formatted parses to the same policy. */
static inline void fuzz_check_asked(const struct skm_policy *policy)
{
	cleanup_free char *text = skm_codec_policy_format(policy);
	struct skm_policy back = SKM_POLICY_INIT;
	struct skm_err err = SKM_ERR_INIT;

	back.source = policy->source;
	memcpy(back.profile, policy->profile, sizeof(back.profile));
	FUZZ_CHECK(text);
	FUZZ_CHECK(skm_codec_policy_parse(text, strlen(text), "POLICY", &back, &err) == 0);
	FUZZ_CHECK(skm_same_policy(policy, &back));
}

/* It travels to the enforcer as it is. */
static inline void fuzz_check_sent(const struct skm_policy *policy)
{
	struct skm_request request = SKM_REQUEST_INIT, back = SKM_REQUEST_INIT;
	cleanup_free char *text = NULL;
	struct skm_err err = SKM_ERR_INIT;

	strcpy(request.id, "a");
	request.policy = *policy;
	text = skm_codec_request_format(&request);
	FUZZ_CHECK(text);
	FUZZ_CHECK(skm_codec_request_parse(text, strlen(text), &back, &err) == 0);
	FUZZ_CHECK(skm_same_policy(policy, &back.policy));
}

#endif
