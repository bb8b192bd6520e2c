// SPDX-License-Identifier: MIT
/* Operations that choose by index: gather, dynamic-slice, dynamic-update-slice. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "operations.h"

/* Finishes a gather or slice: out was made, or rc says why not. */
static int finish(struct hlo_inst *in, int rc, struct ncc_op *out)
{
	if (rc)
		return rc;
	if (!out && in->imp->err->text[0])
		return -EFBIG;
	if (!out)
		return hlo_fail(in, -ENOTSUP, "too many dimensions, or out of memory");
	if (!ncc_same_dims(&out->shape, &in->shape) || out->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -EINVAL, "the result's shape does not fit the operands'");
	return hlo_done(in, out);
}

static int gather(struct hlo_inst *in, struct ncc_op **out)
{
	const Ncc__Hlo__GatherDimensionNumbers *g = in->p->gather_dimension_numbers;
	struct ncc_slices s = { 0 };
	struct ncc_op *x;
	int rc;

	if (in->nin != 2 || !g || g->index_vector_dim < 0 || g->index_vector_dim > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "needs two operands and dimension numbers");
	x = in->in[0].op[0];
	if (in->p->n_gather_slice_sizes != x->shape.ndim)
		return hlo_fail(in, -EINVAL, "slices of rank %zu of an operand of rank %u",
				in->p->n_gather_slice_sizes, x->shape.ndim);
	memcpy(s.size, in->p->gather_slice_sizes, x->shape.ndim * sizeof(s.size[0]));
	s.vector = (unsigned int)g->index_vector_dim;
	rc = hlo_take_list(in, g->n_offset_dims, g->offset_dims, &s.nwindow, s.window) ?:
	     hlo_take_list(in, g->n_start_index_map, g->start_index_map, &s.nmap, s.map) ?:
	     hlo_take_list(in, g->n_operand_batching_dims, g->operand_batching_dims, &s.nbatch, s.batch) ?:
	     hlo_take_slices(in, &s, g->n_collapsed_slice_dims, g->collapsed_slice_dims,
			 g->start_indices_batching_dims, g->n_start_indices_batching_dims);
	return rc ? rc : expand_gather(&in->b, x, in->in[1].op[0], &s, &in->shape, out);
}

/* Start indices, one scalar for each dimension; constant ones are known and clamped */
struct starts {
	struct ncc_op *op[NCC_MAX_DIMS]; /* NULL: constant */
	int64_t at[NCC_MAX_DIMS];
};

