// SPDX-License-Identifier: MIT
/* Matrix products. Part of the ONNX front end. */
#include <errno.h>
#include <string.h>

#include "onnx.h"

/* Leading dimensions broadcast; the last two are the matrices */
static onnx_op batched(struct onnx_node *n, onnx_op a, onnx_op b, uint8_t dtype)
{
	const unsigned int x = a->shape.ndim, y = b->shape.ndim, r = x > y ? x : y;
	int64_t da[NCC_MAX_DIMS], db[NCC_MAX_DIMS];
	struct ncc_dot d = { .nbatch = r - 2, .ncontract = 1 };

	for (unsigned int i = 0; i < r; i++) {
		int64_t p = i < x ? a->shape.dim[x - 1 - i] : 1;
		int64_t q = i < y ? b->shape.dim[y - 1 - i] : 1;

		da[r - 1 - i] = i < 2 || p > q ? p : q;
		db[r - 1 - i] = i < 2 || q > p ? q : p;
	}
	for (unsigned int i = 0; i + 2 < r; i++)
		d.lhs_batch[i] = d.rhs_batch[i] = (uint8_t)i;
	d.lhs_contract[0] = (uint8_t)(r - 1);
	d.rhs_contract[0] = (uint8_t)(r - 2);
	return ox_dot(n, ox_expand(n, a, r, da), ox_expand(n, b, r, db), &d, dtype);
}

/* Multiplies as NumPy's matmul does: vectors become rows and columns, which are removed again. */
onnx_op ox_matmul(struct onnx_node *n, onnx_op a, onnx_op b, uint8_t dtype)
{
	struct ncc_dot d = { .ncontract = 1 };
	unsigned int x, y;
	int64_t ka, kb;

	if (!a || !b || n->rc)
		return NULL;
	x = a->shape.ndim;
	y = b->shape.ndim;
	if (!x || !y) {
		onnx_fail(n, -EINVAL, "an operand is a scalar");
		return NULL;
	}

	ka = a->shape.dim[x - 1];
	kb = b->shape.dim[y > 1 ? y - 2 : 0];
	if (ka != kb) {
		onnx_fail(n, -EINVAL, "%lld columns times %lld rows", (long long)ka, (long long)kb);
		return NULL;
	}

	if (x > 1 && y > 2)
		return batched(n, a, b, dtype);
	d.lhs_contract[0] = (uint8_t)(x - 1);
	d.rhs_contract[0] = (uint8_t)(y > 1 ? y - 2 : 0);
	return ox_dot(n, a, b, &d, dtype);
}

static bool of_floats(struct onnx_node *n)
{
	for (unsigned int i = 0; i < n->nin && !n->rc; i++)
		if (n->in[i].op && !ncc_is_float(n->in[i].op->shape.dtype))
			onnx_fail(n, -ENOTSUP, "of %s is not supported",
				  ncc_dtype_name(&n->in[i].op->shape));
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

	if (!of_floats(n))
		return;
	r = quantized_matmul(n, a, b);
	onnx_give(n, 0, r ? r : ox_matmul(n, a, b, a->shape.dtype));
}

static void import_gemm(struct onnx_node *n)
{
	onnx_op a = onnx_in(n, 0), b = onnx_in(n, 1), c = onnx_in(n, 2), r;
	double alpha = onnx_float(n, "alpha", 1), beta = onnx_float(n, "beta", 1);
	bool ta = onnx_int(n, "transA", 0), tb = onnx_int(n, "transB", 0);
	struct ncc_dot d = { .ncontract = 1, .lhs_contract = { !ta }, .rhs_contract = { tb } };
	struct onnx_bytes of;

	if (!of_floats(n))
		return;
	if (a->shape.ndim != 2 || b->shape.ndim != 2) {
		onnx_fail(n, -EINVAL, "operands of rank %u and %u, expected 2", a->shape.ndim,
			  b->shape.ndim);
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
	{ "Gemm",   2,  3, .import = import_gemm },
	{ "MatMul", 2,  2, .import = import_matmul, .unchanged = true },
	{ .op_type = NULL },
	/* clang-format on */
};
