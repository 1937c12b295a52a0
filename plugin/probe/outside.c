/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/outside.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "probe/ancestry.h"
#include "probe/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Found and not looked at yet: children of one process may be thousands, of which only so many are wanted. */
struct queue {
	pid_t *pids;
	uint32_t count, room;
};

static void add_children_of_thread(struct queue *queue, int task_dir, const char *thread)
{
	char name[300];
	cleanup_file FILE *file = NULL;
	int fd;
	pid_t pid;

	snprintf(name, sizeof(name), "%s/children", thread);
	fd = openat(task_dir, name, O_RDONLY | O_CLOEXEC);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file)
		skm_cleanup_fd(&fd);
	while (file && queue->count < queue->room && fscanf(file, "%d", &pid) == 1)
		queue->pids[queue->count++] = pid;
}

static void add_children(struct queue *queue, pid_t pid)
{
	char path[40];
	cleanup_dir DIR *dir = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	for (const struct dirent *entry = dir ? readdir(dir) : NULL; entry && queue->count < queue->room; entry = readdir(dir))
		if (entry->d_name[0] != '.')
			add_children_of_thread(queue, dirfd(dir), entry->d_name);
}

/* The `0::` path of a process; false where it has ended or has none. A path that leads out of our cgroup namespace is one. */
static bool read_cgroup(pid_t pid, char ret[PATH_MAX])
{
	cleanup_free char *text = malloc(SKM_PROC_CGROUP_MAX);
	struct skm_err err = SKM_ERR_INIT;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	if (!text || skm_read_text_at(AT_FDCWD, path, text, SKM_PROC_CGROUP_MAX) < 0)
		return false;
	if (skm_probe_cgroup_line(text, ret, PATH_MAX, &err) == 0)
		return true;
	snprintf(ret, PATH_MAX, "/..");
	return err.code == EINVAL;
}

/* Whether a cgroup is the one at cgroup_fd or lies below it: by inode on the way up, whatever either is called from here. */
static bool is_below(const char *mount, const char *path, const struct stat *wanted)
{
	char full[2 * PATH_MAX];
	cleanup_fd int at = -1;
	struct stat st, above;

	snprintf(full, sizeof(full), "%s%s", mount, path);
	at = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (at < 0 || fstat(at, &st) < 0)
		return strcmp(path, "/..") != 0; /* it has just gone, and its process with it */
	while (st.st_ino != wanted->st_ino) {
		int parent = openat(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		close(at);
		at = parent;
		if (at < 0 || fstat(at, &above) < 0 || above.st_dev != st.st_dev || above.st_ino == st.st_ino)
			return false;
		st = above;
	}
	return st.st_dev == wanted->st_dev;
}

void skm_probe_outside(pid_t init, const char *mount, int cgroup_fd, uint32_t most, struct skm_outside *ret)
{
	cleanup_free pid_t *pids = calloc(most, sizeof(*pids));
	struct queue queue = {.pids = pids, .room = most};
	struct stat wanted;
	char path[PATH_MAX];

	*ret = (struct skm_outside){.outside = 0};
	if (!pids || most == 0 || fstat(cgroup_fd, &wanted) < 0)
		return;
	queue.pids[queue.count++] = init;
	for (uint32_t i = 0; i < queue.count; i++) {
		if (!read_cgroup(queue.pids[i], path))
			continue;
		ret->looked_at++;
		add_children(&queue, queue.pids[i]);
		if (is_below(mount, path, &wanted))
			continue;
		if (ret->outside++ > 0)
			continue;
		ret->pid = queue.pids[i];
		memcpy(ret->cgroup, path, sizeof(path));
	}
}
