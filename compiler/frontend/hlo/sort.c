// SPDX-License-Identifier: MIT
/* sort by any comparison, which is run on whole tensors; and topk, which is a sort */
#include <errno.h>

#include "call.h"
#include "operations.h"
#include "order.h"
#include "sizes.h"
#include "neuron/hw/ext.h"

#define LONG_ONE 4096 /* elements to sort: so many fill the partitions by themselves */
#define FEW_ROWS 16 /* rows of those: more fill the partitions anyway */

/*
 * Values being sorted along the middle one of three dimensions; the last of them is their original
 * place
 */
struct sorting {
	struct hlo_inst *in;
	const Ncc__Hlo__Computation *before;
	unsigned int n; /* number of values, the place included */
	struct ncc_op *x[HLO_MANY + 1]; /* floats as integers, since their bits are moved */
	uint8_t dtype[HLO_MANY]; /* their types */
	int64_t outer, length, padded, inner;
	int64_t lanes; /* of a long sort: x is [lanes, padded / lanes, outer * inner] */
	bool transposed; /* the first two dimensions are exchanged */
	struct ncc_op *size; /* so many are there; NULL: all */
};

/* Does a come before b? The computation's parameters are a0, b0, a1, b1, ... */
static struct ncc_op *comes_before(struct sorting *st, struct ncc_op *const *a,
				   struct ncc_op *const *b)
{
	struct ncc_op *x[2 * HLO_MANY];
	struct hlo_value v;

	for (unsigned int i = 0; i + 1 < st->n; i++) {
		x[2 * i] = build_bitcast(&st->in->b, a[i], st->dtype[i]);
		x[2 * i + 1] = build_bitcast(&st->in->b, b[i], st->dtype[i]);
		if (!x[2 * i] || !x[2 * i + 1])
			return NULL;
	}
	if (hlo_lift(st->in, st->before, &a[0]->shape, x, 2 * (st->n - 1), &v))
		return NULL;
	if (v.n != 1 || !v.op[0]->shape.pred || !ncc_same_dims(&v.op[0]->shape, &a[0]->shape)) {
		hlo_fail(st->in, -EINVAL, "the computation does not give a predicate");
		return NULL;
	}
	return v.op[0];
}

/*
 * Must hi come before lo? Equal ones stay in order; padding, whose place is after all others, is
 * last, and so is what lies beyond a dynamic dimension's size.
 */
static struct ncc_op *must_swap(struct sorting *st, struct ncc_op *const *lo,
				struct ncc_op *const *hi)
{
	struct ncc_build *bl = &st->in->b;
	struct ncc_op *pl = lo[st->n - 1], *ph = hi[st->n - 1], *less, *more, *r, *end;

	less = comes_before(st, hi, lo);
	more = less ? comes_before(st, lo, hi) : NULL;
	if (!more)
		return NULL;
	more = build_unary(bl, NCC_NOT, more);
	r = build_binary(&st->in->b, NCC_OR, less,
			 build_binary(&st->in->b, NCC_AND, more,
				      build_compare(bl, NCC_LT, ph, pl)));
	if (st->padded == st->length && !st->size)
		return r;
	end = st->size ? build_spread(bl, &pl->shape, st->size, NULL)
		       : build_splat(bl, &pl->shape, (double)st->length);
	r = build_binary(&st->in->b, NCC_OR, r, build_compare(bl, NCC_GE, pl, end));
	return build_binary(&st->in->b, NCC_AND, r, build_compare(bl, NCC_LT, ph, end));
}

static struct ncc_op *backwards(struct sorting *st, struct ncc_op *x)
{
	return build_reverse(&st->in->b, x, 3);
}

/*
 * Splits the values, reshaped to s, whose dimension 2 is which half; the second half may be
 * mirrored.
 */
static void halves(struct sorting *st, const struct ncc_shape *s, bool mirror, struct ncc_op **lo,
		   struct ncc_op **hi)
{
	st->in->imp->err->text[0] = 0;
	for (unsigned int i = 0; i < st->n; i++) {
		struct ncc_op *r = build_reshape(&st->in->b, st->x[i], s);

		lo[i] = build_slice(&st->in->b, r, 2, 0, 1);
		hi[i] = build_slice(&st->in->b, r, 2, 1, 1);
		if (mirror)
			hi[i] = backwards(st, hi[i]);
	}
}

