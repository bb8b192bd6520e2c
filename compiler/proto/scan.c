// SPDX-License-Identifier: MIT
/*
 * The first walk over a protobuf file, before the parser, which recurses and allocates for whatever
 * it finds
 */
#include "scan.h"

#include <errno.h>
#include <string.h>

struct scan {
	const uint8_t *base;
	const char *what;
	size_t fields;
	struct ncc_error *err;
};

static int bad(struct scan *s, const uint8_t *at, const char *what)
{
	return ncc_fail(s->err, -EINVAL, "not %s: %s at byte %zu", s->what, what,
			(size_t)(at - s->base));
}

bool ncc_proto_varint(const uint8_t **p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (unsigned int shift = 0; shift < 64 && *p < end; shift += 7) {
		uint8_t b = *(*p)++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

static const ProtobufCFieldDescriptor *field_of(const ProtobufCMessageDescriptor *d, uint64_t id)
{
	for (unsigned int i = 0; i < d->n_fields; i++)
		if (d->fields[i].id == id)
			return &d->fields[i];
	return NULL;
}

/*
 * Does it give a message again that it has one of? The parser merges the two, and copies the lists
 * of what came before each time.
 */
static bool is_again(const ProtobufCMessageDescriptor *d, const ProtobufCFieldDescriptor *f,
		     uint64_t seen[2])
{
	const size_t i = (size_t)(f - d->fields);
	const uint64_t bit = 1ull << i % 64;
	const bool again = i >= 128 || seen[i / 64] & bit;

	if (f->label == PROTOBUF_C_LABEL_REPEATED)
		return false;
	if (i < 128)
		seen[i / 64] |= bit;
	return again;
}

/* A string has no NUL: who reads it as text would take another string for it. */
static int check_string(struct scan *s, const ProtobufCFieldDescriptor *f, const uint8_t *p,
			size_t n)
{
	const uint8_t *nul = n ? memchr(p, 0, n) : NULL;

	if (!nul)
		return 0;
	return ncc_fail(s->err, -EINVAL, "not %s: a NUL in %s '%.100s' at byte %zu", s->what,
			f->name, (const char *)p, (size_t)(nul - s->base));
}

static int scan_message(struct scan *s, const ProtobufCMessageDescriptor *d, const uint8_t *p,
			const uint8_t *end, unsigned int depth)
{
	unsigned int again = 0;
	uint64_t seen[2] = { 0 };

	if (depth > NCC_MAX_DEPTH)
		return bad(s, p, "messages nested too deeply");
	while (p < end) {
		const ProtobufCFieldDescriptor *f;
		const uint8_t *start = p;
		uint64_t tag, v;
		int rc = 0;

		if (++s->fields > NCC_MAX_FIELDS)
			return bad(s, p, "too many fields");
		if (!ncc_proto_varint(&p, end, &tag) || !(tag >> 3) || tag >> 32)
			return bad(s, start, "bad field tag");
		switch (tag & 7) {
		case 0:
			if (!ncc_proto_varint(&p, end, &v))
				return bad(s, start, "bad number");
			break;
		case 1:
		case 5:
			v = (tag & 7) == 1 ? 8 : 4;
			if (v > (uint64_t)(end - p))
				return bad(s, start, "truncated field");
			p += v;
			break;
		case 2:
			if (!ncc_proto_varint(&p, end, &v) || v > (uint64_t)(end - p))
				return bad(s, start, "truncated field");
			f = field_of(d, tag >> 3);
			if (f && f->type == PROTOBUF_C_TYPE_MESSAGE && is_again(d, f, seen) &&
			    ++again > NCC_MAX_AGAIN)
				return bad(s, start, "a message in too many parts");
			if (f && f->type == PROTOBUF_C_TYPE_MESSAGE)
				rc = scan_message(s, f->descriptor, p, p + v, depth + 1);
			else if (f && f->type == PROTOBUF_C_TYPE_STRING)
				rc = check_string(s, f, p, (size_t)v);
			if (rc)
				return rc;
			p += v;
			break;
		default:
			return bad(s, start, "bad wire type");
		}
	}
	return 0;
}

int ncc_proto_scan(const ProtobufCMessageDescriptor *desc, const char *what, const uint8_t *buf,
		   size_t size, struct ncc_error *err)
{
	struct scan s = { .base = buf, .what = what, .err = err };

	if (!size || size > NCC_MAX_FILE)
		return size ? ncc_fail(err, -EFBIG, "the file is larger than %lld bytes",
				       NCC_MAX_FILE)
			    : ncc_fail(err, -EINVAL, "not %s: the file is empty", what);
	return scan_message(&s, desc, buf, buf + size, 0);
}
