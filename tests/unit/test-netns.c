/* SPDX-License-Identifier: Apache-2.0 */
#include "skm-test.h"
#include "skm-netns.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "probe/netns.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>

static void test_sockstat(void **state)
{
	static const char FOUR[] = "sockets: used 180\nTCP: inuse 51 orphan 0 tw 3 alloc 60 mem 27000\nUDP: inuse 2 mem 0\n";
	static const char SIX[] = "TCP6: inuse 4\nUDP6: inuse 1\nUDPLITE6: inuse 0\n";
	uint32_t count = 0;

	(void)state;
	assert_int_equal(skm_probe_sockstat_in_use(FOUR, "TCP", &count), 0);
	assert_int_equal(count, 51);
	assert_int_equal(skm_probe_sockstat_in_use(SIX, "TCP6", &count), 0);
	assert_int_equal(count, 4);
	count = 99;
	assert_int_equal(skm_probe_sockstat_in_use(SIX, "TCP", &count), -ENOENT);
	assert_int_equal(skm_probe_sockstat_in_use(FOUR, "TCP6", &count), -ENOENT);
	assert_int_equal(skm_probe_sockstat_in_use("", "TCP", &count), -ENOENT);
	assert_int_equal(count, 99);
}

static void test_sockstat_cut_anywhere(void **state)
{
	static const char TEXT[] = "sockets: used 180\nTCP: inuse 512 orphan 0 tw 3\n";
	char cut[sizeof(TEXT)];

	(void)state;
	for (size_t length = 0; length < sizeof(TEXT); length++) {
		uint32_t count = 0;
		int r;

		memcpy(cut, TEXT, length);
		cut[length] = '\0';
		r = skm_probe_sockstat_in_use(cut, "TCP", &count);
		assert_int_equal(count, r == 0 ? 512 : 0);
		assert_true(r == 0 || r == -ENOENT || r == -EINVAL);
	}
}

static void test_sockstat_garbage(void **state)
{
	static const char *const BAD[] = {"TCP: inuse -1\n", "TCP: inuse x\n",          "TCP: used 3\n",  "TCP:\n",
	                                  "TCP: inuse \n",   "TCP: inuse 4294967296\n", "TCP: inuse 1x\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		uint32_t count = 77;

		if (skm_probe_sockstat_in_use(BAD[i], "TCP", &count) != -EINVAL)
			fail_msg("\"%s\" was taken", BAD[i]);
		assert_int_equal(count, 77);
	}
}

static void test_triple(void **state)
{
	static const char *const BAD[] = {"",       "1",      "1 2",     "1 2 3 4", "1 2 -3", "a b c",
	                                  "1 2 3x", " 1 2 3", "1\n2\n3", "1 2 ",    "1  ",    "1 2 18446744073709551616"};
	uint64_t triple[3] = {0};

	(void)state;
	assert_int_equal(skm_probe_triple("4096\t131072\t6291456", triple), 0);
	assert_true(triple[0] == 4096 && triple[1] == 131072 && triple[2] == 6291456);
	assert_int_equal(skm_probe_triple("1 \t 2  3\n", triple), 0);
	assert_true(triple[0] == 1 && triple[1] == 2 && triple[2] == 3);
	for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
		if (skm_probe_triple(BAD[i], triple) != -EINVAL)
			fail_msg("\"%s\" was taken", BAD[i]);
		assert_true(triple[0] == 1 && triple[1] == 2 && triple[2] == 3);
	}
}

/* A file in the place of a sysctl. */
static int read_as(const char *text, enum skm_netns_key key, char ret[SKM_NETNS_TEXT_MAX], struct skm_err *err)
{
	struct skm_netns netns = SKM_NETNS_INIT;
	char path[] = "/tmp/skm-sysctl-XXXXXX";
	cleanup_fd int fd = mkstemp(path);

	unlink(path);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	netns.sysctl[key] = fd;
	return skm_probe_netns_read(&netns, key, ret, err);
}