/* Exchanges the halves where swap holds; the values get shape flat. */
static int exchange(struct sorting *st, struct ncc_op *swap, const struct ncc_shape *flat,
		    bool mirror, struct ncc_op *const *lo, struct ncc_op *const *hi)
{
	struct ncc_build *bl = &st->in->b;
	struct ncc_op *pair[2];

	if (!swap)
		return st->in->imp->err->text[0] ? -EINVAL
						 : hlo_fail(st->in, -ENOMEM, "out of memory");
	for (unsigned int i = 0; i < st->n; i++) {
		pair[0] = build_select(bl, swap, hi[i], lo[i]);
		pair[1] = build_select(bl, swap, lo[i], hi[i]);
		if (mirror)
			pair[1] = backwards(st, pair[1]);
		st->x[i] = build_reshape(bl, build_concat(bl, pair, 2, 2), flat);
	}
	return 0;
}

/*
 * In blocks of 2 * half, compares each element of the first half with one of the second, or its
 * mirror image.
 */
static int stage(struct sorting *st, int64_t half, bool mirror)
{
	struct ncc_shape s = { .ndim = 5,
			       .dim = { st->outer, st->padded / (2 * half), 2, half, st->inner } };
	struct ncc_shape flat = { .ndim = 3, .dim = { st->outer, st->padded, st->inner } };
	struct ncc_op *lo[HLO_MANY + 1], *hi[HLO_MANY + 1];

	halves(st, &s, mirror, lo, hi);
	return exchange(st, must_swap(st, lo, hi), &flat, mirror, lo, hi);
}

/* A bitonic sorting network in which every exchange puts the first one in front */
static int network(struct sorting *st)
{
	int rc = 0;

	for (int64_t block = 2; !rc && block <= st->padded; block *= 2) {
		rc = stage(st, block / 2, true);
		for (int64_t half = block / 4; !rc && half; half /= 2)
			rc = stage(st, half, false);
	}
	return rc;
}

/*
 * An operation that is computed into a place of its own: otherwise each user would transpose anew.
 */
static struct ncc_op *in_place(struct ncc_build *bl, struct ncc_op *x)
{
	if (x && ncc_is_float(x->shape.dtype))
		x = build_number(bl, NCC_ADD, x, 0);
	else
		x = build_number(bl, NCC_OR, x, 0);
	if (x)
		x->upright = true;
	return x;
}

static void transpose_lanes(struct sorting *st, bool transposed)
{
	static const uint8_t map[3] = { 1, 0, 2 };

	for (unsigned int i = 0; i < st->n && st->transposed != transposed; i++)
		st->x[i] = in_place(&st->in->b, build_transpose(&st->in->b, st->x[i], map));
	st->transposed = transposed;
}

/*
 * A predicate of pairs: do they belong to a block that is sorted backwards? first and pair are the
 * distances between indices of the first and of the second dimension.
 */
static struct ncc_op *backward_blocks(struct sorting *st, const struct ncc_shape *s, int64_t block,
				      int64_t first, int64_t pair)
{
	uint8_t d = first == 1 || block < first;
	struct ncc_shape line = { .dtype = NEURON_DT_INT8, .pred = true, .ndim = 1 };
	struct ncc_op *c;

	line.dim[0] = s->dim[d];
	c = build_const(&st->in->b, &line);
	for (int64_t i = 0; c && i < line.dim[0]; i++)
		ncc_set_int(NEURON_DT_INT8, c->data, i, (i * (d ? pair : first) & block) != 0);
	return c ? build_spread(&st->in->b, s, c, &d) : NULL;
}

/*
 * In blocks of which every second one is sorted backwards, compares elements that are half apart.
 */
