// SPDX-License-Identifier: MIT
/*
 * Constant evaluation: shapes that a model computes, and parameters that it puts together. Elements
 * are doubles meanwhile; an operation of the IR rounds once, to its type, and integers are exact
 * and wrap around. Called by the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "traits.h"

/* to[i] = from[start + sum of index * step], over the indices of s in order. */
static void walk(const struct ncc_shape *s, double *to, const double *from, int64_t start,
		 const int64_t *step)
{
	int64_t n = ncc_elems(s), at[NCC_MAX_DIMS] = { 0 }, src = start;

	for (int64_t i = 0; i < n; i++) {
		to[i] = from[src];
		for (int d = (int)s->ndim - 1; d >= 0; d--) {
			src += step[d];
			if (++at[d] < s->dim[d])
				break;
			src -= step[d] * s->dim[d];
			at[d] = 0;
		}
	}
}

static void spread(const struct ncc_op *op, const double *from, double *to)
{
	int64_t in_step[NCC_MAX_DIMS] = { 0 }, step[NCC_MAX_DIMS] = { 0 };

	ncc_steps(&op->in[0]->shape, in_step);
	for (unsigned int i = 0; i < op->in[0]->shape.ndim; i++)
		step[op->map[i]] = in_step[i];
	walk(&op->shape, to, from, 0, step);
}

/* The elements of a constant or of a broadcast one; the caller frees them. */
static double *read_values(const struct ncc_op *op)
{
	const struct ncc_op *c = op->kind == NCC_BROADCAST ? op->in[0] : op;
	int64_t n = ncc_elems(&c->shape);
	double *v, *wide;

	if (c->kind != NCC_CONST)
		return NULL;
	v = malloc((size_t)n * sizeof(*v));
	for (int64_t i = 0; v && i < n; i++)
		v[i] = ncc_get(c->shape.dtype, c->data, i);
	if (!v || c == op)
		return v;
	wide = malloc((size_t)ncc_elems(&op->shape) * sizeof(*v));
	if (wide)
		spread(op, v, wide);
	free(v);
	return wide;
}

/* Wraps around, as all integer operations do. */
static int64_t power(int64_t a, int64_t b)
{
	uint64_t r = 1;

	if (b < 0)
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	for (; b; b >>= 1, a = (int64_t)((uint64_t)a * (uint64_t)a))
		r *= b & 1 ? (uint64_t)a : 1;
	return (int64_t)r;
}

static double wrapped(uint8_t dtype, int64_t v)
{
	switch (dtype) {
	case NEURON_DT_INT8:
		return (int8_t)v;
	case NEURON_DT_UINT8:
		return (uint8_t)v;
	case NEURON_DT_INT16:
		return (int16_t)v;
	case NEURON_DT_UINT16:
		return (uint16_t)v;
	case NEURON_DT_UINT32:
		return (uint32_t)v;
	default:
		return (int32_t)v;
	}
}

/* NCC_CONVERT keeps its operand */
static double eval_integer(const struct ncc_shape *s, enum ncc_kind kind, double a, double b)
{
	int64_t r = (int64_t)a;

	if (kind == NCC_POW)
		r = power((int64_t)a, (int64_t)b);
	else
		ncc_integer(kind, s, (int64_t)a, (int64_t)b, &r);
	return s->pred ? r != 0 : wrapped(s->dtype, r);
}

static double eval_binary(const struct ncc_shape *s, enum ncc_kind kind, double a, double b)
{
	const struct ncc_traits *t = ncc_traits_of(kind);

	if (t->class == NCC_CLASS_COMPARE)
		return t->binary(a, b);
	if (!ncc_is_float(s->dtype))
		return eval_integer(s, kind, a, b);
	return t->binary ? t->binary(a, b) : NAN;
}

static void eval_reduce(const struct ncc_op *op, double *const *in, double *out)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	int64_t n = ncc_elems(s), step[NCC_MAX_DIMS] = { 0 }, out_step[NCC_MAX_DIMS];
	int64_t at[NCC_MAX_DIMS] = { 0 }, dst = 0, m = ncc_elems(&op->shape);
	unsigned int k = 0;

	ncc_steps(&op->shape, out_step);
	for (unsigned int d = 0; d < s->ndim; d++)
		step[d] = op->mask >> d & 1 ? 0 : out_step[k++];
	for (int64_t i = 0; i < m; i++)
		out[i] = in[1][0];
	for (int64_t i = 0; i < n; i++) {
		out[dst] = eval_binary(&op->shape, op->func, out[dst], in[0][i]);
		for (int d = (int)s->ndim - 1; d >= 0; d--) {
			dst += step[d];
			if (++at[d] < s->dim[d])
				break;
			dst -= step[d] * s->dim[d];
			at[d] = 0;
		}
	}
}

