/* SPDX-License-Identifier: MIT */
/*
 * Private to the import of a model: import.c goes through its nodes, inputs.c has its inputs,
 * operators.c the tables of operators, and refuse.c goes on after a node that cannot be imported.
 */
#ifndef NCC_ONNX_MODEL_H
#define NCC_ONNX_MODEL_H

#include "frontend/onnx/graph/graph.h"

/* The rule for all operators of the domain neuron, whatever their names are */
extern const struct onnx_rule onnx_custom;

/* operators.c; NULL: not supported */
const struct onnx_rule *onnx_find(const char *domain, const char *op_type);
bool onnx_is_standard(const char *domain); /* ai.onnx, whose name may be left out */

/* inputs.c: binds the model's inputs, and makes them parameters of the module, or constants. */
int onnx_import_inputs(struct onnx_import *imp, const Ncc__Onnx__Graph *g, struct onnx_scope *s);

/*
 * refuse.c: the node's import failed, which is noted, and its results become unknown ones so that
 * the import goes on. 0: it does
 */
int onnx_refuse(struct onnx_node *n);
/* Imports a node with operands of which nothing is known, as far as that shows more obstacles. */
void onnx_blind(struct onnx_node *n);
bool onnx_is_unknown(const struct onnx_value *v); /* not even its shape is known */
/* Marks the results as unknown if an operand is. */
void onnx_pass_unknown(struct onnx_node *n);

#endif