static int wide_stage(struct sorting *st, int64_t block, int64_t half)
{
	int64_t run = st->padded / st->lanes, rest = st->outer * st->inner;
	bool transposed = half >= run;
	int64_t a = transposed ? run : st->lanes, b = transposed ? st->lanes : run;
	int64_t h = transposed ? half / run : half;
	struct ncc_shape s = { .ndim = 5, .dim = { a, b / (2 * h), 2, h, rest } };
	struct ncc_shape flat = { .ndim = 3, .dim = { a, b, rest } };
	struct ncc_op *lo[HLO_MANY + 1], *hi[HLO_MANY + 1], *swap;

	transpose_lanes(st, transposed);
	halves(st, &s, false, lo, hi);
	swap = must_swap(st, lo, hi);
	if (swap && block < st->padded)
		swap = build_binary(&st->in->b, NCC_XOR, swap,
				    backward_blocks(st, &swap->shape, block, transposed ? 1 : run,
						    2 * half));
	return exchange(st, swap, &flat, false, lo, hi);
}

/* [length, rest] as [lanes, run, rest]; missing elements are repeated from the beginning. */
static struct ncc_op *in_lanes(struct sorting *st, struct ncc_op *x)
{
	int64_t run = st->padded / st->lanes, full = st->length / run, over = st->length % run;
	struct ncc_shape s = { .ndim = 3, .dim = { full, run, st->outer * st->inner } };
	struct ncc_op *part[3], *row[2];
	struct ncc_build *bl = &st->in->b;
	unsigned int n = 0;

	part[n++] = build_reshape(bl, build_slice(bl, x, 0, 0, full * run), &s);
	if (over) {
		row[0] = build_slice(bl, x, 0, full * run, over);
		row[1] = build_slice(bl, x, 0, 0, run - over);
		s.dim[0] = 1;
		part[n++] = build_reshape(bl, build_concat(bl, row, 2, 0), &s);
	}
	s.dim[0] = st->lanes - full - (over > 0);
	if (s.dim[0])
		part[n++] = build_reshape(bl, build_slice(bl, x, 0, 0, s.dim[0] * run), &s);
	return n > 1 ? build_concat(bl, part, n, 0) : part[0];
}

/*
 * Sorts many elements of few rows, along the partitions and within them. For comparisons between
 * partitions the whole is transposed, so that the elements lie in one partition.
 */
static int wide_network(struct sorting *st)
{
	static const uint8_t map[3] = { 1, 0, 2 }, line[2] = { 0, 1 };
	int64_t run = st->padded / st->lanes, rest = st->outer * st->inner;
	struct ncc_shape two = { .ndim = 2, .dim = { st->length, rest } };
	struct ncc_shape back = { .ndim = 3, .dim = { st->padded, st->outer, st->inner } };
	struct ncc_shape wide = { .dtype = NEURON_DT_INT32,
				  .ndim = 3,
				  .dim = { st->lanes, run, rest } };
	struct ncc_shape square = { .ndim = 2, .dim = { st->lanes, run } };
	struct ncc_build *bl = &st->in->b;
	struct ncc_op *place = build_reshape(bl, build_count(bl, st->padded), &square);
	int rc = 0;

	for (unsigned int i = 0; i + 1 < st->n; i++) {
		struct ncc_op *x = build_reshape(bl, build_transpose(bl, st->x[i], map), &two);

		st->x[i] = in_place(bl, in_lanes(st, x));
	}
	st->x[st->n - 1] = place ? in_place(bl, build_spread(bl, &wide, place, line)) : NULL;
	for (int64_t block = 2; !rc && block <= st->padded; block *= 2)
		for (int64_t half = block / 2; !rc && half; half /= 2)
			rc = wide_stage(st, block, half);
	for (unsigned int i = 0; !rc && i < st->n; i++)
		st->x[i] = build_transpose(bl, build_reshape(bl, st->x[i], &back), map);
	return rc;
}

/* The first n of sorted value i, in a shape and type of its own */
static struct ncc_op *sorted(struct sorting *st, unsigned int i, int64_t n,
			     const struct ncc_shape *s)
{
	struct ncc_op *x = build_slice(&st->in->b, st->x[i], 1, 0, n);

	if (x && i + 1 < st->n && ncc_is_float(st->dtype[i]))
		x = build_bitcast(&st->in->b, x, st->dtype[i]);
	return build_reshape(&st->in->b, x, s);
}

