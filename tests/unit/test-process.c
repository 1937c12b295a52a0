/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"

#include "base/cleanup.h"
#include "probe/mountinfo.h"
#include "probe/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int find_mount(const char *text, char *ret, size_t size, struct skm_err *err)
{
	char path[] = "/tmp/skm-mountinfo-XXXXXX";
	cleanup_fd int fd = mkstemp(path);
	int r;

	assert_int_not_equal(fd, -1);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	r = skm_probe_cgroup2_mount(path, ret, size, err);
	unlink(path);
	return r;
}

static void test_cgroup2_mount(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	char path[PATH_MAX] = "untouched";

	(void)state;
	assert_int_equal(find_mount("22 1 0:20 / / rw - ext4 /dev/vda1 rw\n"
	                            "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:9 - cgroup2 cgroup2 rw,nsdelegate\n",
	                            path, sizeof(path), &err),
	                 0);
	assert_string_equal(path, "/sys/fs/cgroup");
	/* the source says "cgroup2", the type does not; then a part bound elsewhere; then one without optional fields */
	assert_int_equal(find_mount("31 22 0:27 / /a rw - tmpfs cgroup2 rw\n"
	                            "32 22 0:26 /machine.slice /b rw - cgroup2 cgroup2 rw\n"
	                            "33 22 0:26 / /with\\040space\\134 rw - cgroup2 none rw\n",
	                            path, sizeof(path), &err),
	                 0);
	assert_string_equal(path, "/with space\\");
}

static void test_cgroup2_mount_missing_or_cut(void **state)
{
	static const char LINE[] = "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
	struct skm_err err = SKM_ERR_INIT;
	char path[PATH_MAX] = "untouched", cut[sizeof(LINE)];

	(void)state;
	assert_int_equal(find_mount("", path, sizeof(path), &err), -ENOENT);
	assert_contains(err.text, "cgroup v2");
	assert_int_equal(find_mount("\n\n - - -\ngarbage\n1 2 3 4 5 6 7 8\n", path, sizeof(path), &err), -ENOENT);
	assert_int_equal(find_mount(LINE, path, 8, &err), -ENAMETOOLONG);
	assert_int_equal(skm_probe_cgroup2_mount("/nonexistent", path, sizeof(path), &err), -ENOENT);
	for (size_t length = 0; length < sizeof(LINE); length++) {
		int r;

		strcpy(path, "untouched");
		memcpy(cut, LINE, length);
		cut[length] = '\0';
		r = find_mount(cut, path, sizeof(path), &err);
		assert_string_equal(path, r == 0 ? "/sys/fs/cgroup" : "untouched");
	}
}

static void test_cgroup_line(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	char path[PATH_MAX] = "";

	(void)state;
	assert_int_equal(skm_probe_cgroup_line("0::/machine.slice/libpod-1.scope/container\n", path, sizeof(path), &err), 0);
	assert_string_equal(path, "/machine.slice/libpod-1.scope/container");
	/* hybrid: v1 lines around it, one of which names a hierarchy "0::" in its path */
	assert_int_equal(skm_probe_cgroup_line("12:memory:/0::/x\n1:name=systemd:/a\n0::/user.slice\n", path, sizeof(path), &err),
	                 0);
	assert_string_equal(path, "/user.slice");
	assert_int_equal(skm_probe_cgroup_line("0::/..a/b..\n", path, sizeof(path), &err), 0);
	assert_string_equal(path, "/..a/b..");
}

static void test_memory_line_of_v1(void **state)
{
	static const char HYBRID[] = "12:cpu,cpuacct:/c\n9:memory:/skm/web\n1:name=memory:/n\n0::/unified\n";
	struct skm_err err = SKM_ERR_INIT;
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(skm_probe_cgroup1_memory_line(HYBRID, path, sizeof(path), &err), 0);
	assert_string_equal(path, "/skm/web");
	assert_int_equal(skm_probe_cgroup1_memory_line("3:hugetlb,memory:/a:b\n", path, sizeof(path), &err), 0);
	assert_string_equal(path, "/a:b");
	assert_int_equal(skm_probe_cgroup1_memory_line("0::/9:memory:/x\n", path, sizeof(path), &err), -ENOENT);
	assert_int_equal(skm_probe_cgroup1_memory_line("4:memory2,xmemory:/a\n0::/b\n", path, sizeof(path), &err), -ENOENT);
	assert_int_equal(skm_probe_cgroup1_memory_line("", path, sizeof(path), &err), -ENOENT);
	assert_int_equal(skm_probe_cgroup1_memory_line("9:memory:/../other\n", path, sizeof(path), &err), -EINVAL);
	assert_int_equal(skm_probe_cgroup1_memory_line("9:memory:/cut", path, sizeof(path), &err), -EINVAL);
}

