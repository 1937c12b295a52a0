/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle's config.json: what is read of it, and the hook put into it. */
#include "asked.h"

#include "codec/bundle-edit.h"
#include "codec/bundle.h"

static const char HOOK[] = "/usr/libexec/sockmem/sockmem-hook";

static void check_bundle(const struct skm_bundle *bundle)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_policy policy;
	int r;

	FUZZ_CHECK(bundle->kernel_tcp_bytes <= INT64_MAX);
	fuzz_check_annotations(&bundle->annotations);
	memset(&policy, FUZZ_FILL, sizeof(policy));
	r = skm_codec_bundle_policy(bundle, &policy, &err);
	fuzz_check_found(r, &policy, &err);
}

static void try_read(const char *text, size_t length)
{
	struct skm_err err = SKM_ERR_INIT;
	struct skm_bundle bundle;
	int r;

	memset(&bundle, FUZZ_FILL, sizeof(bundle));
	r = skm_codec_bundle_parse(text, length, &bundle, &err);
	if (r < 0) {
		fuzz_check_refusal(r, &err);
		fuzz_check_untouched(&bundle, sizeof(bundle));
		return;
	}
	check_bundle(&bundle);
	skm_codec_bundle_free(&bundle);
}

/* What was edited can be read, and asks for what it asked for before; editing it again changes nothing. */
static void check_edited(const struct skm_bundle_edited *edited, bool convert)
{
	struct skm_bundle_edited again = SKM_BUNDLE_EDITED_INIT;
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	struct skm_err err = SKM_ERR_INIT;

	FUZZ_CHECK(skm_codec_bundle_parse(edited->text, edited->length, &bundle, &err) == 0);
	FUZZ_CHECK(!convert || bundle.kernel_tcp_bytes == 0);
	check_bundle(&bundle);
	skm_codec_bundle_free(&bundle);
	FUZZ_CHECK(skm_codec_bundle_edit(edited->text, edited->length, HOOK, convert, &again, &err) == 0);
	FUZZ_CHECK(!again.create_added && !again.poststop_added && !again.annotated);
	FUZZ_CHECK(again.length == edited->length && memcmp(again.text, edited->text, again.length) == 0);
	skm_codec_bundle_edited_free(&again);
}

static void try_edit(const char *text, size_t length, bool convert)
{
	struct skm_bundle_edited edited;
	struct skm_err err = SKM_ERR_INIT;
	int r;

	memset(&edited, FUZZ_FILL, sizeof(edited));
	r = skm_codec_bundle_edit(text, length, HOOK, convert, &edited, &err);
	if (r < 0) {
		fuzz_check_refusal(r, &err);
		fuzz_check_untouched(&edited, sizeof(edited));
		return;
	}
	check_edited(&edited, convert);
	skm_codec_bundle_edited_free(&edited);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_read((const char *)data, size);
	try_edit((const char *)data, size, false);
	try_edit((const char *)data, size, true);
	return 0;
}
