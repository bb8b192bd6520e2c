// SPDX-License-Identifier: MIT
/*
 * The reader of MLIR bytecode: a portable artifact of StableHLO becomes what mlir.h says. The file
 * is not trusted: every count is bounded by the bytes that it counts, every index by its table, how
 * deep things are by MLIR_MAX_DEPTH; attributes and types are read when something refers to them,
 * each once. Called by ../program.c and convert.c's callers, by way of mlir_read_bytecode.
 */
#include "bytecode.h"

#include <errno.h>
#include <string.h>

#define MAGIC "ML\xefR"
#define MOST_BYTES (2000ll << 20) /* proto/scan.h has the same for HLO */

bool mlir_is_bytecode(const void *buf, size_t size)
{
	return size >= strlen(MAGIC) && !memcmp(buf, MAGIC, strlen(MAGIC));
}

static int read_header(struct cursor *c)
{
	struct reader *r = c->r;
	const uint8_t *nul;

	if (!mlir_is_bytecode(c->p, r->size))
		return reader_fail(r, -EINVAL, "not MLIR bytecode");
	c->p += strlen(MAGIC);
	r->version = cursor_number(c);
	if (r->version > NEWEST_BYTECODE)
		return reader_fail(r, -ENOTSUP, "MLIR bytecode of version %llu: 0 to %d are read",
				   (unsigned long long)r->version, NEWEST_BYTECODE);
	nul = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;
	if (!nul)
		return reader_bad(r, c->p, "a producer without an end");
	r->producer = (const char *)c->p;
	c->p = nul + 1;
	return r->rc;
}

static int read_sections(struct cursor *c)
{
	struct reader *r = c->r;

	while (!r->rc && c->p < c->end) {
		const uint8_t *at = c->p;
		enum section id;
		struct cursor s = cursor_section(c, &id);

		if (r->rc)
			break;
		if (r->section[id].p)
			return reader_bad(r, at, "a section that was there before");
		r->section[id] = (struct bytes){ s.p, (size_t)(s.end - s.p) };
	}
	for (unsigned int i = SECTION_STRINGS; i <= SECTION_IR && !r->rc; i++)
		if (!r->section[i].p)
			return reader_fail(r, -EINVAL,
					   "not a portable artifact of StableHLO: it has no "
					   "section %u",
					   i);
	return r->rc;
}

int mlir_read_bytecode(const void *buf, size_t size, struct mlir *m, struct ncc_error *err)
{
	struct reader r = { .m = m, .err = err, .base = buf, .size = size };
	struct cursor c = { &r, buf, (const uint8_t *)buf + size };

	*m = (struct mlir){ .size = size };
	if (size > MOST_BYTES)
		return ncc_fail(err, -EFBIG, "the file is larger than %lld bytes", MOST_BYTES);
	return read_header(&c) ?: read_sections(&c) ?: reader_tables(&r) ?: reader_body(&r);
}
