/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process's cgroup is found: the mount of v2, and the process's line. */
#include "probe/process.h"

#include "base/cleanup.h"
#include "probe/mountinfo.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int skm_probe_cgroup2_mount(const char *mountinfo, char *ret, size_t size, struct skm_err *err)
{
	int r = skm_probe_mount_find(mountinfo ? mountinfo : "/proc/self/mountinfo", "cgroup2", NULL, ret, size);

	if (r == -ENOENT)
		return skm_err_set(err, ENOENT, "no cgroup v2 is mounted here");
	return r < 0 ? skm_err_set_errno(err, -r, "look for the cgroup v2 mount") : 0;
}

static bool has_parent_component(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

/* The first line that starts with "0::", or NULL. The text of a v1 line may hold "0::" elsewhere. */
static const char *find_v2_line(const char *text)
{
	while (text && strncmp(text, "0::", 3) != 0) {
		text = strchr(text, '\n');
		if (text)
			text++;
	}
	return text ? text + 3 : NULL;
}

/* The path of a line, from where it begins. name: how the line is called in an error */
static int take_path(const char *path, const char *name, char *ret, size_t size, struct skm_err *err)
{
	size_t length = strcspn(path, "\n");

	/* every line the kernel writes has its newline: without one the text was cut, and names another cgroup */
	if (*path != '/' || path[length] != '\n')
		return skm_err_set(err, EINVAL, "line \"%s\" is not as the kernel writes it", name);
	if (length >= size)
		return skm_err_set(err, ENAMETOOLONG, "cgroup path of %zu characters", length);
	memcpy(ret, path, length);
	ret[length] = '\0';
	if (has_parent_component(ret))
		return skm_err_set(err, EINVAL, "cgroup path \"%s\" leads out of our cgroup namespace", ret);
	return 0;
}

int skm_probe_cgroup_line(const char *text, char *ret, size_t size, struct skm_err *err)
{
	const char *path = find_v2_line(text);

	if (!path)
		return skm_err_set(err, ENOENT, "the process has no cgroup v2 (no line \"0::\")");
	return take_path(path, "0::", ret, size, err);
}

/* Whether the comma-separated names that end before `end` hold "memory". */
static bool names_memory(const char *names, const char *end)
{
	static const char WORD[] = "memory";

	while (names < end) {
		const char *comma = memchr(names, ',', (size_t)(end - names)), *stop = comma ? comma : end;

		if ((size_t)(stop - names) == sizeof(WORD) - 1 && memcmp(names, WORD, sizeof(WORD) - 1) == 0)
			return true;
		names = stop + 1;
	}
	return false;
}

int skm_probe_cgroup1_memory_line(const char *text, char *ret, size_t size, struct skm_err *err)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		const char *names = line + strcspn(line, ":\n"), *end;

		if (*names != ':')
			continue;
		names++;
		end = names + strcspn(names, ":\n");
		if (*end == ':' && names_memory(names, end))
			return take_path(end + 1, "memory", ret, size, err);
	}
	return skm_err_set(err, ENOENT, "the process is in no v1 hierarchy with the memory controller");
}
