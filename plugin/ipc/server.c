/* SPDX-License-Identifier: Apache-2.0 */
#include "ipc/ipc.h"

#include "base/cleanup.h"
#include "codec/message.h"
#include "ipc/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define LISTEN_BACKLOG 128

/* Binds to a name beside `path` and moves it there once it listens, so that nobody ever meets a socket that does not yet
 * listen or has a wider mode. */
static int bind_and_move(const char *path, struct skm_err *err)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (fd < 0)
		return skm_err_set_errno(err, errno, "make a socket");
	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", path) >= (int)sizeof(address.sun_path))
		return skm_err_set(err, ENAMETOOLONG, "%s: too long for a socket", path);
	if (unlink(address.sun_path) < 0 && errno != ENOENT)
		return skm_err_set_errno(err, errno, "remove %s", address.sun_path);
	/* Before bind() this is the mode that the file will be made with (unix_bind_bsd). */
	if (fchmod(fd, 0600) < 0)
		return skm_err_set_errno(err, errno, "set the mode of %s", path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return skm_err_set_errno(err, errno, "bind %s", address.sun_path);
	if (listen(fd, LISTEN_BACKLOG) < 0 || rename(address.sun_path, path) < 0) {
		int code = errno;

		unlink(address.sun_path);
		return skm_err_set_errno(err, code, "listen at %s", path);
	}
	return skm_steal_fd(&fd);
}

int skm_ipc_listen(const char *path, struct skm_err *err)
{
	cleanup_fd int lock = -1, probe = -1;
	char lock_path[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 8];

	if (snprintf(lock_path, sizeof(lock_path), "%s.lock", path) >= (int)sizeof(lock_path))
		return skm_err_set(err, ENAMETOOLONG, "%s: too long for a socket", path);
	/* Two hooks may start two enforcers at once: the lock lets one look, replace and listen. */
	lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (lock < 0)
		return skm_err_set_errno(err, errno, "open %s", lock_path);
	if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? skm_err_set(err, EADDRINUSE, "another enforcer is starting at %s", path)
		                            : skm_err_set_errno(err, errno, "lock %s", lock_path);
	probe = skm_ipc_connect(path, NULL);
	if (probe >= 0 || probe == -EAGAIN)
		return skm_err_set(err, EADDRINUSE, "an enforcer already listens at %s", path);
	return bind_and_move(path, err);
}

/* A variable of the environment as a number; -1 where it is absent or none. */
static long environment_number(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long number;

	if (!text || !*text)
		return -1;
	errno = 0;
	number = strtol(text, &end, 10);
	return errno || *end || number < 0 ? -1 : number;
}

int skm_ipc_listen_inherited(struct skm_err *err)
{
	const int fd = 3; /* SD_LISTEN_FDS_START */
	long count = environment_number("LISTEN_FDS");
	int type = 0, listens = 0;
	socklen_t size = sizeof(int);

	if (environment_number("LISTEN_PID") != getpid() || count < 1)
		return skm_err_set(err, ENOENT, "no socket was passed");
	if (count != 1)
		return skm_err_set(err, EINVAL, "%ld sockets were passed, one is expected", count);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0)
		return skm_err_set_errno(err, errno, "look at the passed socket");
	if (type != SOCK_SEQPACKET || !listens)
		return skm_err_set(err, EINVAL, "the passed socket is not one that listens with ListenSequentialPacket=");
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return skm_err_set_errno(err, errno, "set the flags of the passed socket");
	return fd;
}

int skm_ipc_accept(int listen_fd, struct skm_err *err)
{
	cleanup_fd int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0) /* a peer that left the queue meanwhile is no error either */
		return errno == ECONNABORTED || errno == EINTR ? -EAGAIN : skm_err_set_errno(err, errno, "accept");
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return skm_err_set_errno(err, errno, "ask who connects");
	if (peer.uid != 0)
		return skm_err_set(err, EPERM, "refused pid %d of user %u: only root may talk to the enforcer", (int)peer.pid,
		                   (unsigned)peer.uid);
	return skm_steal_fd(&fd);
}

static int check_fds(const struct skm_packet *packet, enum skm_verb verb, struct skm_err *err)
{
	size_t expected = verb == SKM_VERB_REGISTER ? SKM_FD_COUNT : 0;

	if (packet->fd_count == expected)
		return 0;
	return skm_err_set(err, EINVAL, "a %s request carries %zu descriptors, not %zu", skm_name_of(&skm_verb_names, verb),
	                   expected, packet->fd_count);
}

int skm_ipc_receive(int fd, struct skm_request *ret, struct skm_err *err)
{
	char buffer[SKM_REQUEST_MAX];
	struct skm_packet packet;
	int r;

	*ret = SKM_REQUEST_INIT;
	r = skm_packet_receive(fd, buffer, sizeof(buffer), &packet);
	if (r == -EMSGSIZE)
		return skm_err_set(err, EMSGSIZE, "a request may have at most %d bytes", SKM_REQUEST_MAX);
	if (r == -EINVAL)
		return skm_err_set(err, EINVAL, "a request with more than %d descriptors", SKM_FD_COUNT);
	if (r == -ECONNRESET)
		return 0;
	if (r <= 0)
		return r == 0 || r == -EAGAIN ? r : skm_err_set_errno(err, -r, "receive a request");
	r = skm_codec_request_parse(buffer, packet.length, ret, err);
	if (r == 0)
		r = check_fds(&packet, ret->verb, err);
	if (r < 0) {
		skm_packet_close_fds(&packet);
		return r;
	}
	memcpy(ret->fds, packet.fds, packet.fd_count * sizeof(int));
	return 1;
}

/* Puts text into a memfd that nobody can change any more. Returns a descriptor or -errno. */
static int make_large(const char *text, size_t length)
{
	cleanup_fd int fd = memfd_create("sockmem-answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < length;) {
		ssize_t put = pwrite(fd, text + done, length - done, (off_t)done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		done += (size_t)put;
	}
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return skm_steal_fd(&fd);
}

int skm_ipc_answer(int fd, const char *data, const struct skm_err *err)
{
	cleanup_free char *text = skm_codec_answer_format(err ? NULL : data, err);
	cleanup_fd int large = -1;
	size_t length;

	if (!text)
		return -ENOMEM;
	length = strlen(text);
	if (length <= SKM_ANSWER_INLINE_MAX)
		return skm_packet_send(fd, text, length, NULL, 0);
	if (length > SKM_PACKET_MAX) {
		struct skm_err too_large = SKM_ERR_INIT;

		skm_err_set(&too_large, EMSGSIZE, "the answer has %zu bytes, more than the %d that fit", length, SKM_PACKET_MAX);
		return skm_ipc_answer(fd, NULL, &too_large);
	}
	large = make_large(text, length);
	return large < 0 ? large : skm_packet_send(fd, "{}", 2, &large, 1);
}

void skm_ipc_request_close(struct skm_request *request)
{
	for (size_t i = 0; i < SKM_FD_COUNT; i++)
		skm_close_fd(&request->fds[i]);
}
