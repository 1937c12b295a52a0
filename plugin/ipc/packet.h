/* SPDX-License-Identifier: Apache-2.0 */
/* One packet with its descriptors: what both ends share. Used inside ipc/ only. */
#ifndef SKM_IPC_PACKET_H
#define SKM_IPC_PACKET_H

#include <stddef.h>
#include <sys/types.h>

/* More than any packet of ours carries, so that one descriptor too many is seen as such. */
#define SKM_PACKET_FDS 4

struct skm_packet {
	size_t length;
	int fds[SKM_PACKET_FDS];
	size_t fd_count;
};

/* Sends one packet without waiting and without SIGPIPE. Returns 0 or -errno. */
int skm_packet_send(int fd, const char *data, size_t length, const int *fds, size_t fd_count);

/* Takes one packet into buffer without waiting; the descriptors are close-on-exec and the caller's (skm_packet_close_fds).
 * Returns 1; 0 where the peer has closed; -EAGAIN; -EMSGSIZE where the packet is larger than size; -EINVAL where more descriptors
 * came than there is room for; -errno. Where it fails it has closed every descriptor that came. */
int skm_packet_receive(int fd, char *buffer, size_t size, struct skm_packet *ret);

void skm_packet_close_fds(struct skm_packet *packet);

#endif