static void test_cgroup_line_refused(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	char path[PATH_MAX] = "untouched";

	(void)state;
	assert_int_equal(skm_probe_cgroup_line("", path, sizeof(path), &err), -ENOENT);
	assert_int_equal(skm_probe_cgroup_line("4:memory:/a\n10::/b\n", path, sizeof(path), &err), -ENOENT);
	assert_int_equal(skm_probe_cgroup_line("0::\n", path, sizeof(path), &err), -EINVAL);
	assert_int_equal(skm_probe_cgroup_line("0::relative\n", path, sizeof(path), &err), -EINVAL);
	assert_int_equal(skm_probe_cgroup_line("0::/cut/in/the/mid", path, sizeof(path), &err), -EINVAL);
	assert_int_equal(skm_probe_cgroup_line("0::/a/long/path\n", path, 8, &err), -ENAMETOOLONG);
	assert_string_equal(path, "untouched");
	assert_int_equal(skm_probe_cgroup_line("0::/../../other\n", path, sizeof(path), &err), -EINVAL);
	assert_contains(err.text, "namespace");
	assert_int_equal(skm_probe_cgroup_line("0::/a/..\n", path, sizeof(path), &err), -EINVAL);
}

static void test_process_refused(void **state)
{
	struct skm_process_fds fds;
	struct skm_err err = SKM_ERR_INIT;
	pid_t child;

	(void)state;
	assert_int_equal(skm_probe_process_open(0, &fds, &err), -EINVAL);
	assert_int_equal(skm_probe_process_open(1, &fds, &err), -EINVAL);
	assert_int_equal(skm_probe_process_open(-1, &fds, &err), -EINVAL);
	child = fork();
	if (child == 0)
		_exit(0);
	/* a zombie still has its pid and its /proc entry: ended all the same */
	assert_int_equal(waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(skm_probe_process_open(child, &fds, &err), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(skm_probe_process_open(child, &fds, &err), -ESRCH);
}

static void test_process_open(void **state)
{
	struct skm_process_fds fds = {-1, -1, -1};
	struct skm_err err = SKM_ERR_INIT;
	char mount[PATH_MAX], path[PATH_MAX];
	struct pollfd poll_fd = {.events = POLLIN};
	struct stat ours, opened;
	pid_t child;

	(void)state;
	/* of the hierarchy that has the memory controller */
	if (skm_probe_mount_find_with("/proc/self/mountinfo", "cgroup", "memory", mount, sizeof(mount)) < 0 &&
	    skm_probe_cgroup2_mount(NULL, mount, sizeof(mount), &err) < 0) {
		print_message("no cgroup here: not opened\n");
		return;
	}
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	if (skm_probe_process_open(child, &fds, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(stat("/proc/self/ns/net", &ours), 0);
	assert_int_equal(fstat(fds.netns, &opened), 0);
	assert_int_equal(opened.st_ino, ours.st_ino);
	assert_int_equal(skm_probe_fd_path(fds.cgroup, path, sizeof(path)), 0);
	assert_memory_equal(path, mount, strlen(mount));
	assert_int_equal(faccessat(fds.cgroup, "cgroup.procs", F_OK, 0), 0);
	poll_fd.fd = fds.pidfd;
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	kill(child, SIGKILL);
	assert_int_equal(poll(&poll_fd, 1, 5000), 1);
	waitpid(child, NULL, 0);
	close(fds.pidfd);
	close(fds.cgroup);
	close(fds.netns);
}

static void test_fd_path(void **state)
{
	cleanup_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char path[32] = "untouched";

	(void)state;
	assert_int_equal(skm_probe_fd_path(fd, path, 5), -ENAMETOOLONG);
	assert_int_equal(skm_probe_fd_path(fd, path, 9), -ENAMETOOLONG); /* no room for its NUL */
	assert_int_equal(skm_probe_fd_path(fd, path, sizeof(path)), 0);
	assert_string_equal(path, "/dev/null");
	assert_int_equal(skm_probe_fd_path(12345, path, sizeof(path)), -ENOENT);
}

static void test_boot_id(void **state)
{
	char first[40], second[40];

	(void)state;
	assert_int_equal(skm_probe_boot_id(first), 0);
	assert_int_equal(skm_probe_boot_id(second), 0);
	assert_string_equal(first, second);
	assert_int_equal(strspn(first, "0123456789abcdef-"), 36);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_cgroup2_mount),
	        cmocka_unit_test(test_cgroup2_mount_missing_or_cut),
	        cmocka_unit_test(test_cgroup_line),
	        cmocka_unit_test(test_memory_line_of_v1),
	        cmocka_unit_test(test_cgroup_line_refused),
	        cmocka_unit_test(test_process_refused),
	        cmocka_unit_test(test_process_open),
	        cmocka_unit_test(test_fd_path),
	        cmocka_unit_test(test_boot_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
