/* SPDX-License-Identifier: Apache-2.0 */
#include "escape.h"

#include "codec/utf8.h"

#include <langinfo.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* The longest form of one byte of the text: \xNN. Longer forms stand for more bytes: \uNNNN for at least two, \UNNNNNNNN for
 * four. */
#define GROWTH 4

struct range {
	uint32_t first, last;
};

/* Code points that are not shown as themselves (Unicode's Cc, Cf, Zl, Zp that matter on a terminal, and noncharacters). */
static const struct range unsafe[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},       /* C0, DEL, C1 */
        {0xad, 0xad},                           /* soft hyphen */
        {0x034f, 0x034f},                       /* combining grapheme joiner */
        {0x061c, 0x061c},                       /* Arabic letter mark */
        {0x115f, 0x1160},   {0x3164, 0x3164},   /* fillers, shown as nothing */
        {0x180b, 0x180f},                       /* Mongolian selectors */
        {0x200b, 0x200f},                       /* zero width, direction marks */
        {0x2028, 0x202e},                       /* line and paragraph separators, bidi embeddings and overrides */
        {0x2060, 0x206f},                       /* invisible operators, bidi isolates */
        {0xe000, 0xf8ff},                       /* private use */
        {0xfdd0, 0xfdef},                       /* noncharacters */
        {0xfe00, 0xfe0f},                       /* variation selectors */
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   /* byte order mark, filler */
        {0xfff0, 0xffff},                       /* interlinear annotation, replacement, noncharacters */
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, /* format controls of shorthand and music */
        {0xe0000, 0x10ffff}                     /* tags, selectors, private use */
};

static bool is_safe(uint32_t point, bool utf8)
{
	if (point >= 0x80 && !utf8)
		return false;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
		if (point >= unsafe[i].first && point <= unsafe[i].last)
			return false;
	return true;
}

static size_t escape_point(char *into, uint32_t point)
{
	if (point < 0x100)
		return (size_t)sprintf(into, "\\x%02x", point);
	if (point < 0x10000)
		return (size_t)sprintf(into, "\\u%04x", point);
	return (size_t)sprintf(into, "\\U%08x", point);
}

char *skm_cli_escape(const char *text, bool utf8)
{
	size_t left = strlen(text), length = 0;
	char *escaped = malloc(left * GROWTH + 1);

	while (escaped && left > 0) {
		uint32_t point;
		size_t bytes = skm_utf8_decode(text, left, &point);

		if (bytes == 0) { /* no UTF-8: the byte alone */
			bytes = 1;
			length += escape_point(escaped + length, (unsigned char)*text);
		} else if (point == '\\') {
			length += (size_t)sprintf(escaped + length, "\\\\");
		} else if (is_safe(point, utf8)) {
			memcpy(escaped + length, text, bytes);
			length += bytes;
		} else {
			length += escape_point(escaped + length, point);
		}
		text += bytes;
		left -= bytes;
	}
	if (escaped)
		escaped[length] = '\0';
	return escaped;
}

bool skm_cli_terminal_is_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

unsigned int skm_cli_columns(const char *escaped)
{
	mbstate_t state = {0};
	unsigned int columns = 0;

	while (*escaped) {
		wchar_t wide;
		size_t bytes = mbrtowc(&wide, escaped, MB_LEN_MAX, &state);
		int width = bytes && bytes <= MB_LEN_MAX ? wcwidth(wide) : -1;

		if (width < 0) { /* not in this locale: a byte is a column */
			memset(&state, 0, sizeof(state));
			bytes = 1;
			width = 1;
		}
		columns += (unsigned int)width;
		escaped += bytes;
	}
	return columns;
}
