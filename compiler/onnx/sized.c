// SPDX-License-Identifier: MIT
/*
 * Values of which the data say how many elements there are, and values without elements, for the
 * rules of what operators do with them (sized.h). Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sized.h"

struct ncc_shape onnx_shape_of(const struct onnx_value *v)
{
	struct ncc_shape s = { .ndim = 1 };

	if (v->op)
		return v->op->shape;
	if (v->empty)
		s = *v->empty;
	(void)onnx_dtype(v->type, &s);
	return s;
}

void onnx_fill_empty(struct onnx_node *n, struct onnx_value *v)
{
	struct ncc_shape s = onnx_shape_of(v), number = { .dtype = NEURON_DT_INT32 };
	int64_t zeros = 0;

	for (unsigned int d = 0; d < s.ndim; d++) {
		if (s.dim[d])
			continue;
		v->along = d;
		s.dim[d] = 1;
		zeros++;
	}
	if (zeros > 1)
		onnx_fail(n, -ENOTSUP, "an operand with several dimensions of 0");
	if (onnx_dtype(v->type, &s))
		onnx_fail(n, -ENOTSUP, "an empty operand of type %s", onnx_type_name(v->type));
	v->op = ox_expand(n, ox_scalar(n, &s, 0), s.ndim, s.dim);
	v->size = ox_scalar(n, &number, 0);
}

onnx_op onnx_there(struct onnx_node *n, const struct onnx_value *v)
{
	int64_t dim[NCC_MAX_DIMS];

	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
		dim[d] = d == v->along ? v->op->shape.dim[d] : 1;
	return ox_reshape(n, ox_bin(n, NCC_LT, ox_iota(n, NEURON_DT_INT32, dim[v->along]), v->size),
			  v->op->shape.ndim, dim);
}

onnx_op onnx_filled(struct onnx_node *n, const struct onnx_value *v, double with)
{
	if (!v->op || n->rc)
		return NULL;
	return ox_select(n, onnx_there(n, v), v->op, ox_scalar(n, &v->op->shape, with));
}

void onnx_give_some(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type, unsigned int d,
		    onnx_op size)
{
	struct onnx_number v;
	struct ncc_shape s;
	bool over;

	if (!op || !onnx_number(n, size, 0, &v))
		return;
	s = op->shape;
	over = v.value > s.dim[d];
	if (over)
		v.value = s.dim[d];
	if (v.value < 1) {
		s.dim[d] = 0;
		onnx_give_empty(n, i, &s, type);
		return;
	}
	if (v.op && over) /* says that it is not larger */
		v.op = ox_binc(n, NCC_MIN, v.op, (double)v.value);
	op = ox_slice(n, op, d, 0, v.value, 1);
	onnx_give_as(n, i, op, type);
	if (v.op && i < n->nout && n->out[i].op) {
		onnx_note_size(n, v.op);
		n->out[i].size = v.op;
		n->out[i].along = d;
	}
}

/* The one operand whose size depends on the data; NULL: an error */
const struct onnx_value *sized_only(struct onnx_node *n)
{
	const struct onnx_value *v = NULL;

	for (unsigned int i = 0; i < n->nin; i++) {
		if (n->in[i].size && v)
			onnx_fail(n, -ENOTSUP, "two operands whose sizes depend on the data");
		v = n->in[i].size ? &n->in[i] : v;
	}
	return n->rc ? NULL : v;
}

void sized_refuse(struct onnx_node *n, unsigned int i)
{
	onnx_fail(n, -ENOTSUP,
		  "the size of dimension %u of operand %u ('%.60s') depends on the data, which is "
		  "not supported here",
		  n->in[i].along, i, n->p->input[i]);
}

/* Runs the operator's own import on the bounds; the size is along dimension d of its results. */
void sized_import(struct onnx_node *n, unsigned int d, onnx_op size)
{
	n->rule->import(n);
	for (unsigned int i = 0; i < n->nout && !n->rc; i++) {
		const struct onnx_value v = n->out[i];

		if (v.op && v.op->shape.ndim > d)
			onnx_give_some(n, i, v.op, v.type, d, size);
	}
}

/* Indices that count from the end of a dynamic dimension, from its start instead */
onnx_op sized_from_start(struct onnx_node *n, onnx_op idx, onnx_op size)
{
	double v;

	if (idx && ncc_scalar_value(idx, &v) && v >= 0)
		return idx;
	idx = ox_cast(n, idx, NEURON_DT_INT32, false);
	return ox_select(n, ox_binc(n, NCC_LT, idx, 0), ox_bin(n, NCC_ADD, idx, size), idx);
}

/* Axes are an operand from opset 13 on, an attribute before */
bool sized_axes(struct onnx_node *n, unsigned int ndim, uint32_t *mask)
{
	int64_t axes[NCC_MAX_DIMS];
	unsigned int count;
	bool given = onnx_in(n, 1) ? onnx_in_ints(n, 1, axes, NCC_MAX_DIMS, &count)
				   : onnx_ints(n, "axes", axes, NCC_MAX_DIMS, &count);

	*mask = 0;
	for (unsigned int i = 0; given && i < count; i++)
		*mask |= 1u << onnx_axis(n, axes[i], ndim);
	return given && count && !n->rc;
}

unsigned int sized_bits_below(uint32_t mask, unsigned int d)
{
	return (unsigned int)__builtin_popcount(mask & ((1u << d) - 1));
}

bool sized_is_nothing(const struct onnx_value *v)
{
	double size;

	return v->size && ncc_scalar_value(v->size, &size) && size < 1;
}
