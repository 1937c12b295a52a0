/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/memcg.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "probe/line.h"
#include "probe/number.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int skm_probe_keyed_value(const char *text, const char *key, uint64_t *ret)
{
	const char *at = skm_probe_find_line(text, key, " ");
	uint64_t value;

	if (!at)
		return -ENOENT;
	/* the newline is asked for: in a text cut in the middle of a number the digits alone would pass */
	if (!skm_probe_digits(&at, &value) || *at != '\n')
		return -EINVAL;
	*ret = value;
	return 0;
}

int skm_probe_single_value(const char *text, uint64_t *ret)
{
	uint64_t value;

	if (strcmp(text, "max\n") == 0) {
		*ret = UINT64_MAX;
		return 0;
	}
	if (!skm_probe_digits(&text, &value) || strcmp(text, "\n") != 0)
		return -EINVAL;
	*ret = value;
	return 0;
}

static int open_file(int dir, const char *name, struct skm_err *err)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT)
		return skm_err_set(err, ENOENT, "no %s: the memory controller is not enabled for this cgroup", name);
	return fd < 0 ? skm_err_set_errno(err, errno, "open %s", name) : fd;
}

static int open_v2(struct skm_memcg *memcg, struct skm_err *err)
{
	int r = memcg->stat = open_file(memcg->dir, "memory.stat", err);

	if (r >= 0)
		r = memcg->current = open_file(memcg->dir, "memory.current", err);
	if (r >= 0)
		r = memcg->events = open_file(memcg->dir, "memory.events", err);
	return r;
}

/* A kernel may have v1's memory controller and not these: booted with cgroup.memory=nokmem, or built without. */
static int open_v1(struct skm_memcg *memcg, struct skm_err *err)
{
	int r = memcg->stat = open_file(memcg->dir, "memory.kmem.tcp.usage_in_bytes", err);

	if (r == -ENOENT)
		return skm_err_set(err, EOPNOTSUPP, "mode v1: this kernel has no memory.kmem.tcp files");
	if (r >= 0)
		r = memcg->current = open_file(memcg->dir, "memory.usage_in_bytes", err);
	if (r >= 0)
		r = memcg->events = open_file(memcg->dir, "memory.oom_control", err);
	return r;
}

int skm_probe_memcg_open(int dirfd, struct skm_memcg *ret, struct skm_err *err)
{
	struct skm_memcg memcg = SKM_MEMCG_INIT;
	int r;

	memcg.dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	if (memcg.dir < 0)
		return skm_err_set_errno(err, errno, "keep the cgroup's directory");
	memcg.v1 = faccessat(memcg.dir, "memory.usage_in_bytes", F_OK, 0) == 0;
	r = memcg.v1 ? open_v1(&memcg, err) : open_v2(&memcg, err);
	if (r < 0) {
		skm_probe_memcg_close(&memcg);
		return r;
	}
	*ret = memcg;
	return 0;
}

void skm_probe_memcg_close(struct skm_memcg *memcg)
{
	skm_close_fd(&memcg->stat);
	skm_close_fd(&memcg->current);
	skm_close_fd(&memcg->events);
	skm_close_fd(&memcg->dir);
}

/* One pread, no allocation: the kernel renders the whole file for each read, and hands over up to size bytes of it. */
static int read_head(int fd, char *buffer, size_t size)
{
	ssize_t length;

	do
		length = pread(fd, buffer, size - 1, 0);
	while (length < 0 && errno == EINTR);
	if (length < 0)
		return -errno;
	buffer[length] = '\0';
	return 0;
}

static int read_keyed(int fd, const char *file, const char *key, uint64_t *ret, struct skm_err *err)
{
	/* memory.stat has 1.5 to 4 KiB, `sock` among its first ten lines on every kernel; of memory.events all fits */
	char text[4096];
	int r = read_head(fd, text, sizeof(text));

	if (r == -ENODEV)
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	if (r < 0)
		return skm_err_set_errno(err, -r, "read %s", file);
	r = skm_probe_keyed_value(text, key, ret);
	if (r == -ENOENT)
		return skm_err_set(err, EINVAL, "%s has no line \"%s\"", file, key);
	return r < 0 ? skm_err_set(err, EINVAL, "%s: the value of \"%s\" is not a number", file, key) : 0;
}

int skm_probe_memcg_oom_kills(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err)
{
	return read_keyed(memcg->events, memcg->v1 ? "memory.oom_control" : "memory.events", "oom_kill", ret, err);
}

static int read_single(int fd, const char *file, uint64_t *ret, struct skm_err *err)
{
	char text[64];
	int r = read_head(fd, text, sizeof(text));

	if (r == -ENODEV)
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	if (r < 0)
		return skm_err_set_errno(err, -r, "read %s", file);
	r = skm_probe_single_value(text, ret);
	return r < 0 ? skm_err_set(err, EINVAL, "%s is neither a number nor \"max\"", file) : 0;
}

