// SPDX-License-Identifier: MIT
/*
 * Rules (sized.h) of operators that take, put or order elements, reduce and multiply. Part of the
 * ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sized.h"

void sized_gather(struct onnx_node *n)
{
	struct onnx_value *x = &n->in[0], *idx = &n->in[1];
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis", 0), x->op->shape.ndim);

	if (n->rc)
		return;
	if (x->size && x->along == axis) {
		idx->op = sized_from_start(n, idx->op, x->size);
		if (idx->size)
			sized_import(n, axis + idx->along, idx->size);
		else
			n->rule->import(n);
	} else if (x->size && idx->size) {
		sized_only(n);
	} else if (x->size) {
		sized_import(n, x->along < axis ? x->along : x->along - 1 + idx->op->shape.ndim,
			     x->size);
	} else {
		sized_import(n, axis + idx->along, idx->size);
	}
}

void sized_gather_nd(struct onnx_node *n)
{
	struct onnx_value *x = &n->in[0], *idx = &n->in[1];
	const unsigned int last = idx->op->shape.ndim - 1;
	const int64_t k = idx->op->shape.ndim ? idx->op->shape.dim[last] : 0;

	if (onnx_int(n, "batch_dims", 0) || !idx->op->shape.ndim ||
	    (idx->size && idx->along == last)) {
		sized_refuse(n, idx->size ? 1 : 0);
		return;
	}
	if (x->size && x->along < k && k > 1) {
		sized_refuse(n, 0);
		return;
	}
	if (x->size && x->along < k)
		idx->op = sized_from_start(n, idx->op, x->size);
	if (x->size && x->along >= k && idx->size)
		sized_only(n);
	else if (x->size && x->along >= k)
		sized_import(n, x->along - (unsigned int)k + last, x->size);
	else if (idx->size)
		sized_import(n, idx->along, idx->size);
	else
		n->rule->import(n);
}

/*
 * Indices that count from the start of a dimension of this size (NULL: it is known), and those that
 * are not there count as no index. If they are one for each row they stay so.
 */
static onnx_op hitting(struct onnx_node *n, const struct onnx_value *idx, onnx_op size)
{
	struct onnx_value v = *idx;
	const onnx_op rows = onnx_index_rows(idx->op, idx->along);

	if (rows) {
		v.op = rows;
		v.along = 0;
	}
	if (size)
		v.op = sized_from_start(n, v.op, size);
	if (v.size)
		v.op = onnx_filled(n, &v, -0x1p30);
	return rows ? ox_spread(n, v.op, &idx->op->shape, idx->op->map) : v.op;
}

/* Is it known that none of its elements are there? */
static bool is_nothing(const struct onnx_value *v)
{
	double size;

	return v->size && ncc_scalar_value(v->size, &size) && size == 0;
}

/* Indices of updates that are not there hit nothing. */
void sized_scatter(struct onnx_node *n)
{
	struct onnx_value *x = &n->in[0], *idx = &n->in[1], *u = &n->in[2];
	const bool nd = !strcmp(n->p->op_type, "ScatterND");
	unsigned int axis = 0;

	if (is_nothing(u)) {
		n->out[0] = *x;
		return;
	}
	if ((idx->size != NULL) != (u->size != NULL) ||
	    (idx->size && (!onnx_same(idx->size, u->size) || idx->along != u->along)))
		onnx_fail(n, -ENOTSUP,
			  "operands whose sizes depend on the data and may be different");
	if (nd && x->size && ncc_elems(&idx->op->shape) != idx->op->shape.dim[0])
		sized_refuse(n, 0);
	if (!n->rc && !nd)
		axis = onnx_axis(n, onnx_int(n, "axis", 0), x->op->shape.ndim);
	if (n->rc)
		return;
	idx->op = hitting(n, idx, x->size && x->along == axis ? x->size : NULL);
	if (!n->rc && x->size)
		sized_import(n, x->along, x->size);
	else if (!n->rc)
		n->rule->import(n);
}

/* Rules: reductions and order */

static double neutral_of(struct onnx_node *n, onnx_op x)
{
	const char *name = n->p->op_type;

	if (!strcmp(name, "ReduceMax") || !strcmp(name, "ArgMax") ||
	    !strcmp(name, "ReduceLogSumExp") || strstr(name, "oftmax"))
		return ox_least(&x->shape);
	if (!strcmp(name, "ReduceMin") || !strcmp(name, "ArgMin"))
		return ox_most(&x->shape);
	return !strcmp(name, "ReduceProd");
}

/* The size is what a mean divides by. */
static void divide_mean(struct onnx_node *n, const struct onnx_value *v)
{
	onnx_op y = n->out[0].op, by;

	if (strcmp(n->p->op_type, "ReduceMean") || n->rc)
		return;
	by = ox_bin(n, NCC_DIV, ox_scalar(n, &y->shape, (double)v->op->shape.dim[v->along]),
		    ox_cast_like(n, v->size, y));
	onnx_give_as(n, 0, ox_bin(n, NCC_MUL, y, by), n->out[0].type);
}

