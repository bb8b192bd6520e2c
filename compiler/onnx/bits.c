// SPDX-License-Identifier: MIT
/*
 * Weights of two, four or eight bits, several in a byte, with a scale for each block of them, as
 * onnxruntime's quantizers write them. They become numbers of a byte each when the model is read.
 * Part of the ONNX front end.
 */
#include <errno.h>

#include "onnx.h"

/* Rows of blocks of numbers of so many bits, lowest bits first, each row in whole bytes */
struct packed {
	int64_t rows, blocks, block;
	unsigned int bits;
};

/* Unpacks them into bytes, [rows, blocks, block]; part: rows of the numbers of a block, or of all */
static onnx_op unpacked(struct onnx_node *n, unsigned int i, const struct packed *p, int64_t in_row)
{
	const unsigned int each = 8 / p->bits;
	const int64_t bytes = (in_row + each - 1) / each;
	const int64_t rows = p->rows * p->blocks * p->block / in_row;
	const struct ncc_shape s = { .dtype = NEURON_DT_UINT8,
				     .ndim = 3,
				     .dim = { p->rows, p->blocks, p->block } };
	onnx_op x = onnx_in(n, i), op;
	const uint8_t *from;
	uint8_t *to;

	if (n->rc)
		return NULL;
	if (!x || x->kind != NCC_CONST || x->shape.dtype != NEURON_DT_UINT8) {
		onnx_fail(n, -ENOTSUP, "operand %u must be a constant of uint8", i);
		return NULL;
	}
	if (ncc_elems(&x->shape) != rows * bytes) {
		onnx_fail(n, -EINVAL, "operand %u has %lld bytes, expected %lld rows of %lld", i,
			  (long long)ncc_elems(&x->shape), (long long)rows, (long long)bytes);
		return NULL;
	}
	op = build_const(&n->b, &s); /* of no more numbers than the file's bytes say */
	if (!op) {
		onnx_fail(n, -EFBIG, "too large: %lld rows of %lld numbers", (long long)p->rows,
			  (long long)(p->blocks * p->block));
		return NULL;
	}
	from = x->data;
	to = op->data;
	for (int64_t r = 0; r < rows; r++, from += bytes)
		for (int64_t k = 0; k < in_row; k++)
			*to++ = from[k / each] >> (k % each * p->bits) & ((1u << p->bits) - 1);
	return op;
}

/* What stands for 0: one number, or one for each block, packed or as the operand's own type */
static onnx_op zeros(struct onnx_node *n, unsigned int i, const struct packed *p)
{
	const struct packed each = { p->rows, p->blocks, 1, p->bits };
	const int64_t dim[3] = { p->rows, p->blocks, 1 };
	onnx_op z = onnx_in(n, i);

	if (!z || n->rc)
		return n->rc ? NULL : ox_number(n, 1u << (p->bits - 1));
	if (z->shape.dtype == NEURON_DT_UINT8)
		return ox_f32(n, unpacked(n, i, &each, p->blocks));
	return ox_f32(n, ox_reshape(n, z, 3, dim));
}

static bool take_packed(struct onnx_node *n, struct packed *p, int64_t k)
{
	const int64_t bits = onnx_int(n, "bits", 4), block = onnx_int(n, "block_size", 0);

	if ((bits != 2 && bits != 4 && bits != 8) || block < 16 || block > 1 << 20 ||
	    (block & (block - 1)) || p->rows < 1 || p->rows > NCC_MAX_ELEMS || k < 1 ||
	    k > NCC_MAX_ELEMS) {
		onnx_fail(n, -EINVAL,
			  "%lld rows of %lld numbers of %lld bits in blocks of %lld: 2, 4 or 8 "
			  "bits and a power of 2 of at least 16 are expected",
			  (long long)p->rows, (long long)k, (long long)bits, (long long)block);
		return false;
	}
	p->bits = (unsigned int)bits;
	p->block = block;
	p->blocks = (k + block - 1) / block;
	return true;
}

/* [rows, k] in fp32: each number less its block's zero, times its scale */
static onnx_op weights(struct onnx_node *n, const struct packed *p, int64_t k)
{
	const int64_t dim[3] = { p->rows, p->blocks, 1 };
	const int64_t all[2] = { p->rows, p->blocks * p->block };
	onnx_op w = ox_f32(n, unpacked(n, 1, p, p->block)), scale;

	scale = ox_f32(n, ox_reshape(n, onnx_in(n, 2), 3, dim));
	w = ox_bin(n, NCC_MUL, ox_bin(n, NCC_SUB, w, zeros(n, 3, p)), scale);
	w = ox_reshape(n, w, 2, all);
	return w ? ox_slice(n, w, 1, 0, k, 1) : NULL;
}

static void import_matmul_bits(struct onnx_node *n)
{
	const int64_t k = onnx_int(n, "K", 0), prepacked = onnx_int(n, "weight_prepacked", 0);
	struct packed p = { .rows = onnx_int(n, "N", 0) };
	struct ncc_dot d = { .ncontract = 1, .rhs_contract = { 1 } };
	onnx_op x = onnx_in(n, 0), r;

	if (prepacked || onnx_in(n, 4)) {
		onnx_fail(n, -ENOTSUP, "%s is not supported",
			  prepacked ? "weight_prepacked" : "operand 4, g_idx,");
		return;
	}
	if (!take_packed(n, &p, k))
		return;
	if (!x->shape.ndim || x->shape.dim[x->shape.ndim - 1] != k) {
		onnx_fail(n, -EINVAL, "operand 0 does not have %lld columns", (long long)k);
		return;
	}
	d.lhs_contract[0] = (uint8_t)(x->shape.ndim - 1);
	r = ox_dot(n, x, ox_cast_like(n, weights(n, &p, k), x), &d, x->shape.dtype);
	r = onnx_in(n, 5) ? ox_bin(n, NCC_ADD, r, onnx_in(n, 5)) : r;
	onnx_give_as(n, 0, r, n->in[0].type);
}

const struct onnx_rule onnx_microsoft_bits[] = {
	{ "MatMulNBits", 3, 6, .import = import_matmul_bits },
	{ .op_type = NULL },
};
