/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's computation by the examples in its own documentation, and the walk over a tree of plain files. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "probe/ancestry.h"
#include "probe/protection.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define GIB SKM_GIB
#define MIB SKM_MIB

static char top[40];

static uint64_t effective(uint64_t usage, uint64_t setting, uint64_t parent_usage, uint64_t parent_effective, uint64_t siblings,
                          bool recursive)
{
	const struct skm_protection_claim claim = {usage, setting, parent_usage, parent_effective, siblings};

	return skm_probe_effective_protection(&claim, recursive);
}

/* Documentation/admin-guide/cgroup-v2.rst and the comment of effective_protection: A low 2G; B low 3G uses 2G, C low 1G uses 2G,
 * D low 0 uses 2G, E low 10G uses nothing: B ends at 1.3G, C at 0.6G. */
static void test_claims_beyond_the_parents(void **state)
{
	(void)state;
	assert_int_equal(effective(2 * GIB, 3 * GIB, 6 * GIB, 2 * GIB, 3 * GIB, true), 4 * GIB / 3);
	assert_int_equal(effective(2 * GIB, GIB, 6 * GIB, 2 * GIB, 3 * GIB, true), 2 * GIB / 3);
	assert_int_equal(effective(2 * GIB, 0, 6 * GIB, 2 * GIB, 3 * GIB, true), 0);
	assert_int_equal(effective(0, 10 * GIB, 6 * GIB, 2 * GIB, 3 * GIB, true), 0);
}

/* The same comment: A low 2G, B low 1G, C low 0; under pressure B is left with 1.5G and C with 0.5G. */
static void test_what_is_unclaimed_is_shared(void **state)
{
	uint64_t b = effective(3 * GIB, GIB, 5 * GIB, 2 * GIB, GIB, true);
	uint64_t c = effective(2 * GIB, 0, 5 * GIB, 2 * GIB, GIB, true);

	(void)state;
	assert_int_equal(b, GIB + GIB / 2);
	assert_int_equal(c, GIB / 2);
	assert_int_equal(effective(3 * GIB, GIB, 5 * GIB, 2 * GIB, GIB, false), GIB);
	assert_int_equal(effective(2 * GIB, 0, 5 * GIB, 2 * GIB, GIB, false), 0);
}

static void test_bounds(void **state)
{
	(void)state;
	assert_int_equal(effective(GIB, GIB, GIB, 0, GIB, true), 0);         /* nothing above, nothing here */
	assert_int_equal(effective(MIB, GIB, 2 * MIB, GIB, MIB, true), MIB); /* no more than is used */
	assert_int_equal(effective(GIB, UINT64_MAX, GIB, UINT64_MAX, GIB, true), GIB);
	/* 2^40 x 2^40 needs more than 64 bits on the way */
	assert_int_equal(effective(1024 * GIB, 1024 * GIB, 4096 * GIB, 1024 * GIB, 2048 * GIB, true), 512 * GIB);
	/* read one after the other, the parent's use may be below its children's */
	assert_int_equal(effective(2 * GIB, GIB, GIB, 2 * GIB, GIB, true), GIB);
}

static void put(const char *cgroup, const char *file, const char *text)
{
	char path[256];
	FILE *stream;

	snprintf(path, sizeof(path), "%s%s/%s", top, cgroup, file);
	stream = fopen(path, "w");
	assert_non_null(stream);
	fprintf(stream, "%s\n", text);
	fclose(stream);
}

static void put_number(const char *cgroup, const char *file, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	put(cgroup, file, number == UINT64_MAX ? "max" : text);
}

static void make(const char *cgroup, uint64_t current, uint64_t min, uint64_t low)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", top, cgroup);
	assert_int_equal(mkdir(path, 0700), 0);
	put_number(cgroup, "memory.current", current);
	put_number(cgroup, "memory.min", min);
	put_number(cgroup, "memory.low", low);
}

static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/skm-test-protection-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %.39s", top);
	return system(command);
}

static struct skm_protection look(const char *cgroup, unsigned int own, bool recursive)
{
	struct skm_protection protection = {0};
	struct skm_err err = SKM_ERR_INIT;
	char path[256];
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "%s%s", top, cgroup);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	if (skm_probe_protection(fd, path, own, recursive, &protection, &err) < 0)
		fail_msg("%s: %s", cgroup, err.text);
	assert_true(protection.known);
	return protection;
}

