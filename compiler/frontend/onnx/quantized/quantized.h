/* SPDX-License-Identifier: MIT */
/* Quantized tensors, as ONNX and onnxruntime write them. Part of the ONNX front end. */
#ifndef NCC_ONNX_QUANTIZED_H
#define NCC_ONNX_QUANTIZED_H

#include "frontend/onnx/dynamic/dynamic.h"
#include "frontend/onnx/products/whole.h"

extern const struct onnx_rule onnx_quant[], onnx_integers[], onnx_microsoft[],
	onnx_microsoft_bits[];

/* Is there no zero point, or is it 0? */
bool quant_is_zero(onnx_op zero);
/* x less its zero point, in fp32: what with_zero() added to integers is not subtracted again. */
onnx_op quant_dequantized(struct onnx_node *n, onnx_op x, onnx_op zero);
/* A scale or zero point, one number or one for each index of axis, as fp32 of x's rank */
onnx_op quant_along(struct onnx_node *n, onnx_op v, onnx_op x, int64_t axis);
/*
 * Operand i as what it stands for, with the operands that are its scale and zero point, one number
 * or one for each index of axis
 */
onnx_op quant_value(struct onnx_node *n, unsigned int i, unsigned int scale, unsigned int zero,
		    int64_t axis);
/* Gives x quantized as the result; otherwise: its type, if there is no zero point */
void quant_give(struct onnx_node *n, onnx_op x, unsigned int scale, unsigned int zero, int64_t axis,
		int32_t otherwise);
/* The product of operands i and k, of eight bits less their zero points, in s32 */
onnx_op quant_integer_product(struct onnx_node *n, unsigned int i, onnx_op za, unsigned int k,
			      onnx_op zb);
/* Gives x times scale / to, in the type of a zero point */
void quant_give_scaled(struct onnx_node *n, onnx_op x, onnx_op scale, onnx_op to, onnx_op zero,
		       int32_t type);
/* integer_conv.c: the same of a convolution, of one group and a constant kernel */
onnx_op quant_convolution(struct onnx_node *n, unsigned int i, onnx_op za, unsigned int k,
			  onnx_op zb);

/* A question about each value that x can have, limited to low..high, times `times`, by the scale */
struct quant_each {
	bool (*holds)(const struct quant_each *e, float v);
	float low, high, scale, times;
};

/*
 * each.c: does it hold for each value of x, which are multiples of scales, as many as types have,
 * and numbers, or what is computed of two of them? false also for an x that has others, or more.
 */
bool quant_holds(struct quant_each *e, bool (*what)(const struct quant_each *, float),
		 const struct ncc_op *x);
/* Is the whole number nearest to the product that of the quotient? */
bool quant_product_is_quotient(const struct quant_each *e, float v);
bool quant_is_within(const struct quant_each *e, float v);
bool quant_is_kept(const struct quant_each *e, float v);

#endif