static void test_read_garbage(void **state)
{
	struct skm_err err = SKM_ERR_INIT;
	char text[SKM_NETNS_TEXT_MAX] = "untouched", huge[200];

	(void)state;
	memset(huge, '1', sizeof(huge));
	huge[sizeof(huge) - 1] = '\0';
	assert_int_equal(read_as("4096\t131072\n", SKM_NETNS_TCP_RMEM, text, &err), -EINVAL);
	assert_contains(err.text, "tcp_rmem");
	assert_int_equal(read_as("4096\t131072\t1\n", SKM_NETNS_NOTSENT_LOWAT, text, &err), -EINVAL);
	assert_int_equal(read_as("", SKM_NETNS_TCP_WMEM, text, &err), -EINVAL);
	assert_int_equal(read_as("-1\n", SKM_NETNS_NOTSENT_LOWAT, text, &err), -EINVAL);
	assert_int_equal(read_as(huge, SKM_NETNS_TCP_WMEM, text, &err), -EFBIG);
	assert_string_equal(text, "untouched");
	assert_int_equal(read_as("4294967295\n", SKM_NETNS_NOTSENT_LOWAT, text, &err), 0);
	assert_string_equal(text, "4294967295");
}

/* Sockets in use in our own namespace, as any program reads them. */
static uint32_t count_ours(void)
{
	char text[1024];
	uint32_t four = 0, six = 0;

	assert_true(skm_read_text_at(AT_FDCWD, "/proc/self/net/sockstat", text, sizeof(text)) > 0);
	assert_int_equal(skm_probe_sockstat_in_use(text, "TCP", &four), 0);
	if (skm_read_text_at(AT_FDCWD, "/proc/self/net/sockstat6", text, sizeof(text)) > 0)
		assert_int_equal(skm_probe_sockstat_in_use(text, "TCP6", &six), 0);
	return four + six;
}

static bool listen_times(int family, int times)
{
	for (int i = 0; i < times; i++)
		if (listen(socket(family, SOCK_STREAM, 0), 1) != 0)
			return false;
	return true;
}

