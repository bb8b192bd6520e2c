// SPDX-License-Identifier: MIT
/*
 * Rules (dynamic.h) of operators that take, put or order elements, and reduce. Part of the ONNX
 * front end.
 */
#include <errno.h>
#include <string.h>

#include "dynamic.h"
#include "frontend/onnx/values/kept.h"

/*
 * The sizes when slices of operand 0 are taken at operand 1: `last` dimensions of the indices come
 * behind `first` of the slice, which lacks `dropped` dimensions from there on
 */
static void taken(struct onnx_node *n, unsigned int first, unsigned int dropped, unsigned int last,
		  onnx_op *size)
{
	const struct onnx_value *x = &n->in[0], *idx = &n->in[1];
	const unsigned int nd = x->op->shape.ndim;
	struct ncc_gathered g = { .slices = { .vector = last }, .ndim = last };

	g.x = sizes_of(&x->op->shape, x->size);
	if (idx->op)
		g.idx = sizes_of(&idx->op->shape, idx->size);
	memcpy(g.slices.size, g.x.bound, sizeof(g.slices.size));
	for (unsigned int d = 0; d < nd; d++) {
		if (d >= first && d < first + dropped) {
			g.slices.dropped |= 1u << d;
			continue;
		}
		g.slices.window[g.slices.nwindow++] = (uint8_t)(d < first ? d : d - dropped + last);
		g.ndim++;
	}
	sizes_gathered(&g, size);
}

void sized_gather(struct onnx_node *n)
{
	struct onnx_value *x = &n->in[0], *idx = &n->in[1];
	const unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->op->shape.ndim);
	onnx_op size[2 * NCC_MAX_DIMS] = { NULL };

	if (n->rc)
		return;
	if (x->size[axis])
		idx->op = sized_from_start(n, idx->op, x->size[axis]);
	taken(n, axis, 1, idx->op ? idx->op->shape.ndim : 0, size);
	if (!n->rc)
		sized_import(n, size);
}

/* The result has the indices' shape, and nobody asks for what the operand does not have. */
void sized_gather_elements(struct onnx_node *n)
{
	struct onnx_value *x = &n->in[0], *idx = &n->in[1];
	const unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->op->shape.ndim);

	if (n->rc)
		return;
	if (x->size[axis])
		idx->op = sized_from_start(n, idx->op, x->size[axis]);
	if (!n->rc)
		sized_import(n, idx->size);
}

void sized_gather_nd(struct onnx_node *n)
{
	struct onnx_value *x = &n->in[0], *idx = &n->in[1];
	const unsigned int last = idx->op->shape.ndim - 1;
	const int64_t k = idx->op->shape.ndim ? idx->op->shape.dim[last] : 0;
	onnx_op size[2 * NCC_MAX_DIMS] = { NULL };

	if (onnx_int(n, "batch_dims") || !idx->op->shape.ndim || idx->size[last]) {
		sized_refuse(n, onnx_sized_but(idx, NCC_MAX_DIMS));
		return;
	}
	for (unsigned int d = 0; d < x->op->shape.ndim && d < k; d++) {
		if (x->size[d] && k > 1) {
			sized_refuse_dim(n, 0, d);
			return;
		}
		if (x->size[d])
			idx->op = sized_from_start(n, idx->op, x->size[d]);
	}
	if (k >= 0)
		taken(n, 0, k < x->op->shape.ndim ? (unsigned int)k : x->op->shape.ndim, last,
		      size);
	if (!n->rc)
		sized_import(n, size);
}

/* The classes are a new dimension. */
void sized_one_hot(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	struct ncc_op op = { .kind = NCC_BROADCAST };
	onnx_op size[NCC_MAX_DIMS + 1] = { NULL };
	const unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), nd + 1);

	for (unsigned int d = 0; d < nd; d++)
		op.map[d] = (uint8_t)(d + (d >= axis));
	sized_follow(n, &op, v, size);
	if (!n->rc)
		sized_import(n, size);
}

/* Elements of each row of operand 0, whose numbers are a list: of some rows, or some of the list */
void sized_picked(struct onnx_node *n)
{
	const struct onnx_value *x = &n->in[0], *at = &n->in[1];
	const unsigned int nd = x->op->shape.ndim, last = nd ? nd - 1 : 0;
	onnx_op size[NCC_MAX_DIMS + 1] = { NULL };
	unsigned int d = 0;

	while (d + 1 < at->op->shape.ndim && !at->size[d])
		d++;
	if (x->size[last])
		sized_refuse_dim(n, 0, last);
	else if (onnx_sized_but(at, d) ||
		 (at->size[d] && ncc_elems(&at->op->shape) != at->op->shape.dim[d]))
		sized_refuse(n, 1);
	memcpy(size, x->size, sizeof(x->size));
	size[last ? last : 1] = at->size[d];
	if (!n->rc)
		sized_import(n, size);
}

