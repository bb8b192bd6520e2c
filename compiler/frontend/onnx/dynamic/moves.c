// SPDX-License-Identifier: MIT
/* Rules (dynamic.h) of operators that move, reshape and put together. Part of the ONNX front end. */
#include <errno.h>
#include <string.h>

#include "dynamic.h"
#include "frontend/onnx/values/kept.h"

void sized_transpose(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "perm");
	struct ncc_op op = { .kind = NCC_TRANSPOSE };
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	for (unsigned int i = 0; i < nd; i++) {
		int64_t from = a && i < a->n_ints ? a->ints[i] : nd - 1 - i;

		if (from < -(int64_t)nd || from >= nd)
			break; /* the import refuses it */
		op.map[i] = (uint8_t)(from + (from < 0 ? nd : 0));
	}
	sized_follow(n, &op, v, size);
	sized_import(n, size);
}

/* A dynamic dimension that is squeezed has one element, or the model is wrong. */
void sized_squeeze(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	struct ncc_op op = { .kind = NCC_REDUCE };
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	if (!sized_axes(n, nd, &op.mask)) {
		if (!n->rc)
			sized_refuse(n, 0);
		return;
	}
	sized_follow(n, &op, v, size);
	for (unsigned int d = 0; d < nd; d++)
		if (op.mask >> d & 1 && v->size[d])
			v->op = ox_slice(n, v->op, d, 0, 1, 1);
	if (v->op)
		sized_import(n, size);
}

void sized_unsqueeze(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "axes");
	unsigned int nd = v->op->shape.ndim, from = 0;
	struct ncc_op op = { .kind = NCC_BROADCAST };
	onnx_op size[NCC_MAX_DIMS] = { NULL };
	uint32_t mask = 0, axes;

	nd += onnx_in(n, 1) ? (unsigned int)ncc_elems(&onnx_in(n, 1)->shape)
	      : a	    ? (unsigned int)a->n_ints
			    : 0;
	if (nd <= NCC_MAX_DIMS && sized_axes(n, nd, &axes))
		mask = axes;
	for (unsigned int d = 0; d < nd && d < NCC_MAX_DIMS; d++)
		if (!(mask >> d & 1) && from < v->op->shape.ndim)
			op.map[from++] = (uint8_t)d;
	if (from == v->op->shape.ndim)
		sized_follow(n, &op, v, size);
	sized_import(n, size);
}

/* The run-time shape: the sizes of all dimensions as one list */
void sized_shape(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	int64_t nd = v->op->shape.ndim, from = onnx_int(n, "start"), to = onnx_int_or(n, "end", nd);
	onnx_op part[NCC_MAX_DIMS];
	unsigned int k = 0;

	from += from < 0 ? nd : 0;
	to += to < 0 ? nd : 0;
	for (int64_t d = from < 0 ? 0 : from; d < nd && d < to; d++)
		part[k++] = ox_reshape(n, onnx_size_or_bound(n, v, (unsigned int)d), 1,
				       (int64_t[]){ 1 });
	if (k)
		onnx_give_as(n, 0, ox_concat(n, part, k, 0), ONNX_INT64);
	else
		onnx_give_empty(n, 0, &(struct ncc_shape){ .ndim = 1 }, ONNX_INT64);
}

void sized_size(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	onnx_op all = NULL;
	int64_t rest = 1;

	for (unsigned int d = 0; d < v->op->shape.ndim; d++) {
		if (!v->size[d])
			rest *= v->op->shape.dim[d];
		else
			all = all ? ox_bin(n, NCC_MUL, all, v->size[d]) : v->size[d];
	}
	onnx_give_as(n, 0, rest == 1 ? all : ox_binc(n, NCC_MUL, all, (double)rest), ONNX_INT64);
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

/* The elements of a part of a concatenation along d that are there */
static onnx_op there_along(struct onnx_node *n, const struct onnx_value *v, unsigned int d)
{
	const int64_t bound = v->op->shape.dim[d];
	const struct ncc_shape p = { .dtype = NEURON_DT_INT8, .pred = true };

	return v->size[d] ? ox_reshape(n, onnx_there(n, v, 1u << d), 1, &bound)
			  : ox_expand(n, ox_scalar(n, &p, 1), 1, &bound);
}

/*
 * Along d what is there of all parts moves together, unless only the last one has elements that are
 * not. By predicates (choose.c): who needs the same choice again finds it.
 */
static onnx_op close_up(struct onnx_node *n, const struct ncc_follow *f,
			const struct onnx_value *const *v, unsigned int d, onnx_op x)
{
	onnx_op *there = ncc_alloc(n->imp->m, f->op->nin * sizeof(onnx_op)), all;

	if (!there)
		onnx_fail(n, -ENOMEM, "out of memory");
	if (!x || !there)
		return NULL;
	for (unsigned int i = 0; i < f->op->nin; i++)
		there[i] = there_along(n, v[i], d);
	x = in_front(n, x, d);
	x = x ? onnx_keep_rows(n, x, ox_concat(n, there, f->op->nin, 0), x->shape.dim[0], &all)
	      : NULL;
	return back_from_front(n, x, d);
}

/* Parts, with their sizes: those of the result */
static void concat_sizes(struct onnx_node *n, const struct onnx_value *const *v, unsigned int count,
			 unsigned int d)
{
	onnx_op *part = ncc_alloc(n->imp->m, count * sizeof(onnx_op)), size[NCC_MAX_DIMS] = { 0 },
		x;
	struct ncc_sizes *in = ncc_alloc(n->imp->m, count * sizeof(*in));
	const struct ncc_op op = { .kind = NCC_CONCAT, .nin = count, .axis = d };
	const struct ncc_follow f = { .bl = onnx_now(n), .op = &op, .in = in, .alike = true };

	if (!part || !in) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		part[i] = v[i]->op;
		in[i] = sizes_of(&v[i]->op->shape, v[i]->size);
	}
	sizes_follow(&f, size);
	for (unsigned int e = 0; e < in[0].ndim; e++)
		for (unsigned int i = 0; e != d && size[e] && i < count; i++)
			if (!in[i].size[e])
				onnx_fail(n, -ENOTSUP,
					  "operands whose sizes depend on the data and may be "
					  "different");
	if (n->rc)
		return;
	if (!size[d]) {
		sized_import(n, size);
		return;
	}
	x = ox_concat(n, part, count, d);
	if (sizes_has_gaps(&f, d))
		x = close_up(n, &f, v, d, x);
	onnx_give_sizes(n, 0, x, v[count - 1]->type, size);
}

