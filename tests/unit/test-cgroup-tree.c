/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of plain files in a mount of its own stands for cgroup v2. Exits 77 where no mount and no namespace may be made. */
#include "skm-test.h"
#include "skm-netns.h"

#include "base/cleanup.h"
#include "probe/cgroup_tree.h"
#include "probe/process.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

static char root[] = "/tmp/skm-tree-XXXXXX";
static pid_t here, elsewhere; /* sleep in our namespace and in one of their own */

static void put(const char *cgroup, const char *file, const char *text)
{
	char path[256];
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s/%s", root, cgroup, file);
	stream = fopen(path, "w");
	assert_non_null(stream);
	assert_true(fputs(text, stream) >= 0);
	assert_int_equal(fclose(stream), 0);
}

static void put_process(const char *cgroup, pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d\n", pid);
	put(cgroup, "cgroup.procs", text);
}

static int open_cgroup(const char *cgroup)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, cgroup);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* A cgroup whose parent delegates the memory controller, or not. */
static void make(const char *cgroup, bool memory)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, cgroup);
	assert_int_equal(mkdir(path, 0700), 0);
	put(cgroup, "cgroup.procs", "");
	put(cgroup, "cgroup.events", "populated 1\nfrozen 0\n");
	put(cgroup, "cgroup.type", "domain\n");
	put(cgroup, "cgroup.controllers", memory ? "cpuset cpu io memory pids\n" : "cpu memory_x\n");
	if (!memory)
		return;
	put(cgroup, "memory.current", "0\n");
	put(cgroup, "memory.low", "0\n");
}

static int set_up(void **state)
{
	(void)state;
	if (mount("none", root, "tmpfs", 0, "mode=0700") < 0)
		return -1;
	put(".", "cgroup.procs", "");
	put(".", "cgroup.controllers", "cpu memory\n");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return umount2(root, MNT_DETACH);
}

/* The path below the root of what was found, or the refusal's text. */
static const char *governed(const char *cgroup, bool pod, char *ret)
{
	cleanup_fd int from = open_cgroup(cgroup), found = -1;
	struct skm_err err = SKM_ERR_INIT;

	found = skm_probe_cgroup_governed(from, "web", pod, &err);
	if (found < 0) {
		assert_int_equal(found, -err.code);
		snprintf(ret, PATH_MAX, "%d: %s", err.code, err.text);
		return ret;
	}
	assert_int_equal(skm_probe_fd_path(found, ret, PATH_MAX), 0);
	memmove(ret, ret + strlen(root) + 1, strlen(ret + strlen(root)));
	return ret;
}

static void test_own_or_scope(void **state)
{
	char path[PATH_MAX];

	(void)state;
	make("a", true);
	make("a/web", true);
	make("m.slice", true);
	make("m.slice/web.scope", true);
	make("m.slice/web.scope/container", true);
	make("m.slice/bare.scope", true);
	make("m.slice/bare.scope/container", false);
	assert_string_equal(governed("a/web", false, path), "a/web");
	assert_string_equal(governed("m.slice/web.scope", false, path), "m.slice/web.scope");
	/* the innermost that has the controller */
	assert_string_equal(governed("m.slice/web.scope/container", false, path), "m.slice/web.scope/container");
	assert_string_equal(governed("m.slice/bare.scope/container", false, path), "m.slice/bare.scope");
	/* a session's scope is not one container's */
	make("m.slice/bare.scope/other", false);
	assert_contains(governed("m.slice/bare.scope/container", false, path), "no memory controller");
}

