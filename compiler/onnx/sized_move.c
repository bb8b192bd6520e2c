// SPDX-License-Identifier: MIT
/* Rules (sized.h) of operators that move, reshape and put together. Part of the ONNX front end. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sized.h"

void sized_transpose(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "perm");
	unsigned int to = nd - 1 - v->along;

	for (size_t i = 0; a && i < a->n_ints; i++)
		if (a->ints[i] == v->along || a->ints[i] + nd == v->along)
			to = (unsigned int)i;
	sized_import(n, to, v->size);
}

static onnx_op scaled(struct onnx_node *n, onnx_op size, int64_t by)
{
	return by == 1 ? size : ox_binc(n, NCC_MUL, size, (double)by);
}

static int64_t product_of(const int64_t *dim, unsigned int first, unsigned int last)
{
	int64_t p = 1;

	for (unsigned int i = first; i < last; i++)
		p *= dim[i];
	return p;
}

/*
 * Gives the operand reshaped to dimensions of which number u, -1, holds the dynamic one: what comes
 * before must be the same number of elements as in the operand, what comes after may be more or
 * less.
 */
static void give_reshaped(struct onnx_node *n, const struct onnx_value *v, int64_t *dim,
			  unsigned int ndim, unsigned int u)
{
	const struct ncc_shape *s = &v->op->shape;
	int64_t before = product_of(s->dim, 0, v->along), bound = s->dim[v->along];
	int64_t after = product_of(s->dim, v->along + 1, s->ndim);
	int64_t rest = product_of(dim, u + 1, ndim);
	onnx_op size = v->size;

	if (product_of(dim, 0, u) == before && rest && after % rest == 0) {
		dim[u] = bound * (after / rest);
		size = scaled(n, size, after / rest);
	} else if (product_of(dim, 0, u) == before && rest && rest % after == 0 &&
		   bound % (rest / after) == 0) {
		dim[u] = bound / (rest / after);
		size = ox_bin(n, NCC_DIV, size, ox_scalar(n, &size->shape, (double)(rest / after)));
	} else {
		onnx_fail(n, -ENOTSUP,
			  "dimension %u, whose size depends on the data, is merged with others "
			  "before it, or divided",
			  v->along);
	}
	onnx_give_some(n, 0, ox_reshape(n, v->op, ndim, dim), v->type, u, size);
}

/* Nothing, in other dimensions: one of them is 0 */
static void reshape_nothing(struct onnx_node *n, const struct onnx_value *v, const int64_t *dim,
			    unsigned int ndim, int open)
{
	struct ncc_shape s = { .ndim = ndim };

	memcpy(s.dim, dim, ndim * sizeof(*dim));
	if (open >= 0)
		s.dim[open] = 0;
	if (product_of(s.dim, 0, ndim))
		onnx_fail(n, -EINVAL, "nothing to a shape that has elements");
	else
		onnx_give_empty(n, 0, &s, v->type);
}

void sized_reshape(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const onnx_op list = onnx_in(n, 1);
	const bool zero = onnx_int(n, "allowzero", 0);
	const struct ncc_shape *s = &v->op->shape;
	int64_t dim[NCC_MAX_DIMS];
	unsigned int u = NCC_MAX_DIMS, ndim;
	int64_t fixed = 1;
	int open = -1;

	if (!list || list->shape.ndim != 1 || list->shape.dim[0] > NCC_MAX_DIMS) {
		onnx_fail(n, -ENOTSUP, "to a shape that is no list");
		return;
	}
	ndim = (unsigned int)list->shape.dim[0];
	for (unsigned int i = 0; i < ndim && !n->rc; i++) {
		struct onnx_number d;

		if (!onnx_number(n, list, i, &d))
			return;
		if (d.op && d.value == INT32_MAX) {
			onnx_fail(n, -ENOTSUP, "operand 1 ('%.80s') must be a constant",
				  n->p->input[1]);
			return;
		}
		dim[i] = d.op ? -1 : d.value;
		if (!d.op && !d.value && !zero && i < s->ndim)
			dim[i] = v->size && i == v->along ? -1 : s->dim[i];
		if (!d.op && d.value == -1) {
			open = (int)i;
			continue;
		}
		if (d.value < -1 || (dim[i] < 0 && u != NCC_MAX_DIMS) ||
		    dim[i] > NCC_MAX_ELEMS / (fixed ? fixed : 1)) {
			onnx_fail(n, -ENOTSUP,
				  "dimension %u of %lld, or another one that depends "
				  "on the data",
				  i, (long long)d.value);
			return;
		}
		if (dim[i] < 0)
			u = i;
		else
			fixed *= dim[i];
	}
	if (sized_is_nothing(v)) {
		reshape_nothing(n, v, dim, ndim, u < ndim ? (int)u : open);
		return;
	}
	if (u < ndim && open >= 0) /* the size itself is there, so the rest is known */
		dim[open] = ncc_elems(s) / s->dim[v->along] / (fixed ? fixed : 1);
	else if (open >= 0)
		u = (unsigned int)open;
	if (u >= ndim)
		onnx_fail(n, -ENOTSUP,
			  "the size of dimension %u depends on the data, and the shape has none "
			  "that does",
			  v->along);
	else if (v->size)
		give_reshaped(n, v, dim, ndim, u);
	else
		onnx_fail(n, -ENOTSUP, "to a shape that depends on the data is not supported");
}

