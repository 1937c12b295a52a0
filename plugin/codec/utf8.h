/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SKM_CODEC_UTF8_H
#define SKM_CODEC_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes a sequence has by its first byte: 1 to 4, or 0 where no sequence starts with it. */
static inline size_t skm_utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* Decodes one code point. Returns its bytes, or 0 where the text is no UTF-8 there: cut, overlong, a surrogate, over U+10FFFF. */
static inline size_t skm_utf8_decode(const char *text, size_t length, uint32_t *ret)
{
	static const uint32_t SMALLEST[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t bytes = length ? skm_utf8_length((unsigned char)*text) : 0;
	uint32_t point;

	if (bytes == 0 || bytes > length)
		return 0;
	point = (unsigned char)*text & (bytes == 1 ? 0x7f : 0x7f >> bytes);
	for (size_t i = 1; i < bytes; i++) {
		unsigned char next = (unsigned char)text[i];

		if ((next & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (next & 0x3f);
	}
	if (point < SMALLEST[bytes] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		return 0;
	*ret = point;
	return bytes;
}

#endif
