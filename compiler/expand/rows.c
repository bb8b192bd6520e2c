// SPDX-License-Identifier: MIT
/* Matrices as rows along the partitions (rows.h) */
#include "rows.h"

struct ncc_op *rows_as(struct ncc_build *bl, struct ncc_op *x, int64_t rows, int64_t columns)
{
	return build_reshape(bl, x, &(struct ncc_shape){ .ndim = 2, .dim = { rows, columns } });
}

static int64_t matrices(const struct ncc_shape *s)
{
	int64_t n = 1;

	for (unsigned int i = 0; i + 2 < s->ndim; i++)
		n *= s->dim[i];
	return n;
}

static struct ncc_op *turned(struct ncc_build *bl, struct ncc_op *x, int64_t batch, int64_t rows,
			     int64_t columns)
{
	const struct ncc_shape s = { .ndim = 3, .dim = { batch, rows, columns } };
	static const uint8_t map[3] = { 0, 2, 1 };

	return build_transpose(bl, build_reshape(bl, x, &s), map);
}

struct ncc_op *rows_of(struct ncc_build *bl, struct ncc_op *x, bool transposed)
{
	const struct ncc_shape s = x->shape;
	int64_t batch = matrices(&s), n = s.dim[s.ndim - 2], m = s.dim[s.ndim - 1];

	x = build_cast(bl, x, NEURON_DT_FP32);
	if (transposed)
		return rows_as(bl, turned(bl, x, batch, n, m), batch * m, n);
	return rows_as(bl, x, batch * n, m);
}

struct ncc_op *rows_back(struct ncc_build *bl, struct ncc_op *x, bool transposed,
			 const struct ncc_shape *s)
{
	if (transposed)
		x = turned(bl, x, matrices(s), s->dim[s->ndim - 1], s->dim[s->ndim - 2]);
	return build_cast(bl, build_reshape(bl, x, s), s->dtype);
}

struct ncc_op *rows_cut(struct ncc_build *bl, struct ncc_op *x, int64_t batch, int64_t first,
			int64_t n)
{
	struct ncc_shape s = { .ndim = 3, .dim = { batch } };

	if (!x || (!first && batch * n == x->shape.dim[0]))
		return x;
	s.dim[1] = x->shape.dim[0] / batch;
	s.dim[2] = x->shape.dim[1];
	x = build_slice(bl, build_reshape(bl, x, &s), 1, first, n);
	return rows_as(bl, x, batch * n, s.dim[2]);
}

struct ncc_op *rows_columns(struct ncc_build *bl, struct ncc_op *x, int64_t first, int64_t n)
{
	return build_slice(bl, x, 1, first, n);
}

struct ncc_op *rows_beside(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	return build_concat(bl, (struct ncc_op *[]){ a, b }, 2, 1);
}

struct ncc_op *rows_spread(struct ncc_build *bl, struct ncc_op *x, int64_t columns)
{
	static const uint8_t row = 0;
	struct ncc_shape s, flat;

	if (!x)
		return NULL;
	s = flat = x->shape;
	s.dim[1] = columns;
	flat.ndim = 1;
	return build_spread(bl, &s, build_reshape(bl, x, &flat), &row);
}

struct ncc_op *rows_all(struct ncc_build *bl, struct ncc_op *scalar, int64_t rows)
{
	struct ncc_shape s = { .ndim = 2, .dim = { rows, 1 } };

	if (!scalar)
		return NULL;
	s.dtype = scalar->shape.dtype;
	s.pred = scalar->shape.pred;
	return build_spread(bl, &s, scalar, NULL);
}

struct ncc_op *rows_each(struct ncc_build *bl, struct ncc_op *x, int64_t n)
{
	return x ? rows_as(bl, rows_spread(bl, x, n), x->shape.dim[0] * n, 1) : NULL;
}

