/* SPDX-License-Identifier: Apache-2.0 */
#include "hooks_file.h"

#include "base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHITE " \t\r\n"

void skm_cli_hooks_file_path(const char *text, char *ret)
{
	static const char key[] = "\"path\"";
	size_t length;

	ret[0] = '\0';
	for (text = strstr(text, key); text; text = strstr(text, key)) {
		text += strlen(key);
		text += strspn(text, WHITE);
		if (*text == ':')
			break;
	}
	if (!text)
		return;
	text += 1 + strspn(text + 1, WHITE);
	if (*text++ != '"')
		return;
	length = strcspn(text, "\"\\\n");
	if (text[length] != '"' || *text != '/' || length >= PATH_MAX)
		return;
	memcpy(ret, text, length);
	ret[length] = '\0';
}

static bool is_executable(const char *path)
{
	struct stat st;

	return *path && stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static void look(const char *folder, bool read_by_default, struct skm_hooks_file *ret)
{
	char text[16384];

	*ret = (struct skm_hooks_file){.read_by_default = read_by_default};
	snprintf(ret->path, sizeof(ret->path), "%s/" SKM_HOOKS_FILE_NAME, folder);
	if (skm_read_text_at(AT_FDCWD, ret->path, text, sizeof(text)) < 0)
		return;
	ret->found = true;
	skm_cli_hooks_file_path(text, ret->hook);
	ret->for_all = strstr(text, "\"--node-defaults\"");
	ret->executable = is_executable(ret->hook);
}

int skm_cli_hooks_files(const char *own_folder, struct skm_hooks_file ret[SKM_HOOKS_FOLDERS_MAX])
{
	static const char *const known[] = {"/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"};
	bool own_is_known = false;
	int count = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		own_is_known = own_is_known || strcmp(known[i], own_folder) == 0;
		look(known[i], i == 0, &ret[count++]); /* podman 4.3.1 was seen to read the first alone, CRI-O reads both */
	}
	if (!own_is_known)
		look(own_folder, false, &ret[count++]);
	return count;
}
