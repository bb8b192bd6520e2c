/* SPDX-License-Identifier: MIT */
/* Operators that move, choose and put elements. Part of the ONNX front end. */
#ifndef NCC_ONNX_MOVES_H
#define NCC_ONNX_MOVES_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_move[], onnx_slice[], onnx_index[], onnx_scatter[],
	onnx_choose[];

/*
 * index.c: the index of the best element along axis, by NCC_MAX or NCC_MIN, with that dimension as
 * 1. As in onnxruntime nothing is better than a NaN that comes first, whose index is `otherwise`,
 * and other NaNs are passed over.
 */
onnx_op ox_best_place(struct onnx_node *n, onnx_op x, unsigned int axis, enum ncc_kind func,
		      bool last, double otherwise);
/* The part of x that idx's dimensions cover, all of axis */
onnx_op onnx_covered(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis);

#endif
