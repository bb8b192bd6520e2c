/* SPDX-License-Identifier: MIT */
/* Error messages of the commands, and numbers in their arguments */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "terminal.h"

int cli_fail(const char *what, const char *format, ...)
{
	va_list args;

	terminal_end();
	fprintf(stderr, "neuron-cli: %s: ", what);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return 1;
}

bool cli_number(const char *text, uint32_t *value)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || n > UINT32_MAX)
		return false;
	*value = n;
	return true;
}
