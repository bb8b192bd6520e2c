/* SPDX-License-Identifier: MIT */
/* Images: resized, sampled, put together; boxes in them. Part of the ONNX front end. */
#ifndef NCC_ONNX_IMAGES_H
#define NCC_ONNX_IMAGES_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_resize[], onnx_sample[], onnx_grid[], onnx_patch[], onnx_nms[];

/*
 * sample.c: x, [batch, channels, spatial...] (up to three), at places of each spatial dimension,
 * [batch, ...] in fp32, between its elements linearly and 0 outside: [batch, ..., channels]
 */
onnx_op ox_sample(struct onnx_node *n, onnx_op x, const onnx_op *place);

#endif
