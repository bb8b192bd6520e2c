/* SPDX-License-Identifier: MIT */
/*
 * Private to the rules of what operators do with a dimension whose size depends on the data
 * (dynamic.c has the table of them): what they share (sized.c), and the rules.
 */
#ifndef NCC_ONNX_SIZED_H
#define NCC_ONNX_SIZED_H

#include "onnx.h"

/* The one operand whose size depends on the data; NULL: an error */
const struct onnx_value *sized_only(struct onnx_node *n);
/* Refuses the node because of operand i. */
void sized_refuse(struct onnx_node *n, unsigned int i);
/* Runs the operator's own import on the bounds; the size is along dimension d of its results. */
void sized_import(struct onnx_node *n, unsigned int d, onnx_op size);
/* Indices that count from the end of a dynamic dimension, from its start instead */
onnx_op sized_from_start(struct onnx_node *n, onnx_op idx, onnx_op size);
/* The axes of an operator on tensors of rank ndim, an operand or an attribute; false: there are
 * none */
bool sized_axes(struct onnx_node *n, unsigned int ndim, uint32_t *mask);
unsigned int sized_bits_below(uint32_t mask, unsigned int d);
bool sized_is_nothing(const struct onnx_value *v); /* Is the size known to be 0? */

/* sized_move.c */
void sized_transpose(struct onnx_node *n);
void sized_reshape(struct onnx_node *n);
void sized_flatten(struct onnx_node *n);
void sized_squeeze(struct onnx_node *n);
void sized_unsqueeze(struct onnx_node *n);
void sized_shape(struct onnx_node *n);
void sized_size(struct onnx_node *n);
void sized_concat(struct onnx_node *n);
void sized_split(struct onnx_node *n);
void sized_tile(struct onnx_node *n);
/* sized_index.c */
void sized_gather(struct onnx_node *n);
void sized_gather_nd(struct onnx_node *n);
void sized_scatter(struct onnx_node *n);
void sized_reduce(struct onnx_node *n);
void sized_arg(struct onnx_node *n);
void sized_softmax(struct onnx_node *n);
void sized_cum_sum(struct onnx_node *n);
void sized_top_k(struct onnx_node *n);
void sized_mat_mul(struct onnx_node *n);
void sized_gemm(struct onnx_node *n);
void sized_batch(struct onnx_node *n);
void sized_roi_align(struct onnx_node *n);
/* sized_shape.c */
void sized_constant_of_shape(struct onnx_node *n);
void sized_expand(struct onnx_node *n);
void sized_range(struct onnx_node *n);
void sized_slice(struct onnx_node *n);

#endif
