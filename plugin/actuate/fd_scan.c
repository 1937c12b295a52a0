/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/fd_scan.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Tenants make cgroups of their own; deeper than this nobody has seen one, and recursion has to end. */
#define DEPTH_MAX 32

struct scan {
	struct skm_held_socket *sockets;
	size_t count, found;
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

static void scan_process(struct scan *scan, pid_t pid)
{
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
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
		held->fd = atoi(entry->d_name);
		scan->found++;
	}
}

static FILE *open_procs(int cgroup)
{
	int fd = openat(cgroup, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file)
		skm_cleanup_fd(&fd);
	return file;
}

static void scan_cgroup(struct scan *scan, int cgroup, int depth);

static void scan_children(struct scan *scan, int cgroup, int depth)
{
	int list = openat(cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = list < 0 ? NULL : fdopendir(list);
	const struct dirent *entry;

	if (!dir) {
		skm_cleanup_fd(&list);
		return;
	}
	while (!is_done(scan) && (entry = readdir(dir))) {
		cleanup_fd int child = -1;

		if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		child = openat(cgroup, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (child >= 0)
			scan_cgroup(scan, child, depth + 1);
	}
}

static void scan_cgroup(struct scan *scan, int cgroup, int depth)
{
	cleanup_file FILE *procs = open_procs(cgroup);
	pid_t pid;

	while (procs && !is_done(scan) && fscanf(procs, "%d", &pid) == 1)
		if (pid > 0) /* 0: a process outside our pid namespace */
			scan_process(scan, pid);
	if (depth < DEPTH_MAX)
		scan_children(scan, cgroup, depth);
}

size_t skm_actuate_fd_scan(int cgroup_fd, struct skm_held_socket *sockets, size_t count)
{
	struct scan scan = {.sockets = sockets, .count = count};

	for (size_t i = 0; i < count; i++)
		sockets[i].pid = 0;
	if (count > 0)
		scan_cgroup(&scan, cgroup_fd, 0);
	return scan.found;
}
