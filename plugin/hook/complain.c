/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/complain.h"

#include "base/cleanup.h"
#include "base/io.h"
#include "hook/log_file.h"
#include "hook/runtime_log.h"
#include "hook/system_log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <syslog.h>

#define LINE_MAX_BYTES 1024
#define ID_SHOWN_MAX 72 /* an id of podman or containerd has 64 */

/* How many processes above us are asked for a stderr: the runtime, its caller (podman's conmon, containerd's shim), one more. */
#define ANCESTORS_MAX 4

void skm_hook_open_standard(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			SKM_IGNORE(open("/dev/null", O_RDWR) < 0); /* the lowest free number is fd itself */
}

/* Appends text to line, whose room ends at `end`, and returns the new length. */
static size_t append_escaped(char *line, size_t length, size_t end, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c && length + 4 < end; c++) {
		if (*c >= ' ' && *c < 0x7f)
			line[length++] = (char)*c;
		else if (strncmp((const char *)c, "…", strlen("…")) == 0) { /* what skm_err puts where it cuts */
			length += (size_t)sprintf(line + length, "...");
			c += strlen("…") - 1;
		} else
			length += (size_t)sprintf(line + length, "\\x%02x", *c);
	}
	line[length] = '\0';
	return length;
}

/* "container ID: MARK""TEXT", without a newline. */
static void format_line(char line[LINE_MAX_BYTES], const char *id, const char *mark, const char *text)
{
	size_t length = 0;

	line[0] = '\0';
	if (*id) {
		length = append_escaped(line, length, LINE_MAX_BYTES, "container ");
		length = append_escaped(line, length, length + ID_SHOWN_MAX, id);
		length = append_escaped(line, length, LINE_MAX_BYTES, ": ");
	}
	length = append_escaped(line, length, LINE_MAX_BYTES, mark);
	append_escaped(line, length, LINE_MAX_BYTES, text);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether somebody may see what is written to fd. */
static bool leads_somewhere(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) || fstat(fd, &st) < 0)
		return false;
	return !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)); /* /dev/null */
}

/* Writes the line where it can be taken at once: the descriptor is shared with the runtime, so it cannot be made non-blocking.
 * A line is shorter than PIPE_BUF, which is what a pipe that polls writable has room for. */
static bool write_at_once(int fd, const char *line)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	char text[LINE_MAX_BYTES + 32];
	int length = snprintf(text, sizeof(text), "sockmem-hook: %s\n", line);

	if (!leads_somewhere(fd) || poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
		return false;
	return write(fd, text, (size_t)length) == length;
}

/* The parent of process pid, 0 where it is not known. */
static pid_t parent_of(pid_t pid)
{
	char name[64], text[4096];
	const char *line;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	if (skm_read_text_at(AT_FDCWD, name, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, "\nPPid:");
	return line ? (pid_t)strtol(line + strlen("\nPPid:"), NULL, 10) : 0;
}

/* The stderr of process pid. The descriptor itself is preferred to its file opened anew: it may be a socket, and where it is a
 * file the runtime's next line must follow ours, not overwrite it. */
static int stderr_of(pid_t pid)
{
	cleanup_fd int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	char name[64];
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0);

	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/%d/fd/2", (int)pid);
	return open(name, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* besides: what has the line already; NULL: nothing has */
static void write_to_ancestor(const char *line, const struct stat *besides)
{
	pid_t pid = getppid();

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = parent_of(pid)) {
		cleanup_fd int fd = stderr_of(pid);
		struct stat st;

		if (fd >= 0 && besides && fstat(fd, &st) == 0 && is_same_file(&st, besides))
			return;
		if (fd >= 0 && write_at_once(fd, line))
			return;
	}
}

static void keep(const struct skm_hook_paths *paths, int priority, const char *line)
{
	skm_hook_log_append(paths->run_dir, paths->log_name, line);
	skm_hook_system_log(priority, line);
}

void skm_hook_complain(const struct skm_hook_paths *paths, const char *id, const char *text)
{
	char line[LINE_MAX_BYTES];

	format_line(line, id, "", text);
	if (!write_at_once(STDERR_FILENO, line)) {
		write_to_ancestor(line, NULL);
		skm_hook_runtime_log_append(getppid(), line);
	}
	keep(paths, LOG_ERR, line);
}

void skm_hook_warn(const struct skm_hook_paths *paths, const char *id, const char *text)
{
	char line[LINE_MAX_BYTES];
	struct stat st;
	bool written, is_pipe;

	format_line(line, id, SKM_HOOK_NOT_ENFORCED, text);
	written = write_at_once(STDERR_FILENO, line);
	is_pipe = fstat(STDERR_FILENO, &st) == 0 && S_ISFIFO(st.st_mode);
	if (!written || is_pipe)
		write_to_ancestor(line, written ? &st : NULL);
	keep(paths, LOG_WARNING, line);
}

void skm_hook_debug(const char *id, const char *text)
{
	char line[LINE_MAX_BYTES];

	format_line(line, id, "", text);
	skm_hook_system_log(LOG_DEBUG, line);
}
