/* SPDX-License-Identifier: Apache-2.0 */
/* A rtnetlink socket (libnl-3) in a network namespace of choice. The kernel does a request while it is being sent, and waits for
 * its rtnl lock as long as others hold it: no receive timeout covers that, so whoever must not wait asks in a process of its own.
 */
#ifndef SKM_PROBE_RTNL_H
#define SKM_PROBE_RTNL_H

#include "base/err.h"

#include <stddef.h>

struct nl_msg;
struct skm_rtnl;

/* Opens the socket inside netns_fd (-1: the calling thread's own namespace) with a receive timeout of 2 s. It keeps the namespace
 * alive until it is closed. The caller closes *ret. Returns 0; -ENOMEM; -errno of setns or of the socket. */
int skm_probe_rtnl_open(int netns_fd, struct skm_rtnl **ret, struct skm_err *err);
void skm_probe_rtnl_close(struct skm_rtnl *rtnl);

/* Called for each message of an answer. Returns 0, or -errno, which ends the reading. */
typedef int (*skm_rtnl_take)(struct nl_msg *message, void *data);

/* Sends one request and waits for its acknowledgement; message is consumed, and may be NULL where its making failed.
 * take may be NULL. Returns 0; the kernel's own -errno with its own sentence in err; -ETIMEDOUT where no answer came (the socket
 * takes no further request: -EPIPE); -ENOMEM; -errno. */
int skm_probe_rtnl_talk(struct skm_rtnl *rtnl, struct nl_msg *message, skm_rtnl_take take, void *data, struct skm_err *err);

/* Asks for a list: header (family header, length bytes) with NLM_F_DUMP. A list that the kernel interrupted (NLM_F_DUMP_INTR) is
 * asked for again, at most 3 times; restart, which may be NULL, is called before each try so that what was taken can be dropped.
 * Returns 0; -EINTR where it was interrupted each time; else as skm_probe_rtnl_talk. */
int skm_probe_rtnl_dump(struct skm_rtnl *rtnl, int type, const void *header, size_t length, skm_rtnl_take take,
                        void (*restart)(void *data), void *data, struct skm_err *err);

#endif
