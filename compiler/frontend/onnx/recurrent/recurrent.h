/* SPDX-License-Identifier: MIT */
/* Recurrent layers. Part of the ONNX front end. */
#ifndef NCC_ONNX_RECURRENT_H
#define NCC_ONNX_RECURRENT_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_rnn[];

/* rnn.c: the operator of com.microsoft */
void onnx_dynamic_lstm(struct onnx_node *n);

#endif
