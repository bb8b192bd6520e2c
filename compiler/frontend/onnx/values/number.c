// SPDX-License-Identifier: MIT
/*
 * Numbers that depend on data, as far as they are known when a model is read: a list that says how
 * to reshape has constants and, for a dimension whose size depends on the data (dynamic.c), that
 * size. Part of the ONNX front end.
 */
#include <errno.h>

#include "sizes.h"

bool onnx_number(struct onnx_node *n, onnx_op list, int64_t i, struct onnx_number *v)
{
	struct ncc_bound b;
	onnx_op x;

	if (n->rc || !list)
		return false;
	if (i >= ncc_elems(&list->shape)) {
		onnx_fail(n, -EINVAL, "a list of %lld numbers, more are expected",
			  (long long)ncc_elems(&list->shape));
		return false;
	}
	b = sizes_bound(n->imp->sizes, list, i);
	*v = (struct onnx_number){ .value = b.most, .least = b.least };
	if (b.least == b.most)
		return true;
	x = (onnx_op)sizes_source(n->imp->sizes, list, &i);
	if (ncc_elems(&x->shape) > 1)
		x = ox_slice(n, ox_reshape(n, x, 1, (int64_t[]){ ncc_elems(&x->shape) }), 0, i, 1,
			     1);
	v->op = ox_cast(n, ox_reshape(n, x, 0, NULL), NEURON_DT_INT32, false);
	return v->op;
}

void onnx_note_size(struct onnx_node *n, onnx_op op)
{
	struct ncc_noted *s =
		sizes_is_noted(n->imp->sizes, op) ? NULL : ncc_alloc(n->imp->m, sizeof(*s));

	if (!s)
		return; /* then less is known of it */
	*s = (struct ncc_noted){ op, n->imp->sizes };
	n->imp->sizes = s;
}

onnx_op onnx_number_op(struct onnx_node *n, const struct onnx_number *v)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_INT32 };

	return v->op ? v->op : ox_scalar(n, &s, (double)v->value);
}
