/* SPDX-License-Identifier: Apache-2.0 */
/* The answering side of `sockload echo`, living beside the bulk load in one process. */
#ifndef SOCKLOAD_ECHOER_H
#define SOCKLOAD_ECHOER_H

#include <stdint.h>

struct echoer {
	int listener, epoll; /* -1 when there is none */
	uint64_t connections, bytes;
};

/* Listens; -1 in `listener` when port is 0. 0 or a negative errno, complained about. */
int echoer_init(struct echoer *echoer, const char *bind, int family, uint16_t port);

/* Serves what is there without waiting. */
void echoer_serve(struct echoer *echoer);

void echoer_free(struct echoer *echoer);

#endif
