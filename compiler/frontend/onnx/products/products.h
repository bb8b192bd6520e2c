/* SPDX-License-Identifier: MIT */
/* Products, convolutions and pools, of floats and of quantized values, and transforms. Part of the
 * ONNX front end. */
#ifndef NCC_ONNX_PRODUCTS_H
#define NCC_ONNX_PRODUCTS_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_dot[], onnx_einsum[], onnx_window[], onnx_matrix[],
	onnx_signal[], onnx_microsoft_fused[];

/* dot.c: are the operands floats, or integers of 32 bits, of one type? false: n->rc is set */
bool ox_multiplies(struct onnx_node *n);
/* matmul.c, window.c, reduce.c: the same; operands have the types that are multiplied */
onnx_op ox_matmul(struct onnx_node *n, onnx_op a, onnx_op b, uint8_t dtype);
/* The padding has this number, of x's type; NULL: 0 */
onnx_op ox_conv(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op padding, uint8_t dtype);
/*
 * bytes.c: the quantized operands of a convolution or product, with a constant k whose dimension
 * axis is the result's channels, as bytes; with its sums, plus the shift, times the scale of each
 * channel it has the bias too
 */
struct onnx_bytes {
	onnx_op x, k, shift, scale;
	double padding; /* what stands for 0 */
};
/* false: they are not all quantized, or n->rc is set */
bool ox_bytes(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, unsigned int axis,
	      struct onnx_bytes *b);
/* The same of a convolution of each channel by itself: whole numbers in fp32, which engines take */
bool ox_wholes(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, struct onnx_bytes *b);
/*
 * window.c: the convolution of quantized operands and a bias by their whole numbers, before they
 * are quantized again; NULL: as others are, or n->rc is set
 */
onnx_op ox_quantized_conv(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias);
/* axis: the sum's dimension of channels */
onnx_op ox_sum_of_bytes(struct onnx_node *n, onnx_op sum, const struct onnx_bytes *b,
			unsigned int axis);
/* The matrix product of quantized values, neither of which has to be constant; NULL: as before */
onnx_op ox_product_of_bytes(struct onnx_node *n, onnx_op a, onnx_op b);

#endif
