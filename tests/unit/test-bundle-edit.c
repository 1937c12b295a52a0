/* SPDX-License-Identifier: Apache-2.0 */
/* config.json before and after: what is added, and that every other byte is as it was. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec/bundle-edit.h"
#include "fixtures.h"

#include <errno.h>

#define HOOK "/l/sockmem-hook"
#define AT(stage) "{\"path\": \"" HOOK "\", \"args\": [\"sockmem-hook\", \"" stage "\"], \"timeout\": 10}"
#define CREATE "[" AT("createRuntime") "]"
#define POSTSTOP "[" AT("poststop") "]"
#define BOTH "{\"createRuntime\": " CREATE ", \"poststop\": " POSTSTOP "}"
#define KERNEL_TCP(members) "\"linux\":{\"resources\":{\"memory\":{" members "}}}"
#define HOOKS "\"hooks\":{\"createRuntime\":[{\"path\":\"" HOOK "\"}],\"poststop\":[{\"path\":\"" HOOK "\"}]}"

static int edit(const char *text, bool convert, struct skm_bundle_edited *ret, struct skm_err *err)
{
	return skm_codec_bundle_edit(text, strlen(text), HOOK, convert, ret, err);
}

struct change {
	const char *before, *after;
};

static void assert_changes(const struct change *changes, size_t count, bool convert)
{
	for (size_t i = 0; i < count; i++) {
		struct skm_bundle_edited edited = SKM_BUNDLE_EDITED_INIT, again = SKM_BUNDLE_EDITED_INIT;
		struct skm_err err = SKM_ERR_INIT;

		if (edit(changes[i].before, convert, &edited, &err) != 0)
			fail_msg("%s: %s", changes[i].before, err.text);
		assert_string_equal(edited.text, changes[i].after);
		assert_int_equal(edited.length, strlen(changes[i].after));
		if (edit(edited.text, convert, &again, &err) != 0)
			fail_msg("%s: %s", edited.text, err.text);
		assert_string_equal(again.text, changes[i].after);
		assert_false(again.create_added || again.poststop_added || again.annotated);
		skm_codec_bundle_edited_free(&edited);
		skm_codec_bundle_edited_free(&again);
	}
}

static void test_hooks(void **state)
{
	static const struct change CHANGES[] = {
	        {"{}", "{\"hooks\": {\"createRuntime\": " CREATE ",\"poststop\": " POSTSTOP "}}"},
	        {"{ }\n", "{\"hooks\": {\"createRuntime\": " CREATE ",\"poststop\": " POSTSTOP "} }\n"},
	        {"{\"a\":1}", "{\"a\":1,\"hooks\":{\"createRuntime\": " CREATE ",\"poststop\": " POSTSTOP "}}"},
	        {"{\n  \"a\": [1, {}]\n}\n",
	         "{\n  \"a\": [1, {}],\n  \"hooks\": {\"createRuntime\": " CREATE ",\"poststop\": " POSTSTOP "}\n}\n"},
	        {"{\"hooks\":null,\"b\":18446744073709551615}",
	         "{\"hooks\":{\"createRuntime\": " CREATE ",\"poststop\": " POSTSTOP "},\"b\":18446744073709551615}"},
	        {"{\"hooks\":{\"createRuntime\":null, \"poststop\":[]},\"x\":1e400}",
	         "{\"hooks\":{\"createRuntime\":" CREATE ", \"poststop\":[" AT("poststop") "]},\"x\":1e400}"},
	        {"{\"hooks\": {\"createRuntime\": [{\"path\": \"/x\"}]}}",
	         "{\"hooks\": {\"createRuntime\": [{\"path\": \"/x\"}," AT("createRuntime") "],\"poststop\": " POSTSTOP "}}"},
	        {"{\"hooks\": {\"prestart\": [{\"path\": \"" HOOK "\"}]}}",
	         "{\"hooks\": {\"prestart\": [{\"path\": \"" HOOK "\"}],\"poststop\": " POSTSTOP "}}"},
	        {"{\"\\u0068ooks\" : { \"poststop\" : [ {\"path\":\"\\/l\\/sockmem-hook\",\"env\":[\"]}\\\"\"]} ] } }",
	         "{\"\\u0068ooks\" : { \"poststop\" : [ {\"path\":\"\\/l\\/sockmem-hook\",\"env\":[\"]}\\\"\"]} ], "
	         "\"createRuntime\": " CREATE " } }"},
	        {"{" HOOKS "}", "{" HOOKS "}"},
	        {"{\"annotations\":{\"hooks\":\"x\"}," HOOKS ",\"z\":[]}",
	         "{\"annotations\":{\"hooks\":\"x\"}," HOOKS ",\"z\":[]}"},
	};

	(void)state;
	assert_changes(CHANGES, sizeof(CHANGES) / sizeof(*CHANGES), false);
}

static void test_convert(void **state)
{
#define ANNOTATION "\"io.sockmem.tcpmem\": \"64Mi\""
	static const struct change CHANGES[] = {
	        {"{" KERNEL_TCP("\"kernelTCP\":67108864") "," HOOKS "}",
	         "{" KERNEL_TCP("") "," HOOKS ",\"annotations\":{" ANNOTATION "}}"},
	        {"{" KERNEL_TCP("\"limit\":1, \"kernelTCP\":67108864 ,\"swap\":2") ",\"annotations\": {}," HOOKS "}",
	         "{" KERNEL_TCP("\"limit\":1 ,\"swap\":2") ",\"annotations\": {" ANNOTATION "}," HOOKS "}"},
	        {"{" KERNEL_TCP("\n  \"kernelTCP\": 67108864,\n  \"limit\": 1\n") ",\"annotations\":{\"a\" : \"b\"}," HOOKS "}",
	         "{" KERNEL_TCP("\n  \"limit\": 1\n") ",\"annotations\":{\"a\" : \"b\"," ANNOTATION "}," HOOKS "}"},
	        {"{" KERNEL_TCP("\"limit\":1,\"kernelTCP\":67108865") "," HOOKS ",\"annotations\":null}",
	         "{" KERNEL_TCP("\"limit\":1") "," HOOKS ",\"annotations\":{\"io.sockmem.tcpmem\": \"67108865\"}}"},
	        {"{" KERNEL_TCP("\"kernelTCP\":-1") "," HOOKS "}", "{" KERNEL_TCP("") "," HOOKS "}"},
	        {"{" KERNEL_TCP("\"kernelTCP\":0") "," HOOKS "}", "{" KERNEL_TCP("") "," HOOKS "}"},
	        {"{" KERNEL_TCP("\"kernelTCP\":5") ",\"annotations\":{\"io.sockmem.tcpmem\":\"32Mi\"}," HOOKS "}",
	         "{" KERNEL_TCP("") ",\"annotations\":{\"io.sockmem.tcpmem\":\"32Mi\"}," HOOKS "}"},
	        {"{" KERNEL_TCP("\"kernelTCP\":5") ",\"annotations\":{\"io.sockmem.profile\":\"web\"}," HOOKS "}",
	         "{" KERNEL_TCP("") ",\"annotations\":{\"io.sockmem.profile\":\"web\"}," HOOKS "}"},
	        {"{" KERNEL_TCP("\"limit\":1") "," HOOKS "}", "{" KERNEL_TCP("\"limit\":1") "," HOOKS "}"},
	        {"{\"kernelTCP\":5," HOOKS "}", "{\"kernelTCP\":5," HOOKS "}"},
	};

	(void)state;
	assert_changes(CHANGES, sizeof(CHANGES) / sizeof(*CHANGES), true);
}

static void test_what_is_told(void **state)
{
	struct skm_bundle_edited edited = SKM_BUNDLE_EDITED_INIT;

	(void)state;
	assert_int_equal(edit("{" KERNEL_TCP("\"kernelTCP\":67108864") "}", false, &edited, NULL), 0);
	assert_true(edited.create_added && edited.poststop_added && edited.has_kernel_tcp);
	assert_false(edited.annotated || edited.has_policy);
	assert_int_equal(edited.kernel_tcp_bytes, 67108864);
	assert_non_null(strstr(edited.text, "\"kernelTCP\":67108864"));
	skm_codec_bundle_edited_free(&edited);
	assert_int_equal(
	        edit("{" KERNEL_TCP("\"kernelTCP\":5") ",\"annotations\":{\"io.sockmem.tcpmem\":\"32Mi\"}}", true, &edited, NULL),
	        0);
	assert_true(edited.has_policy && !edited.annotated);
	assert_int_equal(edited.policy.tcpmem_limit.value, 32 << 20);
	assert_int_equal(edited.kernel_tcp_bytes, 5);
	skm_codec_bundle_edited_free(&edited);
	assert_int_equal(edit("{" KERNEL_TCP("\"kernelTCP\":67108864") "}", true, &edited, NULL), 0);
	assert_true(edited.annotated);
	skm_codec_bundle_edited_free(&edited);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *part;
	} BAD[] = {
	        {"", "config.json: empty"},
	        {"[]", "config.json: $: an array, wanted an object"},
	        {"{\"hooks\":[]}", "config.json: $.hooks: an array, wanted an object"},
	        {"{\"hooks\":{\"createRuntime\":{}}}", "$.hooks.createRuntime: an object, wanted an array of hooks"},
	        {"{\"hooks\":{\"poststop\":\"x\"}}", "$.hooks.poststop: a string, wanted an array of hooks"},
	        {"{\"hooks\":{\"poststop\":[1]}}", "$.hooks.poststop[0]: an integer, wanted an object"},
	        {"{\"hooks\":{\"createRuntime\":[{\"path\":\"/x\"},{}]}}", "$.hooks.createRuntime[1].path: no path"},
	        {"{\"hooks\":{\"createRuntime\":[{\"path\":\"/old/sockmem-hook\"}]}}",
	         "$.hooks.createRuntime[0].path: \"/old/sockmem-hook\" is another sockmem-hook than " HOOK},
	        {"{\"hooks\":{},\"hooks\":{}}", "in $.hooks: this key stands twice"},
	        {"{\"hooks\":{\"poststop\":[],\"poststop\":[]}}", "in $.hooks.poststop: this key stands twice"},
	        {"{\"annotations\":[]}", "$.annotations: an array"},
	        {"{\"annotations\":{\"io.sockmem.tcpmem\":\"64m\"}}", "config.json: annotation io.sockmem.tcpmem: \"64m\""},
	        {"{" KERNEL_TCP("\"kernelTCP\":\"1\"") "}", "$.linux.resources.memory.kernelTCP: a string"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_bundle_edited edited = {.length = 7};
		struct skm_err err = SKM_ERR_INIT;

		if (edit(BAD[i].text, true, &edited, &err) != -EINVAL)
			fail_msg("%s is taken", BAD[i].text);
		assert_contains(err.text, BAD[i].part);
		assert_int_equal(edited.length, 7);
	}
}

/* What `runc spec` wrote keeps every line: there are only new ones, and the commas before them. */
static void test_capture(void **state)
{
	struct skm_bundle_edited edited = SKM_BUNDLE_EDITED_INIT;
	size_t length = 0;
	cleanup_free char *text = skm_fixture("state/config.json", &length);
	const char *at;

	(void)state;
	assert_int_equal(skm_codec_bundle_edit(text, length, HOOK, false, &edited, NULL), 0);
	at = edited.text;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		at = strstr(at, line);
		if (!at)
			fail_msg("\"%s\" is gone, or has moved", line);
		at += strlen(line);
	}
	assert_string_equal(at, "\n");
	skm_codec_bundle_edited_free(&edited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_hooks),   cmocka_unit_test(test_convert), cmocka_unit_test(test_what_is_told),
	        cmocka_unit_test(test_refused), cmocka_unit_test(test_capture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
