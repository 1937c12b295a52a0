/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cgroup_tree.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "probe/ancestry.h"
#include "probe/memcg.h"
#include "probe/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* Where messages name a cgroup; a longer path is shown by its beginning. */
#define SHOWN "%.160s"

static int open_dir_at(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

static const char *path_of(int cgroup_fd, char path[PATH_MAX])
{
	if (skm_probe_fd_path(cgroup_fd, path, PATH_MAX) < 0)
		strcpy(path, "?");
	return path;
}

/* The cgroup above, in the same mount. Returns a descriptor; -ENOENT at the root; -errno. */
static int open_parent(int cgroup_fd)
{
	cleanup_fd int parent = open_dir_at(cgroup_fd, "..");
	struct stat ours, above;

	if (parent < 0)
		return skm_steal_fd(&parent);
	if (fstat(cgroup_fd, &ours) < 0 || fstat(parent, &above) < 0)
		return -errno;
	if (ours.st_dev != above.st_dev || ours.st_ino == above.st_ino)
		return -ENOENT;
	return skm_steal_fd(&parent);
}

static bool has_word(int cgroup_fd, const char *file, const char *word)
{
	size_t length = strlen(word);
	char text[1024];

	if (skm_read_text_at(cgroup_fd, file, text, sizeof(text)) < 0)
		return false;
	for (const char *at = text; *at; at += strcspn(at, " \n"), at += strspn(at, " \n"))
		if (strncmp(at, word, length) == 0 && strcspn(at, " \n") == length)
			return true;
	return false;
}

/* v2's root has memory.stat, but no memory.current. */
static bool has_memory(int cgroup_fd)
{
	return faccessat(cgroup_fd, "memory.current", F_OK, 0) == 0 ||
	       faccessat(cgroup_fd, "memory.usage_in_bytes", F_OK, 0) == 0;
}

/* The nearest cgroup above that has the memory controller and does not pass it on; -1: none. */
static int find_barrier(int cgroup_fd)
{
	int at = open_parent(cgroup_fd);

	while (at >= 0 && !has_word(at, "cgroup.controllers", "memory")) {
		cleanup_fd int below = at;

		at = open_parent(below);
	}
	return at < 0 ? -1 : at;
}

static int refuse_without_memory(int cgroup_fd, struct skm_err *err)
{
	cleanup_fd int barrier = -1;
	char path[PATH_MAX], above[PATH_MAX];

	path_of(cgroup_fd, path);
	if (faccessat(cgroup_fd, "cgroup.procs", F_OK, 0) < 0)
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	if (has_word(cgroup_fd, "cgroup.type", "threaded"))
		return skm_err_set(err, EOPNOTSUPP,
		                   "cgroup " SHOWN " is threaded, where the kernel has no memory controller; the container needs "
		                   "a domain cgroup",
		                   path);
	barrier = find_barrier(cgroup_fd);
	if (barrier < 0)
		return skm_err_set(err, EOPNOTSUPP, "cgroup " SHOWN " has no memory controller", path);
	return skm_err_set(err, EOPNOTSUPP,
	                   "cgroup " SHOWN " has no memory controller: " SHOWN " does not delegate it (write +memory to its "
	                   "cgroup.subtree_control; under systemd, Delegate=yes)",
	                   path, path_of(barrier, above));
}

/* The outermost cgroup that is the container's alone. */
static int open_outermost(int cgroup_fd, const char *id)
{
	char path[PATH_MAX];

	return skm_probe_is_nested(cgroup_fd, path_of(cgroup_fd, path), id) ? open_parent(cgroup_fd)
	                                                                    : open_dir_at(cgroup_fd, ".");
}

static int open_pod(int cgroup_fd, const char *id, struct skm_err *err)
{
	cleanup_fd int outermost = open_outermost(cgroup_fd, id), pod = -1, above = -1;
	char path[PATH_MAX];

	if (outermost < 0)
		return skm_err_set_errno(err, -outermost, "open the scope of cgroup " SHOWN, path_of(cgroup_fd, path));
	pod = open_parent(outermost);
	if (pod >= 0)
		above = open_parent(pod);
	if (pod == -ENOENT || above == -ENOENT)
		return skm_err_set(err, EOPNOTSUPP, "scope pod: above cgroup " SHOWN " is the root, and that is no pod's",
		                   path_of(outermost, path));
	if (pod < 0)
		return skm_err_set_errno(err, -pod, "open the cgroup above " SHOWN, path_of(outermost, path));
	if (!has_memory(pod)) {
		refuse_without_memory(pod, err);
		return skm_err_wrap(err, "scope pod");
	}
	return skm_steal_fd(&pod);
}

int skm_probe_cgroup_governed(int cgroup_fd, const char *id, bool pod, struct skm_err *err)
{
	cleanup_fd int outermost = -1;
	int fd;

	if (pod)
		return open_pod(cgroup_fd, id, err);
	if (has_memory(cgroup_fd)) {
		fd = open_dir_at(cgroup_fd, ".");
		return fd < 0 ? skm_err_set_errno(err, -fd, "open the container's cgroup") : fd;
	}
	outermost = open_outermost(cgroup_fd, id);
	if (outermost >= 0 && has_memory(outermost))
		return skm_steal_fd(&outermost);
	return refuse_without_memory(cgroup_fd, err);
}

int skm_probe_cgroup_processes(int cgroup_fd, int (*visit)(pid_t pid, void *data), void *data)
{
	int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC | O_NOFOLLOW), r = 0;
	cleanup_file FILE *procs = fd < 0 ? NULL : fdopen(fd, "r");
	pid_t pid;

	if (!procs)
		skm_cleanup_fd(&fd);
	while (r == 0 && procs && fscanf(procs, "%d", &pid) == 1)
		if (pid > 0) /* 0: outside our pid namespace */
			r = visit(pid, data);
	return r;
}

