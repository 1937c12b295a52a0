/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const char CUT_MARK[] = "\xe2\x80\xa6"; /* … */

__attribute__((format(printf, 2, 0))) static void format_text(char *text, const char *format, va_list args)
{
	int wanted = vsnprintf(text, SKM_ERR_TEXT_MAX, format, args);

	if (wanted >= SKM_ERR_TEXT_MAX)
		memcpy(text + SKM_ERR_TEXT_MAX - sizeof(CUT_MARK), CUT_MARK, sizeof(CUT_MARK));
}

int skm_err_set(struct skm_err *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return -code;
	err->code = code;
	va_start(args, format);
	format_text(err->text, format, args);
	va_end(args);
	return -code;
}

int skm_err_set_errno(struct skm_err *err, int code, const char *format, ...)
{
	char text[SKM_ERR_TEXT_MAX];
	va_list args;

	if (!err)
		return -code;
	va_start(args, format);
	format_text(text, format, args);
	va_end(args);
	return skm_err_set(err, code, "%s: %s", text, strerror(code));
}

int skm_err_wrap(struct skm_err *err, const char *format, ...)
{
	char prefix[SKM_ERR_TEXT_MAX], inner[SKM_ERR_TEXT_MAX];
	va_list args;

	if (!err)
		return 0;
	va_start(args, format);
	format_text(prefix, format, args);
	va_end(args);
	memcpy(inner, err->text, sizeof(inner));
	return skm_err_set(err, err->code, "%s: %s", prefix, inner);
}