void sized_concat(struct onnx_node *n)
{
	const struct onnx_value **v = ncc_alloc(n->imp->m, (n->nin + 1) * sizeof(*v));
	unsigned int count = 0;

	for (unsigned int i = 0; v && i < n->nin; i++) {
		if (!n->in[i].op)
			continue;
		v[count++] = &n->in[i];
		if (v[0]->op->shape.ndim != n->in[i].op->shape.ndim)
			sized_refuse(n, i);
	}
	if (!v)
		onnx_fail(n, -ENOMEM, "out of memory");
	if (n->rc || !count)
		return;
	if (count == 1)
		n->out[0] = *v[0];
	else
		concat_sizes(n, v, count, onnx_axis(n, onnx_int(n, "axis"), v[0]->op->shape.ndim));
}

/* Cuts along other dimensions; parts of nothing are nothing */
void sized_split(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), v->op->shape.ndim);
	struct ncc_shape none = v->op->shape;
	double there;

	if (n->rc)
		return;
	none.dim[axis] = 0;
	if (v->size[axis] && ncc_scalar_value(v->size[axis], &there) && there < 1) {
		for (unsigned int i = 0; i < n->nout; i++)
			onnx_give_empty(n, i, &none, v->type);
		return;
	}
	if (v->size[axis])
		sized_refuse_dim(n, 0, axis);
	else
		sized_import(n, v->size);
}

/* What is tiled is all there; a dimension that is tiled as often as the data say has what comes
 * first. */
void sized_tile(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	const struct ncc_shape list = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { nd } };
	onnx_op size[NCC_MAX_DIMS], op = ox_data(n, &list);
	struct onnx_number times;

	memcpy(size, v->size, sizeof(size));
	for (unsigned int d = 0; d < nd && !n->rc && onnx_number(n, onnx_in(n, 1), d, &times);
	     d++) {
		if (v->size[d] && (times.op || times.value != 1))
			sized_refuse_dim(n, 0, d);
		if (times.op && times.value == INT32_MAX)
			onnx_fail(n, -ENOTSUP,
				  "dimension %u as often as the data say, without a bound", d);
		if (times.op)
			size[d] = ox_binc(n, NCC_MUL, times.op, (double)v->op->shape.dim[d]);
		if (op)
			ncc_set(list.dtype, op->data, d, (double)times.value);
	}
	if (n->rc || !op)
		return;
	n->in[1] = (struct onnx_value){ .op = op, .type = ONNX_INT64 };
	sized_import(n, size);
}

/*
 * Padding with a constant begins where the elements that are there end: those that are not get its
 * number.
 */
void sized_pad(struct onnx_node *n)
{
	struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	int64_t pads[2 * NCC_MAX_DIMS], axes[NCC_MAX_DIMS];
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };
	struct ncc_op op = { .kind = NCC_PAD, .low = low, .high = high };
	unsigned int count, listed = 0;
	onnx_op size[NCC_MAX_DIMS] = { NULL };
	double with = onnx_float(n, "value");
	uint32_t mask = 0;

	if (!(onnx_in(n, 1) ? onnx_in_ints(n, 1, pads, 2 * NCC_MAX_DIMS, &count)
			    : onnx_ints(n, "pads", pads, 2 * NCC_MAX_DIMS, &count)) ||
	    (onnx_in(n, 3) && !onnx_in_ints(n, 3, axes, NCC_MAX_DIMS, &listed))) {
		if (!n->rc)
			sized_refuse(n, 0);
		return;
	}
	for (unsigned int i = 0; !onnx_in(n, 3) && i < nd; i++)
		axes[listed++] = i;
	if (count != 2 * listed || (onnx_in(n, 2) && !onnx_in_scalar(n, 2, &with))) {
		onnx_fail(n, -EINVAL, "%u pads of %u dimensions", count, listed);
		return;
	}
	for (unsigned int i = 0; i < listed && !n->rc; i++) {
		const unsigned int d = onnx_axis(n, axes[i], nd);

		if (!v->size[d] || (!pads[i] && !pads[i + listed]))
			continue;
		if (!onnx_string_is(n, "mode", "constant") || pads[i] < 0 || pads[i + listed] < 0 ||
		    pads[i] > ONNX_MAX_DATA || pads[i + listed] > ONNX_MAX_DATA)
			sized_refuse_dim(n, 0, d);
		mask |= 1u << d;
		low[d] += pads[i];
		high[d] += pads[i + listed];
	}
	sized_follow(n, &op, v, size);
	if (mask)
		v->op = onnx_filled(n, v, mask, with);
	if (!n->rc)
		sized_import(n, size);
}
