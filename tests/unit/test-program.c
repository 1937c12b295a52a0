/* SPDX-License-Identifier: Apache-2.0 */
/* A container's root of a temporary folder, with a secret beside it that nothing in the root may lead to. */
#include "skm-test.h"

#include "base/cleanup.h"
#include "probe/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char top[64], root[96];

static void make_file(const char *name, off_t bytes, mode_t mode)
{
	char path[PATH_MAX];
	cleanup_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static void make_folder(const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const char *to, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(symlink(to, path), 0);
}

static int set_up(void **state)
{
	char text[PATH_MAX];

	(void)state;
	strcpy(top, "/tmp/skm-program-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(root, sizeof(root), "%s/root", top);
	assert_int_equal(mkdir(root, 0755), 0);
	make_file("../secret", 4242, 0755);
	make_folder("bin");
	make_folder("usr");
	make_folder("usr/bin");
	make_folder("srv");
	make_folder("srv/bin");
	make_file("bin/server", 1000, 0755);
	make_file("usr/bin/server", 2000, 0755);
	make_file("usr/bin/data", 10, 0644);
	make_file("bin/data", 11, 0711);
	make_file("srv/here", 3000, 0700);
	make_file("srv/bin/here", 3001, 0700);
	make_file("bin/huge", (off_t)6 << 30, 0755);
	make_folder("bin/folder");
	make_link("/usr/bin/server", "bin/absolute"); /* absolute: from the root of the container, not of the host */
	make_link("../usr/bin/server", "bin/relative");
	make_link("../../../../secret", "bin/up");
	make_link("/bin", "usr/link");
	snprintf(text, sizeof(text), "%s/secret", top);
	make_link(text, "bin/out");
	make_link("/proc/self/exe", "bin/magic");
	make_link("loop", "bin/loop");
	snprintf(text, sizeof(text), "%s/bin/fifo", root);
	assert_int_equal(mkfifo(text, 0755), 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

struct one {
	const char *file, *path, *cwd;
	uint64_t bytes;
};

static const struct one ONES[] = {
        {"server", "/bin:/usr/bin", "/", 1000},
        {"server", "/usr/bin:/bin", "/", 2000},
        {"server", "/nowhere:/usr/bin", "/", 2000},
        {"server", NULL, NULL, 2000}, /* the default: /usr/bin before /bin */
        {"server", "/srv", "/", 0},
        {"data", "/usr/bin:/bin", "/", 11}, /* the first cannot be executed */
        {"folder", "/bin", "/", 0},
        {"fifo", "/bin", "/", 0},
        {"here", "", "/srv", 3000},
        {"here", "/usr/bin:", "/srv", 3000},
        {"here", ":/srv/bin", "/srv", 3000},
        {"here", "bin", "/srv", 3001},
        {"here", "/bin", "/srv", 0},
        {"/bin/server", "/usr/bin", "/srv", 1000},
        {"./here", "/bin", "/srv", 3000},
        {"bin/here", NULL, "/srv", 3001},
        {"bin/server", NULL, NULL, 1000},
        {"../../../usr/bin/server", NULL, "/srv", 2000}, /* .. ends at the root */
        {"/usr/link/server", NULL, NULL, 1000},
        {"absolute", "/bin", "/", 2000},
        {"relative", "/bin", "/", 2000},
        {"huge", "/bin", "/", UINT64_C(6) << 30},
        {"up", "/bin", "/", 0}, /* it would be 4242 */
        {"out", "/bin", "/", 0},
        {"../secret", "/bin", "/", 0},
        {"/../secret", "/bin", "/", 0},
        {"secret", "/..:/bin/../..", "/", 0},
        {"secret", "/bin", "/..", 0},
        {"magic", "/bin", "/", 0},
        {"loop", "/bin", "/", 0},
        {"", "/bin", "/", 0},
        {"/", "/bin", "/", 0},
        {".", "/bin", "/", 0},
};

static void test_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ONES) / sizeof(*ONES); i++) {
		struct skm_program program = {.root = root, .file = ONES[i].file, .path = ONES[i].path, .cwd = ONES[i].cwd};
		uint64_t bytes = skm_probe_program_bytes(&program);

		if (bytes != ONES[i].bytes)
			fail_msg("%s along %s in %s: %ju, not %ju", ONES[i].file, ONES[i].path ? ONES[i].path : "the default",
			         ONES[i].cwd ? ONES[i].cwd : "none", (uintmax_t)bytes, (uintmax_t)ONES[i].bytes);
	}
}

static void test_no_root(void **state)
{
	char file[128];

	(void)state;
	snprintf(file, sizeof(file), "%s/secret", top);
	assert_int_equal(skm_probe_program_bytes(&(struct skm_program){.root = "/nonexistent", .file = "/bin/sh"}), 0);
	assert_int_equal(skm_probe_program_bytes(&(struct skm_program){.root = file, .file = "/"}), 0);
}

/* A path of a tenant's making: long parts, many parts. */
static void test_bounds(void **state)
{
	static char path[1 << 20];
	struct skm_program program = {.root = root, .file = "server", .path = path};
	size_t length;

	(void)state;
	memset(path, 'x', PATH_MAX + 10);
	strcpy(path + PATH_MAX + 10, ":/bin");
	assert_int_equal(skm_probe_program_bytes(&program), 1000);
	memset(path, ':', sizeof(path) - 1);
	strcpy(path + sizeof(path) - 6, "/bin");
	assert_int_equal(skm_probe_program_bytes(&program), 0);
	memset(path, ':', 64);
	strcpy(path + 63, "/bin"); /* the 64th part */
	assert_int_equal(skm_probe_program_bytes(&program), 1000);
	strcpy(path + 63, ":/bin");
	assert_int_equal(skm_probe_program_bytes(&program), 0);
	length = strlen(path);
	program.file = memset(path, 'f', length);
	assert_int_equal(skm_probe_program_bytes(&program), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_no_root),
	                                   cmocka_unit_test(test_bounds)};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
