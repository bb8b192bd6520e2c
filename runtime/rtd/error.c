// SPDX-License-Identifier: MIT
/* NERR codes and the stack of detail lines */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rtd_text_clean(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++) {
		/* U+0080 to U+009F are control characters too */
		if (*p == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
			p[0] = p[1] = ' ';
		else if (*p < 0x20 || *p == 0x7f)
			*p = ' ';
	}
}

void rtd_text_ascii(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

static void err_append(struct rtd_err *err, const char *line)
{
	size_t space = sizeof(err->text) - err->len, n = strlen(line);

	if (err->len && space > 1) {
		err->text[err->len++] = '\n';
		space--;
	}
	if (n >= space)
		n = space - 1;
	memcpy(err->text + err->len, line, n);
	err->len += n;
	err->text[err->len] = 0;
}

int rtd_err_add(struct rtd_err *err, int code, const char *module, const char *function,
		const char *format, ...)
{
	char line[600];
	va_list args;
	int n;

	if (!err->code)
		err->code = code;
	if (!strncmp(function, "rtd_", 4))
		function += 4;
	n = snprintf(line, sizeof(line), "[%s:%s] ", module, function);
	va_start(args, format);
	vsnprintf(line + n, sizeof(line) - n, format, args);
	va_end(args);
	rtd_text_clean(line);
	err_append(err, line);
	return err->code;
}

void rtd_err_lines(struct rtd_err *err, const char *lines)
{
	if (lines && *lines)
		err_append(err, lines);
}
