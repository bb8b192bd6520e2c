/* SPDX-License-Identifier: MIT */
/*
 * Whole numbers in fp32 (whole.c), and quantized values that are multiplied as bytes (bytes.c,
 * integer.c). Part of the ONNX front end.
 */
#ifndef NCC_ONNX_WHOLE_H
#define NCC_ONNX_WHOLE_H

#include "ir/range.h"
#include "frontend/onnx/values/ox.h"

/* Added and subtracted, it leaves the nearest integer, ties to even, of what is below 2^22. */
#define QUANT_WHOLE 0x1.8p23

/* A value in fp32 that is whole numbers times a scale, one number or one for each channel */
struct onnx_multiple {
	onnx_op value, whole, scale;
	unsigned int axis; /* the dimension of channels */
	struct onnx_multiple *next;
};

/* Whole numbers in fp32, as few as a type of 16 bits has, and their bounds */
bool quant_is_whole(const struct ncc_op *x, struct ncc_range *r);
bool quant_is_rounded(const struct ncc_op *x);
onnx_op quant_rounded(struct onnx_node *n, onnx_op x, double unit);

/* Whole numbers in fp32 as the nearest ones of a type */
onnx_op quant_packed(struct onnx_node *n, onnx_op whole, uint8_t dtype);

/* x in fp32: of quantized numbers what they were rounded to */
onnx_op quant_unpacked(struct onnx_node *n, onnx_op x);
/* Scales or zero points of the blocks along an axis (block_size), each for every element of x */
bool quant_has_blocks(const struct onnx_node *n);
onnx_op quant_of_blocks(struct onnx_node *n, onnx_op v, const struct ncc_shape *x, int64_t axis);
/* A sum that is exact in fp32, as s32 */
onnx_op quant_word(struct onnx_node *n, onnx_op sum);

/* A constant less its zero point, one number or one for each column, as bytes; NULL: it has others */
onnx_op quant_constant(struct onnx_node *n, onnx_op x, onnx_op zero);

/* integer.c: the quotient that DynamicQuantizeLinear rounds, which is within the type's range */
struct onnx_dynamic {
	onnx_op value, quotient;
	struct onnx_dynamic *next;
};
void quant_note_dynamic(struct onnx_node *n, onnx_op value, onnx_op quotient);
/* Numbers of eight bits less their zero point: bytes plus one number, in fp32; NULL: 0 */
struct quant_eight {
	onnx_op byte, plus;
};
/* The matrix product of such in fp32; NULL: its sums may not be exact, or n->rc is set */
onnx_op quant_product_of(struct onnx_node *n, const struct quant_eight *a,
			 const struct quant_eight *b);
/*
 * The product of operands i and k, of eight bits less their zero points (one, or of a constant k
 * one for each column), in s32; NULL: they are not multiplied as bytes, or n->rc is set
 */
onnx_op quant_product(struct onnx_node *n, unsigned int i, onnx_op za, unsigned int k, onnx_op zb);

/* Operand i less its zero point; false: not as bytes. columns: it may have a zero for each */
bool quant_take(struct onnx_node *n, unsigned int i, onnx_op zero, bool columns,
		struct quant_eight *e);
/*
 * Does a sum of so many of a column's numbers, less zero points or not, stay exact in fp32? Numbers
 * of eight bits less their zero point lie in a range of UINT8_MAX that has 0. k: the column's
 * numbers, step apart
 */
bool quant_exact_column(const struct quant_eight *a, const int8_t *k, int64_t rows, int64_t step,
			int64_t terms);

/* Remembers that value is whole times scale; of constants, whose numbers are then not seen any more
 */
void quant_remember(struct onnx_node *n, onnx_op value, onnx_op whole, onnx_op scale,
		    unsigned int axis);
/*
 * The whole numbers nearest to x / scale within a type, less the zero point, where x is a sum of
 * products of bytes, with what an activation cut off of it; NULL: another x, or zero is not known
 */
onnx_op quant_of_bytes(struct onnx_node *n, onnx_op x, onnx_op scale, onnx_op zero,
		       const struct ncc_shape *to);

#endif
