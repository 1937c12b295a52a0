/* SPDX-License-Identifier: Apache-2.0 */
/* config.json: one that `runc spec` wrote, and what others make of it. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec/bundle.h"
#include "fixtures.h"

#include <errno.h>

#define DEBIAN_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define KERNEL_TCP(value) "{\"linux\":{\"resources\":{\"memory\":{\"limit\":1,\"kernelTCP\":" value "}}}}"

static int parse(const char *text, struct skm_bundle *ret, struct skm_err *err)
{
	return skm_codec_bundle_parse(text, strlen(text), ret, err);
}

static void test_capture(void **state)
{
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	struct skm_err err = SKM_ERR_INIT;
	size_t length = 0;
	cleanup_free char *text = skm_fixture("state/config.json", &length);

	(void)state;
	if (skm_codec_bundle_parse(text, length, &bundle, &err) != 0)
		fail_msg("%s", err.text);
	assert_string_equal(bundle.root, "/mnt/root");
	assert_string_equal(bundle.program, "/bin/sleep");
	assert_string_equal(bundle.path, DEBIAN_PATH);
	assert_string_equal(bundle.cwd, "/");
	assert_int_equal(bundle.kernel_tcp_bytes, 0);
	assert_false(bundle.is_infra);
	assert_true(bundle.annotations.present);
	assert_int_equal(bundle.annotations.count, 2);
	skm_codec_bundle_free(&bundle);
	assert_int_equal(skm_codec_bundle_parse(text, length / 2, &bundle, &err), -EINVAL);
	assert_contains(err.text, "config.json: ends after");
	assert_null(bundle.program);
}

static void test_kernel_tcp(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} VALUES[] = {
	        {KERNEL_TCP("67108864"), 67108864},
	        {KERNEL_TCP("1"), 1},
	        {KERNEL_TCP("1099511627777"), UINT64_C(1099511627777)},
	        {KERNEL_TCP("0"), 0},
	        {KERNEL_TCP("-1"), 0},
	        {KERNEL_TCP("null"), 0},
	        {KERNEL_TCP("9223372036854771712"), 0}, /* PAGE_COUNTER_MAX with pages of 4 KiB */
	        {KERNEL_TCP("9223372036854710272"), 0}, /* and of 64 KiB */
	        {KERNEL_TCP("9223372036854775807"), 0},
	        {KERNEL_TCP("18446744073709551615"), 0},
	        {"{}", 0},
	        {"{\"linux\":null}", 0},
	        {"{\"linux\":{\"resources\":{\"memory\":null}}}", 0},
	        {"{\"kernelTCP\":5,\"linux\":{\"kernelTCP\":5,\"resources\":{\"kernelTCP\":5,\"memory\":{}}}}", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(VALUES) / sizeof(*VALUES); i++) {
		struct skm_bundle bundle = SKM_BUNDLE_INIT;
		struct skm_err err = SKM_ERR_INIT;

		if (parse(VALUES[i].text, &bundle, &err) != 0)
			fail_msg("%s: %s", VALUES[i].text, err.text);
		if (bundle.kernel_tcp_bytes != VALUES[i].bytes)
			fail_msg("%s: %ju", VALUES[i].text, (uintmax_t)bundle.kernel_tcp_bytes);
		skm_codec_bundle_free(&bundle);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *part;
	} BAD[] = {
	        {"", "config.json: empty"},
	        {"[]", "config.json: $: an array, wanted an object"},
	        {"{} x", "config.json: at byte 3, in $: text after"},
	        {KERNEL_TCP("\"64Mi\""), "$.linux.resources.memory.kernelTCP: a string, wanted bytes as an integer"},
	        {KERNEL_TCP("1.5"), "$.linux.resources.memory.kernelTCP: a number that is not"},
	        {KERNEL_TCP("1e6"), "$.linux.resources.memory.kernelTCP: a number that is not"},
	        {KERNEL_TCP("-2"), "$.linux.resources.memory.kernelTCP: -2: wanted bytes, or -1"},
	        {KERNEL_TCP("1,\"kernelTCP\":2"), "in $.linux.resources.memory.kernelTCP: this key stands twice"},
	        {"{\"linux\":{\"resources\":[]}}", "$.linux.resources: an array, wanted an object"},
	        {"{\"annotations\":{\"io.sockmem.tcpmem\":1}}",
	         "config.json: $.annotations[\"io.sockmem.tcpmem\"]: an integer, wanted a string"},
	        {"{\"annotations\":{\"io.sockmem.tcp\":\"1\"}}", "unknown annotation"},
	        {"{\"annotations\":\"\"}", "$.annotations: a string, wanted an object"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_bundle bundle = {.kernel_tcp_bytes = 7};
		struct skm_err err = SKM_ERR_INIT;

		if (parse(BAD[i].text, &bundle, &err) != -EINVAL)
			fail_msg("%s is taken", BAD[i].text);
		assert_contains(err.text, BAD[i].part);
		assert_int_equal(bundle.kernel_tcp_bytes, 7);
	}
}

