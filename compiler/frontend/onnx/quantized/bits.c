// SPDX-License-Identifier: MIT
/*
 * Weights of two, four or eight bits, several in a byte, with a scale for each block of them, as
 * onnxruntime's quantizers write them. They become numbers of a byte each when the model is read.
 * Part of the ONNX front end.
 */
#include <errno.h>

#include "quantized.h"

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
	const int64_t bits = onnx_int(n, "bits"), block = onnx_int(n, "block_size");

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
	const int64_t k = onnx_int(n, "K"), prepacked = onnx_int(n, "weight_prepacked");
	struct packed p = { .rows = onnx_int(n, "N") };
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

/* A table's bytes and its zeros, of numbers packed in uint8 or constants of four bits */
static bool take_table(struct onnx_node *n, struct packed *p, onnx_op *table, onnx_op *zero)
{
	const bool bytes = n->in[0].type == ONNX_UINT8;
	const int64_t columns = onnx_in(n, 0)->shape.dim[1] * (bytes ? 8 / onnx_int(n, "bits") : 1);

	p->rows = onnx_in(n, 0)->shape.dim[0];
	if (!take_packed(n, p, columns))
		return false;
	if (columns % p->block) {
		onnx_fail(n, -ENOTSUP, "%lld columns are not whole blocks of %lld",
			  (long long)columns, (long long)p->block);
		return false;
	}
	*table = bytes ? unpacked(n, 0, p, columns) : onnx_in(n, 0);
	*zero = bytes ? zeros(n, 3, p) : onnx_in(n, 3) ? ox_f32(n, onnx_in(n, 3)) : ox_number(n, 0);
	return !n->rc;
}

/* Rows of a table that an index names, as [..., blocks, each] */
static onnx_op rows_of(struct onnx_node *n, onnx_op table, const struct packed *p, onnx_op idx,
		       int64_t each)
{
	const int64_t flat[2] = { p->rows, p->blocks * each };
	int64_t dim[NCC_MAX_DIMS];
	onnx_op r = table && ncc_elems(&table->shape) > 1
			    ? ox_take(n, ox_reshape(n, table, 2, flat), idx, 0)
			    : NULL;

	if (!r || n->rc)
		return n->rc ? NULL : table; /* one number for all */
	if (r->shape.ndim == NCC_MAX_DIMS) {
		onnx_fail(n, -ENOTSUP, "indices of rank %u", idx->shape.ndim);
		return NULL;
	}
	for (unsigned int i = 0; i + 1 < r->shape.ndim; i++)
		dim[i] = r->shape.dim[i];
	dim[r->shape.ndim - 1] = p->blocks;
	dim[r->shape.ndim] = each;
	return ox_reshape(n, r, r->shape.ndim + 1, dim);
}

static bool gathers_rows(struct onnx_node *n)
{
	const onnx_op x = onnx_in(n, 0);

	if (x->shape.ndim != 2 || ncc_is_float(x->shape.dtype) ||
	    ncc_dtype_size(x->shape.dtype) != 1)
		onnx_fail(n, -ENOTSUP, "a table of rank %u and %s is not supported", x->shape.ndim,
			  onnx_type_name(n->in[0].type));
	else if (onnx_axis(n, onnx_int(n, "gather_axis"), 2) ||
		 onnx_axis(n, onnx_int(n, "quantize_axis"), 2) != 1)
		onnx_fail(n, -ENOTSUP, "gather_axis other than 0, or quantize_axis than 1");
	else if (onnx_int(n, "bits") < 2 || onnx_int(n, "bits") > 8)
		onnx_fail(n, -EINVAL, "numbers of %lld bits", (long long)onnx_int(n, "bits"));
	return !n->rc;
}

static void import_gather_bits(struct onnx_node *n)
{
	onnx_op idx = onnx_in(n, 1), table, zero, r;
	int64_t dim[NCC_MAX_DIMS];
	struct packed p = { 0 };

	if (!gathers_rows(n) || !take_table(n, &p, &table, &zero))
		return;
	r = ox_f32(n, rows_of(n, table, &p, idx, p.block));
	r = ox_bin(n, NCC_SUB, r, rows_of(n, zero, &p, idx, 1));
	r = ox_bin(n, NCC_MUL, r, ox_f32(n, rows_of(n, onnx_in(n, 2), &p, idx, 1)));
	if (!r)
		return;
	for (unsigned int i = 0; i < idx->shape.ndim; i++)
		dim[i] = idx->shape.dim[i];
	dim[idx->shape.ndim] = p.blocks * p.block;
	r = ox_reshape(n, r, idx->shape.ndim + 1, dim);
	onnx_give_as(n, 0, ox_cast_like(n, r, onnx_in(n, 2)), n->in[2].type);
}

const struct onnx_rule onnx_microsoft_bits[] = {
	{ "GatherBlockQuantized", 3, 4, .import = import_gather_bits,
	  .attrs = ONNX_ATTRS(ATTR("bits", INT, .i = 4), ATTR("block_size", INT, .i = 128),
			      ATTR("gather_axis", INT), ATTR("quantize_axis", INT, .i = 1)) },
	{ "MatMulNBits", 3, 6, .import = import_matmul_bits,
	  .attrs = ONNX_ATTRS(ATTR("K", INT, .needed = true), ATTR("N", INT, .needed = true),
			      ATTR("accuracy_level", INT), ATTR("bits", INT, .i = 4),
			      ATTR("block_size", INT, .needed = true),
			      ATTR("weight_prepacked", INT)) },
	{ .op_type = NULL },
};