void sized_flatten(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const struct ncc_shape *s = &v->op->shape;
	int64_t axis = onnx_int(n, "axis", 1), dim[2];
	const unsigned int nd = s->ndim;

	axis = axis < 0 ? axis + nd : axis;
	if (axis < 0 || axis > nd) {
		onnx_fail(n, -EINVAL, "axis %lld of rank %u", (long long)axis, nd);
		return;
	}
	dim[0] = product_of(s->dim, 0, (unsigned int)axis);
	dim[1] = product_of(s->dim, (unsigned int)axis, nd);
	give_reshaped(n, v, dim, 2, v->along >= axis);
}

/* A dynamic dimension that is squeezed has one element, or the model is wrong. */
void sized_squeeze(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	uint32_t mask;

	if (!sized_axes(n, v->op->shape.ndim, &mask)) {
		if (!n->rc)
			sized_refuse(n, 0);
		return;
	}
	if (!(mask >> v->along & 1)) {
		sized_import(n, v->along - sized_bits_below(mask, v->along), v->size);
		return;
	}
	v->op = ox_slice(n, v->op, v->along, 0, 1, 1);
	if (v->op)
		n->rule->import(n);
}

void sized_unsqueeze(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	uint32_t mask = 0, axes;
	unsigned int to = 0, nd = v->op->shape.ndim, left = v->along;
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "axes");

	nd += onnx_in(n, 1) ? (unsigned int)ncc_elems(&onnx_in(n, 1)->shape)
	      : a	    ? (unsigned int)a->n_ints
			    : 0;
	if (nd <= NCC_MAX_DIMS && sized_axes(n, nd, &axes))
		mask = axes;
	while (mask >> to & 1 || left--)
		to++;
	sized_import(n, to, v->size);
}

/* The run-time shape: the sizes of all dimensions as one list */
void sized_shape(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const struct ncc_shape number = { .dtype = NEURON_DT_INT32 };
	int64_t nd = v->op->shape.ndim, from = onnx_int(n, "start", 0), to = onnx_int(n, "end", nd);
	onnx_op part[NCC_MAX_DIMS], one;
	unsigned int k = 0;

	from += from < 0 ? nd : 0;
	to += to < 0 ? nd : 0;
	for (int64_t d = from < 0 ? 0 : from; d < nd && d < to; d++) {
		one = d == v->along ? v->size : ox_scalar(n, &number, (double)v->op->shape.dim[d]);
		part[k++] = ox_reshape(n, one, 1, (int64_t[]){ 1 });
	}
	if (k)
		onnx_give_as(n, 0, ox_concat(n, part, k, 0), ONNX_INT64);
	else
		onnx_give_empty(n, 0, &(struct ncc_shape){ .ndim = 1 }, ONNX_INT64);
}

void sized_size(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const struct ncc_shape *s = &v->op->shape;

	onnx_give_as(n, 0, scaled(n, v->size, ncc_elems(s) / s->dim[v->along]), ONNX_INT64);
}

/* x, with dimension d in front as [d, the rest]; s: its shape in that order */
static onnx_op in_front(struct onnx_node *n, onnx_op x, unsigned int d)
{
	uint8_t perm[NCC_MAX_DIMS];

	if (!x)
		return NULL;
	perm[0] = (uint8_t)d;
	for (unsigned int i = 0, k = 1; i < x->shape.ndim; i++)
		if (i != d)
			perm[k++] = (uint8_t)i;
	return ox_transpose(n, x, perm);
}

