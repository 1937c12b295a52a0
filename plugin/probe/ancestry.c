/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/ancestry.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

/* podman shows 12 digits of an id, kubelet and docker use 64; ids given by hand may be a letter. */
#define ID_LENGTH_MIN 12

static int open_above(int dirfd)
{
	int fd = openat(dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Above the root of a mount lies another filesystem, or, at "/", itself. */
static bool is_above(int dirfd, int parent)
{
	struct stat ours, above;

	return fstat(dirfd, &ours) == 0 && fstat(parent, &above) == 0 && ours.st_dev == above.st_dev &&
	       ours.st_ino != above.st_ino;
}

int skm_probe_ancestor_open(int dirfd)
{
	cleanup_fd int parent = open_above(dirfd);

	if (parent < 0)
		return parent;
	if (!is_above(dirfd, parent))
		return -ENOENT;
	if (faccessat(parent, "memory.low", F_OK, 0) < 0)
		return -errno;
	return skm_steal_fd(&parent);
}

bool skm_probe_ancestor_path(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

static bool is_delegated(int dirfd)
{
	static const char *const MARKS[] = {"trusted.delegate", "user.delegate"};
	char value;

	for (size_t i = 0; i < sizeof(MARKS) / sizeof(*MARKS); i++)
		if (fgetxattr(dirfd, MARKS[i], &value, 1) == 1 && value == '1')
			return true;
	return false;
}

const char *skm_probe_ancestor_refusal(int dirfd, uid_t manager, char *buffer, size_t size)
{
	cleanup_fd int parent = open_above(dirfd);
	struct stat st;

	if (fstat(dirfd, &st) < 0)
		snprintf(buffer, size, "%s", strerror(errno));
	else if (st.st_uid != manager)
		snprintf(buffer, size, "it belongs to user %u, what is below it to user %u", st.st_uid, manager);
	else if (is_delegated(dirfd))
		snprintf(buffer, size, "systemd has delegated what is below it, not itself");
	else if (parent < 0 || !is_above(dirfd, parent))
		snprintf(buffer, size, "it is the root of this cgroup namespace");
	else
		return NULL;
	return buffer;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool skm_probe_is_pod(const char *path)
{
	const char *name = last_component(path);

	if (strstr(name, "libpod_pod_"))
		return true;
	return strstr(path, "kubepods") && (strncmp(name, "pod", 3) == 0 || strstr(name, "-pod"));
}

/* How many cgroups a directory has; -1 where it cannot be read. */
static int count_children(int dirfd)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	cleanup_dir DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		count += entry->d_type == DT_DIR && entry->d_name[0] != '.';
	return count;
}

/* Whether a cgroup is called for the container: a scope, or by an id too long to be there by chance. */
static bool is_called_for(const char *name, const char *id)
{
	return strstr(name, ".scope") || (strlen(id) >= ID_LENGTH_MIN && strstr(name, id));
}

bool skm_probe_is_nested(int dirfd, const char *path, const char *id)
{
	cleanup_fd int parent = -1;
	char above[PATH_MAX];

	if (snprintf(above, sizeof(above), "%s", path) >= (int)sizeof(above) || !skm_probe_ancestor_path(above) ||
	    !is_called_for(last_component(above), id))
		return false;
	parent = skm_probe_ancestor_open(dirfd);
	return parent >= 0 && count_children(parent) == 1;
}
