/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* memory.stat has some 60 lines on v2, and twice that with the total_ ones on v1. */
#define STAT_BYTES 16384

static int open_in(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_CLOEXEC);
}

/* The whole file as text. 0 or a negative errno. */
static int read_text(int fd, char *buffer, size_t size)
{
	ssize_t n = pread(fd, buffer, size - 1, 0);

	if (n < 0)
		return -errno;
	buffer[n] = '\0';
	return 0;
}

/* "max" and a file that is not there are UINT64_MAX and leave errors alone. */
static int read_number(int fd, uint64_t *ret)
{
	char text[64];
	int r;

	if (fd < 0)
		return 0;
	r = read_text(fd, text, sizeof text);
	if (r < 0)
		return r;
	*ret = text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
	return 0;
}

bool find_key(const char *text, const char *key, uint64_t *ret)
{
	size_t length = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, length) == 0 && line[length] == ' ') {
			*ret = strtoull(line + length + 1, NULL, 10);
			return true;
		}
	}
	return false;
}

static uint64_t read_limit(int dir, const char *name)
{
	uint64_t limit = UINT64_MAX;
	int fd = open_in(dir, name);

	if (fd < 0)
		return limit;
	if (read_number(fd, &limit) < 0)
		limit = UINT64_MAX;
	close(fd);
	return limit;
}

static void open_v1(struct cgroup *cgroup)
{
	cgroup->stat = open_in(cgroup->dir, "memory.stat");
	cgroup->current = open_in(cgroup->dir, "memory.usage_in_bytes");
	cgroup->events = open_in(cgroup->dir, "memory.oom_control");
	cgroup->tcp_usage = open_in(cgroup->dir, "memory.kmem.tcp.usage_in_bytes");
	cgroup->tcp_max_usage = open_in(cgroup->dir, "memory.kmem.tcp.max_usage_in_bytes");
	cgroup->tcp_failcnt = open_in(cgroup->dir, "memory.kmem.tcp.failcnt");
	cgroup->limit = read_limit(cgroup->dir, "memory.limit_in_bytes");
	cgroup->tcp_limit = read_limit(cgroup->dir, "memory.kmem.tcp.limit_in_bytes");
}

static void open_v2(struct cgroup *cgroup)
{
	cgroup->stat = open_in(cgroup->dir, "memory.stat");
	cgroup->current = open_in(cgroup->dir, "memory.current");
	cgroup->events = open_in(cgroup->dir, "memory.events");
	cgroup->populated = open_in(cgroup->dir, "cgroup.events");
	cgroup->limit = read_limit(cgroup->dir, "memory.max");
}

int cgroup_open(struct cgroup *cgroup, const char *path, bool v1)
{
	*cgroup = (struct cgroup){.v1 = v1,
	                          .dir = -1,
	                          .stat = -1,
	                          .current = -1,
	                          .events = -1,
	                          .populated = -1,
	                          .tcp_usage = -1,
	                          .tcp_max_usage = -1,
	                          .tcp_failcnt = -1,
	                          .tcp_limit = UINT64_MAX};
	cgroup->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup->dir < 0)
		return -errno;
	if (v1)
		open_v1(cgroup);
	else
		open_v2(cgroup);
	if (cgroup->current < 0 || (v1 ? cgroup->tcp_usage : cgroup->stat) < 0) {
		cgroup_close(cgroup);
		return -ENOENT;
	}
	return 0;
}

void cgroup_close(struct cgroup *cgroup)
{
	int *fds[] = {&cgroup->dir,       &cgroup->stat,      &cgroup->current,       &cgroup->events,
	              &cgroup->populated, &cgroup->tcp_usage, &cgroup->tcp_max_usage, &cgroup->tcp_failcnt};

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static int sample_stat(struct cgroup *cgroup, struct cgroup_sample *sample)
{
	char text[STAT_BYTES];
	int r;

	if (cgroup->stat < 0)
		return 0;
	r = read_text(cgroup->stat, text, sizeof text);
	if (r < 0)
		return r;
	find_key(text, cgroup->v1 ? "total_rss" : "anon", &sample->anon);
	find_key(text, cgroup->v1 ? "total_cache" : "file", &sample->file);
	if (!cgroup->v1)
		find_key(text, "sock", &sample->sock);
	return 0;
}

int cgroup_sample(struct cgroup *cgroup, struct cgroup_sample *ret)
{
	struct cgroup_sample sample = {0};

	if (sample_stat(cgroup, &sample) < 0 || read_number(cgroup->current, &sample.current) < 0 ||
	    read_number(cgroup->tcp_usage, &sample.sock) < 0)
		return -ENODEV;
	*ret = sample;
	return 0;
}

int cgroup_read_events(struct cgroup *cgroup, struct cgroup_events *ret)
{
	struct cgroup_events events = {0};
	char text[1024] = "";

	if (cgroup->events >= 0 && read_text(cgroup->events, text, sizeof text) < 0)
		return -ENODEV;
	find_key(text, "oom_kill", &events.oom_kills);
	if (read_number(cgroup->tcp_max_usage, &events.max_usage) < 0 || read_number(cgroup->tcp_failcnt, &events.failcnt) < 0)
		return -ENODEV;
	*ret = events;
	return 0;
}

/*
 * 1 (also where it is not told), 0, or a negative errno. On v1 an open cgroup.procs shows its first list again as long as it is
 * read more often than once a second (kernel/cgroup/cgroup-v1.c, cgroup_pidlist_start), so it is opened anew.
 */
static int read_populated(const struct cgroup *cgroup)
{
	int fd = cgroup->v1 ? open_in(cgroup->dir, "cgroup.procs") : cgroup->populated, r;
	uint64_t populated = 0;
	char text[1024];

	if (fd < 0)
		return 1;
	r = read_text(fd, text, sizeof text);
	if (cgroup->v1)
		close(fd);
	if (r < 0)
		return r;
	if (cgroup->v1)
		return text[0] != '\0';
	find_key(text, "populated", &populated);
	return populated != 0;
}

bool cgroup_ended(struct cgroup *cgroup)
{
	struct stat status;
	int populated;

	if (fstat(cgroup->dir, &status) < 0 || status.st_nlink == 0)
		return true;
	populated = read_populated(cgroup);
	if (populated < 0)
		return true;
	if (populated)
		cgroup->was_populated = true;
	return cgroup->was_populated && !populated;
}
