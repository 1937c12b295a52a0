/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/mountinfo.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct mount {
	char *root, *point, *type, *options;
};

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* \040, \011, \012 and \134 are how the kernel writes space, tab, newline and backslash. In place. */
static void undo_escapes(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		if (in[0] == '\\' && is_octal(in[1]) && is_octal(in[2]) && is_octal(in[3])) {
			*out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

/* "36 35 98:0 ROOT POINT options [optional fields] - TYPE source superoptions": cuts the line up. False on another shape. */
static bool split_line(char *line, struct mount *ret)
{
	char *rest = line, *field = NULL;
	struct mount mount = {0};

	for (int i = 0; i < 6; i++) {
		field = strsep(&rest, " \n");
		if (!field || !*field)
			return false;
		if (i == 3)
			mount.root = field;
		if (i == 4)
			mount.point = field;
	}
	while ((field = strsep(&rest, " \n")) && strcmp(field, "-") != 0)
		;
	if (!field)
		return false;
	mount.type = strsep(&rest, " \n");
	if (!mount.type || !rest)
		return false;
	strsep(&rest, " \n"); /* the source */
	mount.options = rest ? strsep(&rest, " \n") : rest;
	*ret = mount;
	return true;
}

static bool has_option(char *options, const char *wanted)
{
	for (const char *one = options ? strsep(&options, ",") : NULL; one; one = strsep(&options, ","))
		if (strcmp(one, wanted) == 0)
			return true;
	return false;
}

/* at, option: NULL for any */
static int find(const char *mountinfo, const char *type, const char *at, const char *option, char *ret, size_t size)
{
	cleanup_file FILE *file = fopen(mountinfo, "re");
	cleanup_free char *line = NULL;
	size_t room = 0;

	if (!file)
		return -errno;
	errno = 0;
	while (getline(&line, &room, file) > 0) {
		struct mount mount;

		if (!split_line(line, &mount) || strcmp(mount.type, type) != 0 || strcmp(mount.root, "/") != 0)
			continue;
		undo_escapes(mount.point);
		if ((at && strcmp(mount.point, at) != 0) || (option && !has_option(mount.options, option)))
			continue;
		if (strlen(mount.point) >= size)
			return -ENAMETOOLONG;
		strcpy(ret, mount.point);
		return 0;
	}
	return ferror(file) && errno ? -errno : -ENOENT;
}

int skm_probe_mount_find(const char *mountinfo, const char *type, const char *at, char *ret, size_t size)
{
	return find(mountinfo, type, at, NULL, ret, size);
}

int skm_probe_mount_find_with(const char *mountinfo, const char *type, const char *option, char *ret, size_t size)
{
	return find(mountinfo, type, NULL, option, ret, size);
}

int skm_probe_mount_option(const char *mountinfo, const char *type, const char *option)
{
	cleanup_file FILE *file = fopen(mountinfo, "re");
	cleanup_free char *line = NULL;
	size_t room = 0;

	if (!file)
		return -errno;
	errno = 0;
	while (getline(&line, &room, file) > 0) {
		struct mount mount;

		if (split_line(line, &mount) && strcmp(mount.type, type) == 0)
			return has_option(mount.options, option);
	}
	return ferror(file) && errno ? -errno : -ENOENT;
}