struct started {
	const char *text, *program, *path, *cwd, *root;
};

static void assert_text(const char *text, const char *got, const char *wanted)
{
	if (!got != !wanted || (got && strcmp(got, wanted) != 0))
		fail_msg("%s: %s, not %s", text, got ? got : "nothing", wanted ? wanted : "nothing");
}

/* What is not there, or not as we know it, is not known: the program's size is the one thing that hangs on it. */
static void test_program(void **state)
{
	static const struct started STARTED[] = {
	        {"{\"process\":{\"args\":[\"sh\",\"-c\"],\"env\":[\"A=1\",\"PATH=/a\",\"PATH=/b:\"],\"cwd\":\"/"
	         "w\"},\"root\":{\"path\":\"r\"}}",
	         "sh", "/b:", "/w", "r"},
	        {"{\"process\":{\"args\":[\"sh\"],\"env\":[\"PATHS=/a\",\"path=/a\",\"PATH\"]}}", "sh", NULL, NULL, ""},
	        {"{\"process\":{\"args\":[\"sh\"],\"env\":[\"PATH=\",1,null]},\"root\":{\"path\":7}}", "sh", "", NULL, ""},
	        {"{\"process\":{\"args\":[],\"env\":[\"PATH=/a\"]}}", NULL, NULL, NULL, ""},
	        {"{\"process\":{\"args\":[1]}}", NULL, NULL, NULL, ""},
	        {"{\"process\":{\"args\":\"sh\"},\"root\":[]}", NULL, NULL, NULL, ""},
	        {"{\"process\":null,\"root\":null}", NULL, NULL, NULL, ""},
	        {"{}", NULL, NULL, NULL, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(STARTED) / sizeof(*STARTED); i++) {
		struct skm_bundle bundle = SKM_BUNDLE_INIT;
		struct skm_err err = SKM_ERR_INIT;

		if (parse(STARTED[i].text, &bundle, &err) != 0)
			fail_msg("%s: %s", STARTED[i].text, err.text);
		assert_text(STARTED[i].text, bundle.program, STARTED[i].program);
		assert_text(STARTED[i].text, bundle.path, STARTED[i].path);
		assert_text(STARTED[i].text, bundle.cwd, STARTED[i].cwd);
		assert_text(STARTED[i].text, bundle.root, STARTED[i].root);
		skm_codec_bundle_free(&bundle);
	}
}

static void test_long_root(void **state)
{
	char text[PATH_MAX + 64] = "{\"root\":{\"path\":\"";
	struct skm_bundle bundle = SKM_BUNDLE_INIT;
	size_t length = strlen(text);

	(void)state;
	memset(text + length, 'r', PATH_MAX);
	strcpy(text + length + PATH_MAX, "\"}}");
	assert_int_equal(parse(text, &bundle, NULL), 0);
	assert_string_equal(bundle.root, "");
	skm_codec_bundle_free(&bundle);
	strcpy(text + length + PATH_MAX - 1, "\"}}");
	assert_int_equal(parse(text, &bundle, NULL), 0);
	assert_int_equal(strlen(bundle.root), PATH_MAX - 1);
	skm_codec_bundle_free(&bundle);
}

/* As podman 4.3.1 writes it for `podman pod create`. */
static void test_infra(void **state)
{
	static const struct {
		const char *text;
		bool infra;
	} KINDS[] = {
	        {"{\"process\":{\"args\":[\"/catatonit\",\"-P\"]},\"annotations\":{\"io.container.manager\":\"libpod\"}}", true},
	        {"{\"process\":{\"args\":[\"/catatonit\",\"-P\"]},\"annotations\":{\"io.container.manager\":\"cri-o\"}}", false},
	        {"{\"process\":{\"args\":[\"/catatonit\",\"-P\"]}}", false},
	        {"{\"process\":{\"args\":[\"/catatonit\",\"-P\",\"x\"]},\"annotations\":{\"io.container.manager\":\"libpod\"}}",
	         false},
	        {"{\"process\":{\"args\":[\"/catatonit\"]},\"annotations\":{\"io.container.manager\":\"libpod\"}}", false},
	        {"{\"process\":{\"args\":[\"/catatonit\",\"--\"]},\"annotations\":{\"io.container.manager\":\"libpod\"}}", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(*KINDS); i++) {
		struct skm_bundle bundle = SKM_BUNDLE_INIT;

		assert_int_equal(parse(KINDS[i].text, &bundle, NULL), 0);
		if (bundle.is_infra != KINDS[i].infra)
			fail_msg("%s", KINDS[i].text);
		skm_codec_bundle_free(&bundle);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_capture), cmocka_unit_test(test_kernel_tcp), cmocka_unit_test(test_bad),
	        cmocka_unit_test(test_program), cmocka_unit_test(test_long_root),  cmocka_unit_test(test_infra),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