/* Evaluates a pad without interior: each element of the result is the operand's or the value. */
static void eval_pad(const struct ncc_op *op, double *const *in, double *out)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	int64_t n = ncc_elems(&op->shape), step[NCC_MAX_DIMS];

	ncc_steps(s, step);
	for (int64_t i = 0; i < n; i++) {
		int64_t rest = i, src = 0;
		bool inside = true;

		for (int d = (int)s->ndim - 1; d >= 0; d--) {
			int64_t at = rest % op->shape.dim[d] - op->low[d];

			rest /= op->shape.dim[d];
			inside = inside && at >= 0 && at < s->dim[d];
			src += at * step[d];
		}
		out[i] = inside ? in[0][src] : in[1][0];
	}
}

static void eval_concat(const struct ncc_op *op, double *const *in, double *out)
{
	int64_t inner = 1, outer = 1, at = 0;

	for (unsigned int d = 0; d < op->shape.ndim; d++)
		*(d < op->axis ? &outer : &inner) *= op->shape.dim[d];
	for (unsigned int k = 0; k < op->nin; k++) {
		int64_t part = ncc_elems(&op->in[k]->shape) / outer;

		for (int64_t o = 0; o < outer; o++)
			memcpy(out + o * inner + at, in[k] + o * part, (size_t)part * sizeof(*out));
		at += part;
	}
}

/* Indices out of range are clamped: a check of the model reports them. */
static void eval_gather(const struct ncc_op *op, double *const *in, double *out)
{
	const double *table = in[0], *index = in[1];
	int64_t rows = op->in[0]->shape.dim[0], n = op->shape.dim[1];

	for (int64_t i = 0; i < op->shape.dim[0]; i++) {
		int64_t row = index[i] < 0 ? 0 : (int64_t)index[i];

		row = row < rows ? row : rows - 1;
		memcpy(out + i * n, table + row * n, (size_t)n * sizeof(*out));
	}
}

static void eval_scatter(const struct ncc_op *op, double *const *in, double *out)
{
	const double *index = in[1];
	int64_t rows = op->shape.dim[0], n = op->shape.dim[1];

	memcpy(out, in[0], (size_t)(rows * n) * sizeof(*out));
	for (int64_t i = 0; i < op->in[1]->shape.dim[0]; i++) {
		if (index[i] >= 0 && index[i] < (double)rows)
			memcpy(out + (int64_t)index[i] * n, in[2] + i * n,
			       (size_t)n * sizeof(*out));
	}
}

/* Place number i of all rows, in a row of n elements; -1: outside of it */
static int64_t place_of(const double *place, int64_t i, int64_t n)
{
	return place[i] >= 0 && place[i] < (double)n ? (int64_t)place[i] : -1;
}

static void eval_take(const struct ncc_op *op, double *const *in, double *out)
{
	int64_t n = op->in[0]->shape.dim[1], m = op->shape.dim[1];

	for (int64_t r = 0; r < op->shape.dim[0]; r++)
		for (int64_t i = 0; i < m; i++) {
			int64_t at = place_of(in[1], r * m + i, n);

			out[r * m + i] = at < 0 ? 0 : in[0][r * n + at];
		}
}