static void test_refusals_name_the_cgroup_and_the_fault(void **state)
{
	char text[PATH_MAX], path[256];

	(void)state;
	make("top", true);
	make("top/mid", false);
	make("top/mid/web", false);
	governed("top/mid/web", false, text);
	assert_int_equal(atoi(text), EOPNOTSUPP);
	assert_contains(text, "/top/mid/web has no memory controller");
	assert_contains(text, "/top does not delegate it");
	put("top/mid/web", "cgroup.type", "threaded\n");
	assert_contains(governed("top/mid/web", false, text), "/top/mid/web is threaded");
	snprintf(path, sizeof(path), "%s/top/mid/web/cgroup.procs", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(atoi(governed("top/mid/web", false, text)), ENODEV);
}

static void test_pod(void **state)
{
	char path[PATH_MAX];

	(void)state;
	make("pods", true);
	make("pods/p1", true);
	make("pods/p1/web", true);
	make("pods/p1/web.scope", true);
	make("pods/p1/web.scope/container", false);
	make("bare", true);
	make("blind", false);
	make("blind/p2", false);
	make("blind/p2/web", false);
	assert_string_equal(governed("pods/p1/web", true, path), "pods/p1");
	assert_string_equal(governed("pods/p1/web.scope", true, path), "pods/p1");
	assert_string_equal(governed("pods/p1/web.scope/container", true, path), "pods/p1"); /* not the scope */
	assert_contains(governed("bare", true, path), "/bare is the root");
	assert_contains(governed("blind/p2/web", true, path), "scope pod: cgroup");
	assert_contains(path, "/blind/p2 has no memory controller");
}

static uint64_t netns_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static int judge_pod(const char *cgroup, uint64_t netns, uint64_t host, struct skm_err *err)
{
	cleanup_fd int fd = open_cgroup(cgroup);

	return skm_probe_cgroup_is_pod(fd, netns, host, err);
}

static void test_is_pod(void **state)
{
	uint64_t ours = netns_of(getpid()), others = netns_of(elsewhere);
	struct skm_err err = SKM_ERR_INIT;

	(void)state;
	make("pods", true);
	make("pods/p1", true);
	make("pods/p1/web", true);
	make("pods/p1/monitor", true);
	put_process("pods/p1/web", elsewhere);
	put_process("pods/p1/monitor", here);
	assert_int_equal(judge_pod("pods/p1", others, ours, &err), 0); /* the monitor is in the host's */
	assert_int_equal(judge_pod("pods/p1", others, 1, &err), -EOPNOTSUPP);
	assert_contains(err.text, "/pods/p1 is no pod");
	assert_contains(err.text, "/monitor is in another");
	/* in the host's, whoever is elsewhere is a stranger */
	assert_int_equal(judge_pod("pods/p1", ours, ours, &err), -EOPNOTSUPP);
	assert_contains(err.text, "/web is in another");
	put_process("pods/p1/web", here);
	assert_int_equal(judge_pod("pods/p1", ours, ours, &err), 0);
	assert_int_equal(judge_pod("pods", ours, ours, &err), -EOPNOTSUPP);
	assert_contains(err.text, "at the top");
}

struct trace {
	char text[256];
	int stop_after;
};

static int note_cgroup(int fd, void *data)
{
	struct trace *trace = data;
	char path[PATH_MAX];

	assert_int_equal(skm_probe_fd_path(fd, path, sizeof(path)), 0);
	strcat(trace->text, strrchr(path, '/'));
	return --trace->stop_after == 0 ? 7 : 0;
}

static void test_walk(void **state)
{
	cleanup_fd int fd = -1;
	struct trace trace = {.stop_after = 2};

	(void)state;
	make("a", true);
	make("a/b", true);
	make("a/b/c", true);
	make("other", true);
	fd = open_cgroup("a");
	assert_int_equal(skm_probe_cgroup_walk(fd, note_cgroup, &trace), 7);
	assert_string_equal(trace.text, "/a/b");
	trace = (struct trace){.stop_after = 9};
	assert_int_equal(skm_probe_cgroup_walk(fd, note_cgroup, &trace), 0);
	assert_string_equal(trace.text, "/a/b/c");
}

static int add_pid(pid_t pid, void *data)
{
	*(pid_t *)data += pid;
	return 0;
}

static void test_processes(void **state)
{
	cleanup_fd int fd = -1;
	pid_t sum = 0;

	(void)state;
	make("a", true);
	fd = open_cgroup("a");
	put("a", "cgroup.procs", "100\n0\n20\n3\n"); /* 0: not in our pid namespace */
	assert_int_equal(skm_probe_cgroup_processes(fd, add_pid, &sum), 0);
	assert_int_equal(sum, 123);
}

static void test_find_process(void **state)
{
	uint64_t ours = netns_of(getpid()), others = netns_of(elsewhere);
	cleanup_fd int fd = -1;
	char text[64];

	(void)state;
	make("a", true);
	make("a/b", true);
	fd = open_cgroup("a");
	assert_int_equal(skm_probe_cgroup_find_process(fd, here, ours), 0);
	snprintf(text, sizeof(text), "%d\n%d\n", getpid(), elsewhere);
	put("a", "cgroup.procs", text);
	put_process("a/b", here);
	assert_int_equal(skm_probe_cgroup_find_process(fd, here, ours),
	                 here); /* the one that is asked for, though it comes late */
	assert_int_equal(skm_probe_cgroup_find_process(fd, 1, ours), getpid());
	assert_int_equal(skm_probe_cgroup_find_process(fd, here, others), elsewhere);
	assert_int_equal(skm_probe_cgroup_find_process(fd, here, 5), 0);
}

static void test_populated(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int fd = -1;

	(void)state;
	make("a", true);
	fd = open_cgroup("a");
	assert_int_equal(skm_probe_cgroup_populated(fd, &err), 1);
	put("a", "cgroup.events", "populated 0\nfrozen 0\n");
	assert_int_equal(skm_probe_cgroup_populated(fd, &err), 0);
	put("a", "cgroup.events", "frozen 0\n");
	assert_int_equal(skm_probe_cgroup_populated(fd, &err), -EINVAL);
	assert_int_equal(unlinkat(fd, "cgroup.events", 0), 0);
	assert_int_equal(unlinkat(fd, "cgroup.procs", 0), 0);
	assert_int_equal(skm_probe_cgroup_populated(fd, &err), -ENODEV);
}

static pid_t start_sleeper(bool own_netns)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready) < 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		if (own_netns && unshare(CLONE_NEWNET) < 0)
			_exit(1);
		close(ready[0]);
		close(ready[1]);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) < 0) /* its end is closed: it is where it belongs */
		exit(1);
	close(ready[0]);
	return pid;
}

#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        IN_TREE(test_own_or_scope), IN_TREE(test_refusals_name_the_cgroup_and_the_fault),
	        IN_TREE(test_pod),          IN_TREE(test_is_pod),
	        IN_TREE(test_walk),         IN_TREE(test_processes),
	        IN_TREE(test_find_process), IN_TREE(test_populated),
	};
	int failed;

	if (!skm_test_may_netns() || unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		fprintf(stderr, "skipped: no right to mount or to make a network namespace\n");
		return 77;
	}
	if (!mkdtemp(root))
		return 1;
	here = start_sleeper(false);
	elsewhere = start_sleeper(true);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	kill(here, SIGKILL);
	kill(elsewhere, SIGKILL);
	rmdir(root);
	return failed;
}
