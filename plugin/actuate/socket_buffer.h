/* SPDX-License-Identifier: Apache-2.0 */
/* One open socket of another process: taken, looked at, set. For this room's own files, called by the worker. */
#ifndef SKM_ACTUATE_SOCKET_BUFFER_H
#define SKM_ACTUATE_SOCKET_BUFFER_H

#include "actuate/fd_scan.h"
#include "base/err.h"
#include "model/journal.h"

#include <stdbool.h>
#include <stdint.h>

/* A pidfd kept for the next socket, which is mostly of the same process. */
struct skm_taker {
	pid_t pid;
	bool thread;
	int pidfd;
};

#define SKM_TAKER_INIT ((struct skm_taker){.pidfd = -1})

/* A duplicate of the socket, after asking it for its cookie. Returns a descriptor that the caller closes soon: as long as it is
 * open the program's own close() sends no FIN. -ESTALE where the descriptor is another file by now, or its process has ended;
 * -EOPNOTSUPP where a thread with descriptors of its own holds it, before kernel 6.9; -EPERM and others with err set. */
int skm_actuate_socket_take(struct skm_taker *taker, const struct skm_held_socket *held, struct skm_err *err);
void skm_actuate_taker_close(struct skm_taker *taker);

/* The settings as they stand. Returns 0; -ENOPROTOOPT before kernel 5.15 (no SO_BUF_LOCK: a squeeze could not be undone). */
int skm_actuate_socket_look(int socket, struct skm_socket_baseline *ret, struct skm_err *err);

/* Whether the last close of the socket may wait for its peer (SO_LINGER with a time). */
bool skm_actuate_socket_lingers(int socket);

/* Sets the buffer of one side (SKM_SIDE_…) as the kernel counts it, which locks it; *ret: what it is now (the kernel has a
 * minimum). */
int skm_actuate_socket_squeeze(int socket, uint32_t side, uint32_t bytes, uint32_t *ret, struct skm_err *err);

/* Puts the buffer and the lock of these sides back; the other's lock stays as it is. */
int skm_actuate_socket_restore(int socket, uint32_t sides, const struct skm_socket_baseline *baseline, struct skm_err *err);

#endif
