/* SPDX-License-Identifier: Apache-2.0 */
#include "actuate/memory_reclaim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int skm_actuate_reclaim_open(int cgroup_fd, struct skm_err *err)
{
	int fd = openat(cgroup_fd, "memory.reclaim", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT)
		return skm_err_set(err, ENOENT, "no memory.reclaim in its cgroup: it came with kernel 5.19");
	return fd < 0 ? skm_err_set_errno(err, errno, "open memory.reclaim") : fd;
}

int skm_actuate_reclaim(int fd, uint64_t bytes, struct skm_err *err)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%" PRIu64, bytes);

	if (pwrite(fd, text, (size_t)length, 0) < 0)
		return skm_err_set_errno(err, errno, "reclaim %" PRIu64 " bytes", bytes);
	return 0;
}
