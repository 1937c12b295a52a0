/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with the headers it wants before it, and one helper that prints an error's text. */
#ifndef SKM_TEST_H
#define SKM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* Fails with both texts where `part` is not in `text`. */
#define assert_contains(text, part)                                                                                              \
	do {                                                                                                                     \
		if (!strstr((text), (part)))                                                                                     \
			fail_msg("\"%s\" does not contain \"%s\"", (text), (part));                                              \
	} while (0)

#endif
