// SPDX-License-Identifier: MIT
/*
 * Tensors of numbers in MLIR's text: as nested lists, as one number for all, as their bytes in
 * hexadecimal digits, or by a name whose bytes follow the module. See text.h
 */
#include <errno.h>
#include <string.h>

#include "text.h"

/* The address of no elements */
const uint8_t text_nothing[1];

#define MOST_DENSE (2000ll << 20) /* bytes */

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "0x..." of a string token; NULL and an error: it is none */
static uint8_t *hex_bytes(struct text *x, struct token t, size_t *n)
{
	const char *p = t.p + 3;
	uint8_t *out;

	*n = t.n >= 4 ? (t.n - 4) / 2 : 0;
	if (t.kind != TOKEN_STRING || t.n < 4 || memcmp(t.p, "\"0x", 3) || t.n % 2) {
		text_fail_at(x, t.p, -EINVAL, "expected bytes as \"0x...\"");
		return NULL;
	}
	out = reader_alloc(&x->r, *n + 1, 1);
	for (size_t i = 0; out && i < *n; i++) {
		const int high = hex_of(p[2 * i]), low = hex_of(p[2 * i + 1]);

		if (high < 0 || low < 0) {
			text_fail_at(x, p + 2 * i, -EINVAL, "a hexadecimal digit that is none");
			return NULL;
		}
		out[i] = (uint8_t)(high << 4 | low);
	}
	return out;
}

/* The bytes are all elements, one for all, or bits of booleans, eight to a byte. */
static void set_bytes(struct text *x, struct mlir_attr *a, const char *at)
{
	const int64_t n = mlir_elems(a->type);
	const size_t each = text_bytes_of(a->type), size = a->size;
	uint8_t *bits;

	a->one = size == each && n != 1;
	if (a->one || (n >= 0 && size == each * (size_t)n)) {
		for (size_t i = 0; !strcmp(a->type->name, "i1") && i < size; i++)
			if (a->data[i] > 1 && !a->one) {
				text_fail_at(x, at, -EINVAL, "a boolean that is neither 0 nor 1");
				return;
			}
		if (a->one && !strcmp(a->type->name, "i1")) {
			static const uint8_t both[] = { 0, 1 };

			a->data = &both[a->data[0] != 0];
		}
		return;
	}
	if (n >= 0 && !strcmp(a->type->name, "i1") && size == (size_t)(n / 8 + (n % 8 != 0))) {
		bits = reader_alloc(&x->r, (size_t)n, 1);
		for (int64_t i = 0; bits && i < n; i++)
			bits[i] = a->data[i / 8] >> i % 8 & 1;
		a->data = bits;
		a->size = (size_t)n;
		return;
	}
	text_fail_at(x, at, -EINVAL, "%zu bytes for %s", size, text_type_name(x, a->type));
}

struct elements {
	const struct mlir_type *type;
	unsigned int each;
	uint8_t *at, *end;
};

static void take_list(struct text *x, struct elements *e, unsigned int dim)
{
	int64_t n = 0;
	const char *at = x->t.p;

	if (dim == e->type->ndim) {
		if (e->at == e->end)
			text_fail_at(x, at, -EINVAL, "more elements than %s has",
				     text_type_name(x, e->type));
		else if (!text_element(x, e->type, e->at))
			e->at += e->each;
		return;
	}
	text_expect(x, '[');
	if (!text_is(x, ']')) {
		do {
			take_list(x, e, dim + 1);
			n++;
		} while (!text_bad(x) && text_take(x, ','));
	}
	text_expect(x, ']');
	if (n != e->type->dim[dim])
		text_fail_at(x, at, -EINVAL, "%lld elements in dimension %u of %s", (long long)n,
			     dim, text_type_name(x, e->type));
}

