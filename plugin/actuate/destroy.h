/* SPDX-License-Identifier: Apache-2.0 */
/* Ends TCP connections by SOCK_DESTROY of NETLINK_SOCK_DIAG (libnl-3): the kernel drops the send queue, and the peer and the
 * program see a reset. There is nothing to give back, so nothing is journaled.
 *
 * Both functions work in the calling thread's network namespace, and wait for the lock of a socket, which its program may hold
 * for as long as it likes (by a page fault of its own in the middle of a send): call them where that holds up nobody. */
#ifndef SKM_ACTUATE_DESTROY_H
#define SKM_ACTUATE_DESTROY_H

#include "base/err.h"
#include "probe/sock_diag.h"

/* The TCP sockets that were made in the cgroup or below it, with their idle times, ascending by cookie. The caller frees *ret.
 * Returns 0; -errno as skm_probe_sock_diag. */
int skm_actuate_destroy_list(int cgroup_fd, struct skm_diag_socket **ret, size_t *ret_count, struct skm_err *err);

/* Ends this one and no other: by its cookie. Returns 0; -ENOENT where it has gone by itself; -EOPNOTSUPP where the kernel is
 * built without INET_DIAG_DESTROY; -EPERM; -ENOMEM; -EIO. */
int skm_actuate_destroy(const struct skm_diag_socket *socket, struct skm_err *err);

#endif
