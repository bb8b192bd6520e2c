// SPDX-License-Identifier: MIT
/* Matrix products. Part of the ONNX front end. */
#include <errno.h>
#include <math.h>

#include "products.h"

bool ox_multiplies(struct onnx_node *n)
{
	for (unsigned int i = 0; i < n->nin && !n->rc; i++) {
		const struct ncc_shape *s = n->in[i].op ? &n->in[i].op->shape : NULL;

		if (s && !ncc_is_float(s->dtype) && ncc_dtype_size(s->dtype) < 4)
			onnx_fail(n, -ENOTSUP, "of %s is not supported", ncc_dtype_name(s));
		else if (s && s->dtype != n->in[0].op->shape.dtype)
			onnx_fail(n, -EINVAL, "operands of two types, %s and %s",
				  ncc_dtype_name(&n->in[0].op->shape), ncc_dtype_name(s));
	}
	return !n->rc;
}

/* The product of quantized values as one of bytes; NULL: they are others */
static onnx_op quantized_matmul(struct onnx_node *n, onnx_op a, onnx_op b)
{
	struct onnx_bytes of;
	onnx_op sum;

	if (b->shape.ndim != 2 || a->shape.ndim < 2 || !ox_bytes(n, a, b, NULL, 1, &of))
		return ox_product_of_bytes(n, a, b);
	sum = ox_matmul(n, of.x, of.k, NEURON_DT_FP32);
	return sum ? ox_sum_of_bytes(n, sum, &of, sum->shape.ndim - 1) : NULL;
}

static void import_matmul(struct onnx_node *n)
{
	onnx_op a = onnx_in(n, 0), b = onnx_in(n, 1), r;

	if (!ox_multiplies(n))
		return;
	r = quantized_matmul(n, a, b);
	onnx_give(n, 0, r ? r : ox_matmul(n, a, b, a->shape.dtype));
}

static void import_gemm(struct onnx_node *n)
{
	onnx_op a = onnx_in(n, 0), b = onnx_in(n, 1), c = onnx_in(n, 2), r;
	double alpha = onnx_float(n, "alpha"), beta = onnx_float(n, "beta");
	bool ta = onnx_int(n, "transA"), tb = onnx_int(n, "transB");
	struct ncc_dot d = { .ncontract = 1, .lhs_contract = { !ta }, .rhs_contract = { tb } };
	struct onnx_bytes of;

	if (!ox_multiplies(n))
		return;
	if (a->shape.ndim != 2 || b->shape.ndim != 2) {
		onnx_fail(n, -EINVAL, "operands of rank %u and %u, expected 2", a->shape.ndim,
			  b->shape.ndim);
		return;
	}
	if (!ncc_is_float(a->shape.dtype) && (alpha != trunc(alpha) || beta != trunc(beta))) {
		onnx_fail(n, -ENOTSUP, "of integers, by alpha %g and beta %g", alpha, beta);
		return;
	}
	if (alpha == 1 && (beta == 1 || !c) && ox_bytes(n, a, b, c, !tb, &of)) {
		r = ox_sum_of_bytes(n, ox_dot(n, of.x, of.k, &d, NEURON_DT_FP32), &of, 1);
		onnx_give(n, 0, r);
		return;
	}
	r = ox_dot(n, a, b, &d, a->shape.dtype);
	r = alpha == 1 ? r : ox_binc(n, NCC_MUL, r, alpha);
	if (c && beta != 0) {
		c = beta == 1 ? c : ox_binc(n, NCC_MUL, c, beta);
		r = ox_bin(n, NCC_ADD, r, c);
	}
	onnx_give(n, 0, r);
}

const struct onnx_rule onnx_dot[] = {
	/* clang-format off */
	{ "Gemm",   2,  3, .import = import_gemm, .sized = sized_gemm, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = 1), ATTR("beta", FLOAT, .f = 1),
		ATTR("broadcast", INT, .until = 6), ATTR("transA", INT), ATTR("transB", INT)) },
	{ "MatMul", 2,  2, .import = import_matmul, .unchanged = true, .sized = sized_mat_mul, .takes = ONNX_ALL },
	{ .op_type = NULL },
	/* clang-format on */
};