void sized_reduce(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const bool keep = onnx_int(n, "keepdims", 1);
	uint32_t mask = 0;
	bool all = !sized_axes(n, v->op->shape.ndim, &mask);

	if (all && onnx_int(n, "noop_with_empty_axes", 0)) {
		n->out[0] = *v;
		return;
	}
	if (!all && !(mask >> v->along & 1)) {
		sized_import(n, keep ? v->along : v->along - sized_bits_below(mask, v->along),
			     v->size);
		return;
	}
	v->op = onnx_filled(n, v, v->op ? neutral_of(n, v->op) : 0);
	if (!v->op)
		return;
	n->rule->import(n);
	divide_mean(n, v);
}

void sized_arg(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis", 0), v->op->shape.ndim);
	bool keep = onnx_int(n, "keepdims", 1);

	if (axis != v->along) {
		sized_import(n, v->along - (!keep && axis < v->along), v->size);
		return;
	}
	if (onnx_int(n, "select_last_index", 0)) {
		sized_refuse(n, 0);
		return;
	}
	v->op = onnx_filled(n, v, neutral_of(n, v->op));
	if (v->op)
		n->rule->import(n);
}

/* Along one axis, and all of it stays */
void sized_softmax(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis", n->opset < 13 ? 1 : -1), nd);

	if (n->opset < 13 && v->along >= axis && nd > axis + 1)
		sized_refuse(n, 0);
	if (v->along == axis)
		v->op = onnx_filled(n, v, neutral_of(n, v->op));
	if (!n->rc)
		sized_import(n, v->along, v->size);
}

/* Sums up to each element; reversed ones begin at the end */
void sized_cum_sum(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];

	v->op = onnx_filled(n, v, 0);
	if (v->op)
		sized_import(n, v->along, v->size);
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
	struct onnx_value out;

	if (!to || t->from->shape.ndim != 1 || most > t->from->shape.dim[0])
		return false;
	*v = (struct onnx_value){ .op = ox_select(n, keep, t->from,
						  ox_scalar(n, &t->from->shape, last)),
				  .type = v->type };
	if (n->rc)
		return true;
	if (k)
		sized_import(n, 0, k);
	else
		n->rule->import(n);
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
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis", -1), v->op->shape.ndim);
	const struct ncc_shape number = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { 1 } };
	struct ncc_shape none = v->op->shape;
	struct onnx_number k;
	double last;
	int64_t most;

	if (n->rc || !onnx_number(n, count->op, 0, &k))
		return;
	if (v->size && v->along != axis && k.op) {
		onnx_fail(n, -ENOTSUP, "two sizes that depend on the data");
		return;
	}
	most = none.dim[axis];
	last = onnx_int(n, "largest", 1) ? ox_least(&none) : ox_most(&none);
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
	if (n->rc || (v->size && !axis && top_of_list(n, last, most, k.op)))
		return;
	if (v->size && v->along == axis)
		v->op = onnx_filled(n, v, last);
	if (n->rc)
		return;
	if (v->size && v->along != axis)
		sized_import(n, v->along, v->size);
	else if (k.op)
		sized_import(n, axis, k.op);
	else
		n->rule->import(n);
}

/* Rules: products */

/* The rows of operand 0 */
void sized_mat_mul(struct onnx_node *n)
{
	const struct onnx_value *a = &n->in[0];
	const unsigned int nd = a->op->shape.ndim, other = onnx_in(n, 1)->shape.ndim;

	if (a->along == nd - 1 || other > nd || other < 2)
		sized_refuse(n, 0);
	else
		sized_import(n, a->along, a->size);
}

void sized_gemm(struct onnx_node *n)
{
	const struct onnx_value *a = &n->in[0];
	const bool turned = onnx_int(n, "transA", 0);
	const onnx_op c = onnx_in(n, 2);

	if (a->along != turned)
		sized_refuse(n, 0);
	else if (c && c->shape.ndim == 2 && c->shape.dim[0] != 1)
		sized_refuse(n, 0);
	else
		sized_import(n, 0, a->size);
}

/* The first dimension is a batch, whose elements have nothing to do with each other. */
void sized_batch(struct onnx_node *n)
{
	if (n->in[0].along)
		sized_refuse(n, 0);
	else
		sized_import(n, 0, n->in[0].size);
}

/* Rows of regions and the image of each */
void sized_roi_align(struct onnx_node *n)
{
	const struct onnx_value *rois = &n->in[1], *image = &n->in[2];

	if (!rois->size || !image->size || rois->along || image->along ||
	    !onnx_same(rois->size, image->size)) {
		onnx_fail(n, -ENOTSUP,
			  "operands whose sizes depend on the data and may be different");
		return;
	}
	sized_import(n, 0, rois->size);
}
