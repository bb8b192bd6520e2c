/* SPDX-License-Identifier: MIT */
/* Numbers, names and places in the text of an instruction. */
#include "parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/table.h"

int __attribute__((format(printf, 2, 3))) asm_refuse(struct parser *ps, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ps->err->text, sizeof(ps->err->text), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

bool asm_skip(struct parser *ps, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(ps->p, text, n))
		return false;
	ps->p += n;
	return true;
}

/* Parses a decimal or 0x number up to max; a sign is taken only when min is negative. */
int asm_number(struct parser *ps, int64_t min, uint64_t max, int64_t *out)
{
	bool minus = min < 0 && *ps->p == '-';
	char *end;
	uint64_t v;

	ps->p += minus;
	if (*ps->p < '0' || *ps->p > '9')
		return asm_refuse(ps, "a number is expected at '%.40s'", ps->p);
	errno = 0;
	v = strtoull(ps->p, &end, ps->p[0] == '0' && ps->p[1] == 'x' ? 16 : 10);
	if (errno || v > (minus ? -(uint64_t)min : max))
		return asm_refuse(ps, "'%.40s' is out of range", ps->p);
	ps->p = end;
	*out = minus ? -(int64_t)v : (int64_t)v;
	return 0;
}

int asm_u8(struct parser *ps, uint8_t *out)
{
	int64_t v = 0;
	int rc = asm_number(ps, 0, UINT8_MAX, &v);

	*out = v;
	return rc;
}

int asm_u32(struct parser *ps, uint32_t *out)
{
	int64_t v = 0;
	int rc = asm_number(ps, 0, UINT32_MAX, &v);

	*out = v;
	return rc;
}

int asm_expect(struct parser *ps, const char *text)
{
	return asm_skip(ps, text) ? 0 : asm_refuse(ps, "'%s' is expected at '%.40s'", text, ps->p);
}

/* Looks a name, which ends at a delimiter, up in a table of n names that are stride bytes apart. */
int asm_name_or_number(struct parser *ps, const void *names, size_t stride, unsigned int n,
		       uint8_t *out)
{
	size_t len = strspn(ps->p, "abcdefghijklmnopqrstuvwxyz_0123456789");

	if (*ps->p >= '0' && *ps->p <= '9')
		return asm_u8(ps, out);
	for (unsigned int i = 0; i < n; i++) {
		const char *name = *(const char *const *)((const char *)names + i * stride);

		if (name && strlen(name) == len && !strncmp(name, ps->p, len)) {
			ps->p += len;
			*out = i;
			return 0;
		}
	}
	return asm_refuse(ps, "unknown name '%.40s'", ps->p);
}

int asm_type(struct parser *ps, uint8_t *dtype)
{
	int rc = asm_name_or_number(ps, &neuron_isa_dtypes[0].name, sizeof(neuron_isa_dtypes[0]),
				    64, dtype);

	return rc ? rc : *dtype > 63 ? asm_refuse(ps, "type code above 63") : 0;
}

/* name[partition,byte] of an area */
static int area_place(struct parser *ps, uint32_t *offset)
{
	size_t len = strcspn(ps->p, "[");
	const struct ncc_asm_area *a = ps->area, *end = ps->area + ps->nareas;
	int64_t part = 0, byte = 0;
	int rc;

	while (a < end && (strlen(a->name) != len || strncmp(a->name, ps->p, len)))
		a++;
	if (a == end || ps->p[len] != '[')
		return asm_refuse(ps, "an area's name[partition,byte] is expected at '%.40s'",
				  ps->p);
	ps->p += len + 1;
	if ((rc = asm_number(ps, 0, UINT32_MAX, &part)) || (rc = asm_expect(ps, ",")) ||
	    (rc = asm_number(ps, 0, UINT32_MAX, &byte)))
		return rc;
	if (part >= a->partitions || byte >= a->bytes)
		return asm_refuse(ps, "area '%.40s' has %u partitions of %u bytes, no [%lld,%lld]",
				  a->name, a->partitions, a->bytes, (long long)part,
				  (long long)byte);
	*offset = (uint32_t)(a->psum ? NEURON_PSUM_OFFSET + part * NEURON_PSUM_PART_STRIDE
				     : part * NEURON_SBUF_PART_STRIDE) +
		  a->base + (uint32_t)byte;
	return 0;
}

/* memory[partition,byte]:type */
int asm_place(struct parser *ps, uint32_t *offset, uint8_t *dtype)
{
	if (ps->area) {
		int rc = area_place(ps, offset);

		rc = rc ? rc : asm_expect(ps, "]:");
		return rc ? rc : asm_type(ps, dtype);
	}
	bool psum = asm_skip(ps, "psum["), sbuf = !psum && asm_skip(ps, "sbuf[");
	uint32_t stride = psum ? NEURON_PSUM_PART_STRIDE : NEURON_SBUF_PART_STRIDE;
	int64_t part = 0, byte;
	int rc;

	if (psum || sbuf) {
		if ((rc = asm_number(ps, 0, NEURON_PARTITIONS - 1, &part)) ||
		    (rc = asm_expect(ps, ",")) || (rc = asm_number(ps, 0, stride - 1, &byte)))
			return rc;
		*offset = (psum ? NEURON_PSUM_OFFSET : 0) + part * stride + byte;
	} else {
		if ((rc = asm_expect(ps, "window[")) || (rc = asm_number(ps, 0, 0x3ffffff, &byte)))
			return rc;
		*offset = byte;
	}
	if ((rc = asm_expect(ps, "]:")))
		return rc;
	return asm_type(ps, dtype);
}

int asm_u16(struct parser *ps, uint16_t *out)
{
	int64_t v;
	int rc = asm_number(ps, 0, UINT16_MAX, &v);

	*out = (uint16_t)(rc ? 0 : v);
	return rc;
}

int asm_s32(struct parser *ps, int32_t *out)
{
	int64_t v;
	int rc = asm_number(ps, INT32_MIN, INT32_MAX, &v);

	*out = (int32_t)(rc ? 0 : v);
	return rc;
}

int asm_address(struct parser *ps, uint64_t *out)
{
	int64_t v = 0;
	int rc = asm_number(ps, 0, UINT64_MAX, &v);

	*out = (uint64_t)v;
	return rc;
}
