/* SPDX-License-Identifier: Apache-2.0 */
#include "hook/system_log.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>

void skm_hook_system_log(int priority, const char *line)
{
	static const struct sockaddr_un log_socket = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	char stamp[32], text[2048];
	time_t now = time(NULL);
	struct tm parts;
	int length;

	if (fd < 0 || !localtime_r(&now, &parts) || !strftime(stamp, sizeof(stamp), "%b %e %H:%M:%S", &parts))
		return;
	/* The form of RFC 3164 as the C library writes it, without a host name. */
	length = snprintf(text, sizeof(text), "<%d>%s sockmem-hook[%d]: %s", LOG_DAEMON | priority, stamp, (int)getpid(), line);
	SKM_IGNORE(sendto(fd, text, (size_t)length, MSG_NOSIGNAL, (const struct sockaddr *)&log_socket, sizeof(log_socket)) < 0);
}
