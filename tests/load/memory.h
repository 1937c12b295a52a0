/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own memory, growing beside its sockets. */
#ifndef SOCKLOAD_MEMORY_H
#define SOCKLOAD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct memory {
	unsigned char *pages;
	size_t size, touched, page_size;
	int64_t start_nsec, over_nsec;
};

/* Reserves `size` bytes, to be touched evenly over `over_nsec` from `start_nsec` on. 0 or a negative errno, complained about. */
int memory_plan(struct memory *memory, uint64_t size, int64_t start_nsec, int64_t over_nsec);

/* Touches what is due. Returns 1 while there is more to come, else 0. */
int memory_grow(struct memory *memory, int64_t now);

void memory_free(struct memory *memory);

#endif
