/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/pressure.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "probe/memcg.h"
#include "probe/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* memory.stat has some 2 KiB on 6.1 and 4 on 7.x. */
#define STAT_TEXT_MAX 16384

static bool is_same_mount(int fd, dev_t device)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == device;
}

int skm_probe_pressure_open(int cgroup_fd, struct skm_pressure_files *ret, struct skm_err *err)
{
	struct skm_pressure_files files = SKM_PRESSURE_FILES_INIT;
	cleanup_fd int dir = openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (dir < 0)
		return skm_err_set_errno(err, errno == ENOENT ? ENODEV : errno, "open the cgroup");
	if (fstat(dir, &st) < 0)
		return skm_err_set_errno(err, errno, "stat the cgroup");
	while (files.levels < SKM_PRESSURE_LEVELS_MAX) {
		int stat = openat(dir, "memory.stat", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		/* the root of cgroup v2 has no memory.current: what is reclaimed there is the node's, not a limit's */
		bool below_root = stat >= 0 && faccessat(dir, "memory.current", F_OK, 0) == 0;
		int above;

		if (!below_root) {
			if (stat >= 0)
				close(stat);
			break;
		}
		files.stat[files.levels++] = stat;
		above = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		skm_close_fd(&dir);
		dir = above;
		if (dir < 0 || !is_same_mount(dir, st.st_dev))
			break;
	}
	files.psi = openat(cgroup_fd, "memory.pressure", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	*ret = files;
	return 0;
}

void skm_probe_pressure_close(struct skm_pressure_files *files)
{
	for (uint32_t i = 0; i < files->levels; i++)
		skm_close_fd(&files->stat[i]);
	files->levels = 0;
	skm_close_fd(&files->psi);
}

int skm_probe_reclaim_parse(const char *text, struct skm_reclaim_counts *ret, bool *ret_apart)
{
	struct skm_reclaim_counts counts;
	uint64_t scanned = 0, stolen = 0;
	bool apart = skm_probe_keyed_value(text, "pgscan_proactive", &scanned) == 0;

	if (skm_probe_keyed_value(text, "pgscan", &counts.scanned_pages) < 0 ||
	    skm_probe_keyed_value(text, "pgsteal", &counts.stolen_pages) < 0 ||
	    (apart && skm_probe_keyed_value(text, "pgsteal_proactive", &stolen) < 0) || scanned > counts.scanned_pages ||
	    stolen > counts.stolen_pages)
		return -EINVAL;
	counts.scanned_pages -= scanned;
	counts.stolen_pages -= stolen;
	*ret = counts;
	*ret_apart = apart;
	return 0;
}

int skm_probe_pressure_counts(const struct skm_pressure_files *files, uint32_t i, struct skm_reclaim_counts *ret, bool *ret_apart,
                              struct skm_err *err)
{
	char text[STAT_TEXT_MAX];
	ssize_t length = skm_pread_text(files->stat[i], text, sizeof(text));

	if (length == -ENODEV)
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read memory.stat");
	if (skm_probe_reclaim_parse(text, ret, ret_apart) < 0)
		return skm_err_set(err, EINVAL, "memory.stat has no pgscan and pgsteal");
	return 0;
}

int skm_probe_pressure_stolen(const struct skm_pressure_files *files, uint64_t *ret_pages, struct skm_err *err)
{
	char text[STAT_TEXT_MAX];
	ssize_t length = skm_pread_text(files->stat[0], text, sizeof(text));

	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read memory.stat");
	if (skm_probe_keyed_value(text, "pgsteal", ret_pages) < 0)
		return skm_err_set(err, EINVAL, "memory.stat has no pgsteal");
	return 0;
}

int skm_probe_psi_parse(const char *text, uint64_t *ret_usec)
{
	const char *end = strchr(text, '\n'), *total = strstr(text, " total=");
	uint64_t usec;

	if (strncmp(text, "some ", 5) != 0 || !end || !total || total > end)
		return -EINVAL;
	total += strlen(" total=");
	if (!skm_probe_digits(&total, &usec) || *total != '\n')
		return -EINVAL;
	*ret_usec = usec;
	return 0;
}

int skm_probe_psi_total(const struct skm_pressure_files *files, uint64_t *ret_usec, struct skm_err *err)
{
	char text[256];
	ssize_t length;

	if (files->psi < 0)
		return skm_err_set(err, ENOENT, "no memory.pressure: the kernel has no PSI");
	length = skm_pread_text(files->psi, text, sizeof(text));
	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read memory.pressure");
	if (skm_probe_psi_parse(text, ret_usec) < 0)
		return skm_err_set(err, EINVAL, "memory.pressure has no line \"some\" with a total");
	return 0;
}

int skm_probe_psi_trigger(int cgroup_fd, uint64_t some_usec, uint64_t window_usec, struct skm_err *err)
{
	cleanup_fd int fd = openat(cgroup_fd, "memory.pressure", O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char text[64];
	int length = snprintf(text, sizeof(text), "some %" PRIu64 " %" PRIu64, some_usec, window_usec);

	if (fd < 0)
		return skm_err_set_errno(err, errno, "open memory.pressure");
	/* with its NUL, as the kernel's own example writes it */
	if (write(fd, text, (size_t)length + 1) < 0)
		return skm_err_set_errno(err, errno, "set the trigger \"%s\" in memory.pressure", text);
	return skm_steal_fd(&fd);
}
