// SPDX-License-Identifier: MIT
/*
 * Values of which the data say how many elements there are, and values without elements, for the
 * rules of what operators do with them (dynamic/). Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "sizes.h"

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

	if (v->sequence) {
		onnx_fail(n, -ENOTSUP, "a sequence, where a tensor is expected");
		return;
	}
	memset(v->size, 0, sizeof(v->size));
	for (unsigned int d = 0; d < s.ndim; d++) {
		if (s.dim[d])
			continue;
		v->size[d] = ox_scalar(n, &number, 0);
		s.dim[d] = 1;
		zeros++;
	}
	if (zeros > 1)
		onnx_fail(n, -ENOTSUP, "an operand with several dimensions of 0");
	if (onnx_dtype(v->type, &s))
		onnx_fail(n, -ENOTSUP, "an empty operand of type %s", onnx_type_name(v->type));
	v->op = ox_expand(n, ox_scalar(n, &s, 0), s.ndim, s.dim);
}

bool onnx_sized_but(const struct onnx_value *v, unsigned int d)
{
	for (unsigned int i = 0; i < NCC_MAX_DIMS; i++)
		if (i != d && v->size[i])
			return true;
	return false;
}

onnx_op onnx_there(struct onnx_node *n, const struct onnx_value *v, uint32_t mask)
{
	const struct ncc_sizes s =
		v->op ? sizes_of(&v->op->shape, v->size) : (struct ncc_sizes){ 0 };

	return n->rc ? NULL : sizes_there(onnx_now(n), &s, mask);
}

onnx_op onnx_filled(struct onnx_node *n, const struct onnx_value *v, uint32_t mask, double with)
{
	struct ncc_sizes s;

	if (!v->op || n->rc)
		return NULL;
	s = sizes_of(&v->op->shape, v->size);
	for (unsigned int d = 0; d < s.ndim; d++)
		if (s.size[d] && mask >> d & 1)
			return sizes_filled(onnx_now(n), v->op, &s, mask,
					    ox_scalar(n, &v->op->shape, with));
	return v->op;
}

void onnx_give_sizes(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type,
		     onnx_op const *size)
{
	struct onnx_value v = { .type = type };

	for (unsigned int d = 0; op && d < op->shape.ndim; d++) {
		struct ncc_shape s = op->shape;
		struct onnx_number k;
		bool over;

		if (!size[d])
			continue;
		if (!onnx_number(n, size[d], 0, &k))
			return;
		over = k.value > s.dim[d];
		if (over)
			k.value = s.dim[d];
		if (k.value < 1) {
			s.dim[d] = 0;
			onnx_give_empty(n, i, &s, type);
			return;
		}
		if (k.op && over) /* says that it is not larger */
			k.op = ox_binc(n, NCC_MIN, k.op, (double)k.value);
		op = ox_slice(n, op, d, 0, k.value, 1);
		if (k.op)
			onnx_note_size(n, k.op);
		v.size[d] = k.op;
	}
	v.op = op;
	if (op && i < n->nout && !n->rc)
		n->out[i] = v;
}

void onnx_give_some(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type, unsigned int d,
		    onnx_op size)
{
	onnx_op all[NCC_MAX_DIMS] = { NULL };

	all[d] = size;
	if (size)
		onnx_give_sizes(n, i, op, type, all);
}

onnx_op onnx_size_or_bound(struct onnx_node *n, const struct onnx_value *v, unsigned int d)
{
	const struct ncc_sizes s = sizes_of(&v->op->shape, v->size);

	return sizes_at(onnx_now(n), &s, d);
}
