// SPDX-License-Identifier: MIT
/*
 * NonZero, Compress and Unique: what they keep depends on the data, and so does how much it is.
 * Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "moves.h"
#include "frontend/onnx/values/kept.h"

/* A constant predicate of one value, with all its elements */
static onnx_op filled_with(struct onnx_node *n, const struct ncc_shape *s, bool value)
{
	onnx_op op = ox_data(n, s);

	if (op)
		memset(op->data, value, (size_t)ncc_elems(s));
	return op;
}

/* A predicate, flat: which elements of the operand are not 0? */
static onnx_op not_zero(struct onnx_node *n, const struct onnx_value *v)
{
	onnx_op x = v->op;
	int64_t count = ncc_elems(&x->shape);
	double same;

	x = x->shape.pred ? x : ox_binc(n, NCC_NE, x, 0);
	if (onnx_sized_but(v, NCC_MAX_DIMS))
		x = ox_bin(n, NCC_AND, x, onnx_there(n, v, ONNX_ALL_DIMS));
	x = ox_reshape(n, x, 1, &count);
	return x && ncc_scalar_value(x, &same) ? filled_with(n, &x->shape, same != 0) : x;
}

/* The coordinates of the elements of a shape: a constant, s32[elements, rank] */
static onnx_op coordinates(struct onnx_node *n, const struct ncc_shape *of)
{
	const int64_t count = ncc_elems(of);
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 2, .dim = { count, of->ndim } };
	onnx_op op = ox_data(n, &s);

	for (int64_t i = 0; op && i < count; i++) {
		int64_t at = i;

		for (unsigned int d = of->ndim; d--; at /= of->dim[d])
			ncc_set(s.dtype, op->data, i * of->ndim + d, (double)(at % of->dim[d]));
	}
	return op;
}

/* The number of a constant predicate's elements that hold */
static int64_t held(onnx_op keep)
{
	int64_t count = 0;

	for (int64_t i = 0; i < keep->shape.dim[0]; i++)
		count += ((const uint8_t *)keep->data)[i] != 0;
	return count;
}

/* The rows of a constant that another one keeps */
static onnx_op rows_of_constant(struct onnx_node *n, onnx_op x, onnx_op keep, int64_t count)
{
	struct ncc_shape s = x->shape;
	const size_t row = (size_t)(ncc_elems(&s) / s.dim[0]) * ncc_dtype_size(s.dtype);
	uint8_t *to;
	onnx_op op;

	s.dim[0] = count;
	op = ox_data(n, &s);
	to = op ? op->data : NULL;
	for (int64_t i = 0; to && i < keep->shape.dim[0]; i++) {
		if (!((const uint8_t *)keep->data)[i])
			continue;
		memcpy(to, (const uint8_t *)x->data + (size_t)i * row, row);
		to += row;
	}
	return op;
}

static void known_coordinates(struct onnx_node *n, const struct ncc_shape *of, onnx_op keep)
{
	static const uint8_t swap[2] = { 1, 0 };
	const struct ncc_shape none = { .ndim = 2, .dim = { of->ndim, 0 } };
	int64_t count = held(keep);
	onnx_op x = count ? coordinates(n, of) : NULL;

	if (!count)
		onnx_give_empty(n, 0, &none, ONNX_INT64);
	else if (x)
		onnx_give_as(n, 0, ox_transpose(n, rows_of_constant(n, x, keep, count), swap),
			     ONNX_INT64);
}

static void import_non_zero(struct onnx_node *n)
{
	static const uint8_t swap[2] = { 1, 0 };
	struct ncc_shape s = onnx_in(n, 0)->shape;
	onnx_op keep = not_zero(n, &n->in[0]);
	struct onnx_places *p;

	if (!s.ndim) {
		onnx_fail(n, -ENOTSUP, "of a scalar is not supported");
		return;
	}
	if (keep && keep->kind == NCC_CONST) {
		known_coordinates(n, &s, keep);
		return;
	}
	p = keep && !n->rc ? onnx_places_of(n, keep) : NULL;
	if (!p)
		return;
	if (!p->coordinates || !ncc_same_dims(&p->of, &s)) {
		p->coordinates = onnx_keep_rows(n, coordinates(n, &s), keep, ncc_elems(&s), NULL);
		p->of = s;
	}
	onnx_give_some(n, 0, ox_transpose(n, p->coordinates, swap), ONNX_INT64, 1, p->size);
}

/* Moves dimension d to the front of x; the reverse */
static onnx_op in_front(struct onnx_node *n, onnx_op x, unsigned int d, bool back)
{
	uint8_t perm[NCC_MAX_DIMS];

	for (unsigned int i = 0; x && i < x->shape.ndim && i < NCC_MAX_DIMS; i++) {
		const unsigned int before = i < d ? i + 1 : i, after = i <= d ? i - 1 : i;

		perm[i] = (uint8_t)(back ? (i == d ? 0 : before) : i ? after : d);
	}
	return x ? ox_transpose(n, x, perm) : NULL;
}

