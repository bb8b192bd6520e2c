/* SPDX-License-Identifier: MIT */
/*
 * What becomes of dimensions whose size depends on the data: an importer asks, the rows of
 * operators name their rules, and the rules share what is in front. What lies beyond the size is
 * read by nobody: a rule fills it with what does not count. A tensor without elements is one whose
 * size is 0. Part of the ONNX front end.
 */
#ifndef NCC_ONNX_DYNAMIC_H
#define NCC_ONNX_DYNAMIC_H

#include "frontend/onnx/values/sizes.h"

/*
 * dynamic.c: operands of which the data say how many elements there are, or that have none. false:
 * the node has neither
 */
bool onnx_import_dynamic(struct onnx_node *n);
/* The model's output for v: zeros where there is nothing */
onnx_op onnx_output(struct onnx_node *n, struct onnx_value *v);

/* Refuses the node because of operand i's dimension d. */
void sized_refuse_dim(struct onnx_node *n, unsigned int i, unsigned int d);
/* The same of the first one that has a size but d, or of any */
void sized_refuse_but(struct onnx_node *n, unsigned int i, unsigned int d);
void sized_refuse(struct onnx_node *n, unsigned int i);
/* Runs the operator's own import on the bounds; its results have these sizes. */
void sized_import(struct onnx_node *n, onnx_op const *size);
/* The sizes of what an operation of the IR, of which the attributes count, makes of v */
void sized_follow(struct onnx_node *n, const struct ncc_op *op, const struct onnx_value *v,
		  onnx_op *size);
/* a, or b if that is NULL; both must be the same number. */
onnx_op sized_both(struct onnx_node *n, onnx_op a, onnx_op b);
/*
 * y, a mean over the dimensions of v in the mask, whose elements that are not there were 0: divided
 * by the sizes in place of the bounds
 */
onnx_op sized_mean(struct onnx_node *n, const struct onnx_value *v, uint32_t mask, onnx_op y);
/*
 * The operands of the mask are broadcast, and have the last dimensions, but for so many, in common:
 * their sizes
 */
void sized_broadcast(struct onnx_node *n, uint32_t mask, unsigned int but, onnx_op *size);
/* Indices that count from the end of a dynamic dimension, from its start instead */
onnx_op sized_from_start(struct onnx_node *n, onnx_op idx, onnx_op size);
/* The axes of an operator on tensors of rank ndim, an operand or an attribute; false: there are
 * none */
bool sized_axes(struct onnx_node *n, unsigned int ndim, uint32_t *mask);
bool sized_is_nothing(const struct onnx_value *v); /* Is a size known to be 0? */

/* dynamic.c: operands that broadcast; the first one's sizes; import takes care of them itself */
void sized_by_element(struct onnx_node *n);
void sized_like_first(struct onnx_node *n);
void sized_own(struct onnx_node *n);
/* moves.c */
void sized_transpose(struct onnx_node *n);
void sized_squeeze(struct onnx_node *n);
void sized_unsqueeze(struct onnx_node *n);
void sized_shape(struct onnx_node *n);
void sized_size(struct onnx_node *n);
void sized_concat(struct onnx_node *n);
void sized_split(struct onnx_node *n);
void sized_tile(struct onnx_node *n);
void sized_pad(struct onnx_node *n);
/* reshape.c */
void sized_reshape(struct onnx_node *n);
void sized_flatten(struct onnx_node *n);
/* indices.c */
void sized_gather(struct onnx_node *n);
void sized_gather_elements(struct onnx_node *n);
void sized_gather_nd(struct onnx_node *n);
void sized_one_hot(struct onnx_node *n);
void sized_picked(struct onnx_node *n);
void sized_scatter(struct onnx_node *n);
void sized_scatter_nd(struct onnx_node *n);
void sized_reduce(struct onnx_node *n);
void sized_reduce_mean(struct onnx_node *n);
void sized_range_of(struct onnx_node *n);
void sized_arg(struct onnx_node *n);
void sized_softmax(struct onnx_node *n);
void sized_cum_sum(struct onnx_node *n);
void sized_top_k(struct onnx_node *n);
/* products.c */
void sized_mat_mul(struct onnx_node *n);
void sized_gemm(struct onnx_node *n);
void sized_einsum(struct onnx_node *n);
void sized_rnn(struct onnx_node *n);
void sized_layer_norm(struct onnx_node *n);
/* windows.c */
void sized_conv(struct onnx_node *n);
void sized_max_pool(struct onnx_node *n);
void sized_average_pool(struct onnx_node *n);
void sized_global_max(struct onnx_node *n);
void sized_global_mean(struct onnx_node *n);
void sized_batch_norm(struct onnx_node *n);
void sized_batch(struct onnx_node *n);
void sized_roi_align(struct onnx_node *n);
/* shapes.c */
void sized_constant_of_shape(struct onnx_node *n);
void sized_expand(struct onnx_node *n);
void sized_range(struct onnx_node *n);
void sized_slice(struct onnx_node *n);

#endif
