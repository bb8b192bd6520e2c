// SPDX-License-Identifier: MIT
/* Types in MLIR's text: see text.h. A tensor that is spelled as one before is the same type. */
#include <errno.h>
#include <string.h>

#include "frontend/hlo/hlo.h"
#include "text.h"

#define MOST_DIMS 64
#define MOST_SPELLED 256 /* of a type that is looked for again */

bool text_same_type(const struct mlir_type *a, const struct mlir_type *b)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind || strcmp(a->name, b->name) || a->ndim != b->ndim ||
	    a->nin != b->nin || a->nout != b->nout || !quant_same(a->quant, b->quant))
		return false;
	for (unsigned int i = 0; i < a->ndim; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	for (unsigned int i = 0; i < a->nin; i++)
		if (!text_same_type(a->in[i], b->in[i]))
			return false;
	for (unsigned int i = 0; i < a->nout; i++)
		if (!text_same_type(a->out[i], b->out[i]))
			return false;
	return true;
}

const char *text_type_name(struct text *x, const struct mlir_type *t)
{
	char dims[200] = "";
	size_t n = 0;
	const char *name;

	if (t->kind != MLIR_TENSOR)
		return t->name;
	for (unsigned int i = 0; i < t->ndim && n < sizeof(dims) - 24; i++)
		n += (size_t)(t->dim[i] < 0 ? snprintf(dims + n, sizeof(dims) - n, "?x")
					    : snprintf(dims + n, sizeof(dims) - n, "%lldx",
						       (long long)t->dim[i]));
	name = arena_text(&x->r.m->arena, "tensor<%s%s>", dims, t->name);
	return name ? name : "";
}

const struct mlir_type *text_tensor_of(struct text *x, const char *number, int64_t n)
{
	const struct mlir_type *element = type_of_number(&x->r, number);
	struct mlir_type *t = new_type(&x->r, MLIR_TENSOR, number);
	int64_t *dim = reader_alloc(&x->r, 1, sizeof(*dim));

	if (!element || !t || !dim)
		return NULL;
	*dim = n;
	t->number = element->number;
	t->ndim = 1;
	t->dim = dim;
	return t;
}

void text_types(struct text *x, struct list *types)
{
	const struct mlir_type **t;
	const bool many = text_take(x, '(');

	if (many && text_take(x, ')'))
		return;
	do {
		t = list_add(x, types, sizeof(*t));
		if (t)
			*t = text_type(x);
	} while (many && !text_bad(x) && text_take(x, ','));
	if (many)
		text_expect(x, ')');
}

const struct mlir_type *text_function_type(struct text *x)
{
	struct mlir_type *t = new_type(&x->r, MLIR_FUNCTION, "a function's type");
	struct list in = { 0 }, out = { 0 };

	if (!text_is(x, '('))
		text_expected(x, "'('");
	if (!t || !text_enter(x))
		return NULL;
	text_types(x, &in);
	if (x->t.kind == TOKEN_ARROW)
		text_next(x);
	else
		text_expected(x, "'->'");
	text_types(x, &out);
	text_leave(x);
	t->nin = (unsigned int)in.n;
	t->in = in.p;
	t->nout = (unsigned int)out.n;
	t->out = out.p;
	return text_bad(x) ? NULL : t;
}

/* The sizes of a tensor, as far as they are there: "4x?x" */
static unsigned int dimensions(struct text *x, int64_t *dim)
{
	const char *p = x->t.p, *start = p;
	unsigned int n = 0;

	while (p < x->end && (*p == '?' || (*p >= '0' && *p <= '9'))) {
		int64_t v = 0;

		if (*p == '?') {
			v = MLIR_DYNAMIC;
			p++;
		} else {
			for (; p < x->end && *p >= '0' && *p <= '9'; p++)
				if (__builtin_mul_overflow(v, 10, &v) ||
				    __builtin_add_overflow(v, *p - '0', &v)) {
					text_fail_at(x, start, -EINVAL,
						     "a size of more than 63 bits");
					return 0;
				}
		}
		if (p >= x->end || *p != 'x' || n == MOST_DIMS) {
			text_fail_at(x, p, -EINVAL,
				     n == MOST_DIMS ? "more than %d dimensions"
						    : "expected 'x' behind a tensor's size",
				     MOST_DIMS);
			return 0;
		}
		dim[n++] = v;
		p++;
	}
	text_return(x, (struct token){ TOKEN_END, p, 0 });
	text_next(x);
	return n;
}

