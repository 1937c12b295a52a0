/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/fd_scan.h"

#include "base/cleanup.h"
#include "probe/cgroup_tree.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct scan {
	struct skm_held_socket *sockets;
	size_t count, found;
	bool threads; /* the second round */
};

static bool is_done(const struct scan *scan)
{
	return scan->found == scan->count;
}

static int by_inode(const void *key, const void *element)
{
	uint32_t inode = *(const uint32_t *)key, other = ((const struct skm_held_socket *)element)->inode;

	return (inode > other) - (inode < other);
}

/* The inode of a link "socket:[123]", 0 for all else. */
static uint32_t socket_inode(int dir, const char *name)
{
	static const char START[] = "socket:[";
	char link[64];
	ssize_t length = readlinkat(dir, name, link, sizeof(link) - 1);

	if (length < (ssize_t)sizeof(START) || memcmp(link, START, sizeof(START) - 1) != 0)
		return 0;
	link[length] = '\0';
	return (uint32_t)strtoul(link + sizeof(START) - 1, NULL, 10);
}

/* path: a folder of descriptors, those of pid. */
static void scan_folder(struct scan *scan, const char *path, pid_t pid)
{
	cleanup_dir DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return; /* it has ended */
	while (!is_done(scan) && (entry = readdir(dir))) {
		uint32_t inode = socket_inode(dirfd(dir), entry->d_name);
		struct skm_held_socket *held = NULL;

		if (inode != 0)
			held = bsearch(&inode, scan->sockets, scan->count, sizeof(*held), by_inode);
		if (!held || held->pid != 0)
			continue;
		held->pid = pid;
		held->thread = scan->threads;
		held->fd = atoi(entry->d_name);
		scan->found++;
	}
}

static void scan_process(struct scan *scan, pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	scan_folder(scan, path, pid);
}

/* Whether a thread shares its process's descriptors. Where the kernel cannot compare them (no CONFIG_KCMP) it is taken not to:
 * the folder is then read in vain. */
static bool shares_descriptors(pid_t pid, pid_t thread)
{
	return thread == pid || syscall(SYS_kcmp, pid, thread, KCMP_FILES, 0, 0) == 0;
}

static void scan_threads(struct scan *scan, pid_t pid)
{
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !is_done(scan) && (entry = readdir(dir))) {
		pid_t thread = atoi(entry->d_name);

		if (thread <= 0 || shares_descriptors(pid, thread))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/fd", pid, thread);
		scan_folder(scan, path, thread);
	}
}

static int visit_process(pid_t pid, void *data)
{
	struct scan *scan = data;

	if (scan->threads)
		scan_threads(scan, pid);
	else
		scan_process(scan, pid);
	return is_done(scan);
}

static int visit_cgroup(int cgroup_fd, void *data)
{
	return skm_probe_cgroup_processes(cgroup_fd, visit_process, data);
}

size_t skm_actuate_fd_scan(int cgroup_fd, struct skm_held_socket *sockets, size_t count)
{
	struct scan scan = {.sockets = sockets, .count = count};

	for (size_t i = 0; i < count; i++)
		sockets[i].pid = 0;
	for (int round = 0; round < 2 && !is_done(&scan); round++) {
		scan.threads = round == 1;
		skm_probe_cgroup_walk(cgroup_fd, visit_cgroup, &scan);
	}
	return scan.found;
}
