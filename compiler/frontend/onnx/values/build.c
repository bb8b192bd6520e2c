// SPDX-License-Identifier: MIT
/*
 * How the ONNX front end makes operations: by the constructors of compiler/build, which check and
 * compute at once, as operators' shapes follow from what came before; ONNX's conversion; and what
 * another operator makes
 */
#include <string.h>

#include "ox.h"

struct ncc_build *onnx_now(struct onnx_node *n)
{
	n->now = (struct ncc_now){
		.rc = &n->rc, .made = &n->imp->made, .folded = &n->imp->folded, .exact = n->exact
	};
	n->checked = n->b;
	n->checked.now = &n->now;
	return &n->checked;
}

/* A word made of whole numbers that fp32 holds: they were in fp32 already. */
static bool is_exact_word(const struct ncc_op *a)
{
	const struct ncc_op *of = a->kind == NCC_CONVERT ? a->in[0] : NULL;

	return of && a->shape.dtype == NEURON_DT_INT32 && !a->shape.pred && of->bounds &&
	       of->shape.dtype == NEURON_DT_FP32 && of->bounds[0] >= -ONNX_EXACT_MOST &&
	       of->bounds[1] <= ONNX_EXACT_MOST;
}

onnx_op ox_cast(struct onnx_node *n, onnx_op a, uint8_t dtype, bool pred)
{
	struct ncc_shape s;

	if (!a || n->rc)
		return NULL;
	if (dtype == NEURON_DT_FP32 && is_exact_word(a))
		return a->in[0];
	s = a->shape;
	s.dtype = dtype;
	s.pred = pred;
	return ox_expanded(n, expand_convert(&n->b, a, &s), a);
}

onnx_op ox_f32(struct onnx_node *n, onnx_op a)
{
	return ox_cast(n, a, NEURON_DT_FP32, false);
}

onnx_op ox_cast_like(struct onnx_node *n, onnx_op a, onnx_op like)
{
	return like ? ox_cast(n, a, like->shape.dtype, like->shape.pred) : NULL;
}

void ox_standard(struct onnx_node *n, const char *op_type, struct onnx_value *in, unsigned int nin,
		 struct onnx_value *out, unsigned int nout)
{
	struct onnx_node of = *n;

	memset(out, 0, nout * sizeof(*out));
	if (n->rc)
		return;
	of.rule = n->imp->find("", op_type);
	of.in = in;
	of.nin = nin;
	of.out = out;
	of.nout = nout;
	if (!strcmp(op_type, "Softmax"))
		of.opset = onnx_int_or(n, "opset", n->opset);
	of.rule->import(&of);
	n->rc = of.rc;
}
