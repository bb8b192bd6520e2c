// SPDX-License-Identifier: MIT
/* Helpers of all parts of the reader of bytecode: the first error, and memory */
#include <errno.h>
#include <stdarg.h>

#include "bytecode.h"

int reader_fail(struct reader *r, int code, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	if (r->rc)
		return r->rc;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	r->rc = ncc_fail(r->err, code, "%s", text);
	return r->rc;
}

int reader_bad(struct reader *r, const uint8_t *at, const char *what)
{
	return reader_fail(r, -EINVAL, "not a portable artifact of StableHLO: %s at byte %zu", what,
			   (size_t)(at - r->base));
}

void *reader_alloc(struct reader *r, size_t n, size_t size)
{
	void *p = r->rc ? NULL : arena_alloc(&r->m->arena, n, size);

	if (!p && !r->rc)
		r->rc = ncc_no_memory(r->err);
	return p;
}