static int take_starts(struct hlo_inst *in, unsigned int first, const struct ncc_shape *x,
		       const struct ncc_shape *part, struct starts *s)
{
	memset(s, 0, sizeof(*s));
	if (in->nin != first + x->ndim || part->ndim != x->ndim)
		return hlo_fail(in, -EINVAL, "%u operands for rank %u", in->nin, x->ndim);
	for (unsigned int d = 0; d < x->ndim; d++) {
		struct ncc_op *op = in->in[first + d].op[0];
		int64_t most = x->dim[d] - part->dim[d];
		double v;

		if (op->shape.ndim || most < 0 || part->dim[d] < 1)
			return hlo_fail(in, -EINVAL, "dimension %u does not fit the operand", d);
		if (!most)
			continue;
		if (ncc_scalar_value(op, &v))
			s->at[d] = v < 0 ? 0 : v > (double)most ? most : (int64_t)v;
		else
			s->op[d] = expand_clamp_index(&in->b, op, most);
		if (!ncc_scalar_value(op, &v) && !s->op[d])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

/* start, start + 1, ... */
static struct ncc_op *range(struct hlo_inst *in, struct ncc_op *start, int64_t n)
{
	struct ncc_op *c = build_count(&in->b, n),
		      *s = c ? build_spread(&in->b, &c->shape, start, NULL) : NULL;

	return s ? build_node(&in->b, NCC_ADD, &c->shape, c, s, NULL) : NULL;
}

/* expand_choose puts the new dimension first: this moves it back to d. */
static struct ncc_op *first_to(struct hlo_inst *in, struct ncc_op *x, unsigned int d)
{
	uint8_t map[NCC_MAX_DIMS];
	unsigned int k = 1;

	if (!x || !d)
		return x;
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		map[i] = (uint8_t)(i == d ? 0 : k++);
	return build_transpose(&in->b, x, map);
}

static int dynamic_slice(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0], *cut;
	struct ncc_shape s = x->shape;
	struct starts st;
	int rc = take_starts(in, 1, &x->shape, &in->shape, &st);

	if (rc)
		return rc;
	for (unsigned int d = 0; d < s.ndim; d++)
		if (!st.op[d])
			s.dim[d] = in->shape.dim[d];

	cut = build_node(&in->b, NCC_SLICE, &s, x, NULL, NULL);
	for (unsigned int d = 0; cut && d < s.ndim; d++) {
		cut->start[d] = st.at[d];
		cut->stride[d] = 1;
	}

	for (unsigned int d = 0; cut && d < s.ndim; d++)
		if (st.op[d])
			cut = expand_take_inside(&in->b, cut, range(in, st.op[d], in->shape.dim[d]),
						 d);
	*out = cut;
	return 0;
}

/* v padded with fill to x's dimensions along those that begin at a constant */
static struct ncc_op *padded(struct hlo_inst *in, struct ncc_op *v, const struct starts *st,
			     const struct ncc_shape *x)
{
	struct ncc_op *zero = v ? ncc_const_scalar(in->imp->m, v->shape.dtype, 0) : NULL, *op;
	struct ncc_shape s;

	if (!zero)
		return NULL;
	zero->shape.pred = v->shape.pred;
	s = v->shape;
	for (unsigned int d = 0; d < s.ndim; d++)
		s.dim[d] = st->op[d] ? s.dim[d] : x->dim[d];
	op = build_node(&in->b, NCC_PAD, &s, v, zero, NULL);
	for (unsigned int d = 0; op && d < s.ndim; d++) {
		op->low[d] = st->op[d] ? 0 : st->at[d];
		op->high[d] = s.dim[d] - op->low[d] - v->shape.dim[d];
	}
	return op;
}

/* A predicate over the whole shape: is the element within the update along dimension d? */
static struct ncc_op *inside(struct hlo_inst *in, struct ncc_op *start, int64_t n, unsigned int d)
{
	struct ncc_op *c = build_count(&in->b, in->shape.dim[d]), *s, *p, *below, *from;
	struct ncc_shape ps = { .dtype = NEURON_DT_INT8, .pred = true, .ndim = 1 };
	uint8_t map = (uint8_t)d;

	if (!c)
		return NULL;
	ps.dim[0] = c->shape.dim[0];
	s = build_spread(&in->b, &c->shape, start, NULL);
	p = s ? build_node(&in->b, NCC_SUB, &c->shape, c, s, NULL) : NULL;
	if (!p)
		return NULL;
	from = build_compare(&in->b, NCC_GE, p, build_splat(&in->b, &c->shape, 0));
	below = build_compare(&in->b, NCC_LT, p, build_splat(&in->b, &c->shape, (double)n));
	p = from && below ? build_node(&in->b, NCC_AND, &ps, from, below, NULL) : NULL;
	ps = in->shape;
	ps.dtype = NEURON_DT_INT8;
	ps.pred = true;
	return p ? build_spread(&in->b, &ps, p, &map) : NULL;
}

/*
 * The update with the result's size along dimension d and its elements where they go; the others do
 * not matter. A single element is repeated, several are moved by a product.
 */
static struct ncc_op *moved(struct hlo_inst *in, struct ncc_op *u, struct ncc_op *start,
			    unsigned int d)
{
	static const uint8_t swap[2] = { 1, 0 };
	struct ncc_shape s = u->shape, flat = u->shape;
	uint8_t map[NCC_MAX_DIMS];
	struct ncc_op *hot;

	s.dim[d] = in->shape.dim[d];
	if (u->shape.dim[d] == 1) {
		flat.ndim--;
		for (unsigned int i = 0; i < flat.ndim; i++) {
			map[i] = (uint8_t)(i + (i >= d));
			flat.dim[i] = u->shape.dim[map[i]];
		}
		return build_spread(&in->b, &s, build_reshape(&in->b, u, &flat), map);
	}

	hot = expand_one_hot(&in->b, range(in, start, u->shape.dim[d]), s.dim[d]);
	return first_to(in, expand_choose(&in->b, build_transpose(&in->b, hot, swap), u, d, 0), d);
}

static int dynamic_update(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0], *u, *ones, *mask = NULL;
	struct ncc_shape ps;
	struct starts st;
	int rc;

	if (in->nin < 2)
		return hlo_fail(in, -EINVAL, "needs an update");
	u = in->in[1].op[0];
	if (u->shape.dtype != x->shape.dtype || !ncc_same_dims(&x->shape, &in->shape))
		return hlo_fail(in, -EINVAL, "the update or the result does not fit the operand");
	rc = take_starts(in, 2, &x->shape, &u->shape, &st);
	if (rc)
		return rc;
	if (expand_has_update(&x->shape, &u->shape)) {
		*out = expand_update(&in->b, x, u, st.op, st.at);
		return 0;
	}

	ps = u->shape;
	ps.dtype = NEURON_DT_INT8;
	ps.pred = true;
	for (unsigned int d = 0; d < ps.ndim; d++)
		if (st.op[d])
			ps.dim[d] = x->shape.dim[d];

	ones = build_splat(&in->b, &ps, 1);
	if (ones)
		ones->in[0]->shape.pred = true;

	for (unsigned int d = 0; u && d < ps.ndim; d++) {
		if (!st.op[d])
			continue;
		mask = inside(in, st.op[d], u->shape.dim[d], d);
		u = moved(in, u, st.op[d], d);
		if (!mask)
			return hlo_fail(in, -ENOMEM, "out of memory");
		st.op[d] = mask;
	}

	mask = padded(in, ones, &st, &x->shape);
	u = padded(in, u, &st, &x->shape);
	for (unsigned int d = 0; mask && d < ps.ndim; d++)
		if (st.op[d])
			mask = build_node(&in->b, NCC_AND, &mask->shape, mask, st.op[d], NULL);
	*out = mask && u ? build_node(&in->b, NCC_SELECT, &in->shape, mask, u, x) : NULL;
	return 0;
}

int hlo_gather(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = gather(in, out);

	return finish(in, rc, *out);
}

int hlo_dynamic_slice(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = dynamic_slice(in, out);

	return finish(in, rc, *out);
}

int hlo_dynamic_update(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = dynamic_update(in, out);

	return finish(in, rc, *out);
}
