/* SPDX-License-Identifier: Apache-2.0 */
/* The node file of a running enforcer: files that come, go and break. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "codec/node.h"
#include "daemon/node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define VALID "{\"ceilings\": {\"tcpmem\": \"64Mi\"}, \"allow\": [\"tcpmem\"]}"
#define OTHER "{\"ceilings\": {\"tcpmem\": \"32Mi\"}}"
#define BROKEN "{\"ceilings\": {\"tcpmem\": \"64Mi\"}, \"alow\": []}"

static char folder[40], path[64];
static int run_dir;
static struct skm_daemon_node node;

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/skm-test-node-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/sockmem.json", folder);
	run_dir = open(folder, O_RDONLY | O_DIRECTORY);
	node = (struct skm_daemon_node){.path = path};
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	skm_codec_node_free(&node.node);
	close(run_dir);
	snprintf(command, sizeof(command), "rm -rf %.39s", folder);
	return system(command);
}

static void put(const char *text)
{
	cleanup_file FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

/* Another enforcer starts: it knows nothing but what is on disk. */
static void start_again(void)
{
	skm_codec_node_free(&node.node);
	node = (struct skm_daemon_node){.path = path};
	skm_daemon_node_start(&node, run_dir);
}

static void in_force_is(uint64_t tcpmem_ceiling_bytes, uint32_t allow, bool loaded)
{
	assert_int_equal(node.node.ceilings, tcpmem_ceiling_bytes ? SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) : 0);
	assert_int_equal(node.node.tcpmem_ceiling.value, tcpmem_ceiling_bytes);
	assert_int_equal(node.node.allow, allow);
	assert_int_equal(node.loaded_usec > 0, loaded);
}

#define ALLOWS_TCPMEM (SKM_KEY_BIT(SKM_KEY_TCPMEM_LIMIT) | SKM_KEY_BIT(SKM_KEY_TCPMEM_MODE) | SKM_KEY_BIT(SKM_KEY_TCPMEM_SCOPE))

static void test_without_a_file(void **state)
{
	(void)state;
	skm_daemon_node_start(&node, run_dir);
	in_force_is(0, SKM_ALLOW_DEFAULT, false);
	assert_int_equal(node.broken.code, 0);
	put(VALID);
	skm_daemon_node_reload(&node, run_dir);
	in_force_is(64 * SKM_MIB, ALLOWS_TCPMEM, true);
	assert_int_equal(unlink(path), 0);
	skm_daemon_node_reload(&node, run_dir);
	in_force_is(0, SKM_ALLOW_DEFAULT, false);
	assert_int_equal(node.broken.code, 0);
	put(BROKEN); /* what was taken away does not come back from the copy */
	start_again();
	in_force_is(0, SKM_ALLOW_DEFAULT, false);
}

static void test_a_broken_file_at_sighup_changes_nothing(void **state)
{
	uint64_t loaded_usec;

	(void)state;
	put(VALID);
	skm_daemon_node_start(&node, run_dir);
	in_force_is(64 * SKM_MIB, ALLOWS_TCPMEM, true);
	loaded_usec = node.loaded_usec;
	put(BROKEN);
	skm_daemon_node_reload(&node, run_dir);
	in_force_is(64 * SKM_MIB, ALLOWS_TCPMEM, true);
	assert_int_equal(node.loaded_usec, loaded_usec);
	assert_contains(node.broken.text, path);
	assert_contains(node.broken.text, "$.alow");
	put(OTHER);
	skm_daemon_node_reload(&node, run_dir);
	in_force_is(32 * SKM_MIB, SKM_ALLOW_DEFAULT, true);
	assert_int_equal(node.broken.code, 0);
}

static void test_a_broken_file_at_the_start(void **state)
{
	(void)state;
	put(BROKEN);
	skm_daemon_node_start(&node, run_dir);
	in_force_is(0, SKM_ALLOW_DEFAULT, false);
	assert_contains(node.broken.text, "$.alow");
	put(VALID);
	start_again();
	put(BROKEN);
	start_again(); /* the ceilings of the file as it last was valid still hold */
	in_force_is(64 * SKM_MIB, ALLOWS_TCPMEM, true);
	assert_contains(node.broken.text, "$.alow");
}

static void test_what_is_no_file(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0); /* nobody is held up by it */
	skm_daemon_node_start(&node, run_dir);
	assert_contains(node.broken.text, "not a regular file");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	skm_daemon_node_reload(&node, run_dir);
	assert_contains(node.broken.text, "not a regular file");
	in_force_is(0, SKM_ALLOW_DEFAULT, false);
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        STAGED(test_without_a_file),
	        STAGED(test_a_broken_file_at_sighup_changes_nothing),
	        STAGED(test_a_broken_file_at_the_start),
	        STAGED(test_what_is_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
