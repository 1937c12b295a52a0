/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/memory_file.h"

#include "actuate/cgroup_error.h"
#include "actuate/children.h"
#include "actuate/memory_writer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "probe/memcg.h"

#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A child that reclaims is given this long; the enforcer waits only until the value is there, and no longer than that. */
#define WRITER_SEC 2
#define WAIT_USEC (UINT64_C(250) * SKM_USEC_PER_MSEC)

static const char *name_of(enum skm_memory_file file)
{
	return skm_name_of(&skm_memory_file_names, file);
}

/* libcgroup reads the mounts when it is told to, with some 300 stat calls, and leaks a little each time: once is enough, unless
 * they have changed. */
static int find_mount(bool again, char **ret, struct skm_err *err)
{
	int error = again ? cgroup_init() : 0;

	if (error == 0)
		error = cgroup_get_subsys_mount_point("memory", ret);
	if (error == ECGROUPNOTINITIALIZED && (error = cgroup_init()) == 0)
		error = cgroup_get_subsys_mount_point("memory", ret);
	return error == 0 ? 0 : skm_actuate_cgroup_fail(error, "", "find the memory controller", err);
}

static bool is_same(int fd, const char *path)
{
	struct stat ours, found;

	return fstat(fd, &ours) == 0 && stat(path, &found) == 0 && ours.st_ino == found.st_ino && ours.st_dev == found.st_dev;
}

/* The cgroup's name below the mount that libcgroup writes to, where that is this very cgroup. */
static int find_name(const struct skm_memory_cgroup *cgroup, const char **ret, struct skm_err *err)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		cleanup_free char *mount = NULL;
		size_t length;
		int r = find_mount(attempt > 0, &mount, err);

		if (r < 0)
			return r;
		length = strlen(mount);
		if (strncmp(cgroup->path, mount, length) != 0 || cgroup->path[length] != '/')
			continue; /* mounted since */
		if (!is_same(cgroup->dirfd, cgroup->path))
			break;
		*ret = cgroup->path + length + 1;
		return 0;
	}
	if (faccessat(cgroup->dirfd, "memory.max", F_OK, 0) < 0)
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	return skm_err_set(err, ESTALE, "%s is not that cgroup where libcgroup looks for it", cgroup->path);
}

static int modify(struct cgroup *group, const char *name, enum skm_memory_file file, const char *text, struct skm_err *err)
{
	struct cgroup_controller *memory = cgroup_add_controller(group, "memory");
	int error;

	if (!memory)
		return skm_err_set(err, EIO, "cgroup /%s: libcgroup takes no memory controller", name);
	error = cgroup_set_value_string(memory, name_of(file), text);
	if (error == 0)
		error = cgroup_modify_cgroup(group);
	return error == 0 ? 0 : skm_actuate_cgroup_fail(error, name, name_of(file), err);
}

static int write_by_libcgroup(const struct skm_memory_cgroup *cgroup, enum skm_memory_file file, const char *text,
                              struct skm_err *err)
{
	struct cgroup *group;
	const char *name = "";
	int r = find_name(cgroup, &name, err);

	if (r < 0)
		return r;
	group = cgroup_new_cgroup(name);
	if (!group)
		return skm_err_set_errno(err, ENOMEM, "cgroup /%s", name);
	r = modify(group, name, file, text, err);
	cgroup_free(&group);
	return r;
}

static int check(const struct skm_memory_cgroup *cgroup, enum skm_memory_file file, uint64_t bytes, struct skm_err *err)
{
	char wanted[SKM_SIZE_TEXT_MAX], shown[SKM_SIZE_TEXT_MAX];
	uint64_t now, kept = skm_probe_memcg_kept(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
	int r = skm_probe_memcg_file(cgroup->dirfd, file, &now, err);

	if (r < 0 || now == kept)
		return r;
	return skm_err_set(err, EIO, "%s of %s shows %s where %s was written", name_of(file), cgroup->path,
	                   skm_bytes_human(now, shown), skm_bytes_human(bytes, wanted));
}

/* Waits until the file shows the value, the child has ended, or it has been too long. Returns the child's errno where it told
 * one, else what check says. */
static int await(pid_t pid, const struct skm_memory_cgroup *cgroup, enum skm_memory_file file, uint64_t bytes,
                 struct skm_err *err)
{
	uint64_t deadline = skm_now_usec() + WAIT_USEC;
	int status = 0, r;

	while ((r = check(cgroup, file, bytes, err)) == -EIO && skm_now_usec() < deadline) {
		if (waitpid(pid, &status, WNOHANG) != 0) {
			if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
				return skm_err_set_errno(err, WEXITSTATUS(status), "write %s of %s", name_of(file), cgroup->path);
			return check(cgroup, file, bytes, err);
		}
		usleep(500);
	}
	if (r == -EIO) {
		kill(pid, SIGKILL); /* not reaped yet, so the pid is still this child's */
		r = skm_err_set(err, ETIMEDOUT, "%s of %s: the kernel has not taken the value yet", name_of(file), cgroup->path);
	}
	skm_actuate_children_leave(pid);
	return r;
}

static int write_by_child(const struct skm_memory_cgroup *cgroup, enum skm_memory_file file, uint64_t bytes, const char *text,
                          struct skm_err *err)
{
	cleanup_fd int fd = openat(cgroup->dirfd, name_of(file), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	pid_t pid;

	if (fd < 0 && (errno == ENOENT || errno == ENODEV))
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	if (fd < 0)
		return skm_err_set_errno(err, errno, "open %s of %s", name_of(file), cgroup->path);
	pid = skm_actuate_memory_writer(fd, text, WRITER_SEC, err);
	return pid < 0 ? pid : await(pid, cgroup, file, bytes, err);
}

/* Whether the kernel would reclaim in the writer's name. */
static bool may_wait(int dirfd, enum skm_memory_file file, uint64_t bytes)
{
	uint64_t in_use;

	if (file == SKM_MEMORY_FILE_MIN || file == SKM_MEMORY_FILE_LOW)
		return false;
	return skm_probe_memcg_in_use(dirfd, &in_use, NULL) < 0 || bytes < in_use;
}

int skm_actuate_memory_write(const struct skm_memory_cgroup *cgroup, enum skm_memory_file file, uint64_t bytes,
                             struct skm_err *err)
{
	char text[24];
	int r;

	skm_actuate_memory_text(bytes, text);
	if (may_wait(cgroup->dirfd, file, bytes))
		return write_by_child(cgroup, file, bytes, text, err);
	r = write_by_libcgroup(cgroup, file, text, err);
	return r < 0 ? r : check(cgroup, file, bytes, err);
}

int skm_actuate_memory_step_down(const struct skm_memory_cgroup *cgroups, size_t count, uint64_t bytes, struct skm_err *err)
{
	int dirfds[2];
	pid_t pid;

	if (count > sizeof(dirfds) / sizeof(*dirfds))
		return skm_err_set(err, EINVAL, "%zu cgroups at once", count);
	for (size_t i = 0; i < count; i++)
		dirfds[i] = cgroups[i].dirfd;
	pid = skm_actuate_memory_stepper(dirfds, count, bytes, SKM_MEMORY_STEPS_SEC, err);
	if (pid < 0)
		return pid;
	skm_actuate_children_leave(pid);
	return 0;
}