/* The elements of dimension d for which keep holds; they become dimension d of result 0. */
static void give_kept(struct onnx_node *n, onnx_op x, onnx_op keep, unsigned int d)
{
	const int32_t type = n->in[0].type;
	const struct ncc_shape number = { .dtype = NEURON_DT_INT32 };
	onnx_op size = NULL;

	keep = n->rc ? NULL : keep;
	x = in_front(n, x, d, false);
	if (keep && keep->kind == NCC_CONST)
		size = ox_scalar(n, &number, (double)held(keep));
	if (size && x && x->kind == NCC_CONST && held(keep))
		x = rows_of_constant(n, x, keep, held(keep));
	else if (keep && x)
		x = onnx_keep_rows(n, x, keep, x->shape.dim[0], size ? NULL : &size);
	onnx_give_some(n, 0, in_front(n, x, d, true), type, d, size);
}

static void import_compress(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	onnx_op x = v->op, keep = onnx_in(n, 1);
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "axis");
	unsigned int axis = a ? onnx_axis(n, a->i, x->shape.ndim) : 0;
	int64_t elems = ncc_elems(&x->shape), size;

	if (onnx_sized_but(v, a ? axis : NCC_MAX_DIMS)) {
		onnx_fail(n, -ENOTSUP,
			  "along another dimension than the one that depends on the "
			  "data");
		return;
	}
	if (n->in[1].size[0])
		keep = ox_bin(n, NCC_AND, keep, onnx_there(n, &n->in[1], 1));
	if (!keep || n->rc)
		return;
	x = a ? x : ox_reshape(n, x, 1, &elems);
	size = keep->shape.ndim == 1 ? keep->shape.dim[0] : 0;
	if (!keep->shape.pred || !size || !x) {
		onnx_fail(n, -EINVAL, "a condition that is no list of predicates");
		return;
	}
	if (size > x->shape.dim[axis])
		keep = ox_slice(n, keep, 0, 0, x->shape.dim[axis], 1);
	else
		x = ox_slice(n, x, axis, 0, size, 1);
	give_kept(n, x, keep, axis);
}

/*
 * Unique, of rows x[n, columns]: whether rows are equal, or one comes before another one, is found
 * for all pairs.
 */
struct unique {
	onnx_op there; /* pred[n]; NULL: all are */
	onnx_op equal, below; /* pred[n, n]: [i, j]: row i equals row j; row j is below row i */
	onnx_op number; /* s32[n]: 0, 1, ... */
	onnx_op first; /* s32[n]: the first row that equals each one */
	onnx_op is_first; /* pred[n] */
};

#define MOST_PAIRS (1ll << 26)
#define MOST_COLUMNS 64

/* [n] as a row or a column of [n, n] */
static onnx_op line(struct onnx_node *n, onnx_op x, bool column)
{
	return ox_insert(n, x, column);
}

/* eq: equal ones among x[n]; lt: those (j) that are below others (i). NaNs are equal, and last. */
static void compare_numbers(struct onnx_node *n, onnx_op x, onnx_op *eq, onnx_op *lt)
{
	onnx_op nan, number;

	*eq = x ? ox_bin(n, NCC_EQ, line(n, x, true), line(n, x, false)) : NULL;
	*lt = x ? ox_bin(n, NCC_LT, line(n, x, false), line(n, x, true)) : NULL;
	if (!x || !ncc_is_float(x->shape.dtype))
		return;
	nan = ox_bin(n, NCC_NE, x, x);
	number = ox_bin(n, NCC_EQ, x, x);
	if (!nan || !number)
		return;
	*eq = ox_bin(n, NCC_OR, *eq, ox_bin(n, NCC_AND, line(n, nan, true), line(n, nan, false)));
	*lt = ox_bin(n, NCC_OR, *lt,
		     ox_bin(n, NCC_AND, line(n, nan, true), line(n, number, false)));
}

