/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/process.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "probe/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>

/* mount, line: PATH_MAX each */
static int find_cgroup(const char *text, char *mount, char *line, struct skm_err *err)
{
	int r = skm_probe_cgroup1_memory_line(text, line, PATH_MAX, err);

	if (r == -ENOENT) {
		r = skm_probe_cgroup2_mount(NULL, mount, PATH_MAX, err);
		return r == 0 ? skm_probe_cgroup_line(text, line, PATH_MAX, err) : r;
	}
	if (r < 0)
		return r;
	r = skm_probe_mount_find_with("/proc/self/mountinfo", "cgroup", "memory", mount, PATH_MAX);
	return r < 0 ? skm_err_set_errno(err, -r, "look for the mount of cgroup v1's memory controller") : 0;
}

static int open_cgroup(int proc_fd, struct skm_err *err)
{
	cleanup_free char *text = malloc(SKM_PROC_CGROUP_MAX);
	char mount[PATH_MAX], line[PATH_MAX], path[2 * PATH_MAX];
	ssize_t length;
	int r, fd;

	if (!text)
		return skm_err_set_errno(err, ENOMEM, "read the cgroup");
	length = skm_read_text_at(proc_fd, "cgroup", text, SKM_PROC_CGROUP_MAX);
	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read the cgroup");
	r = find_cgroup(text, mount, line, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s%s", mount, line);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? skm_err_set_errno(err, errno, "open cgroup %s", path) : fd;
}

/* A pidfd becomes readable when its process has ended, before the pid can be another's. */
static bool has_ended(int pidfd)
{
	struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) != 0;
}

/* ret_cgroup: NULL where it is not asked for. */
static int open_below_proc(pid_t pid, int *ret_cgroup, int *ret_netns, struct skm_err *err)
{
	cleanup_fd int proc_fd = -1, cgroup = -1, netns = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0)
		return skm_err_set_errno(err, errno, "open %s", path);
	netns = openat(proc_fd, "ns/net", O_RDONLY | O_CLOEXEC);
	if (netns < 0)
		return skm_err_set_errno(err, errno, "open its network namespace");
	if (ret_cgroup) {
		cgroup = open_cgroup(proc_fd, err);
		if (cgroup < 0)
			return cgroup;
		*ret_cgroup = skm_steal_fd(&cgroup);
	}
	*ret_netns = skm_steal_fd(&netns);
	return 0;
}

static int open_process(pid_t pid, bool with_cgroup, struct skm_process_fds *ret, struct skm_err *err)
{
	cleanup_fd int pidfd = -1, cgroup = -1, netns = -1;
	int r;

	if (pid <= 1)
		return skm_err_set(err, EINVAL, "pid %d is not a container's", pid);
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0)
		return skm_err_set_errno(err, errno, "process %d", pid);
	r = open_below_proc(pid, with_cgroup ? &cgroup : NULL, &netns, err);
	if (has_ended(pidfd))
		return skm_err_set(err, ESRCH, "process %d has ended", pid);
	if (r < 0)
		return skm_err_wrap(err, "process %d", pid);
	ret->pidfd = skm_steal_fd(&pidfd);
	ret->cgroup = skm_steal_fd(&cgroup);
	ret->netns = skm_steal_fd(&netns);
	return 0;
}

int skm_probe_process_open(pid_t pid, struct skm_process_fds *ret, struct skm_err *err)
{
	return open_process(pid, true, ret, err);
}

int skm_probe_process_open_netns(pid_t pid, struct skm_process_fds *ret, struct skm_err *err)
{
	return open_process(pid, false, ret, err);
}

int skm_probe_fd_path(int fd, char *ret, size_t size)
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, ret, size);
	if (length < 0)
		return -errno;
	if ((size_t)length >= size)
		return -ENAMETOOLONG;
	ret[length] = '\0';
	return 0;
}

int skm_probe_boot_id(char ret[40])
{
	char text[64];
	ssize_t length = skm_read_text_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text));

	if (length < 0)
		return (int)length;
	text[strcspn(text, "\n")] = '\0';
	if (strlen(text) != 36)
		return -EINVAL;
	strcpy(ret, text);
	return 0;
}
