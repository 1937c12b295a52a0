/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which process of a cgroup holds which socket, by the links below /proc/PID/fd. For this room's own files. */
#ifndef SKM_ACTUATE_FD_SCAN_H
#define SKM_ACTUATE_FD_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct skm_held_socket {
	uint64_t cookie;
	uint32_t inode; /* as the link says: "socket:[INODE]" */
	uint32_t heat;  /* what it holds, bytes */
	uint32_t sides; /* SKM_SIDE_…: what is to be done with it */
	pid_t pid;      /* out: a process that holds it, and its descriptor there; 0: none was found */
	bool thread;    /* pid is a thread's, which has descriptors of its own (CLONE_FILES not shared) */
	int fd;
};

/* Fills in pid and fd for each of the sockets (sorted by inode) that a process of the cgroup or its descendants holds; stops as
 * soon as all are found. Inode numbers may come round again: whoever takes a socket by this answer asks it for its cookie.
 * Where some are left, threads that do not share their process's descriptors are looked through as well.
 * Not found: processes of a threaded cgroup.
 * Returns how many were found; a cgroup that is gone has none. */
size_t skm_actuate_fd_scan(int cgroup_fd, struct skm_held_socket *sockets, size_t count);

#endif
