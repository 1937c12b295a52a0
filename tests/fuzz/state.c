/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime writes to the hook's stdin, and the policy that it asks for. */
#include "asked.h"

#include "codec/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_state state;
	int r;

	memset(&state, FUZZ_FILL, sizeof(state));
	r = skm_codec_state_parse((const char *)data, size, &state, &err);
	if (r < 0) {
		fuzz_check_refusal(r, &err);
		fuzz_check_untouched(&state, sizeof(state));
		return 0;
	}
	FUZZ_CHECK(*state.id && *state.bundle == '/' && state.pid >= 0);
	fuzz_check_annotations(&state.annotations);
	skm_codec_state_free(&state);
	return 0;
}