static void eval_combine(const struct ncc_op *op, double *const *in, double *out)
{
	int64_t n = op->shape.dim[1], m = op->in[1]->shape.dim[1];

	memcpy(out, in[0], (size_t)ncc_elems(&op->shape) * sizeof(*out));
	for (int64_t r = 0; r < op->shape.dim[0]; r++)
		for (int64_t i = 0; i < m; i++) {
			int64_t at = place_of(in[1], r * m + i, n);
			double u = in[2][r * m + i];

			if (at < 0)
				continue;
			out[r * n + at] = op->func == NCC_SELECT ? u
								 : eval_binary(&op->shape, op->func,
									       out[r * n + at], u);
		}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A key and its place behind it are one number, which a double holds. */
static void eval_order(const struct ncc_op *op, double *const *in, double *out)
{
	int64_t n = op->in[0]->shape.dim[1], k = op->shape.dim[1];

	for (int64_t r = 0; r < op->shape.dim[0]; r++) {
		double *key = in[0] + r * n, sign = op->func == NCC_GT ? -1 : 1;

		for (int64_t i = 0; i < n; i++)
			key[i] = sign * key[i] * NCC_MAX_ORDER + (double)i;
		qsort(key, (size_t)n, sizeof(*key), by_value);
		for (int64_t i = 0; i < k; i++)
			out[r * k + i] = key[i] - floor(key[i] / NCC_MAX_ORDER) * NCC_MAX_ORDER;
	}
}

static void eval_move(const struct ncc_op *op, double *const *in, double *out)
{
	int64_t step[NCC_MAX_DIMS], start = ncc_move_steps(op, step);

	walk(&op->shape, out, in[0], start, step);
}

static void eval_reshape(const struct ncc_op *op, double *const *in, double *out)
{
	memcpy(out, in[0], (size_t)ncc_elems(&op->shape) * sizeof(*out));
}

/* Constants are doubles here, in which a NaN has lost its bits: it becomes the standard one. */
static void eval_bitcast(const struct ncc_op *op, double *const *in, double *out)
{
	int64_t n = ncc_elems(&op->shape);
	uint32_t bits = 0;

	for (int64_t i = 0; i < n; i++) {
		ncc_set(op->in[0]->shape.dtype, &bits, 0, in[0][i]);
		out[i] = ncc_get(op->shape.dtype, &bits, 0);
	}
}

static void eval_broadcast(const struct ncc_op *op, double *const *in, double *out)
{
	spread(op, in[0], out);
}

static void eval_select(const struct ncc_op *op, double *const *in, double *out)
{
	int64_t n = ncc_elems(&op->shape);

	for (int64_t i = 0; i < n; i++)
		out[i] = in[0][i] != 0 ? in[1][i] : in[2][i];
}

static void eval_elements(const struct ncc_op *op, double *const *in, double *out)
{
	const struct ncc_traits *t = ncc_traits_of(op->kind);
	int64_t n = ncc_elems(&op->shape);
	bool whole = !ncc_is_float(op->in[0]->shape.dtype) && !ncc_is_float(op->shape.dtype);

	for (int64_t i = 0; i < n; i++)
		out[i] = t->class != NCC_CLASS_UNARY
				 ? eval_binary(&op->shape, op->kind, in[0][i], in[1][i])
			 : whole    ? eval_integer(&op->shape, op->kind, in[0][i], 0)
			 : t->unary ? t->unary(in[0][i])
				    : in[0][i];
}

/* The operations that are not element-wise; NULL: not evaluated */
static void (*const evaluate[NCC_KINDS])(const struct ncc_op *op, double *const *in,
					 double *out) = {
	[NCC_SELECT] = eval_select,   [NCC_BROADCAST] = eval_broadcast,
	[NCC_RESHAPE] = eval_reshape, [NCC_TRANSPOSE] = eval_move,
	[NCC_SLICE] = eval_move,      [NCC_REVERSE] = eval_move,
	[NCC_CONCAT] = eval_concat,   [NCC_PAD] = eval_pad,
	[NCC_GATHER] = eval_gather,   [NCC_REDUCE] = eval_reduce,
	[NCC_SCATTER] = eval_scatter, [NCC_TAKE] = eval_take,
	[NCC_COMBINE] = eval_combine, [NCC_ORDER] = eval_order,
	[NCC_BITCAST] = eval_bitcast,
};

static bool eval_op(const struct ncc_op *op, double *const *in, double *out)
{
	if (evaluate[op->kind])
		evaluate[op->kind](op, in, out);
	else if (ncc_is_elementwise(op->kind))
		eval_elements(op, in, out);
	else
		return false;
	return true;
}

static int store(struct ncc_module *m, struct ncc_op *op, const double *v)
{
	int64_t n = ncc_elems(&op->shape);
	void *data = ncc_alloc_data(m, (size_t)n * ncc_dtype_size(op->shape.dtype));

	if (!data)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i++)
		ncc_set(op->shape.dtype, data, i, op->shape.pred ? v[i] != 0 : v[i]);
	op->data = data;
	op->kind = NCC_CONST;
	op->nin = 0;
	return 1;
}

int ncc_eval(struct ncc_module *m, struct ncc_op *op)
{
	const unsigned int nin = op->nin;
	double **in, *out;
	bool ok = nin > 0;
	int rc = 0;

	for (unsigned int d = 0; d < op->shape.ndim && op->kind == NCC_PAD; d++)
		ok = ok && !op->interior[d];
	in = ok ? calloc(nin, sizeof(*in)) : NULL;
	if (!in)
		return ok ? -ENOMEM : 0;

	for (unsigned int i = 0; i < nin; i++) {
		in[i] = ok ? read_values(op->in[i]) : NULL;
		ok = in[i];
	}

	out = ok ? malloc((size_t)ncc_elems(&op->shape) * sizeof(*out)) : NULL;
	if (out && eval_op(op, in, out))
		rc = store(m, op, out);
	for (unsigned int i = 0; i < nin; i++)
		free(in[i]);
	free(in);
	free(out);
	return rc;
}
