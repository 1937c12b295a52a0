/* SPDX-License-Identifier: Apache-2.0 */
/* Which policy a container's annotations ask for, as each CRI writes them. */
#include "skm-test.h"

#include "codec/state.h"

#include <errno.h>

#define STATE(annotations) "{\"id\":\"a\",\"bundle\":\"/b\",\"annotations\":{" annotations "}}"
#define POLICY(limit) "\"io.sockmem.policy\":\"{\\\"tcpmem\\\":\\\"" limit "\\\"}\""
#define TCPMEM(limit) "\"io.sockmem.tcpmem\":\"" limit "\""
#define PROFILE(name) "\"io.sockmem.profile\":\"" name "\""
#define FOR(name, limit) "\"io.sockmem.policy.container." name "\":\"{\\\"tcpmem\\\":\\\"" limit "\\\"}\""
#define CONTAINERD(name) "\"io.kubernetes.cri.container-type\":\"container\",\"io.kubernetes.cri.container-name\":\"" name "\""

static struct skm_annotations read(const char *text)
{
	struct skm_state state = SKM_STATE_INIT;
	struct skm_err err = SKM_ERR_INIT;

	if (skm_codec_state_parse(text, strlen(text), &state, &err) != 0)
		fail_msg("%s: %s", text, err.text);
	return state.annotations;
}

struct expected {
	const char *text;
	enum skm_policy_source source; /* none: nothing is asked for */
	uint64_t bytes;
};

static const struct expected EXPECTED[] = {
        {STATE(""), SKM_SOURCE_NONE, 0},
        {STATE("\"org.example\":\"x\""), SKM_SOURCE_NONE, 0},
        {STATE(TCPMEM("1Mi")), SKM_SOURCE_ANNOTATION_TCPMEM, 1 << 20},
        {STATE(TCPMEM("1Mi") "," POLICY("2Mi")), SKM_SOURCE_ANNOTATION_POLICY, 2 << 20},
        {STATE(TCPMEM("1Mi") "," PROFILE("web")), SKM_SOURCE_ANNOTATION_PROFILE, 0},
        {STATE(PROFILE("web") "," POLICY("2Mi")), SKM_SOURCE_ANNOTATION_POLICY, 2 << 20},
        {STATE(PROFILE("") "," POLICY("2Mi")), SKM_SOURCE_ANNOTATION_POLICY, 2 << 20}, /* the first wins, whatever the rest is */
        {STATE(CONTAINERD("web") "," POLICY("2Mi") "," FOR("web", "3Mi")), SKM_SOURCE_ANNOTATION_CONTAINER, 3 << 20},
        {STATE(FOR("log", "9Mi") "," FOR("web", "3Mi") "," CONTAINERD("web")), SKM_SOURCE_ANNOTATION_CONTAINER, 3 << 20},
        {STATE(CONTAINERD("web") "," FOR("log", "3Mi")), SKM_SOURCE_NONE, 0},
        {STATE(CONTAINERD("web") "," FOR("we", "3Mi") "," FOR("webb", "3Mi")), SKM_SOURCE_NONE, 0},
        {STATE(CONTAINERD("web") "," FOR("log", "3Mi") "," TCPMEM("1Mi")), SKM_SOURCE_ANNOTATION_TCPMEM, 1 << 20},
        {STATE(CONTAINERD("web") ",\"io.sockmem.policy.container.log\":\"[\"," TCPMEM("1Mi")), SKM_SOURCE_ANNOTATION_TCPMEM,
         1 << 20}, /* another container's */
        {STATE("\"io.kubernetes.container.name\":\"web\"," FOR("web", "3Mi")), SKM_SOURCE_ANNOTATION_CONTAINER, 3 << 20},
        {STATE("\"io.kubernetes.cri-o.Metadata\":\"{\\\"name\\\":\\\"web\\\",\\\"attempt\\\":1}\"," FOR("web", "3Mi")),
         SKM_SOURCE_ANNOTATION_CONTAINER, 3 << 20},
        {STATE(CONTAINERD("a.b") "," FOR("a.b", "3Mi")), SKM_SOURCE_ANNOTATION_CONTAINER, 3 << 20},
};

static void test_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(EXPECTED) / sizeof(*EXPECTED); i++) {
		struct skm_annotations annotations = read(EXPECTED[i].text);
		struct skm_policy policy = SKM_POLICY_INIT;
		struct skm_err err = SKM_ERR_INIT;
		int found = skm_codec_annotations_policy(&annotations, &policy, &err);

		if (found != (EXPECTED[i].source != SKM_SOURCE_NONE) || policy.source != EXPECTED[i].source)
			fail_msg("%s: %d from source %d, %s", EXPECTED[i].text, found, policy.source, err.text);
		if (EXPECTED[i].bytes)
			assert_int_equal(policy.tcpmem_limit.value, EXPECTED[i].bytes);
		assert_string_equal(policy.profile, policy.source == SKM_SOURCE_ANNOTATION_PROFILE ? "web" : "");
		skm_codec_annotations_free(&annotations);
	}
}