/* A child that lives in a namespace of its own, with listeners there, until its pipe is closed. */
static pid_t start_resident(int listeners4, int listeners6, int *ret_netns, int *ret_pipe)
{
	int ready[2], leave[2];
	char path[64], byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(leave, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		close(leave[1]);
		if (unshare(CLONE_NEWNET) != 0 || !listen_times(AF_INET, listeners4) || !listen_times(AF_INET6, listeners6) ||
		    write(ready[1], "x", 1) != 1)
			_exit(1);
		_exit(read(leave[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(ready[1]);
	close(leave[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	*ret_netns = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_not_equal(*ret_netns, -1);
	*ret_pipe = leave[1];
	return pid;
}

static void read_ours(char *text, size_t size)
{
	assert_true(skm_read_text_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_rmem", text, size) > 0);
}

static void test_another_namespace(void **state)
{
	struct skm_netns netns = SKM_NETNS_INIT;
	struct skm_err err = SKM_ERR_INIT;
	char text[SKM_NETNS_TEXT_MAX], before[256], after[256];
	int netns_fd, leave, listeners;
	struct stat ours, theirs;
	uint32_t in_use = 0;
	pid_t resident;

	(void)state;
	if (!skm_test_may_netns()) {
		if (getenv("CI"))
			fail_msg("no right to make a network namespace, in CI");
		print_message("no right to make a network namespace: only the parsers were tested\n");
		return;
	}
	/* more than there are here, so that the two cannot be taken for each other */
	listeners = (int)count_ours() + 20;
	resident = start_resident(listeners, 3, &netns_fd, &leave);
	read_ours(before, sizeof(before));
	assert_int_equal(stat("/proc/self/ns/net", &ours), 0);
	if (skm_probe_netns_open(netns_fd, true, &netns, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(fstat(netns_fd, &theirs), 0);
	assert_int_equal(netns.inode, theirs.st_ino);
	assert_int_equal(netns.read_only[SKM_NETNS_TCP_RMEM], 0);
	assert_int_not_equal(netns.inode, ours.st_ino);

	assert_int_equal(skm_probe_netns_tcp_in_use(&netns, &in_use, &err), 0);
	assert_int_equal(in_use, listeners + 3);
	assert_int_equal(skm_pwrite_text(netns.sysctl[SKM_NETNS_TCP_RMEM], "4097 32769 131073"), 0);
	assert_int_equal(skm_probe_netns_read(&netns, SKM_NETNS_TCP_RMEM, text, &err), 0);
	assert_string_equal(text, "4097\t32769\t131073");
	assert_int_equal(skm_probe_netns_read(&netns, SKM_NETNS_NOTSENT_LOWAT, text, &err), 0);
	assert_string_equal(text, "4294967295");
	read_ours(after, sizeof(after));
	assert_string_equal(after, before);

	/* we are still where we were, and a namespace that has ended is told from a value */
	assert_int_equal(stat("/proc/thread-self/ns/net", &theirs), 0);
	assert_int_equal(theirs.st_ino, ours.st_ino);
	skm_probe_netns_close(&netns);
	assert_int_equal(netns.sockstat, -1);
	assert_int_equal(skm_probe_netns_open(netns_fd, false, &netns, &err), 0);
	assert_int_equal(skm_pwrite_text(netns.sysctl[SKM_NETNS_TCP_RMEM], "1 2 3"), -EBADF);
	skm_probe_netns_close(&netns);
	close(leave);
	close(netns_fd);
	assert_int_equal(waitpid(resident, NULL, 0), resident);
}

static void test_no_namespace(void **state)
{
	struct skm_netns netns = SKM_NETNS_INIT;
	struct skm_err err = SKM_ERR_INIT;
	cleanup_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC), again;

	(void)state;
	assert_true(skm_probe_netns_open(null, true, &netns, &err) < 0);
	assert_contains(err.text, "namespace");
	assert_int_equal(skm_probe_netns_open(-1, true, &netns, &err), -EBADF);
	assert_int_equal(netns.sockstat, -1);
	close(next);
	again = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(again, next); /* nothing was left open */
	close(again);
}

/* In a container of its own the enforcer may find /proc/sys read-only: then the values can still be read. The last test: it
 * leaves the process in namespaces of its own. */
static void test_sysctls_that_must_not_be_written(void **state)
{
	struct skm_netns netns = SKM_NETNS_INIT;
	struct skm_err err = SKM_ERR_INIT;
	char text[SKM_NETNS_TEXT_MAX];
	cleanup_fd int netns_fd = -1;

	(void)state;
	if (unshare(CLONE_NEWNS | CLONE_NEWNET) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("/proc/sys", "/proc/sys", NULL, MS_BIND, NULL) != 0) {
		print_message("no right to mount: not tested\n");
		return;
	}
	assert_int_equal(mount(NULL, "/proc/sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), 0);
	netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (skm_probe_netns_open(netns_fd, true, &netns, &err) != 0)
		fail_msg("%s", err.text);
	for (int key = 0; key < SKM_NETNS_KEYS; key++) {
		assert_int_equal(netns.read_only[key], EROFS);
		assert_int_equal(skm_probe_netns_read(&netns, (enum skm_netns_key)key, text, &err), 0);
	}
	skm_probe_netns_close(&netns);
	assert_int_equal(skm_probe_netns_open(netns_fd, false, &netns, &err), 0);
	assert_int_equal(netns.read_only[SKM_NETNS_TCP_RMEM], 0); /* nobody asked */
	skm_probe_netns_close(&netns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_sockstat),         cmocka_unit_test(test_sockstat_cut_anywhere),
	        cmocka_unit_test(test_sockstat_garbage), cmocka_unit_test(test_triple),
	        cmocka_unit_test(test_read_garbage),     cmocka_unit_test(test_another_namespace),
	        cmocka_unit_test(test_no_namespace),     cmocka_unit_test(test_sysctls_that_must_not_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