static int walk(int cgroup_fd, int depth, int (*visit)(int cgroup_fd, void *data), void *data)
{
	int list, r = visit(cgroup_fd, data);
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;

	if (r != 0 || depth == SKM_CGROUP_DEPTH_MAX)
		return r;
	list = open_dir_at(cgroup_fd, ".");
	dir = list < 0 ? NULL : fdopendir(list);
	if (!dir) {
		skm_cleanup_fd(&list);
		return 0;
	}
	while (r == 0 && (entry = readdir(dir))) {
		cleanup_fd int child = -1;

		if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN))
			continue;
		child = open_dir_at(cgroup_fd, entry->d_name);
		if (child >= 0)
			r = walk(child, depth + 1, visit, data);
	}
	return r;
}

int skm_probe_cgroup_walk(int cgroup_fd, int (*visit)(int cgroup_fd, void *data), void *data)
{
	return walk(cgroup_fd, 0, visit, data);
}

/* 0 where the process has ended. */
static uint64_t netns_of(pid_t pid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

struct stranger {
	uint64_t netns_inode, host_netns_inode;
	pid_t pid;
	char cgroup[PATH_MAX];
};

static int take_first(pid_t pid, void *data)
{
	*(pid_t *)data = pid;
	return 1;
}

/* One process of each cgroup: a container's others are in the namespace of its first. */
static int look_for_stranger(int cgroup_fd, void *data)
{
	struct stranger *stranger = data;
	uint64_t its;
	pid_t pid = 0;

	skm_probe_cgroup_processes(cgroup_fd, take_first, &pid);
	its = pid > 0 ? netns_of(pid) : 0;
	if (its == 0 || its == stranger->netns_inode || its == stranger->host_netns_inode)
		return 0;
	stranger->pid = pid;
	path_of(cgroup_fd, stranger->cgroup);
	return 1;
}

static bool is_at_the_top(int cgroup_fd)
{
	cleanup_fd int parent = open_parent(cgroup_fd), above = parent < 0 ? parent : open_parent(parent);

	return parent == -ENOENT || above == -ENOENT;
}

int skm_probe_cgroup_is_pod(int pod_fd, uint64_t netns_inode, uint64_t host_netns_inode, struct skm_err *err)
{
	struct stranger stranger = {.netns_inode = netns_inode, .host_netns_inode = host_netns_inode};
	char path[PATH_MAX];

	if (is_at_the_top(pod_fd))
		return skm_err_set(err, EOPNOTSUPP,
		                   "scope pod: cgroup " SHOWN
		                   " is at the top of the tree, where all containers without a pod are",
		                   path_of(pod_fd, path));
	if (skm_probe_cgroup_walk(pod_fd, look_for_stranger, &stranger) == 0)
		return 0;
	return skm_err_set(err, EOPNOTSUPP,
	                   "scope pod: cgroup " SHOWN " is no pod: process %d in " SHOWN " is in another network namespace",
	                   path_of(pod_fd, path), stranger.pid, stranger.cgroup);
}

struct search {
	uint64_t netns_inode;
	pid_t wanted, found;
};

static int try_process(pid_t pid, void *data)
{
	struct search *search = data;

	if ((search->found > 0 && pid != search->wanted) || netns_of(pid) != search->netns_inode)
		return 0;
	search->found = pid;
	return pid == search->wanted;
}

static int search_cgroup(int cgroup_fd, void *data)
{
	return skm_probe_cgroup_processes(cgroup_fd, try_process, data);
}

pid_t skm_probe_cgroup_find_process(int cgroup_fd, pid_t pid, uint64_t netns_inode)
{
	struct search search = {.netns_inode = netns_inode, .wanted = pid};

	skm_probe_cgroup_walk(cgroup_fd, search_cgroup, &search);
	return search.found;
}

static int is_populated(int cgroup_fd, void *data)
{
	pid_t pid = 0;

	(void)data;
	skm_probe_cgroup_processes(cgroup_fd, take_first, &pid);
	return pid > 0;
}

/* A cgroup of v1 has no cgroup.events: whether it or one below it has a process. */
static int populated_v1(int cgroup_fd, struct skm_err *err)
{
	if (faccessat(cgroup_fd, "cgroup.procs", F_OK, 0) < 0)
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	return skm_probe_cgroup_walk(cgroup_fd, is_populated, NULL) != 0;
}

int skm_probe_cgroup_populated(int cgroup_fd, struct skm_err *err)
{
	char text[256];
	uint64_t populated;
	ssize_t length = skm_read_text_at(cgroup_fd, "cgroup.events", text, sizeof(text));

	/* below a directory whose cgroup was removed nothing is found any more */
	if (length == -ENOENT || length == -ENODEV)
		return populated_v1(cgroup_fd, err);
	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read cgroup.events");
	if (skm_probe_keyed_value(text, "populated", &populated) < 0)
		return skm_err_set(err, EINVAL, "cgroup.events does not say what is populated");
	return populated != 0;
}