static void test_invalid(void **state)
{
	static const struct {
		const char *text, *part;
	} BAD[] = {
	        {STATE(POLICY("64m")), "annotation io.sockmem.policy: $.tcpmem: \"64m\": \"m\" is milli"},
	        {STATE("\"io.sockmem.policy\":\"\"," TCPMEM("1Mi")), "annotation io.sockmem.policy: empty"},
	        {STATE(TCPMEM("")), "annotation io.sockmem.tcpmem: \"\": empty"},
	        {STATE(PROFILE("")), "annotation io.sockmem.profile: \"\": empty"},
	        {STATE(PROFILE("a b")), "annotation io.sockmem.profile: \"a b\": no name of a profile"},
	        {STATE(PROFILE("../x") "," TCPMEM("1Mi")), "annotation io.sockmem.profile: \"../x\": no name of a profile"},
	        {STATE(CONTAINERD("web") "," FOR("web", "1m") "," TCPMEM("1Mi")),
	         "annotation io.sockmem.policy.container.web: $.tcpmem: \"1m\""},
	        {STATE(FOR("web", "1Mi") "," TCPMEM("1Mi")), "annotation io.sockmem.policy.container.web: containerd and CRI-O"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		struct skm_annotations annotations = read(BAD[i].text);
		struct skm_policy policy = {.mode = SKM_MODE_OBSERVE};
		struct skm_err err = SKM_ERR_INIT;

		assert_int_equal(skm_codec_annotations_policy(&annotations, &policy, &err), -EINVAL);
		assert_contains(err.text, BAD[i].part);
		assert_int_equal(policy.mode, SKM_MODE_OBSERVE);
		skm_codec_annotations_free(&annotations);
	}
}

static void test_sandboxes(void **state)
{
	static const struct {
		const char *text;
		bool sandbox;
	} KINDS[] = {
	        {STATE("\"io.kubernetes.cri.container-type\":\"sandbox\""), true},
	        {STATE("\"io.kubernetes.cri.container-type\":\"container\""), false},
	        {STATE("\"io.kubernetes.cri.container-type\":\"\""), false},
	        {STATE("\"io.kubernetes.cri-o.ContainerType\":\"sandbox\",\"io.container.manager\":\"cri-o\""), true},
	        {STATE("\"io.kubernetes.cri-o.ContainerType\":\"sandbox\""), true},
	        {STATE("\"io.kubernetes.cri-o.ContainerType\":\"container\",\"io.container.manager\":\"cri-o\""), false},
	        {STATE("\"io.kubernetes.cri-o.ContainerType\":\"sandbox\",\"io.container.manager\":\"libpod\""), false},
	        {STATE("\"io.kubernetes.cri.container-type\":[]"), false}, /* not ours to judge */
	        {STATE(""), false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(*KINDS); i++) {
		struct skm_annotations annotations = read(KINDS[i].text);

		if (annotations.is_sandbox != KINDS[i].sandbox)
			fail_msg("%s", KINDS[i].text);
		skm_codec_annotations_free(&annotations);
	}
}

/* What the state has is not replaced; what it lacks is added, with the name. */
static void test_fill(void **state)
{
	struct skm_annotations into = read(STATE(TCPMEM("1Mi"))),
	                       from = read(STATE(TCPMEM("2Mi") "," CONTAINERD("web") "," FOR("web", "3Mi")));
	struct skm_annotations none = read("{\"id\":\"a\",\"bundle\":\"/b\"}");
	struct skm_policy policy = SKM_POLICY_INIT;

	(void)state;
	assert_int_equal(skm_codec_annotations_fill(&into, &from), 0);
	assert_int_equal(into.count, 2);
	assert_string_equal(into.asked[0].text, "1Mi");
	assert_int_equal(from.count, 1);
	assert_string_equal(from.asked[0].text, "2Mi");
	assert_int_equal(skm_codec_annotations_policy(&into, &policy, NULL), 1);
	assert_int_equal(policy.tcpmem_limit.value, 3 << 20);
	assert_false(none.present);
	assert_int_equal(skm_codec_annotations_fill(&none, &from), 0);
	assert_true(none.present);
	assert_string_equal(none.asked[0].text, "2Mi");
	skm_codec_annotations_free(&into);
	skm_codec_annotations_free(&from);
	skm_codec_annotations_free(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_order),
	        cmocka_unit_test(test_invalid),
	        cmocka_unit_test(test_sandboxes),
	        cmocka_unit_test(test_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
