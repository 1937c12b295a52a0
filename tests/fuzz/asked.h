/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for annotations, wherever they were read. */
#ifndef SKM_FUZZ_ASKED_H
#define SKM_FUZZ_ASKED_H

#include "properties.h"

#include "codec/annotations.h"

/* A policy that was found in a runtime's document. r: what finding it returned; before: FUZZ_FILL where nothing was found. */
static inline void fuzz_check_found(int r, const struct skm_policy *policy, const struct skm_err *err)
{
	const char *reason = "";

	if (r < 0)
		fuzz_check_refusal(r, err);
	if (r <= 0) {
		fuzz_check_untouched(policy, sizeof(*policy));
		return;
	}
	FUZZ_CHECK(policy->source != SKM_SOURCE_NONE && policy->source < SKM_SOURCE_NODE_DEFAULTS);
	fuzz_check_sent(policy);
	if (policy->source == SKM_SOURCE_ANNOTATION_PROFILE)
		FUZZ_CHECK(skm_policy_is_profile_name(policy->profile, strlen(policy->profile), &reason));
	else
		fuzz_check_asked(policy);
}

static inline void fuzz_check_annotations(const struct skm_annotations *annotations)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_policy policy;
	int r;

	memset(&policy, FUZZ_FILL, sizeof(policy));
	r = skm_codec_annotations_policy(annotations, &policy, &err);
	fuzz_check_found(r, &policy, &err);
	FUZZ_CHECK(annotations->present || annotations->count == 0);
}

#endif
