// SPDX-License-Identifier: MIT
/* Operations that choose by index: gather, dynamic-slice, dynamic-update-slice. */
#include <errno.h>
#include <string.h>

#include "empty.h"
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

int hlo_gather_slices(struct hlo_inst *in, struct ncc_slices *s)
{
	const Ncc__Hlo__GatherDimensionNumbers *g = in->p->gather_dimension_numbers;
	const struct ncc_op *x;

	if (in->nin != 2 || !g || g->index_vector_dim < 0 || g->index_vector_dim > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "needs two operands and dimension numbers");
	x = in->in[0].op[0];
	if (in->p->n_gather_slice_sizes != x->shape.ndim)
		return hlo_fail(in, -EINVAL, "slices of rank %zu of an operand of rank %u",
				in->p->n_gather_slice_sizes, x->shape.ndim);
	memset(s, 0, sizeof(*s));
	memcpy(s->size, in->p->gather_slice_sizes, x->shape.ndim * sizeof(s->size[0]));
	s->vector = (unsigned int)g->index_vector_dim;
	return hlo_take_list(in, g->n_offset_dims, g->offset_dims, &s->nwindow, s->window) ?:
	       hlo_take_list(in, g->n_start_index_map, g->start_index_map, &s->nmap, s->map) ?:
	       hlo_take_list(in, g->n_operand_batching_dims, g->operand_batching_dims, &s->nbatch, s->batch) ?:
	       hlo_take_slices(in, s, g->n_collapsed_slice_dims, g->collapsed_slice_dims,
			       g->start_indices_batching_dims, g->n_start_indices_batching_dims);
}

static int gather(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x, *idx;
	struct ncc_slices s;
	int rc = hlo_gather_slices(in, &s);

	if (rc)
		return rc;
	x = in->in[0].op[0];
	idx = in->in[1].op[0];
	return hlo_start_at_zero(in, &x->shape, &s, &idx)
		       ?: expand_gather(&in->b, x, idx, &s, &in->shape, out);
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

static int dynamic_slice(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x, *cut;
	struct ncc_shape s;
	struct starts st;
	int rc;

	if (!in->nin)
		return hlo_fail(in, -EINVAL, "needs an operand");
	x = in->in[0].op[0];
	s = x->shape;
	rc = take_starts(in, 1, &x->shape, &in->shape, &st);
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
			cut = expand_take_inside(
				&in->b, cut, build_range(&in->b, st.op[d], in->shape.dim[d]), d);
	*out = cut;
	return 0;
}

/* The starts of dimensions of which the update has a part, as one vector; *g: those dimensions */
static struct ncc_op *vector_of(struct hlo_inst *in, const struct starts *st,
				const struct ncc_shape *x, const struct ncc_shape *u,
				struct ncc_slices *g)
{
	const struct ncc_shape one = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { 1 } };
	struct ncc_op *part[NCC_MAX_DIMS];

	for (unsigned int d = 0; d < x->ndim; d++) {
		g->size[d] = u->dim[d];
		g->window[g->nwindow++] = (uint8_t)d;
		if (u->dim[d] == x->dim[d])
			continue;
		part[g->nmap] = st->op[d] ? build_reshape(&in->b, st->op[d], &one)
					  : build_splat(&in->b, &one, (double)st->at[d]);
		if (!part[g->nmap])
			return NULL;
		g->map[g->nmap++] = (uint8_t)d;
	}
	return build_concat(&in->b, part, g->nmap, 0);
}

static int dynamic_update(struct hlo_inst *in, struct ncc_op **out)
{
	static const struct ncc_combine replaces = { .by = NCC_COMBINE_SECOND };
	struct ncc_op *x, *u, *idx;
	struct ncc_slices g = { 0 };
	struct starts st;
	bool known = true;
	int rc;

	if (in->nin < 2)
		return hlo_fail(in, -EINVAL, "needs an update");
	x = in->in[0].op[0];
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

	for (unsigned int d = 0; d < x->shape.ndim; d++)
		known = known && !st.op[d];
	if (known) {
		*out = expand_place(&in->b, x, u, st.at);
		return 0;
	}
	idx = vector_of(in, &st, &x->shape, &u->shape, &g);
	if (!idx)
		return hlo_fail(in, -ENOMEM, "out of memory");
	return expand_scatter(&in->b, 1, &x, idx, &u, &g, &replaces, out);
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