/* #stablehlo.bounds<3, ?> or #stablehlo.type_extensions<bounds = [3, ?]> */
static const int64_t *bounds(struct text *x, unsigned int ndim)
{
	int64_t *bound = reader_alloc(&x->r, ndim + 1, sizeof(*bound));
	const char *at = x->t.p;
	unsigned int n = 0;
	bool list;

	if (!token_is(x->t, "#stablehlo.bounds") && !token_is(x->t, "#stablehlo.type_extensions")) {
		text_expected(x, "#stablehlo.bounds");
		return NULL;
	}
	text_next(x);
	text_expect(x, '<');
	list = text_take_word(x, "bounds");
	if (list) {
		text_expect(x, '=');
		text_expect(x, '[');
	}
	do {
		int64_t v = MLIR_DYNAMIC;

		if (!text_take(x, '?'))
			v = text_count(x);
		if (bound && n < ndim)
			bound[n] = v;
		n++;
	} while (!text_bad(x) && text_take(x, ','));
	if (list)
		text_expect(x, ']');
	text_expect(x, '>');
	if (n != ndim)
		text_fail_at(x, at, -EINVAL, "bounds of %u dimensions for %u", n, ndim);
	return bound;
}

static const struct mlir_type *tensor(struct text *x)
{
	int64_t dim[MOST_DIMS], *dims;
	struct mlir_type *t;
	const struct mlir_type *element;
	const char *at;

	text_next(x);
	if (!text_is(x, '<'))
		text_expected(x, "'<'");
	text_next(x);
	if (text_is(x, '*')) {
		text_return(x, (struct token){ TOKEN_PUNCTUATION, x->t.p - 1, 1 });
		text_skip(x);
		return new_type(&x->r, MLIR_OTHER, "a tensor of any rank");
	}
	t = new_type(&x->r, MLIR_TENSOR, "");
	if (!t)
		return NULL;
	t->ndim = dimensions(x, dim);
	dims = reader_alloc(&x->r, t->ndim + 1, sizeof(*dims));
	at = x->t.p;
	element = text_type(x);
	if (!element || !dims)
		return NULL;
	if (element->kind != MLIR_NUMBER && element->kind != MLIR_OTHER)
		text_fail_at(x, at, -EINVAL, "a tensor of what is no number");
	memcpy(dims, dim, t->ndim * sizeof(*dim));
	t->dim = dims;
	t->name = element->name;
	t->number = element->number;
	t->quant = element->quant;
	if (text_take(x, ','))
		t->bound = bounds(x, t->ndim);
	text_expect(x, '>');
	return text_bad(x) ? NULL : t;
}

static const struct mlir_type *complex_type(struct text *x)
{
	const struct mlir_type *t;

	text_next(x);
	text_expect(x, '<');
	t = text_type(x);
	text_expect(x, '>');
	if (!t || text_bad(x))
		return NULL;
	return type_of_number(&x->r, !strcmp(t->name, "f32")   ? "complex<f32>"
				     : !strcmp(t->name, "f64") ? "complex<f64>"
							       : "complex<>");
}

static const struct mlir_type *tuple(struct text *x)
{
	struct mlir_type *t = new_type(&x->r, MLIR_TUPLE, "tuple");
	struct list in = { 0 };

	text_next(x);
	text_expect(x, '<');
	while (!text_bad(x) && !text_is(x, '>')) {
		const struct mlir_type **e = list_add(x, &in, sizeof(*e));

		if (e)
			*e = text_type(x);
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, '>');
	if (!t || text_bad(x))
		return NULL;
	t->nin = (unsigned int)in.n;
	t->in = in.p;
	return t;
}

