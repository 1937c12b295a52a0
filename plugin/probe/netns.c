/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/netns.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "base/thread.h"
#include "probe/line.h"
#include "probe/number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>

static const char *const SYSCTL_PATHS[SKM_NETNS_KEYS] = {
        [SKM_NETNS_TCP_RMEM] = "/proc/sys/net/ipv4/tcp_rmem",
        [SKM_NETNS_TCP_WMEM] = "/proc/sys/net/ipv4/tcp_wmem",
        [SKM_NETNS_NOTSENT_LOWAT] = "/proc/sys/net/ipv4/tcp_notsent_lowat",
};

struct visit {
	int netns_fd;
	bool write;
	struct skm_netns netns;
	struct skm_err *err;
	int result;
};

static int open_sysctl(struct visit *visit, int key)
{
	int fd = -1;

	if (visit->write) {
		fd = open(SYSCTL_PATHS[key], O_RDWR | O_CLOEXEC);
		if (fd >= 0 || (errno != EACCES && errno != EPERM && errno != EROFS))
			return fd;
		visit->netns.read_only[key] = errno;
	}
	return open(SYSCTL_PATHS[key], O_RDONLY | O_CLOEXEC);
}

static int open_sysctls(struct visit *visit)
{
	for (int key = 0; key < SKM_NETNS_KEYS; key++) {
		visit->netns.sysctl[key] = open_sysctl(visit, key);
		if (visit->netns.sysctl[key] < 0)
			return skm_err_set_errno(visit->err, errno, "open %s in the container's network namespace",
			                         SYSCTL_PATHS[key]);
	}
	return 0;
}

static int open_sockstats(struct visit *visit)
{
	/* thread-self: /proc/net is /proc/self/net, and self is the process, which never enters */
	visit->netns.sockstat = open("/proc/thread-self/net/sockstat", O_RDONLY | O_CLOEXEC);
	if (visit->netns.sockstat < 0)
		return skm_err_set_errno(visit->err, errno, "open sockstat in the container's network namespace");
	visit->netns.sockstat6 = open("/proc/thread-self/net/sockstat6", O_RDONLY | O_CLOEXEC);
	if (visit->netns.sockstat6 < 0 && errno != ENOENT)
		return skm_err_set_errno(visit->err, errno, "open sockstat6 in the container's network namespace");
	/* without these less is shown, and nothing is held less */
	visit->netns.snmp = open("/proc/thread-self/net/snmp", O_RDONLY | O_CLOEXEC);
	visit->netns.snmp6 = open("/proc/thread-self/net/snmp6", O_RDONLY | O_CLOEXEC);
	return 0;
}

static void *visit_netns(void *data)
{
	struct visit *visit = data;

	if (setns(visit->netns_fd, CLONE_NEWNET) < 0) {
		visit->result = skm_err_set_errno(visit->err, errno, "enter the container's network namespace");
		return NULL;
	}
	visit->result = open_sysctls(visit);
	if (visit->result == 0)
		visit->result = open_sockstats(visit);
	return NULL;
}

static int run_visit(struct visit *visit)
{
	int r = skm_thread_run(visit_netns, visit);

	return r < 0 ? skm_err_set_errno(visit->err, -r, "start a thread for the network namespace") : visit->result;
}

int skm_probe_netns_open(int netns_fd, bool write, struct skm_netns *ret, struct skm_err *err)
{
	struct visit visit = {.netns_fd = netns_fd, .write = write, .netns = SKM_NETNS_INIT, .err = err};
	struct stat stat;
	int r;

	if (fstat(netns_fd, &stat) < 0)
		return skm_err_set_errno(err, errno, "look at the network namespace");
	visit.netns.inode = stat.st_ino;
	r = run_visit(&visit);
	if (r < 0) {
		skm_probe_netns_close(&visit.netns);
		return r;
	}
	*ret = visit.netns;
	return 0;
}

void skm_probe_netns_close(struct skm_netns *netns)
{
	for (int key = 0; key < SKM_NETNS_KEYS; key++)
		skm_close_fd(&netns->sysctl[key]);
	skm_close_fd(&netns->sockstat);
	skm_close_fd(&netns->sockstat6);
	skm_close_fd(&netns->snmp);
	skm_close_fd(&netns->snmp6);
}

int skm_probe_sockstat_in_use(const char *text, const char *proto, uint32_t *ret)
{
	static const char KEY[] = " inuse ";
	const char *at = skm_probe_find_line(text, proto, ":");
	uint64_t number;

	if (!at)
		return -ENOENT;
	if (strncmp(at, KEY, sizeof(KEY) - 1) != 0)
		return -EINVAL;
	at += sizeof(KEY) - 1;
	/* a cut line ends in a digit: only what follows proves that the number is whole */
	if (!skm_probe_digits(&at, &number) || (*at != ' ' && *at != '\n') || number > UINT32_MAX)
		return -EINVAL;
	*ret = (uint32_t)number;
	return 0;
}

static int read_in_use(int fd, const char *proto, uint32_t *ret, struct skm_err *err)
{
	char text[1024];
	ssize_t length = skm_pread_text(fd, text, sizeof(text));
	int r;

	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read sockstat");
	r = skm_probe_sockstat_in_use(text, proto, ret);
	return r < 0 ? skm_err_set(err, EINVAL, "sockstat has no good line \"%s: inuse\"", proto) : 0;
}

int skm_probe_netns_tcp_in_use(const struct skm_netns *netns, uint32_t *ret, struct skm_err *err)
{
	uint32_t four, six = 0;
	int r = read_in_use(netns->sockstat, "TCP", &four, err);

	if (r == 0 && netns->sockstat6 >= 0)
		r = read_in_use(netns->sockstat6, "TCP6", &six, err);
	if (r == 0 && __builtin_add_overflow(four, six, ret))
		r = skm_err_set(err, EINVAL, "sockstat: more than 2^32 sockets");
	return r;
}

int skm_probe_triple(const char *text, uint64_t ret[3])
{
	uint64_t numbers[3];

	for (int i = 0; i < 3; i++) {
		size_t blanks = strspn(text, " \t");

		if ((blanks == 0) != (i == 0))
			return -EINVAL;
		text += blanks;
		if (!skm_probe_digits(&text, &numbers[i]))
			return -EINVAL;
	}
	if (*text != '\0' && strcmp(text, "\n") != 0)
		return -EINVAL;
	memcpy(ret, numbers, sizeof(numbers));
	return 0;
}

static bool is_single(const char *text)
{
	uint64_t number;

	return skm_probe_digits(&text, &number) && *text == '\0';
}

int skm_probe_netns_read(const struct skm_netns *netns, enum skm_netns_key key, char ret[SKM_NETNS_TEXT_MAX], struct skm_err *err)
{
	char text[SKM_NETNS_TEXT_MAX];
	ssize_t length = skm_pread_text(netns->sysctl[key], text, sizeof(text));
	uint64_t triple[3];
	bool good;

	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read %s", SYSCTL_PATHS[key]);
	if (length > 0 && text[length - 1] == '\n')
		text[length - 1] = '\0';
	good = key == SKM_NETNS_NOTSENT_LOWAT ? is_single(text) : skm_probe_triple(text, triple) == 0;
	if (!good)
		return skm_err_set(err, EINVAL, "%s holds \"%s\"", SYSCTL_PATHS[key], text);
	strcpy(ret, text);
	return 0;
}
