// SPDX-License-Identifier: MIT
/* Constructors of operations of the tensor IR (build.h) */
#include "build.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

int build_fail(const struct ncc_build *bl, int code, const char *fmt, ...)
{
	const bool nothing = code == -ENOMEM; /* a NULL, wherever it came about */
	char text[300];
	va_list ap;

	if (nothing && bl->err->text[0])
		return -EFBIG;
	if (nothing && bl->m->made >= NCC_MAX_MADE)
		return build_fail(bl, -EFBIG, "too large: more than %d operations", NCC_MAX_MADE);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return ncc_fail(bl->err, code, "%.40s '%.80s'%s%.90s%s: %s", bl->kind, bl->name,
			bl->where ? " (" : "", bl->where ? bl->where : "", bl->where ? ")" : "",
			text);
}

struct ncc_op *build_node(struct ncc_build *bl, enum ncc_kind kind, const struct ncc_shape *s,
			  struct ncc_op *a, struct ncc_op *b, struct ncc_op *c)
{
	unsigned int nin = c ? 3 : b ? 2 : 1;
	struct ncc_op *op = a ? ncc_op_new(bl->m, kind, bl->name, nin) : NULL;

	if (!op)
		return NULL;
	op->where = bl->where;
	op->shape = *s;
	op->exact = true;
	op->in[0] = a;
	if (b)
		op->in[1] = b;
	if (c)
		op->in[2] = c;
	ncc_fold_elementwise(bl->m, op);
	return op;
}

struct ncc_op *build_loop(struct ncc_build *bl, struct ncc_op *first)
{
	return first ? build_node(bl, NCC_LOOP, &first->shape, first, NULL, NULL) : NULL;
}

struct ncc_op *build_state(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *before)
{
	return before ? build_node(bl, NCC_STATE, &before->shape, loop, before, NULL) : NULL;
}

struct ncc_op *build_loop_end(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *again,
			      struct ncc_op *const *state, struct ncc_op *const *next,
			      unsigned int n)
{
	struct ncc_op *op;

	op = loop && again ? ncc_op_new(bl->m, NCC_LOOP_END, bl->name, 2 * n + 2) : NULL;
	if (!op)
		return NULL;
	op->where = bl->where;
	op->shape = again->shape;
	op->in[0] = loop;
	op->in[1] = again;
	for (unsigned int i = 0; i < n; i++) {
		if (!state[i] || !next[i])
			return NULL;
		op->in[2 * i + 2] = state[i];
		op->in[2 * i + 3] = next[i];
	}
	return op;
}

struct ncc_op *build_loop_result(struct ncc_build *bl, struct ncc_op *end, struct ncc_op *state)
{
	return state ? build_node(bl, NCC_LOOP_RESULT, &state->shape, end, state, NULL) : NULL;
}

struct ncc_op *build_const(struct ncc_build *bl, const struct ncc_shape *s)
{
	int64_t bytes = ncc_elems(s) * ncc_dtype_size(s->dtype);
	struct ncc_op *op;

	if (bytes > NCC_MAX_CONST - *bl->const_bytes) {
		build_fail(bl, -EFBIG,
			   "too large: the constants that are made for the module exceed %lld "
			   "bytes",
			   (long long)NCC_MAX_CONST);
		return NULL;
	}
	op = ncc_op_new(bl->m, NCC_CONST, bl->name, 0);
	if (!op)
		return NULL;
	*bl->const_bytes += bytes;
	op->where = bl->where;
	op->shape = *s;
	op->data = ncc_alloc_data(bl->m, (size_t)bytes);
	return op->data ? op : NULL;
}

struct ncc_op *build_splat(struct ncc_build *bl, const struct ncc_shape *s, double v)
{
	struct ncc_op *c = ncc_const_scalar(bl->m, s->dtype, v);

	if (c)
		c->shape.pred = s->pred;
	if (!c || !s->ndim)
		return c;
	return build_node(bl, NCC_BROADCAST, s, c, NULL, NULL);
}

struct ncc_op *build_count(struct ncc_build *bl, int64_t n)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { n } };
	struct ncc_op *op = build_const(bl, &s);

	for (int64_t i = 0; op && i < n; i++)
		ncc_set(NEURON_DT_INT32, op->data, i, (double)i);
	return op;
}

struct ncc_op *build_cast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype)
{
	struct ncc_shape s;

	if (!x || (x->shape.dtype == dtype && !x->shape.pred))
		return x;
	s = x->shape;
	s.dtype = dtype;
	s.pred = false;
	return build_node(bl, NCC_CONVERT, &s, x, NULL, NULL);
}

struct ncc_op *build_bitcast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype)
{
	struct ncc_shape s;