/* Sorts [outer, length, inner], padded to a power of 2, with the original places as a value. */
static int tall_network(struct sorting *st)
{
	struct ncc_shape flat = { .dtype = NEURON_DT_INT32,
				  .ndim = 3,
				  .dim = { st->outer, st->padded, st->inner } };
	struct ncc_build *bl = &st->in->b;
	struct ncc_op *place = build_count(bl, st->padded), *part[2];
	uint8_t map = 1;

	for (unsigned int i = 0; i + 1 < st->n && st->padded > st->length; i++) {
		part[0] = st->x[i];
		part[1] = build_slice(bl, part[0], 1, 0, st->padded - st->length);
		st->x[i] = build_concat(bl, part, 2, 1);
	}
	st->x[st->n - 1] = place ? build_spread(bl, &flat, place, &map) : NULL;
	return network(st);
}

/* Prepares to sort along dimension d; the values become [outer, padded, inner]. */
static int begin_sorting(struct sorting *st, struct ncc_op *const *x, unsigned int n,
			 unsigned int d)
{
	const struct ncc_shape *s = &x[0]->shape;
	struct ncc_build *bl = &st->in->b;
	struct ncc_shape flat = { .ndim = 3 };
	int rc;

	st->outer = st->inner = st->padded = 1;
	for (unsigned int i = 0; i < s->ndim; i++)
		*(i < d ? &st->outer : &st->inner) *= i == d ? 1 : s->dim[i];
	st->length = s->dim[d];
	while (st->padded < st->length)
		st->padded *= 2;
	st->n = n + 1;
	flat.dim[0] = st->outer;
	flat.dim[1] = st->length;

	flat.dim[2] = st->inner;
	for (unsigned int i = 0; i < n; i++) {
		st->dtype[i] = x[i]->shape.dtype;
		st->x[i] = build_reshape(bl, build_bits(bl, x[i]), &flat);
	}

	if (st->length > LONG_ONE / 2 && st->outer * st->inner <= FEW_ROWS) {
		st->lanes = NEURON_PARTITIONS;
		rc = wide_network(st);
	} else {
		rc = tall_network(st);
	}

	for (unsigned int i = 0; !rc && i < st->n; i++)
		if (!st->x[i])
			rc = hlo_fail(st->in, -ENOMEM, "out of memory");
	return rc;
}

int hlo_sort(struct hlo_inst *in, struct hlo_value *v)
{
	struct sorting st = { .in = in, .before = hlo_called(in, 0) };
	int64_t d = in->p->n_dimensions == 1 ? in->p->dimensions[0] : -1;
	struct ncc_op *x[HLO_MANY];
	int rc;

	if (!st.before || !in->nin || in->nin > HLO_MANY)
		return hlo_fail(in, -ENOTSUP, "%u operands", in->nin);
	rc = hlo_arrays(in, in->nin);
	if (rc)
		return rc;
	if (d < 0 || d >= in->in[0].op[0]->shape.ndim)
		return hlo_fail(in, -EINVAL, "bad dimension");
	for (unsigned int i = 0; i < in->nin; i++)
		x[i] = in->in[i].op[0];
	for (unsigned int i = 0; i < in->nin; i++)
		st.size = hlo_smaller(in, st.size, hlo_size(in, i, d));
	rc = st.size ? 0 : hlo_sort_by_place(in, x, (unsigned int)d);
	if (rc)
		return rc < 0 ? rc : hlo_take_results(in, x, in->nin, v);
	rc = begin_sorting(&st, x, in->nin, (unsigned int)d);
	for (unsigned int i = 0; !rc && i < in->nin; i++)
		x[i] = sorted(&st, i, st.length, &in->in[i].op[0]->shape);
	return rc ? rc : hlo_take_results(in, x, in->nin, v);
}

int hlo_topk(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *x[2];
	const struct ncc_shape *s;
	int rc;

	if (in->nin != 1 || in->in[0].n != 1 || !in->in[0].op[0]->shape.ndim)
		return hlo_fail(in, -EINVAL, "needs one operand of rank 1 at least");
	x[0] = in->in[0].op[0];
	s = &x[0]->shape;
	if (in->p->k < 1 || in->p->k > s->dim[s->ndim - 1])
		return hlo_fail(in, -EINVAL, "k is %lld of %lld", (long long)in->p->k,
				(long long)s->dim[s->ndim - 1]);
	rc = hlo_top_by_place(in, x, in->p->k, in->p->largest);
	return rc ? rc : hlo_take_results(in, x, 2, v);
}