/* Types that HLO has not: with what is in their brackets */
static const struct mlir_type *other(struct text *x)
{
	const bool quantized = token_is(x->t, "!quant.uniform");
	const char *name = text_copy(x, x->t.p, x->t.n);

	text_next(x);
	if (text_is(x, '<') && quantized && name)
		return text_quantized(x, name);
	if (text_is(x, '<'))
		text_skip(x);
	return name ? new_type(&x->r, MLIR_OTHER, name) : NULL;
}

static const struct mlir_type *dialect_type(struct text *x)
{
	const struct name *alias = names_find(&x->aliases, x->t.p, x->t.n, 0);

	if (alias) {
		text_next(x);
		return alias->what;
	}
	if (token_is(x->t, "!stablehlo.token") || token_is(x->t, "!mhlo.token")) {
		text_next(x);
		return new_type(&x->r, MLIR_TOKEN, "token");
	}
	if (!memchr(x->t.p, '.', x->t.n)) {
		text_fail_at(x, x->t.p, -EINVAL, "the type '%.*s' is not defined",
			     (int)(x->t.n < 80 ? x->t.n : 80), x->t.p);
		return NULL;
	}
	return other(x);
}

static bool is_number(struct token t)
{
	static const char *const starts[] = { "i", "si", "ui", "f", "bf", "tf" };

	if (token_is(t, "index"))
		return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const size_t n = strlen(starts[i]);

		if (t.n > n && !memcmp(t.p, starts[i], n) && t.p[n] >= '0' && t.p[n] <= '9')
			return true;
	}
	return false;
}

static const struct mlir_type *number(struct text *x)
{
	const char *name = text_copy(x, x->t.p, x->t.n);

	text_next(x);
	return name ? type_of_number(&x->r, name) : NULL;
}

static const struct mlir_type *any_type(struct text *x)
{
	if (text_is(x, '('))
		return text_function_type(x);
	if (x->t.kind == TOKEN_TYPE)
		return dialect_type(x);
	if (x->t.kind == TOKEN_WORD) {
		if (is_number(x->t))
			return number(x);
		if (text_is_word(x, "tensor"))
			return tensor(x);
		if (text_is_word(x, "complex"))
			return complex_type(x);
		if (text_is_word(x, "tuple"))
			return tuple(x);
		if (text_is_word(x, "memref") || text_is_word(x, "vector"))
			return other(x);
		if (text_take_word(x, "none"))
			return new_type(&x->r, MLIR_NONE, "none");
	}
	text_expected(x, "a type");
	return NULL;
}

/* The end of a tensor's text, if it is short and has no name in it; else NULL */
static const char *end_of_tensor(const struct text *x)
{
	const char *p = x->t.p + strlen("tensor"), *most = p + MOST_SPELLED;
	unsigned int depth = 0;

	if (!text_is_word(x, "tensor"))
		return NULL;
	for (; p < x->end && p < most; p++) {
		if (*p == '<')
			depth++;
		else if (*p == '>' && (!depth || !--depth))
			return p + 1;
		else if (*p == '"' || *p == '!' || *p == '#' || *p == '/')
			break;
	}
	return NULL;
}

const struct mlir_type *text_type(struct text *x)
{
	const char *start = x->t.p, *end = end_of_tensor(x);
	const struct token key = { TOKEN_END, start, end ? (size_t)(end - start) : 0 };
	struct name *known = end ? names_find(&x->types, key.p, key.n, 0) : NULL;
	const struct mlir_type *t;

	if (known) {
		text_return(x, key);
		text_next(x);
		return known->what;
	}
	if (!text_enter(x))
		return NULL;
	t = any_type(x);
	text_leave(x);
	known = end && t && !text_bad(x) ? names_add(x, &x->types, key) : NULL;
	if (known)
		known->what = (void *)(uintptr_t)t;
	return text_bad(x) ? NULL : t;
}