/* fp32[rows, columns] of which element i is i / by % below * step */
static struct ncc_op *numbers(struct ncc_build *bl, int64_t rows, int64_t columns, int64_t by,
			      int64_t below, int64_t step)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { rows, columns } };
	struct ncc_op *op = build_const(bl, &s);

	for (int64_t i = 0; op && i < rows * columns; i++)
		ncc_set(s.dtype, op->data, i, (double)(i / by % below * step));
	return op;
}

struct ncc_op *rows_number(struct ncc_build *bl, int64_t batch, int64_t n)
{
	return numbers(bl, batch * n, 1, 1, n, 1);
}

struct ncc_op *rows_base(struct ncc_build *bl, int64_t batch, int64_t n, int64_t among)
{
	return numbers(bl, batch * n, 1, n, batch, among);
}

struct ncc_op *rows_place(struct ncc_build *bl, int64_t rows, int64_t columns)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { rows, columns } };
	const struct ncc_shape flat = { .ndim = 1, .dim = { columns } };
	static const uint8_t column = 1;

	return build_spread(
		bl, &s, build_reshape(bl, numbers(bl, 1, columns, 1, columns, 1), &flat), &column);
}

struct ncc_op *rows_identity(struct ncc_build *bl, int64_t batch, int64_t n)
{
	struct ncc_op *at = rows_place(bl, batch * n, n);
	struct ncc_op *row = rows_spread(bl, rows_number(bl, batch, n), n);

	return build_cast(bl, build_compare(bl, NCC_EQ, at, row), NEURON_DT_FP32);
}

static struct ncc_op *reduced(struct ncc_build *bl, struct ncc_op *x, enum ncc_kind func,
			      uint32_t mask)
{
	return x ? build_reduce_from(bl, x, build_scalar(bl, &x->shape, 0), func, mask) : NULL;
}

struct ncc_op *rows_sum(struct ncc_build *bl, struct ncc_op *a)
{
	return a ? rows_as(bl, reduced(bl, a, NCC_ADD, 2), a->shape.dim[0], 1) : NULL;
}

struct ncc_op *rows_dot(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	return rows_sum(bl, build_binary(bl, NCC_MUL, a, b));
}

struct ncc_op *rows_largest(struct ncc_build *bl, struct ncc_op *a)
{
	struct ncc_op *x = build_unary(bl, NCC_ABS, a);

	return x ? rows_as(bl, reduced(bl, x, NCC_MAX, 2), x->shape.dim[0], 1) : NULL;
}

struct ncc_op *rows_most(struct ncc_build *bl, struct ncc_op *a)
{
	return reduced(bl, a, NCC_MAX, 3);
}

struct ncc_op *rows_fetch(struct ncc_build *bl, struct ncc_op *table, struct ncc_op *at)
{
	struct ncc_shape s, flat = { .ndim = 1 };

	if (!table || !at)
		return NULL;
	s = table->shape;
	s.dim[0] = flat.dim[0] = at->shape.dim[0];
	at = build_reshape(bl, build_cast(bl, at, NEURON_DT_INT32), &flat);
	return at ? build_node(bl, NCC_GATHER, &s, table, at, NULL) : NULL;
}

struct ncc_op *rows_times(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	return a ? build_binary(bl, NCC_MUL, a, rows_spread(bl, b, a->shape.dim[1])) : NULL;
}

struct ncc_op *rows_is(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x, double v)
{
	return x ? build_compare(bl, kind, x, build_splat(bl, &x->shape, v)) : NULL;
}

struct ncc_op *rows_else(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a, double v)
{
	return a ? build_select(bl, p, a, build_splat(bl, &a->shape, v)) : NULL;
}

struct ncc_op *rows_power(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *e = build_bitcast(bl, x, NEURON_DT_INT32);

	e = build_bitcast(bl, build_number(bl, NCC_AND, e, 0x7f800000), NEURON_DT_FP32);
	e = build_number(bl, NCC_MIN, e, 0x1p126);
	return rows_else(bl, rows_is(bl, NCC_GT, e, 0), e, 1);
}
