/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/program.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* crun's, where the container's environment has none (src/libcrun/utils.c, find_executable). */
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* The path is the container's owner's to write: so many of its parts are looked at. */
#define PARTS_MAX 64

/* ".." beside a rename somewhere on the host gives EAGAIN (openat2(2)). */
#define ATTEMPTS 4

static int open_inside(int root, const char *name)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd = -1;

	for (int i = 0; i < ATTEMPTS; i++) {
		fd = (int)syscall(SYS_openat2, root, name, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

/* Whether it is a file that can be executed; then its size. */
static bool look(int root, const char *name, uint64_t *ret_bytes)
{
	cleanup_fd int fd = open_inside(root, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !(st.st_mode & 0111))
		return false;
	*ret_bytes = (uint64_t)st.st_size;
	return true;
}

/* CWD/FOLDER/FILE, without what an absolute path makes superfluous. folder: of the given length. False where it is too long. */
static bool join(char buffer[PATH_MAX], const char *cwd, const char *folder, size_t length, const char *file)
{
	bool relative = *file != '/' && (length == 0 || *folder != '/');

	return snprintf(buffer, PATH_MAX, "%s%s%.*s%s%s", relative ? cwd : "", relative ? "/" : "", (int)length, folder,
	                length ? "/" : "", file) < PATH_MAX;
}

static uint64_t look_along(int root, const struct skm_program *program, const char *cwd)
{
	const char *path = program->path ? program->path : DEFAULT_PATH;
	char name[PATH_MAX];
	uint64_t bytes;

	for (int i = 0; i < PARTS_MAX; i++) {
		size_t length = strcspn(path, ":"); /* an empty part is the current folder */

		if (length < PATH_MAX && join(name, cwd, path, length, program->file) && look(root, name, &bytes))
			return bytes;
		if (path[length] == '\0')
			return 0;
		path += length + 1;
	}
	return 0;
}

uint64_t skm_probe_program_bytes(const struct skm_program *program)
{
	cleanup_fd int root = open(program->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *cwd = program->cwd ? program->cwd : "/";
	char name[PATH_MAX];
	uint64_t bytes;

	if (root < 0 || !*program->file)
		return 0;
	if (!strchr(program->file, '/'))
		return look_along(root, program, cwd);
	return join(name, cwd, "", 0, program->file) && look(root, name, &bytes) ? bytes : 0;
}
