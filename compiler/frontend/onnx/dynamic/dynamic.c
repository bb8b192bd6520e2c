// SPDX-License-Identifier: MIT
/*
 * Tensors of which the data, or who runs the model, say how many elements there are. Such a value
 * has bounds in its shape and the real sizes beside it, which are computed when the model runs. An
 * operator's row names its rule for such dimensions; without one it is refused. Part of the ONNX
 * front end.
 */
#include "dynamic.h"

/*
 * Operands broadcast: a dynamic dimension must be so in all that have more than one element there,
 * with the same size. Where their bounds differ the smallest holds.
 */
void sized_by_element(struct onnx_node *n)
{
	onnx_op size[NCC_MAX_DIMS] = { NULL };

	sized_broadcast(n, ONNX_ALL, 0, size);
	if (!n->rc)
		sized_import(n, size);
}

/* Operand 0 keeps its dimensions, and those of the others mean something else. */
void sized_like_first(struct onnx_node *n)
{
	sized_import(n, n->in[0].size);
}

void sized_own(struct onnx_node *n)
{
	n->rule->import(n);
}

/* Does operand i, a list of numbers, depend on data that bound it? */
static bool is_bounded(struct onnx_node *n, unsigned int i)
{
	onnx_op list = onnx_in(n, i);
	struct onnx_number v;

	if (!list || onnx_is_const(list) || list->shape.ndim > 1 ||
	    ncc_is_float(list->shape.dtype) || ncc_elems(&list->shape) > NCC_MAX_DIMS)
		return false;
	for (int64_t k = 0; k < ncc_elems(&list->shape); k++)
		if (!onnx_number(n, list, k, &v) || (v.op && v.value == INT32_MAX))
			return false;
	return true;
}

/* Lists that are made of constants and of what does not depend on the data become constants. */
static void settle(struct onnx_node *n, struct onnx_value *v)
{
	struct onnx_number k;
	onnx_op op;

	if (!v->op || v->size[0] || onnx_is_const(v->op) || v->op->shape.dtype != NEURON_DT_INT32 ||
	    v->op->shape.pred || v->op->shape.ndim > 1 || ncc_elems(&v->op->shape) > NCC_MAX_DIMS)
		return;
	for (int64_t i = 0; i < ncc_elems(&v->op->shape); i++)
		if (!onnx_number(n, v->op, i, &k) || k.op)
			return;
	op = ox_data(n, &v->op->shape);
	for (int64_t i = 0; op && i < ncc_elems(&op->shape) && onnx_number(n, v->op, i, &k); i++)
		ncc_set(NEURON_DT_INT32, op->data, i, (double)k.value);
	v->op = op;
}

bool onnx_import_dynamic(struct onnx_node *n)
{
	const struct onnx_rule *r = n->rule;
	bool sized = false, lists = false;

	for (unsigned int i = 0; i < n->nin; i++) {
		settle(n, &n->in[i]);
		if (r->sized && !n->in[i].op && n->in[i].type && onnx_needs(n, i))
			onnx_fill_empty(n, &n->in[i]);
		if (onnx_sized_but(&n->in[i], NCC_MAX_DIMS)) {
			if (!r->sized || !(r->takes >> (i < 31 ? i : 31) & 1))
				sized_refuse(n, i);
			sized = true;
		}
		lists = lists || (r->sized && i < 32 && r->lists >> i & 1 && is_bounded(n, i));
	}
	if (n->rc)
		return true;
	if (!sized && !lists)
		return false;
	r->sized(n);
	return true;
}

onnx_op onnx_output(struct onnx_node *n, struct onnx_value *v)
{
	if (!v->op)
		onnx_fill_empty(n, v);
	return n->rc ? v->op : onnx_filled(n, v, ONNX_ALL_DIMS, 0);
}