static bool compare_rows(struct onnx_node *n, struct unique *u, onnx_op x)
{
	int64_t rows = x->shape.dim[0], columns = x->shape.dim[1];

	if (rows * rows > MOST_PAIRS || columns > MOST_COLUMNS) {
		onnx_fail(n, -ENOTSUP, "of %lld rows of %lld elements: too many to compare",
			  (long long)rows, (long long)columns);
		return false;
	}
	for (int64_t c = columns; c-- > 0 && !n->rc;) {
		onnx_op one = ox_reshape(n, ox_slice(n, x, 1, c, 1, 1), 1, &rows), eq, lt;

		compare_numbers(n, one, &eq, &lt);
		u->below = u->below ? ox_bin(n, NCC_OR, lt, ox_bin(n, NCC_AND, eq, u->below)) : lt;
		u->equal = u->equal ? ox_bin(n, NCC_AND, eq, u->equal) : eq;
	}
	if (u->there)
		u->equal = ox_bin(n, NCC_AND, u->equal, line(n, u->there, false));
	u->number = ox_iota(n, NEURON_DT_INT32, rows);
	u->first = u->number ? ox_select(n, u->equal, line(n, u->number, false),
					 ox_scalar(n, &u->number->shape, (double)rows))
			     : NULL;
	u->first = ox_reduce(n, u->first, NCC_MIN, 1u << 1, false);
	u->is_first = ox_bin(n, NCC_EQ, u->first, u->number);
	if (u->there)
		u->is_first = ox_bin(n, NCC_AND, u->is_first, u->there);
	return u->is_first;
}

/* The number of columns of p[n, n] that hold: s32[n] */
static onnx_op count_of(struct onnx_node *n, onnx_op p)
{
	return ox_cast(n, ox_reduce(n, ox_f32(n, p), NCC_ADD, 1u << 1, false), NEURON_DT_INT32,
		       false);
}

/* The rows for which is_first holds, at their places; those of a list are a list again */
static void give_first(struct onnx_node *n, unsigned int i, onnx_op x, onnx_op to, onnx_op size,
		       int32_t type)
{
	int64_t rows = to ? to->shape.dim[0] : 0;

	if (i >= n->nout || !*n->p->output[i] || !x)
		return;
	x = onnx_put_rows(n, ox_reshape(n, x, 2, (int64_t[]){ rows, 1 }), to, rows);
	onnx_give_some(n, i, ox_reshape(n, x, 1, &rows), type, 0, size);
}

static void give_unique(struct onnx_node *n, const struct unique *u, onnx_op x, unsigned int axis)
{
	const int32_t type = n->in[0].type;
	onnx_op size, place, to;
	struct ncc_shape s = x->shape;

	/* a row's place: how many different ones are below it, or come first before it */
	place = onnx_int(n, "sorted")
			? u->below
			: ox_bin(n, NCC_GT, line(n, u->first, true), line(n, u->number, false));
	place = count_of(n, ox_bin(n, NCC_AND, place, line(n, u->is_first, false)));
	size = ox_reduce(n, ox_cast(n, u->is_first, NEURON_DT_INT32, false), NCC_ADD, 1, false);
	to = place ? ox_select(n, u->is_first, place, ox_scalar(n, &place->shape, -1)) : NULL;
	if (n->rc || !to)
		return;
	x = onnx_put_rows(n, onnx_as_rows(n, x), to, s.dim[0]);
	x = ox_reshape(n, x, s.ndim, s.dim);
	onnx_give_some(n, 0, in_front(n, x, axis, true), type, axis, size);
	give_first(n, 1, u->number, to, size, ONNX_INT64);
	onnx_give_as(n, 2, place, ONNX_INT64);
	if (n->nout > 2 && n->in[0].size[axis] && n->out[2].op)
		onnx_give_some(n, 2, place, ONNX_INT64, 0, n->in[0].size[axis]);
	give_first(n, 3, count_of(n, u->equal), to, size, ONNX_INT64);
}

static void import_unique(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "axis");
	unsigned int axis = a ? onnx_axis(n, a->i, v->op->shape.ndim) : 0;
	int64_t elems = ncc_elems(&v->op->shape);
	struct unique u = { 0 };
	onnx_op x;

	n->exact = true;
	if (onnx_sized_but(v, a || v->op->shape.ndim == 1 ? axis : NCC_MAX_DIMS)) {
		onnx_fail(n, -ENOTSUP,
			  "along another dimension than the one that depends on the "
			  "data");
		return;
	}
	x = a ? in_front(n, v->op, axis, false) : ox_reshape(n, v->op, 1, &elems);
	if (v->size[axis] && x)
		u.there = ox_reshape(n, onnx_there(n, v, 1u << axis), 1, &x->shape.dim[0]);
	if (x && !n->rc && compare_rows(n, &u, onnx_as_rows(n, x)))
		give_unique(n, &u, x, axis);
}

const struct onnx_rule onnx_choose[] = {
	/* clang-format off */
	{ "Compress", 2, 2, .import = import_compress, .sized = sized_own, .takes = ONNX_ALL, .since = 9, .attrs = ONNX_ATTRS(ATTR("axis", INT)) },
	{ "NonZero",  1, 1, .import = import_non_zero, .sized = sized_own, .takes = ONNX_ALL, .since = 9 },
	{ "Unique",   1, 1, .import = import_unique, .sized = sized_own, .takes = ONNX_ALL, .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT), ATTR("sorted", INT, .i = 1)) },
	{ .op_type = NULL },
	/* clang-format on */
};