static onnx_op back_from_front(struct onnx_node *n, onnx_op x, unsigned int d)
{
	uint8_t perm[NCC_MAX_DIMS];

	for (unsigned int i = 0, k = 1; x && i < x->shape.ndim; i++)
		perm[i] = (uint8_t)(i == d ? 0 : k++);
	return x ? ox_transpose(n, x, perm) : NULL;
}

/* Part i of a concatenation along d: which of it are there, and how many */
static void part_of(struct onnx_node *n, const struct onnx_value *v, unsigned int d, onnx_op *there,
		    onnx_op *count)
{
	const int64_t bound = v->op->shape.dim[d];
	const struct ncc_shape p = { .dtype = NEURON_DT_INT8, .pred = true },
			       number = { .dtype = NEURON_DT_INT32 };

	*there = v->size ? ox_reshape(n, onnx_there(n, v), 1, &bound)
			 : ox_expand(n, ox_scalar(n, &p, 1), 1, &bound);
	*count = v->size ? v->size : ox_scalar(n, &number, (double)bound);
}

/* What is there of all parts moves together. */
static void concat_sizes(struct onnx_node *n, unsigned int d)
{
	onnx_op *part = calloc(2 * n->nin, sizeof(*part)), *there = part + n->nin, x, all,
		sum = NULL;
	unsigned int k = 0;

	for (unsigned int i = 0; part && i < n->nin && !n->rc; i++) {
		struct onnx_value *v = &n->in[i];
		onnx_op count = NULL;

		if (!v->op)
			continue;
		if (v->op->shape.ndim <= d || (v->size && v->along != d))
			sized_refuse(n, i);
		else
			part_of(n, v, d, &there[k], &count);
		part[k++] = v->op;
		sum = sum ? ox_bin(n, NCC_ADD, sum, count) : count;
	}
	if (part && !n->rc) {
		int32_t type = n->in[0].type;

		x = in_front(n, ox_concat(n, part, k, d), d);
		x = x ? onnx_keep_rows(n, x, ox_concat(n, there, k, 0), x->shape.dim[0], &all)
		      : NULL;
		onnx_give_some(n, 0, back_from_front(n, x, d), type, d, sum);
	}
	if (!part)
		onnx_fail(n, -ENOMEM, "out of memory");
	free(part);
}

void sized_concat(struct onnx_node *n)
{
	const struct onnx_value *v = NULL;
	unsigned int d = 0, sized = 0, present = 0;

	for (unsigned int i = 0; i < n->nin; i++) {
		if (n->in[i].op && !v)
			d = onnx_axis(n, onnx_int(n, "axis", 0), n->in[i].op->shape.ndim);
		if (n->in[i].op)
			present++;
		if (n->in[i].size && (!v || onnx_same(n->in[i].size, v->size)))
			sized++;
		v = n->in[i].size && !v ? &n->in[i] : v;
	}
	if (n->rc)
		return;
	if (present == 1) {
		n->out[0] = *v;
	} else if (v->along == d) {
		concat_sizes(n, d);
	} else if (sized != present) {
		onnx_fail(n, -ENOTSUP,
			  "operands whose sizes depend on the data and may be different");
	} else {
		sized_import(n, v->along, v->size);
	}
}

/* Cuts along other dimensions; parts of nothing are nothing */
void sized_split(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	struct ncc_shape none = v->op->shape;

	none.dim[v->along] = 0;
	if (sized_is_nothing(v) &&
	    v->along == onnx_axis(n, onnx_int(n, "axis", 0), v->op->shape.ndim)) {
		for (unsigned int i = 0; i < n->nout; i++)
			onnx_give_empty(n, i, &none, v->type);
		return;
	}
	if (v->along == onnx_axis(n, onnx_int(n, "axis", 0), v->op->shape.ndim))
		sized_refuse(n, 0);
	else
		sized_import(n, v->along, v->size);
}

void sized_tile(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	struct onnx_number times;

	if (!onnx_number(n, onnx_in(n, 1), v->along, &times))
		return;
	if (times.op || times.value != 1)
		sized_refuse(n, 0);
	else
		sized_import(n, v->along, v->size);
}