static void assert_ends(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	if (length < wanted || strcmp(text + length - wanted, end) != 0 || (wanted == 0 && length > 0))
		fail_msg("\"%s\" does not end in \"%s\"", text, end);
}

/* The kernel evaluation's tree: the top level protects, the levels below have to as well. */
static void test_three_levels(void **state)
{
	struct skm_protection p;

	(void)state;
	make("/top", 600 * MIB, 100 * MIB, 200 * MIB);
	make("/top/mid", 600 * MIB, 0, 0);
	make("/top/mid/box", 300 * MIB, 100 * MIB, 200 * MIB);
	make("/top/mid/other", 300 * MIB, 0, 0);
	p = look("/top/mid/box", 1, false);
	assert_int_equal(p.effective_min_bytes, 0);
	assert_int_equal(p.effective_low_bytes, 0);
	assert_ends(p.cut_by, "/top/mid");
	assert_string_equal(p.shared_with, "");
	/* mid leaves its parent's unclaimed: box gets what it claims of that, and all of it is claimed */
	p = look("/top/mid/box", 1, true);
	assert_int_equal(p.effective_min_bytes, 100 * MIB);
	assert_int_equal(p.effective_low_bytes, 200 * MIB);
	assert_string_equal(p.cut_by, "");
	assert_string_equal(p.shared_with, "");
	/* some pages are the upper levels' own: less by so little is no cut */
	put_number("/top", "memory.current", 601 * MIB);
	p = look("/top/mid/box", 1, true);
	assert_true(p.effective_low_bytes < 200 * MIB);
	assert_string_equal(p.cut_by, "");
	put_number("/top", "memory.current", 600 * MIB);
	put_number("/top", "memory.low", 0);
	p = look("/top/mid/box", 1, true);
	assert_int_equal(p.effective_low_bytes, 0);
	assert_ends(p.cut_by, "/top");
	put_number("/top", "memory.low", 150 * MIB);
	put_number("/top/mid", "memory.low", 200 * MIB);
	p = look("/top/mid/box", 1, true);
	assert_int_equal(p.effective_low_bytes, 150 * MIB);
	assert_ends(p.cut_by, "/top");
}

static void test_siblings(void **state)
{
	struct skm_protection p;

	(void)state;
	make("/top", 900 * MIB, 0, 300 * MIB);
	make("/top/box", 300 * MIB, 0, 200 * MIB);
	make("/top/claims", 400 * MIB, 0, 400 * MIB);
	make("/top/idle", 0, 0, 400 * MIB);
	make("/top/plain", 200 * MIB, 0, 0);
	p = look("/top/box", 1, true);
	assert_int_equal(p.effective_low_bytes, 100 * MIB); /* 300 x 200 / 600 */
	assert_ends(p.cut_by, "/top");
	assert_string_equal(p.shared_with, "claims");
	/* more than is claimed: those that claim nothing have a share too */
	put_number("/top", "memory.low", 800 * MIB);
	p = look("/top/box", 1, true);
	assert_int_equal(p.effective_low_bytes, 200 * MIB + 200 * MIB * 100 / 300);
	assert_string_equal(p.cut_by, "");
	assert_true(strcmp(p.shared_with, "claims, plain") == 0 || strcmp(p.shared_with, "plain, claims") == 0);
}

/* crun under systemd: the scope is the container's too, and no sibling is beside the inner cgroup. */
static void test_nested(void **state)
{
	cleanup_fd int fd = -1;
	char path[256];
	struct skm_protection p;

	(void)state;
	make("/top", 900 * MIB, 0, 100 * MIB);
	make("/top/box.scope", 300 * MIB, 0, 200 * MIB);
	make("/top/box.scope/container", 300 * MIB, 0, 200 * MIB);
	make("/top/claims", 400 * MIB, 0, 400 * MIB);
	p = look("/top/box.scope/container", 2, true);
	assert_int_equal(p.effective_low_bytes, 100 * MIB / 3);
	assert_ends(p.cut_by, "/top");
	assert_string_equal(p.shared_with, "claims");
	snprintf(path, sizeof(path), "%s/top/box.scope/container", top);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(skm_probe_is_nested(fd, path, "box"));
	make("/top/box.scope/other", 0, 0, 0);
	assert_false(skm_probe_is_nested(fd, path, "box"));
}

