/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's socket: AF_UNIX SOCK_SEQPACKET, one packet a request, one packet an answer, descriptors by SCM_RIGHTS. */
#ifndef SKM_IPC_IPC_H
#define SKM_IPC_IPC_H

#include "base/err.h"
#include "model/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest answer. */
#define SKM_PACKET_MAX (2 * 1024 * 1024)

/* The largest request: an id of SKM_ID_MAX bytes, each escaped, and a policy in its canonical form leave half of it free. */
#define SKM_REQUEST_MAX (16 * 1024)

/* A larger answer travels as a sealed memfd beside an empty object: the kernel would want one physically contiguous piece of
 * memory for a packet of megabytes (unix_dgram_sendmsg: all but 64 KiB of a packet is linear), and a send buffer that holds it.
 */
#define SKM_ANSWER_INLINE_MAX (64 * 1024)

/* Client side: connects to path, without waiting. Returns a descriptor (non-blocking, close-on-exec); -ENOENT or -ECONNREFUSED
 * where no enforcer listens; -EAGAIN where one listens but its queue is full (try again until your deadline); -errno. err set. */
int skm_ipc_connect(const char *path, struct skm_err *err);

/* Sends the request with its descriptors (those that are >= 0 must be all or none) and waits for the answer until the
 * deadline (CLOCK_MONOTONIC microseconds). *ret_data: JSON text of the answer's data, freed by the caller, NULL where none.
 * Returns 0; -ETIMEDOUT where no answer came; -ECONNRESET where the enforcer closed without one (it may just have left for want
 * of containers: connect again); -EPROTO where it speaks another version; the enforcer's own refusal, or -errno, with err set.
 * The request keeps its fds. */
int skm_ipc_call(int fd, const struct skm_request *request, uint64_t deadline_usec, char **ret_data, struct skm_err *err);

/* Server side: makes the socket (mode 0600, an old one of a dead enforcer is replaced) and listens. The directory must exist.
 * Returns a descriptor (non-blocking, close-on-exec); -EADDRINUSE where an enforcer listens there already, or is about to;
 * -ENAMETOOLONG; -errno. */
int skm_ipc_listen(const char *path, struct skm_err *err);

/* The listening socket that systemd passed (LISTEN_PID, LISTEN_FDS; sd_listen_fds(3)), made non-blocking and close-on-exec.
 * Returns a descriptor; -ENOENT where none was passed; -EINVAL where it is not one listening SEQPACKET socket. */
int skm_ipc_listen_inherited(struct skm_err *err);

/* Accepts one connection, non-blocking, close-on-exec; refuses a peer that is not root (SO_PEERCRED).
 * Returns a descriptor; -EAGAIN where none waits; -EPERM where the peer was refused; -errno. */
int skm_ipc_accept(int listen_fd, struct skm_err *err);

/* Receives one request. ret->fds are the caller's to close (skm_ipc_request_close), also where the request is refused.
 * Register comes with exactly SKM_FD_COUNT descriptors, every other verb with none; whatever else was sent is closed here.
 * Never waits. Returns 1; 0 where the peer has closed; -EAGAIN; -EINVAL, -EPROTO, -EMSGSIZE with err set (answer it with the
 * error); -errno. */
int skm_ipc_receive(int fd, struct skm_request *ret, struct skm_err *err);

/* Sends an answer without waiting: data (JSON text or NULL), or err where it is not NULL. An answer over SKM_PACKET_MAX is
 * replaced by an error that says so. Returns 0 or -errno (the peer is gone or does not read). */
int skm_ipc_answer(int fd, const char *data, const struct skm_err *err);

void skm_ipc_request_close(struct skm_request *request);

#endif
