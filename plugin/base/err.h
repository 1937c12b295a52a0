/* SPDX-License-Identifier: Apache-2.0 */
/* One error, owned by the caller: set where the fault is seen, wrapped on the way up, printed once by main. */
#ifndef SKM_BASE_ERR_H
#define SKM_BASE_ERR_H

#include <stdarg.h>

#define SKM_ERR_TEXT_MAX 512

struct skm_err {
	int code; /* errno, positive; 0 while nothing is wrong */
	char text[SKM_ERR_TEXT_MAX];
};

#define SKM_ERR_INIT ((struct skm_err){0})

/* Sets the error and returns -code, so that a caller can `return skm_err_set(…)`.
 * code: a positive errno. err may be NULL where nobody asks for the text. A text too long is cut with "…". */
int skm_err_set(struct skm_err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same with the text of the errno appended: "open /x: No such file or directory". */
int skm_err_set_errno(struct skm_err *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there. Returns -err->code. */
int skm_err_wrap(struct skm_err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A result that may be ignored, with the reason in a comment beside it: gcc does not take (void) on must-check functions. */
#define SKM_IGNORE(expr)                                                                                                         \
	do {                                                                                                                     \
		if (expr) {                                                                                                      \
		}                                                                                                                \
	} while (0)

#endif
