/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/kernel_limit.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "probe/memcg.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static const char FILE_NAME[] = "memory.kmem.tcp.limit_in_bytes";

/* "No limit" is the most that the kernel's counter knows, as the kernel itself shows it. */
static uint64_t most(uint64_t page_bytes)
{
	return LONG_MAX / page_bytes * page_bytes;
}

static int write_bytes(int fd, uint64_t bytes, struct skm_err *err)
{
	char text[32];
	int r;

	snprintf(text, sizeof(text), "%" PRIu64 "\n", bytes);
	r = skm_pwrite_text(fd, text);
	if (r == -EBUSY)
		return skm_err_set(err, EBUSY, "%s: its sockets hold more than %" PRIu64 " bytes now, and cgroup v1 refuses less",
		                   FILE_NAME, bytes);
	if (r == -ENODEV)
		return skm_err_set(err, ENODEV, "the cgroup is gone");
	return r < 0 ? skm_err_set_errno(err, -r, "write %" PRIu64 " to %s", bytes, FILE_NAME) : 0;
}

int skm_actuate_kernel_limit_write(int dirfd, uint64_t bytes, struct skm_err *err)
{
	cleanup_fd int fd = openat(dirfd, FILE_NAME, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), now;
	char text[64];
	ssize_t length;
	int r;

	if (fd < 0)
		return errno == ENOENT || errno == ENODEV ? skm_err_set(err, ENODEV, "the cgroup is gone")
		                                          : skm_err_set_errno(err, errno, "open %s", FILE_NAME);
	r = write_bytes(fd, bytes < most(page_bytes) ? bytes : most(page_bytes), err);
	if (r < 0)
		return r;
	length = skm_read_text_at(dirfd, FILE_NAME, text, sizeof(text));
	if (length < 0)
		return skm_err_set_errno(err, (int)-length, "read %s", FILE_NAME);
	if (skm_probe_single_value(text, &now) < 0 ||
	    skm_probe_memcg_kept(now, page_bytes) != skm_probe_memcg_kept(bytes, page_bytes))
		return skm_err_set(err, EIO, "%s took %.20s where %" PRIu64 " was written", FILE_NAME, text, bytes);
	return 0;
}
