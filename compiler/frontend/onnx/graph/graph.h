/* SPDX-License-Identifier: MIT */
/*
 * The names in a graph (scope.c), and graphs and functions that a node runs (graph.c), for the
 * importer of models and the operators that hold graphs. Functions return 0, or -errno with the
 * reason in the import's error.
 */
#ifndef NCC_ONNX_GRAPH_H
#define NCC_ONNX_GRAPH_H

#include "frontend/onnx/graph/onnx.h"

struct onnx_binding {
	const char *name;
	struct onnx_value v;
	const Ncc__Onnx__Tensor *tensor; /* an initializer that is not read yet */
};

/* Values by name, and the enclosing scope (a graph in a node sees the node's surroundings) */
struct onnx_scope {
	const struct onnx_scope *outer;
	struct onnx_binding *bound; /* found by a hash of the name */
	size_t n, slots;
};

#define ONNX_NAME_STEPS 32 /* of a name in a scope, and more for its length */

int onnx_scope_init(struct onnx_scope *s, const struct onnx_scope *outer, size_t names);
size_t onnx_names_in(const Ncc__Onnx__Graph *g); /* that it binds itself */
void onnx_scope_free(struct onnx_scope *s);
struct onnx_binding *onnx_lookup(const struct onnx_scope *s, const char *name);
/* NULL: the name is taken. */
struct onnx_binding *onnx_bind(struct onnx_scope *s, const char *name, struct onnx_value v);
/* A binding's value; an initializer is read when the first node asks for it. */
int onnx_value_of(struct onnx_import *imp, const char *name, struct onnx_binding *b,
		  struct onnx_value *v);

/* Makes a scope with the graph's constants; the caller frees it whatever this returns. */
int onnx_graph_scope(struct onnx_import *imp, const Ncc__Onnx__Graph *g,
		     const struct onnx_scope *outer, struct onnx_scope *s);
int onnx_graph_outputs(struct onnx_import *imp, const Ncc__Onnx__Graph *g,
		       const struct onnx_scope *s, struct onnx_value *out);
void onnx_call(struct onnx_node *n, const Ncc__Onnx__Function *f);
/*
 * Runs a graph of the node; its outputs go to out. The numbers of inputs and outputs must be the
 * graph's.
 */
void onnx_run_graph(struct onnx_node *n, const Ncc__Onnx__Graph *g, const struct onnx_value *in,
		    unsigned int nin, struct onnx_value *out, unsigned int nout);

#endif
