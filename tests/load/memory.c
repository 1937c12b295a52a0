/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* At most this much at a time, so that the sockets are served in between. */
#define PIECE_MAX (1u << 20)

int memory_plan(struct memory *memory, uint64_t size, int64_t start_nsec, int64_t over_nsec)
{
	void *pages;

	*memory = (struct memory){.page_size = (size_t)sysconf(_SC_PAGESIZE)};
	if (size == 0)
		return 0;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED) {
		complain("cannot map %llu bytes: %s", (unsigned long long)size, strerror(errno));
		return -errno;
	}
	/* Huge pages would make the ramp a staircase. A kernel without them says EINVAL, which is as good. */
	madvise(pages, size, MADV_NOHUGEPAGE);
	memory->pages = pages;
	memory->size = size;
	memory->start_nsec = start_nsec;
	memory->over_nsec = over_nsec;
	return 0;
}

/* A word in each cache line: data that neither compresses away nor merges with another page, and is cheap in emulation. */
static void fill(unsigned char *page, size_t size, uint64_t seed)
{
	uint64_t word = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t at = 0; at + sizeof word <= size; at += 64) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		memcpy(page + at, &word, sizeof word);
	}
}

int memory_grow(struct memory *memory, int64_t now)
{
	int64_t age = now - memory->start_nsec;
	size_t due = memory->size;

	if (memory->touched >= memory->size)
		return 0;
	if (age <= 0)
		return 1;
	if (age < memory->over_nsec)
		due = (size_t)((double)memory->size * ((double)age / (double)memory->over_nsec));
	due = min_u64(due, memory->touched + PIECE_MAX);
	while (memory->touched < due) {
		size_t piece = memory->page_size;

		if (piece > memory->size - memory->touched)
			piece = memory->size - memory->touched;
		fill(memory->pages + memory->touched, piece, memory->touched + 1);
		memory->touched += piece;
	}
	return memory->touched < memory->size;
}

void memory_free(struct memory *memory)
{
	if (memory->pages)
		munmap(memory->pages, memory->size);
	memory->pages = NULL;
}