/*
 * Indices that count from the start of a dimension of this size (NULL: it is known), and those that
 * are not there count as no index. If they are one for each row they stay so.
 */
static onnx_op hitting(struct onnx_node *n, const struct onnx_value *idx, onnx_op size)
{
	struct onnx_value v = *idx;
	unsigned int d = 0;
	onnx_op rows = NULL;

	while (d < idx->op->shape.ndim && !idx->size[d])
		d++;
	if (d < idx->op->shape.ndim && !onnx_sized_but(idx, d))
		rows = onnx_index_rows(idx->op, d);
	else if (d == idx->op->shape.ndim)
		rows = onnx_index_rows(idx->op, 0);
	if (rows) {
		v = (struct onnx_value){ .op = rows, .type = idx->type };
		v.size[0] = d < idx->op->shape.ndim ? idx->size[d] : NULL;
	}
	if (size)
		v.op = sized_from_start(n, v.op, size);
	v.op = onnx_filled(n, &v, ONNX_ALL_DIMS, -0x1p30);
	return rows && v.op ? ox_spread(n, v.op, &idx->op->shape, idx->op->map) : v.op;
}

/* Are the sizes of indices those of their updates? */
static void check_updates(struct onnx_node *n, bool slices)
{
	const struct onnx_value *idx = &n->in[1], *u = &n->in[2];

	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
		if ((idx->size[d] || (u->size[d] && !slices)) &&
		    !(idx->size[d] && u->size[d] && sizes_same(idx->size[d], u->size[d])))
			onnx_fail(n, -ENOTSUP,
				  "operands whose sizes depend on the data and may be different");
}

/* Indices of updates that are not there hit nothing. */
static void scatter(struct onnx_node *n, unsigned int axis)
{
	const struct ncc_op op = { .kind = NCC_SCATTER };
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	if (n->rc)
		return;
	n->in[1].op = hitting(n, &n->in[1], n->in[0].size[axis]);
	sized_follow(n, &op, &n->in[0], size);
	if (!n->rc)
		sized_import(n, size);
}

void sized_scatter(struct onnx_node *n)
{
	if (sized_is_nothing(&n->in[2])) {
		n->out[0] = n->in[0];
		return;
	}
	check_updates(n, false);
	if (!n->rc)
		scatter(n, onnx_axis(n, onnx_int(n, "axis"), n->in[0].op->shape.ndim));
}

void sized_scatter_nd(struct onnx_node *n)
{
	const struct onnx_value *idx = &n->in[1];

	if (sized_is_nothing(&n->in[2])) {
		n->out[0] = n->in[0];
		return;
	}
	check_updates(n, true);
	if (onnx_sized_but(&n->in[0], NCC_MAX_DIMS) &&
	    ncc_elems(&idx->op->shape) != idx->op->shape.dim[0])
		sized_refuse(n, 0);
	scatter(n, 0);
}

/* Rules: reductions and order */

static double neutral_of(const struct onnx_node *n, const struct ncc_op *x)
{
	return ncc_neutral(n->rule->neutral, &x->shape);
}

/* The mean of integers: the sum, divided by how many there are */
static void whole_mean(struct onnx_node *n, const struct onnx_value *v, uint32_t mask)
{
	ox_standard(n, "ReduceSum", n->in, n->nin, n->out, n->nout);
	for (unsigned int d = 0; d < v->op->shape.ndim && !n->rc; d++)
		if (mask >> d & 1)
			n->out[0].op =
				ox_bin(n, NCC_DIV, n->out[0].op,
				       ox_cast_like(n, onnx_size_or_bound(n, v, d), n->out[0].op));
}

/* The sizes of what is left when the dimensions of the mask are reduced, or stay as ones */
static void sized_left(struct onnx_node *n, const struct onnx_value *v, uint32_t mask,
		       onnx_op *size)
{
	const struct ncc_op op = { .kind = NCC_REDUCE, .mask = mask };

	if (!onnx_int(n, "keepdims")) {
		sized_follow(n, &op, v, size);
		return;
	}
	for (unsigned int d = 0; d < v->op->shape.ndim; d++)
		size[d] = mask >> d & 1 ? NULL : v->size[d];
}

/* The reduced dimensions, whose elements that are not there become neutral; 0: nothing is reduced */
static uint32_t reduced(struct onnx_node *n, onnx_op *size)
{
	struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	uint32_t mask = 0;
	bool all = !sized_axes(n, nd, &mask);

	if (n->rc)
		return 0;
	if (all && onnx_int(n, "noop_with_empty_axes")) {
		n->out[0] = *v;
		return 0;
	}
	mask = all ? (1u << nd) - 1 : mask;
	sized_left(n, v, mask, size);
	v->op = onnx_filled(n, v, mask, neutral_of(n, v->op));
	return n->rc ? 0 : mask;
}