	if (!x || x->shape.dtype == dtype)
		return x;
	s = x->shape;
	s.dtype = dtype;
	s.pred = false;
	return build_node(bl, NCC_BITCAST, &s, x, NULL, NULL);
}

static uint8_t word_sized(unsigned int size)
{
	return size == 1 ? NEURON_DT_INT8 : size == 2 ? NEURON_DT_INT16 : NEURON_DT_INT32;
}

struct ncc_op *build_bits(struct ncc_build *bl, struct ncc_op *x)
{
	if (!x || !ncc_is_float(x->shape.dtype))
		return x;
	return build_bitcast(bl, x, word_sized(ncc_dtype_size(x->shape.dtype)));
}

struct ncc_op *build_binary(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			    struct ncc_op *b)
{
	return a && b ? build_node(bl, kind, &a->shape, a, b, NULL) : NULL;
}

struct ncc_op *build_number(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x, double v)
{
	return x ? build_binary(bl, kind, x, build_splat(bl, &x->shape, v)) : NULL;
}

struct ncc_op *build_compare(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			     struct ncc_op *b)
{
	struct ncc_shape s;

	if (!a || !b)
		return NULL;
	s = a->shape;
	s.dtype = NEURON_DT_INT8;
	s.pred = true;
	return build_node(bl, kind, &s, a, b, NULL);
}

struct ncc_op *build_select(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a,
			    struct ncc_op *b)
{
	return p && a && b ? build_node(bl, NCC_SELECT, &a->shape, p, a, b) : NULL;
}

struct ncc_op *build_spread(struct ncc_build *bl, const struct ncc_shape *s, struct ncc_op *x,
			    const uint8_t *map)
{
	struct ncc_op *op = build_node(bl, NCC_BROADCAST, s, x, NULL, NULL);

	if (op && x->shape.ndim)
		memcpy(op->map, map, x->shape.ndim);
	return op;
}

struct ncc_op *build_reshape(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s)
{
	struct ncc_shape to = *s;

	if (!x)
		return NULL;
	to.dtype = x->shape.dtype;
	to.pred = x->shape.pred;
	return build_node(bl, NCC_RESHAPE, &to, x, NULL, NULL);
}

struct ncc_op *build_transpose(struct ncc_build *bl, struct ncc_op *x, const uint8_t *map)
{
	struct ncc_op *op;
	struct ncc_shape s;

	if (!x)
		return NULL;
	s = x->shape;
	for (unsigned int i = 0; i < s.ndim; i++)
		s.dim[i] = x->shape.dim[map[i]];
	op = build_node(bl, NCC_TRANSPOSE, &s, x, NULL, NULL);
	if (op)
		memcpy(op->map, map, s.ndim);
	return op;
}

struct ncc_op *build_slice(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			   int64_t n)
{
	struct ncc_op *op;
	struct ncc_shape s;

	if (!x)
		return NULL;
	if (!start && n == x->shape.dim[d])
		return x;
	s = x->shape;
	s.dim[d] = n;
	op = build_node(bl, NCC_SLICE, &s, x, NULL, NULL);
	for (unsigned int i = 0; op && i < s.ndim; i++) {
		op->start[i] = i == d ? start : 0;
		op->stride[i] = 1;
	}
	return op;
}

struct ncc_op *build_concat(struct ncc_build *bl, struct ncc_op *const *x, unsigned int n,
			    unsigned int d)
{
	struct ncc_op *op;

	for (unsigned int i = 0; i < n; i++)
		if (!x[i])
			return NULL;

	if (n == 1)
		return x[0];
	op = ncc_op_new(bl->m, NCC_CONCAT, bl->name, n);
	if (!op)
		return NULL;
	op->where = bl->where;
	op->exact = true;
	op->axis = d;
	op->shape = x[0]->shape;

	op->shape.dim[d] = 0;
	for (unsigned int i = 0; i < n; i++) {
		op->in[i] = x[i];
		op->shape.dim[d] += x[i]->shape.dim[d];
	}
	return op;
}

struct ncc_op *build_halves(struct ncc_build *bl, struct ncc_op *x, unsigned int d, build_fn fn)
{
	struct ncc_op *rest = NULL;

	while (x && x->shape.dim[d] > 1) {
		int64_t n = x->shape.dim[d], half = n / 2;

		if (n % 2) {
			struct ncc_op *last = build_slice(bl, x, d, n - 1, 1);

			rest = rest ? fn(bl, last, rest) : last;
		}
		x = fn(bl, build_slice(bl, x, d, 0, half), build_slice(bl, x, d, half, half));
	}
	return rest ? fn(bl, x, rest) : x;
}
