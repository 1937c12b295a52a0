/* SPDX-License-Identifier: Apache-2.0 */
/* What the daemon's loop calls when a descriptor is ready: epoll's data is a pointer to this. */
#ifndef SKM_ENFORCER_WATCH_H
#define SKM_ENFORCER_WATCH_H

#include "base/err.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

struct skm_watch {
	/* events: EPOLLIN, EPOLLPRI, … The owner of the watch may free it. */
	void (*ready)(struct skm_watch *watch, uint32_t events);
};

/* The struct that a watch lives in. */
#define SKM_WATCH_OWNER(watch, type, member) ((type *)((char *)(watch)-offsetof(type, member)))

/* Returns 0 or -errno of epoll_ctl with err set. Take it out again before it is closed: a descriptor leaves the set by itself
 * only when nobody holds a copy, and a worker that was just forked, or the client that sent it, may. */
static inline int skm_watch_add(int epoll_fd, int fd, uint32_t events, struct skm_watch *watch, struct skm_err *err)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? skm_err_set_errno(err, errno, "watch descriptor %d", fd) : 0;
}

/* Takes a descriptor out that may still be open elsewhere. */
static inline void skm_watch_remove(int epoll_fd, int fd)
{
	/* one that is not in the set is fine */
	SKM_IGNORE(epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL) < 0);
}

#endif
