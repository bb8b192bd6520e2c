/* SPDX-License-Identifier: MIT */
/* Reductions, softmax, normalization, losses. Part of the ONNX front end. */
#ifndef NCC_ONNX_REDUCTIONS_H
#define NCC_ONNX_REDUCTIONS_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_reduce[], onnx_norm[], onnx_microsoft_norm[], onnx_loss[];

/*
 * norm.c: (x - mean) / sqrt(variance + epsilon) of x in fp32, over the dimensions of the mask, and
 * x / sqrt(mean of squares + epsilon); the subtrahend and the factor are given if asked for
 */
onnx_op ox_normalize(struct onnx_node *n, onnx_op x, uint32_t mask, double epsilon,
		     onnx_op *subtracted, onnx_op *scale);
onnx_op ox_rms_normalize(struct onnx_node *n, onnx_op x, uint32_t mask, double epsilon,
			 onnx_op *scale);

onnx_op ox_softmax(struct onnx_node *n, onnx_op x, unsigned int axis, bool log);

#endif
