/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's socket: AF_UNIX SOCK_SEQPACKET, one packet a request, one packet an answer, descriptors by SCM_RIGHTS. */
#ifndef SKM_IPC_IPC_H
#define SKM_IPC_IPC_H

#include "base/err.h"
#include "model/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest packet, request or answer. Both sides ask for send buffers that hold it (SO_SNDBUFFORCE: root). */
#define SKM_PACKET_MAX (2 * 1024 * 1024)

/* Client side: connects to path. Returns a descriptor; -ENOENT or -ECONNREFUSED where no enforcer listens; -errno. err set. */
int skm_ipc_connect(const char *path, struct skm_err *err);

/* Sends the request with its descriptors (those that are >= 0 must be all or none) and waits for the answer until the
 * deadline (CLOCK_MONOTONIC microseconds). *ret_data: JSON text of the answer's data, freed by the caller, NULL where none.
 * Returns 0; -ETIMEDOUT where no answer came; -errno, or the enforcer's own refusal, with err set. The request keeps its fds. */
int skm_ipc_call(int fd, const struct skm_request *request, uint64_t deadline_usec, char **ret_data, struct skm_err *err);

/* Server side: makes the socket (mode 0600, an old one of a dead enforcer is replaced) and listens. Returns a descriptor or
 * -errno. */
int skm_ipc_listen(const char *path, struct skm_err *err);

/* Accepts one connection, non-blocking, close-on-exec; refuses a peer that is not root (SO_PEERCRED).
 * Returns a descriptor; -EAGAIN where none waits; -EPERM where the peer was refused; -errno. */
int skm_ipc_accept(int listen_fd, struct skm_err *err);

/* Receives one request. ret->fds are the caller's to close (skm_ipc_request_close), also where the request is refused.
 * Returns 1; 0 where the peer has closed; -EAGAIN; -EINVAL, -EPROTO, -EMSGSIZE with err set (answer it with the error). */
int skm_ipc_receive(int fd, struct skm_request *ret, struct skm_err *err);

/* Sends an answer without waiting: data (JSON text or NULL), or err where it is not NULL. Returns 0 or -errno (the peer is gone
 * or does not read). */
int skm_ipc_answer(int fd, const char *data, const struct skm_err *err);

void skm_ipc_request_close(struct skm_request *request);

#endif
