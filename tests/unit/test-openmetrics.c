/* SPDX-License-Identifier: Apache-2.0 */
/* What a scraper reads; tests/contract has Prometheus's own parser read it too. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec-samples.h"
#include "codec/openmetrics.h"

#include <stdlib.h>

static char *format(const struct skm_report *report)
{
	char *text = skm_codec_openmetrics_format(&report, 1);

	assert_non_null(text);
	return text;
}

static void test_units(void **state)
{
	struct skm_report report = skm_sample_report();
	cleanup_free char *text = NULL;

	(void)state;
	strcpy(report.id, "web");
	strcpy(report.cgroup, "/sys/fs/cgroup/skm/web");
	report.sock_bytes = 33554432;
	report.throttled_usec = 1500001;
	report.sockets = 51;
	report.oom_kills = 2;
	text = format(&report);
	assert_contains(text, "# TYPE sockmem_sock_bytes gauge\n# UNIT sockmem_sock_bytes bytes\n# HELP sockmem_sock_bytes ");
	assert_contains(text, "\nsockmem_sock_bytes{id=\"web\",cgroup=\"/sys/fs/cgroup/skm/web\"} 33554432\n");
	assert_contains(text, "\nsockmem_throttled_seconds_total{id=\"web\",cgroup=\"/sys/fs/cgroup/skm/web\"} 1.500001\n");
	assert_contains(text, "\nsockmem_tcp_sockets{id=\"web\",cgroup=\"/sys/fs/cgroup/skm/web\"} 51\n");
	assert_contains(text, "\nsockmem_oom_kills_total{id=\"web\",cgroup=\"/sys/fs/cgroup/skm/web\"} 2\n");
	assert_string_equal(text + strlen(text) - strlen("\n# EOF\n"), "\n# EOF\n");
}

static void test_one_step_is_set(void **state)
{
	struct skm_report report = skm_sample_report();
	cleanup_free char *text = NULL;

	(void)state;
	report.decision.step = SKM_STEP_SQUEEZE;
	text = format(&report);
	assert_contains(text, "sockmem_step=\"cap\"} 0\n");
	assert_contains(text, "sockmem_step=\"squeeze\"} 1\n");
	assert_contains(text, "sockmem_step=\"shed\"} 0\n");
}

static void test_what_is_not_known_is_left_out(void **state)
{
	struct skm_report report = skm_sample_report();
	cleanup_free char *text = NULL;

	(void)state;
	report.sock_bytes = SKM_SOCK_UNKNOWN;
	report.limit_bytes = UINT64_MAX;
	text = format(&report);
	assert_null(strstr(text, "\nsockmem_sock_bytes{"));
	assert_null(strstr(text, "\nsockmem_limit_bytes{"));
	assert_null(strstr(text, "18446744073709551615"));
}

static void test_tenants_texts(void **state)
{
	struct skm_report report = skm_sample_report();
	cleanup_free char *text = NULL;

	(void)state;
	strcpy(report.id, "a\"} 1\nb\\c\033[2J\xc2\x9b");
	text = format(&report);
	assert_contains(text, "{id=\"a\\\"} 1\\\\x0ab\\\\c\\\\x1b[2J\\\\xc2\\\\x9b\",");
	assert_null(strchr(text, '\033'));
}

static void test_no_containers(void **state)
{
	cleanup_free char *text = skm_codec_openmetrics_format(NULL, 0);

	(void)state;
	assert_non_null(text);
	assert_contains(text, "# TYPE sockmem_over_limit counter\n");
	assert_null(strchr(text, '{'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_units),
	        cmocka_unit_test(test_one_step_is_set),
	        cmocka_unit_test(test_what_is_not_known_is_left_out),
	        cmocka_unit_test(test_tenants_texts),
	        cmocka_unit_test(test_no_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
