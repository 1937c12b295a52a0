/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/rootless.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define WHAT_TO_DO "run the container as root (podman: sudo podman run), or without a limit"

/* Names who is behind it where the map's first line tells. */
static int refuse_mapped(unsigned int euid, const char *map, struct skm_err *err)
{
	unsigned int inside, outside, count;

	if (sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && euid >= inside && euid - inside < count)
		return skm_err_set(err, EPERM,
		                   "rootless: root here is user %u outside of its user namespace, and limits are the host's "
		                   "root's to set; " WHAT_TO_DO,
		                   outside + (euid - inside));
	return skm_err_set(
	        err, EPERM,
	        "rootless: the runtime runs in a user namespace, and limits are the host's root's to set; " WHAT_TO_DO);
}

int skm_hook_check_root(uid_t euid, const char *uid_map, struct skm_err *err)
{
	unsigned int inside, outside, count;
	char map[4096] = "";
	ssize_t length = skm_read_text_at(AT_FDCWD, uid_map, map, sizeof(map));

	if (euid != 0)
		return skm_err_set(err, EPERM,
		                   "rootless: the runtime runs as user %u, and limits are the host's root's to set; " WHAT_TO_DO,
		                   (unsigned int)euid);
	if (length == -ENOENT) /* a kernel without user namespaces */
		return 0;
	if (length < 0 && length != -EFBIG) /* a long one is none of one line */
		return skm_err_set_errno(err, (int)-length, "read %s", uid_map);
	if (sscanf(map, "%u %u %u", &inside, &outside, &count) == 3 && inside == 0 && outside == 0 && count == 4294967295U)
		return 0;
	return refuse_mapped((unsigned int)euid, map, err);
}
