/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets share. A target is what libFuzzer calls (clang), and what replay.c calls for each file of the corpus (any
 * compiler): it gets a block of just its size, so that a sanitizer sees a step past the end. */
#ifndef SKM_FUZZ_H
#define SKM_FUZZ_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that has to hold whatever the input. */
#define FUZZ_CHECK(property)                                                                                                     \
	do {                                                                                                                     \
		if (!(property)) {                                                                                               \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #property);                            \
			abort();                                                                                                 \
		}                                                                                                                \
	} while (0)

/* A refusal has its errno and its words, none of which has power over a terminal. */
static inline void fuzz_check_refusal(int r, const struct skm_err *err)
{
	FUZZ_CHECK(r < 0 && err->code == -r);
	FUZZ_CHECK(strlen(err->text) > 10);
	for (const char *c = err->text; *c; c++)
		FUZZ_CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
}

/* Outputs that a refusal has to leave alone are filled with this before. */
#define FUZZ_FILL 0x5a

static inline void fuzz_check_untouched(const void *output, size_t size)
{
	for (size_t i = 0; i < size; i++)
		FUZZ_CHECK(((const unsigned char *)output)[i] == FUZZ_FILL);
}

#endif
