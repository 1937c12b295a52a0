/* SPDX-License-Identifier: Apache-2.0 */
/* Text that containers chose, on its way to a terminal. */
#ifndef SKM_CLI_ESCAPE_H
#define SKM_CLI_ESCAPE_H

#include <stdbool.h>

/* A copy of text in which nothing moves a cursor, changes a colour, ends a line, turns the writing direction or hides:
 * control characters (C0, DEL, C1) and bytes that are no UTF-8 become \xNN, other such code points \uNNNN or \UNNNNNNNN, a
 * backslash two of them, so that each text is shown in one way only.
 * utf8: whether the terminal takes UTF-8 (skm_cli_terminal_is_utf8); all but ASCII is escaped where it does not, since there a
 * byte in the middle of a sequence could be a control character.
 * The caller frees; NULL: out of memory. */
char *skm_cli_escape(const char *text, bool utf8);

/* Whether the locale, which main has set, is one of UTF-8. */
bool skm_cli_terminal_is_utf8(void);

/* How many columns an escaped text takes on the terminal. */
unsigned int skm_cli_columns(const char *escaped);

#endif