int skm_probe_memcg_sock(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err)
{
	if (memcg->v1)
		return read_single(memcg->stat, "memory.kmem.tcp.usage_in_bytes", ret, err);
	return read_keyed(memcg->stat, "memory.stat", "sock", ret, err);
}

int skm_probe_memcg_current(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err)
{
	return read_single(memcg->current, memcg->v1 ? "memory.usage_in_bytes" : "memory.current", ret, err);
}

/* Below a directory whose cgroup was removed nothing is found any more. */
static int open_below(int dir, const char *name, struct skm_err *err)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENODEV))
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	return fd < 0 ? skm_err_set_errno(err, errno, "open %s", name) : fd;
}

/* The parent's memory.max, or UINT64_MAX where the parent is the mount's root (which has none) or lies outside the mount. */
static int parent_max(int dir, uint64_t *ret, struct skm_err *err)
{
	cleanup_fd int parent = open_below(dir, "..", err), file = -1;
	struct stat ours, above;

	*ret = UINT64_MAX;
	if (parent < 0)
		return parent;
	if (fstat(dir, &ours) < 0 || fstat(parent, &above) < 0)
		return skm_err_set_errno(err, errno, "look at the parent cgroup");
	if (ours.st_dev != above.st_dev)
		return 0;
	file = openat(parent, "memory.max", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return errno == ENOENT ? 0 : skm_err_set_errno(err, errno, "open the parent's memory.max");
	return read_single(file, "the parent's memory.max", ret, err);
}

static int read_v1(int dir, const char *name, uint64_t *ret, struct skm_err *err)
{
	cleanup_fd int file = open_below(dir, name, err);

	return file < 0 ? file : read_single(file, name, ret, err);
}

/* Where there is none v1 shows the most pages that its counter knows, not "max". */
static int read_v1_limit(int dir, const char *name, uint64_t *ret, struct skm_err *err)
{
	uint64_t bytes;
	int r = read_v1(dir, name, &bytes, err);

	if (r == 0)
		*ret = skm_probe_memcg_kept(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
	return r;
}

int skm_probe_memcg_v1_tcp(const struct skm_memcg *memcg, struct skm_memcg_v1_tcp *ret, struct skm_err *err)
{
	struct skm_memcg_v1_tcp tcp;
	int r;

	if (!memcg->v1)
		return skm_err_set(err, EINVAL, "a cgroup of v2 has no memory.kmem.tcp files");
	r = read_v1_limit(memcg->dir, "memory.kmem.tcp.limit_in_bytes", &tcp.limit_bytes, err);
	if (r == 0)
		r = read_v1(memcg->dir, "memory.kmem.tcp.max_usage_in_bytes", &tcp.max_usage_bytes, err);
	if (r == 0)
		r = read_v1(memcg->dir, "memory.kmem.tcp.failcnt", &tcp.failcnt, err);
	if (r == 0)
		*ret = tcp;
	return r;
}

static int own_or_parents_max(int dir, uint64_t *ret, struct skm_err *err)
{
	cleanup_fd int file = open_below(dir, "memory.max", err);
	uint64_t value;
	int r;

	if (file < 0)
		return file;
	r = read_single(file, "memory.max", &value, err);
	if (r == 0 && value == UINT64_MAX)
		r = parent_max(dir, &value, err);
	if (r == 0)
		*ret = value;
	return r;
}

int skm_probe_memcg_max(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err)
{
	return memcg->v1 ? read_v1_limit(memcg->dir, "memory.limit_in_bytes", ret, err)
	                 : own_or_parents_max(memcg->dir, ret, err);
}

int skm_probe_memcg_high(const struct skm_memcg *memcg, uint64_t *ret, struct skm_err *err)
{
	if (!memcg->v1)
		return skm_probe_memcg_file(memcg->dir, SKM_MEMORY_FILE_HIGH, ret, err);
	*ret = UINT64_MAX;
	return 0;
}

int skm_probe_memcg_file_open(int dirfd, enum skm_memory_file file, struct skm_err *err)
{
	return open_below(dirfd, skm_name_of(&skm_memory_file_names, file), err);
}

int skm_probe_memcg_file_read(int fd, enum skm_memory_file file, uint64_t *ret, struct skm_err *err)
{
	return read_single(fd, skm_name_of(&skm_memory_file_names, file), ret, err);
}

int skm_probe_memcg_file(int dirfd, enum skm_memory_file file, uint64_t *ret, struct skm_err *err)
{
	cleanup_fd int fd = skm_probe_memcg_file_open(dirfd, file, err);

	return fd < 0 ? fd : skm_probe_memcg_file_read(fd, file, ret, err);
}

int skm_probe_memcg_in_use(int dirfd, uint64_t *ret, struct skm_err *err)
{
	cleanup_fd int fd = open_below(dirfd, "memory.current", err);

	return fd < 0 ? fd : read_single(fd, "memory.current", ret, err);
}

uint64_t skm_probe_memcg_kept(uint64_t bytes, uint64_t page_bytes)
{
	uint64_t pages = bytes / page_bytes;

	return pages >= LONG_MAX / page_bytes ? UINT64_MAX : pages * page_bytes;
}