void sized_reduce(struct onnx_node *n)
{
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	if (!reduced(n, size))
		return;
	n->rule->import(n);
	if (!n->rc)
		onnx_give_sizes(n, 0, n->out[0].op, n->out[0].type, size);
}

void sized_reduce_mean(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	onnx_op size[NCC_MAX_DIMS] = { NULL };
	const uint32_t mask = reduced(n, size);

	if (!mask)
		return;
	if (!ncc_is_float(v->op->shape.dtype)) {
		whole_mean(n, v, mask);
	} else {
		n->rule->import(n);
		if (!n->rc)
			n->out[0].op = sized_mean(n, v, mask, n->out[0].op);
	}
	if (!n->rc)
		onnx_give_sizes(n, 0, n->out[0].op, n->out[0].type, size);
}

/* The range of numbers that has 0 in it: what is not there becomes 0 */
void sized_range_of(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];

	v->op = onnx_filled(n, v, ONNX_ALL_DIMS, 0);
	if (v->op)
		n->rule->import(n);
	if (!n->rc)
		onnx_give_sizes(n, 0, n->out[0].op, n->out[0].type, v->size);
}

void sized_arg(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), v->op->shape.ndim);
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	sized_left(n, v, 1u << axis, size);
	if (v->size[axis] && onnx_int(n, "select_last_index"))
		sized_refuse_dim(n, 0, axis);
	if (n->rc)
		return;
	v->op = onnx_filled(n, v, 1u << axis, neutral_of(n, v->op));
	if (v->op)
		sized_import(n, size);
}

/* Along one axis, and all of it stays */
void sized_softmax(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	const unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), nd);

	for (unsigned int d = axis; n->opset < 13 && nd > axis + 1 && d < nd && !n->rc; d++)
		if (v->size[d])
			sized_refuse_dim(n, 0, d);
	if (n->rc)
		return;
	v->op = onnx_filled(n, v, 1u << axis, neutral_of(n, v->op));
	if (v->op)
		sized_import(n, v->size);
}

/* Sums up to each element; reversed ones begin at the end */
void sized_cum_sum(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];

	v->op = onnx_filled(n, v, ONNX_ALL_DIMS, 0);
	if (v->op)
		sized_import(n, v->size);
}

/*
 * The best of what was kept of a list are the best of the list, if all others come after them:
 * nothing has to be moved first. Equal elements have the same order in both.
 */
static bool top_of_list(struct onnx_node *n, double last, int64_t most, onnx_op k)
{
	struct onnx_value *v = &n->in[0];
	const struct onnx_taken *t = onnx_taken_before(n, v->op);
	onnx_op keep, to = t ? onnx_kept_places(n, t->idx, &keep) : NULL;
	const onnx_op size[NCC_MAX_DIMS] = { k };
	struct onnx_value out;

	if (!to || t->from->shape.ndim != 1 || most > t->from->shape.dim[0])
		return false;
	*v = (struct onnx_value){ .op = ox_select(n, keep, t->from,
						  ox_scalar(n, &t->from->shape, last)),
				  .type = v->type };
	if (n->rc)
		return true;
	sized_import(n, size);
	out = n->nout > 1 ? n->out[1] : (struct onnx_value){ 0 };
	if (out.op && !n->rc)
		n->out[1].op = ox_take(n, to, out.op, 0);
	return true;
}

/*
 * The best k of what is there. As k is not larger than the size, which the model promises, those
 * that are not there come after it.
 */
void sized_top_k(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0], *count = &n->in[1];
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), v->op->shape.ndim);
	const struct ncc_shape number = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { 1 } };
	struct ncc_shape none = v->op->shape;
	onnx_op size[NCC_MAX_DIMS];
	struct onnx_number k;
	double last;
	int64_t most;

	if (n->rc || !onnx_number(n, count->op, 0, &k))
		return;
	memcpy(size, v->size, sizeof(size));
	most = none.dim[axis];
	last = onnx_int(n, "largest") ? ox_least(&none) : ox_most(&none);
	if (k.value < 1) {
		none.dim[axis] = 0;
		onnx_give_empty(n, 0, &none, v->type);
		onnx_give_empty(n, 1, &none, ONNX_INT64);
		return;
	}
	most = k.value < most ? k.value : most;
	count->op = ox_data(n, &number);
	if (count->op)
		ncc_set(number.dtype, count->op->data, 0, (double)most);
	if (n->rc || (v->size[0] && none.ndim == 1 && top_of_list(n, last, most, k.op)))
		return;
	v->op = onnx_filled(n, v, 1u << axis, last);
	size[axis] = k.op;
	if (!n->rc)
		sized_import(n, size);
}