static void take_elements(struct text *x, struct mlir_attr *a)
{
	const int64_t n = mlir_elems(a->type);
	const unsigned int each = text_bytes_of(a->type);
	const char *at = x->t.p;
	struct elements e = { .type = a->type, .each = each };
	uint8_t *data;

	if (text_is(x, '>')) {
		a->data = text_nothing;
		if (n)
			text_fail_at(x, at, -EINVAL, "no elements for %s",
				     text_type_name(x, a->type));
		return;
	}
	a->one = !text_is(x, '[') && a->type->ndim;
	/* of a list each element is at least a digit and what follows it */
	if (!a->one && n > x->end - at) {
		text_fail_at(x, at, -EINVAL, "fewer elements than %s has",
			     text_type_name(x, a->type));
		return;
	}
	a->size = each * (size_t)(a->one ? 1 : n);
	data = reader_alloc(&x->r, a->size + 1, 1);
	if (!data)
		return;
	a->data = e.at = data;
	e.end = data + a->size;
	if (a->one)
		text_element(x, a->type, data);
	else
		take_list(x, &e, 0);
}

/* A tensor's type that says how many bytes it has; NULL and an error: it is another */
static const struct mlir_type *dense_type(struct text *x)
{
	const char *at = x->t.p;
	const struct mlir_type *t = text_type(x);
	const int64_t n = mlir_elems(t);
	const unsigned int each = t ? text_bytes_of(t) : 0;
	int64_t size;

	if (!t)
		return NULL;
	if (n < 0 || !each || __builtin_mul_overflow(n, (int64_t)each, &size) ||
	    size > MOST_DENSE) {
		text_fail_at(x, at, t->kind == MLIR_TENSOR && !each ? -ENOTSUP : -EINVAL,
			     "elements of %s, which cannot be counted", text_type_name(x, t));
		return NULL;
	}
	return t;
}

/* Behind a list's '>', which is not in a string */
static const char *end_of_elements(const struct text *x)
{
	const char *p = x->t.p;

	while (p < x->end && *p != '>') {
		if (*p == '"') {
			p = memchr(p + 1, '"', (size_t)(x->end - p - 1));
			if (!p)
				return NULL;
		}
		p++;
	}
	return p < x->end ? p : NULL;
}

const struct mlir_attr *text_dense(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);
	struct token first, after;
	const char *end;

	text_next(x);
	text_expect(x, '<');
	first = x->t;
	end = end_of_elements(x);
	if (!end)
		text_fail_at(x, first.p, -EINVAL, "a list of elements without an end");
	if (!a || text_bad(x))
		return NULL;
	/* the type, which says what the elements are, follows them */
	text_return(x, (struct token){ TOKEN_PUNCTUATION, end, 1 });
	text_next(x);
	text_expect(x, ':');
	a->type = dense_type(x);
	after = x->t;
	if (!a->type)
		return NULL;
	text_return(x, first);
	if (first.kind == TOKEN_STRING) {
		a->data = hex_bytes(x, first, &a->size);
		text_next(x);
		if (a->data)
			set_bytes(x, a, first.p);
	} else {
		take_elements(x, a);
	}
	if (!text_is(x, '>'))
		text_expected(x, "'>'");
	text_return(x, after);
	return text_bad(x) ? NULL : a;
}

/* array<i64: 1, 2> */
const struct mlir_attr *text_array(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);
	const struct mlir_type *element;
	struct list list = { 0 };
	unsigned int each;
	const char *at;
	uint8_t *all;

	text_next(x);
	text_expect(x, '<');
	at = x->t.p;
	element = text_type(x);
	each = element ? text_bytes_of(element) : 0;
	if (!each || each > 8)
		text_fail_at(x, at, -EINVAL, "a list of what is no number");
	if (text_take(x, ':')) {
		do {
			uint8_t *e = list_add(x, &list, 8);

			if (e)
				text_element(x, element, e);
		} while (!text_bad(x) && text_take(x, ','));
	}
	text_expect(x, '>');
	all = reader_alloc(&x->r, list.n + 1, each);
	if (!a || !all || text_bad(x))
		return NULL;
	for (size_t i = 0; i < list.n; i++)
		memcpy(all + i * each, (uint8_t *)list.p + 8 * i, each);
	a->type = text_tensor_of(x, element->name, (int64_t)list.n);
	a->data = all;
	a->size = list.n * each;
	return a->type ? a : NULL;
}