static void test_a_long_list_is_cut(void **state)
{
	struct skm_protection p;

	(void)state;
	make("/top", 900 * MIB, 0, 100 * MIB);
	make("/top/box", 300 * MIB, 0, 200 * MIB);
	for (int i = 0; i < 20; i++) {
		char name[64];

		snprintf(name, sizeof(name), "/top/sibling-with-a-long-name-%02d", i);
		make(name, 10 * MIB, 0, MIB);
	}
	p = look("/top/box", 1, true);
	assert_ends(p.shared_with, ", …");
	assert_int_equal(strstr(p.shared_with, "…") - p.shared_with, strlen(p.shared_with) - strlen("…"));
	assert_true(strlen(p.shared_with) > 200);
}

static void test_faults(void **state)
{
	struct skm_protection p = {.effective_low_bytes = 7};
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int fd = -1, gone = -1;
	char path[256];

	(void)state;
	make("/top", 900 * MIB, 0, 100 * MIB);
	make("/top/box", 300 * MIB, 0, 200 * MIB);
	snprintf(path, sizeof(path), "%s/top/box", top);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	put("/top", "memory.min", "many");
	assert_int_equal(skm_probe_protection(fd, path, 1, true, &p, &err), -EINVAL);
	assert_contains(err.text, "memory.min");
	/* a sibling that cannot be read is no reason to know nothing */
	put("/top", "memory.min", "0");
	make("/top/odd", 1, 0, 0);
	put("/top/odd", "memory.low", "");
	assert_int_equal(skm_probe_protection(fd, path, 1, true, &p, &err), 0);
	gone = open(top, O_RDONLY | O_DIRECTORY);
	p.effective_low_bytes = 7;
	assert_int_equal(skm_probe_protection(gone, top, 1, true, &p, &err), -ENODEV); /* no memory controller there */
	assert_int_equal(p.effective_low_bytes, 7);
}

static void test_pods(void **state)
{
	static const struct {
		const char *path;
		bool pod;
	} CASES[] = {
	        {"/sys/fs/cgroup/kubepods/burstable/pod0f1c", true},
	        {"/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f_1c.slice", true},
	        {"/sys/fs/cgroup/machine.slice/machine-libpod_pod_0f1c.slice", true},
	        {"/sys/fs/cgroup/kubepods/burstable", false},
	        {"/sys/fs/cgroup/kubepods.slice", false},
	        {"/sys/fs/cgroup/podman", false},
	        {"/sys/fs/cgroup/machine.slice", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(*CASES); i++)
		if (skm_probe_is_pod(CASES[i].path) != CASES[i].pod)
			fail_msg("%s", CASES[i].path);
}

static void test_whose_an_ancestor_is(void **state)
{
	cleanup_fd int fd = -1;
	struct stat st;
	char path[256], text[128];

	(void)state;
	make("/top", 0, 0, 0);
	snprintf(path, sizeof(path), "%s/top", top);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(fstat(fd, &st), 0);
	assert_null(skm_probe_ancestor_refusal(fd, st.st_uid, text, sizeof(text)));
	assert_contains(skm_probe_ancestor_refusal(fd, st.st_uid + 1, text, sizeof(text)), "belongs to user");
	assert_int_equal(skm_probe_ancestor_open(fd), -ENOENT); /* above it is no memory.low */
	skm_close_fd(&fd);
	fd = open("/proc", O_RDONLY | O_DIRECTORY);
	assert_int_equal(fstat(fd, &st), 0);
	assert_contains(skm_probe_ancestor_refusal(fd, st.st_uid, text, sizeof(text)), "root of this cgroup namespace");
	assert_int_equal(skm_probe_ancestor_open(fd), -ENOENT); /* another filesystem */
	assert_true(skm_probe_ancestor_path(path));
	assert_string_equal(path, top);
	strcpy(path, "/top");
	assert_false(skm_probe_ancestor_path(path));
	assert_string_equal(path, "/top");
}

#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_claims_beyond_the_parents),
	        cmocka_unit_test(test_what_is_unclaimed_is_shared),
	        cmocka_unit_test(test_bounds),
	        STAGED(test_three_levels),
	        STAGED(test_siblings),
	        STAGED(test_nested),
	        STAGED(test_a_long_list_is_cut),
	        STAGED(test_faults),
	        cmocka_unit_test(test_pods),
	        STAGED(test_whose_an_ancestor_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
