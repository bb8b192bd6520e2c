// SPDX-License-Identifier: MIT
/* Failures of the current operation. Part of the code generator. */
#include <stdarg.h>

#include "gen.h"

int gen_fail(const struct ncc_gen *g, int code, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ncc_fail_op(g->err, code, g->plan.op[g->at].op, "%s", text);
}
