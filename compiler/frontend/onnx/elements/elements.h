/* SPDX-License-Identifier: MIT */
/* Operators that work element by element, and random numbers. Part of the ONNX front end. */
#ifndef NCC_ONNX_ELEMENTS_H
#define NCC_ONNX_ELEMENTS_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_math[], onnx_act[], onnx_random[];

/* act.c: shared with other operators */
onnx_op ox_relu(struct onnx_node *n, onnx_op x);
onnx_op ox_leaky(struct onnx_node *n, onnx_op x, double a);
onnx_op ox_elu(struct onnx_node *n, onnx_op x, double a);
onnx_op ox_thresholded(struct onnx_node *n, onnx_op x, double a);
onnx_op ox_hard_sigmoid(struct onnx_node *n, onnx_op x, double a, double b);
onnx_op ox_softsign(struct onnx_node *n, onnx_op x);

#endif
