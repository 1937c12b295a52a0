/* SPDX-License-Identifier: Apache-2.0 */
/* Looks a mount up in /proc/PID/mountinfo. For this room's own files. */
#ifndef SKM_PROBE_MOUNTINFO_H
#define SKM_PROBE_MOUNTINFO_H

#include <stddef.h>

/* The mount point of the first mount of the filesystem `type` that shows the whole filesystem (root "/": a bind mount of a part
 * would make every path below it mean something else), at `at` where that is not NULL. mountinfo: path of the file.
 * ret: the kernel's escapes (\040) undone. Returns 0; -ENOENT without one; -ENAMETOOLONG; -errno of reading. */
int skm_probe_mount_find(const char *mountinfo, const char *type, const char *at, char *ret, size_t size);

/* The same for the first mount that has the option among those of the filesystem itself: a hierarchy of cgroup v1 is told by its
 * controllers ("memory"). */
int skm_probe_mount_find_with(const char *mountinfo, const char *type, const char *option, char *ret, size_t size);

/* Whether the first mount of the filesystem `type` has the option among those of the filesystem itself ("memory_recursiveprot").
 * Returns 1 or 0; -ENOENT without such a mount; -errno of reading. */
int skm_probe_mount_option(const char *mountinfo, const char *type, const char *option);

#endif
