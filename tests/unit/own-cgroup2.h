/* SPDX-License-Identifier: Apache-2.0 */
/* This process's cgroup of v2, wherever the memory controller is. */
#ifndef SKM_OWN_CGROUP2_H
#define SKM_OWN_CGROUP2_H

#include "base/io.h"
#include "probe/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

/* A descriptor of its directory, or -1. mount: PATH_MAX, gets where cgroup2 is mounted. */
static int own_cgroup2(char *mount)
{
	char line[PATH_MAX], path[2 * PATH_MAX];
	char *text = malloc(SKM_PROC_CGROUP_MAX);
	int found = text && skm_read_text_at(AT_FDCWD, "/proc/self/cgroup", text, SKM_PROC_CGROUP_MAX) >= 0 &&
	            skm_probe_cgroup2_mount(NULL, mount, PATH_MAX, NULL) == 0 &&
	            skm_probe_cgroup_line(text, line, sizeof(line), NULL) == 0;

	free(text);
	if (!found)
		return -1;
	snprintf(path, sizeof(path), "%s%s", mount, line);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

#endif