const struct mlir_attr *text_dense_resource(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);
	struct resource *later = list_add(x, &x->resources, sizeof(*later));

	text_next(x);
	text_expect(x, '<');
	if (x->t.kind != TOKEN_WORD && x->t.kind != TOKEN_STRING)
		text_expected(x, "the name of data behind the module");
	if (!a || !later)
		return NULL;
	*later = (struct resource){ a, x->t };
	text_next(x);
	text_expect(x, '>');
	text_expect(x, ':');
	a->type = dense_type(x);
	return text_bad(x) ? NULL : a;
}

#define BLOB_HEAD 4 /* bytes that say how it is aligned */

/* The resources behind the module; the bytes are made when something refers to them */
struct blob {
	struct token content;
	uint8_t *bytes;
	size_t size;
};

/* name: "0x..." */
static void take_blob(struct text *x)
{
	struct token name = x->t;
	struct name *e;
	struct blob *b;

	if (name.kind != TOKEN_WORD && name.kind != TOKEN_STRING)
		text_expected(x, "the name of data");
	if (names_find(&x->blobs, name.p, name.n, 0))
		text_fail_at(x, name.p, -EINVAL, "data of this name was there before");
	text_next(x);
	text_expect(x, ':');
	if (x->t.kind != TOKEN_STRING)
		text_expected(x, "bytes as \"0x...\"");
	b = reader_alloc(&x->r, 1, sizeof(*b));
	e = b && !text_bad(x) ? names_add(x, &x->blobs, name) : NULL;
	if (!e)
		return;
	b->content = x->t;
	e->what = b;
	text_next(x);
}

/* { name: ..., name: ... } with what take reads of each */
static void take_entries(struct text *x, void (*take)(struct text *x))
{
	text_expect(x, '{');
	while (!text_bad(x) && !text_is(x, '}')) {
		take(x);
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, '}');
}

static void take_dialect(struct text *x)
{
	const bool builtin = text_is_word(x, "builtin");

	if (x->t.kind != TOKEN_WORD)
		text_expected(x, "a dialect's name");
	text_next(x);
	text_expect(x, ':');
	if (builtin)
		take_entries(x, take_blob);
	else
		text_skip(x);
}

static void take_section(struct text *x)
{
	const bool dialects = text_is_word(x, "dialect_resources");

	if (x->t.kind != TOKEN_WORD)
		text_expected(x, "'dialect_resources'");
	text_next(x);
	text_expect(x, ':');
	if (dialects)
		take_entries(x, take_dialect);
	else
		text_skip(x);
}

void text_blobs(struct text *x)
{
	text_next(x);
	while (!text_bad(x) && x->t.kind != TOKEN_RESOURCES_END) {
		take_section(x);
		if (!text_take(x, ','))
			break;
	}
	if (x->t.kind != TOKEN_RESOURCES_END)
		text_expected(x, "'#-}'");
	text_next(x);
}

void text_resolve_resources(struct text *x)
{
	const struct resource *later = x->resources.p;

	for (size_t i = 0; i < x->resources.n && !text_bad(x); i++) {
		const struct token t = later[i].name;
		struct name *e = names_find(&x->blobs, t.p, t.n, 0);
		struct blob *b = e ? e->what : NULL;

		if (!b) {
			text_fail_at(x, t.p, -EINVAL, "no data of this name follows the module");
			return;
		}
		if (!b->bytes)
			b->bytes = hex_bytes(x, b->content, &b->size);
		if (b->bytes && b->size < BLOB_HEAD)
			text_fail_at(x, b->content.p, -EINVAL, "data without its alignment");
		if (text_bad(x))
			return;
		later[i].attr->data = b->bytes + BLOB_HEAD;
		later[i].attr->size = b->size - BLOB_HEAD;
		set_bytes(x, later[i].attr, t.p);
	}
}
