/* SPDX-License-Identifier: MIT */
/* Operators that hold graphs, and sequences. Part of the ONNX front end. */
#ifndef NCC_ONNX_CONTROL_H
#define NCC_ONNX_CONTROL_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_control[], onnx_sequence[];

/*
 * iterations.c: an If and a Loop whose condition depends on data. in: the first iteration's number,
 * condition and carried values; out: the condition and the carried values after an iteration
 */
void onnx_if_of_data(struct onnx_node *n);
void onnx_loop_of_data(struct onnx_node *n, const Ncc__Onnx__Graph *body, struct onnx_value *in,
		       struct onnx_value *out, unsigned int carried);

#endif
