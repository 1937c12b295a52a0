/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/runtime_log.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A runtime's global options come first, so what does not fit is of no interest. */
#define CMDLINE_MAX 8192

/* The value of option `name` in the word at *word, "NAME=VALUE" or "NAME" with the next word; NULL where it is another. */
static const char *option_value(const char *word, const char *end, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(word, name, length) != 0)
		return NULL;
	if (word[length] == '=')
		return word + length + 1;
	if (word[length] != '\0')
		return NULL;
	word += length + 1;
	return word < end ? word : NULL;
}

const char *skm_hook_runtime_log_find(const char *cmdline, size_t length, bool *ret_json)
{
	const char *end = cmdline + length, *log = NULL;

	*ret_json = false;
	if (length == 0 || cmdline[length - 1] != '\0')
		return NULL; /* cut: the last word is not whole */
	for (const char *word = cmdline; word < end; word += strlen(word) + 1) {
		const char *file = option_value(word, end, "--log"), *format = option_value(word, end, "--log-format");

		if (file && *file)
			log = file;
		if (format)
			*ret_json = strcmp(format, "json") == 0;
	}
	return log;
}

/* Whether process pid is crun. runc shows a hook's stderr itself. */
static bool is_crun(int proc)
{
	char name[32];

	return skm_read_text_at(proc, "comm", name, sizeof(name)) >= 0 && strcmp(name, "crun\n") == 0;
}

/* The file as the runtime would open it: relative to the runtime's own folder. */
static int open_log(int proc, const char *file)
{
	cleanup_fd int cwd = openat(proc, "cwd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
	        cwd < 0 ? -1 : openat(cwd, file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? skm_steal_fd(&fd) : -1;
}

/* As crun writes its own (src/libcrun/error.c): {"msg":…,"level":…,"time":…}. */
static size_t format_json(char *text, size_t size, const char *line)
{
	char quoted[2048], stamp[32] = "";
	size_t length = 0;
	time_t now = time(NULL);
	struct tm parts;

	for (; *line && length < sizeof(quoted) - 3; line++) {
		if (*line == '"' || *line == '\\')
			quoted[length++] = '\\';
		quoted[length++] = *line;
	}
	quoted[length] = '\0';
	if (gmtime_r(&now, &parts))
		SKM_IGNORE(strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0); /* then it is empty */
	return (size_t)snprintf(text, size, "{\"msg\":\"sockmem-hook: %s\",\"level\":\"error\",\"time\":\"%s\"}\n", quoted,
	                        stamp);
}

void skm_hook_runtime_log_append(pid_t pid, const char *line)
{
	cleanup_fd int proc = -1, fd = -1;
	char name[32], cmdline[CMDLINE_MAX], text[4096];
	const char *file;
	ssize_t length;
	bool json;

	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	proc = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || !is_crun(proc))
		return;
	length = skm_read_text_at(proc, "cmdline", cmdline, sizeof(cmdline));
	file = length > 0 ? skm_hook_runtime_log_find(cmdline, (size_t)length, &json) : NULL;
	fd = file ? open_log(proc, file) : -1;
	if (fd < 0)
		return;
	length = json ? (ssize_t)format_json(text, sizeof(text), line) : snprintf(text, sizeof(text), "sockmem-hook: %s\n", line);
	SKM_IGNORE(write(fd, text, (size_t)length) < 0); /* a full disk: the other places have the line */
}
