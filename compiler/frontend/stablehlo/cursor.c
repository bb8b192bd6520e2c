// SPDX-License-Identifier: MIT
/* MLIR bytecode's numbers, lists, sections and references into the file's tables */
#include "bytecode.h"

bool cursor_bad(const struct cursor *c)
{
	return c->r->rc;
}

static bool has(struct cursor *c, size_t n)
{
	if (cursor_bad(c))
		return false;
	if (n <= (size_t)(c->end - c->p))
		return true;
	reader_bad(c->r, c->p, "it ends too early");
	return false;
}

uint8_t cursor_byte(struct cursor *c)
{
	return has(c, 1) ? *c->p++ : 0;
}

/* The zeros below the first byte's lowest one say how many bytes follow; none of eight: eight. */
uint64_t cursor_number(struct cursor *c)
{
	const unsigned int n = has(c, 1) && *c->p ? (unsigned int)__builtin_ctz(*c->p) + 1 : 9;
	const struct bytes b = cursor_bytes(c, n);
	uint64_t v = 0;

	if (cursor_bad(c))
		return 0;
	for (unsigned int i = n == 9; i < n; i++)
		v |= (uint64_t)b.p[i] << 8 * (i - (n == 9));
	return n == 9 ? v : v >> n;
}

int64_t cursor_signed(struct cursor *c)
{
	const uint64_t v = cursor_number(c);

	return (int64_t)(v >> 1 ^ -(v & 1));
}

uint64_t cursor_flagged(struct cursor *c, bool *flag)
{
	const uint64_t v = cursor_number(c);

	*flag = v & 1;
	return v >> 1;
}

size_t cursor_count(struct cursor *c)
{
	const uint8_t *at = c->p;
	const uint64_t n = cursor_number(c);

	if (!cursor_bad(c) && n <= (uint64_t)(c->end - c->p))
		return n;
	if (!cursor_bad(c))
		reader_bad(c->r, at, "more in a list than it has bytes");
	return 0;
}

uint64_t cursor_integer(struct cursor *c, unsigned int bits)
{
	const uint8_t *at = c->p;

	if (bits <= 8)
		return cursor_byte(c);
	if (bits <= 64)
		return (uint64_t)cursor_signed(c);
	reader_bad(c->r, at, "an integer of more than 64 bits");
	return 0;
}

struct bytes cursor_bytes(struct cursor *c, size_t n)
{
	const uint8_t *p = c->p;

	if (!has(c, n))
		return (struct bytes){ 0 };
	c->p += n;
	return (struct bytes){ p, n };
}

struct bytes cursor_blob(struct cursor *c)
{
	const uint64_t n = cursor_number(c);

	return cursor_bytes(c, n);
}

/* Sections may be aligned to where they are in the file. */
struct cursor cursor_section(struct cursor *c, enum section *id)
{
	const uint8_t *start = c->p;
	const uint8_t byte = cursor_byte(c);
	const uint64_t size = cursor_number(c);
	struct bytes b;

	*id = byte & 0x7f;
	if (byte & 0x80) {
		const uint64_t align = cursor_number(c);

		if (!cursor_bad(c) && (!align || align & (align - 1) || align > 1 << 20))
			reader_bad(c->r, start, "a section in a wrong alignment");
		while (!cursor_bad(c) && (uint64_t)(c->p - c->r->base) % align)
			if (cursor_byte(c) != 0xcb && !cursor_bad(c))
				reader_bad(c->r, c->p - 1, "wrong padding before a section");
	}
	b = cursor_bytes(c, size);
	if (!cursor_bad(c) && *id >= SECTIONS)
		reader_bad(c->r, start, "a section of a kind that is not known");
	return (struct cursor){ c->r, b.p, b.p + b.size };
}

struct bytes cursor_string(struct cursor *c)
{
	const uint8_t *at = c->p;
	const uint64_t i = cursor_number(c);

	if (!cursor_bad(c) && i < c->r->nstrings)
		return c->r->strings[i];
	if (!cursor_bad(c))
		reader_bad(c->r, at, "a string that does not exist");
	return (struct bytes){ (const uint8_t *)"", 0 };
}

const struct mlir_attr *cursor_attr(struct cursor *c)
{
	const uint64_t i = cursor_number(c);

	return cursor_bad(c) ? NULL : c->r->attr(c->r, i);
}

const struct mlir_type *cursor_type(struct cursor *c)
{
	const uint64_t i = cursor_number(c);

	return cursor_bad(c) ? NULL : c->r->type(c->r, i);
}

const struct mlir_attr *cursor_optional_attr(struct cursor *c)
{
	bool present;
	const uint64_t i = cursor_flagged(c, &present);

	return cursor_bad(c) || !present ? NULL : c->r->attr(c->r, i);
}
