/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "paths.h"

#include <fcntl.h>
#include <string.h>

/* The hook keeps its log below this (plugin/hook/log_file.c). */
#define LOG_MAX 65536

/* What the hook said last of a container whose id is, or begins with, id: a line "TIME container ID: TEXT" of its log. A
 * container that is not enforced is in no record, but there. Returns false where there is none. */
static bool find_said(const char *log, const char *id, char *ret, size_t size)
{
	static const char word[] = " container ";
	const char *found = NULL;

	for (const char *line = log; *line; line += strcspn(line, "\n") + 1) {
		const char *text = line + strcspn(line, " \n");

		if (strncmp(text, word, strlen(word)) == 0 && strncmp(text + strlen(word), id, strlen(id)) == 0)
			found = line;
		if (!line[strcspn(line, "\n")])
			break;
	}
	if (found)
		snprintf(ret, size, "%.*s", (int)strcspn(found, "\n"), found);
	return found;
}

static bool hook_said(const char *id, char *ret, size_t size)
{
	cleanup_fd int fd = open(skm_cli_paths()->hook_log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup_free char *text = NULL;
	size_t length;

	return fd >= 0 && skm_read_to_end(fd, LOG_MAX, &text, &length) == 0 && find_said(text, id, ret, size);
}

enum skm_exit skm_cli_none_found(const char *id, enum skm_cli_asked asked, const struct skm_err *err)
{
	enum skm_exit status = asked == SKM_ASKED_ABSENT ? SKM_EXIT_NO_ENFORCER : SKM_EXIT_NO_CONTAINER;
	char said[768], absent[256];
	const char *why = err->text;

	if (asked == SKM_ASKED_ABSENT) {
		snprintf(absent, sizeof(absent), "no container that has ended is called %.64s, and " SKM_CLI_ABSENT_TEXT, id);
		why = absent;
	}
	if (hook_said(id, said, sizeof(said)))
		return skm_cli_fail(status, "%s; its hook said: %s", why, said);
	return skm_cli_fail(status, "%s", why);
}
