// SPDX-License-Identifier: MIT
/* The names in a graph and the values that they stand for. Part of the ONNX front end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"

int onnx_scope_init(struct onnx_scope *s, const struct onnx_scope *outer, size_t names)
{
	memset(s, 0, sizeof(*s));
	s->outer = outer;
	for (s->slots = 16; s->slots < names * 2;)
		s->slots *= 2;
	s->bound = calloc(s->slots, sizeof(*s->bound));
	return s->bound ? 0 : -ENOMEM;
}

void onnx_scope_free(struct onnx_scope *s)
{
	free(s->bound);
}

static struct onnx_binding *slot_of(const struct onnx_scope *s, const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull;
	size_t i;

	for (const char *p = name; *p; p++)
		h = (h ^ (uint8_t)*p) * 0x100000001b3ull;
	for (i = (h ^ h >> 32) & (s->slots - 1); s->bound[i].name; i = (i + 1) & (s->slots - 1))
		if (!strcmp(s->bound[i].name, name))
			break;
	return &s->bound[i];
}

struct onnx_binding *onnx_lookup(const struct onnx_scope *s, const char *name)
{
	for (; s; s = s->outer) {
		struct onnx_binding *b = slot_of(s, name);

		if (b->name)
			return b;
	}
	return NULL;
}

struct onnx_binding *onnx_bind(struct onnx_scope *s, const char *name, struct onnx_value v)
{
	struct onnx_binding *b = slot_of(s, name);

	if (b->name || s->n >= s->slots / 2 + 8)
		return NULL;
	s->n++;
	b->name = name;
	b->v = v;
	return b;
}

int onnx_value_of(struct onnx_import *imp, const char *name, struct onnx_binding *b,
		  struct onnx_value *v)
{
	int rc = 0;

	if (b->tensor) {
		rc = onnx_tensor(imp, b->tensor, name, &b->v);
		b->tensor = NULL;
	}
	*v = b->v;
	return rc;
}

size_t onnx_names_in(const Ncc__Onnx__Graph *g)
{
	size_t names = g->n_input + g->n_initializer;

	for (size_t i = 0; i < g->n_node; i++)
		names += g->node[i]->n_output;
	return names;
}

int onnx_graph_scope(struct onnx_import *imp, const Ncc__Onnx__Graph *g,
		     const struct onnx_scope *outer, struct onnx_scope *s)
{
	if (onnx_scope_init(s, outer, onnx_names_in(g)))
		return ncc_no_memory(imp->err);
	if (g->n_sparse_initializer)
		return ncc_fail(imp->err, -ENOTSUP,
				"graph '%.80s': sparse constants are not supported", g->name);
	for (size_t i = 0; i < g->n_initializer; i++) {
		const Ncc__Onnx__Tensor *t = g->initializer[i];
		struct onnx_binding *b = onnx_bind(s, t->name, (struct onnx_value){ 0 });

		imp->steps += strlen(t->name);
		if (!b)
			return ncc_fail(imp->err, -EINVAL, "constant '%.100s' is defined twice",
					t->name);
		b->tensor = t;
	}
	return 0;
}

int onnx_graph_outputs(struct onnx_import *imp, const Ncc__Onnx__Graph *g,
		       const struct onnx_scope *s, struct onnx_value *out)
{
	for (size_t i = 0; i < g->n_output; i++) {
		const char *name = g->output[i]->name;
		struct onnx_binding *b = onnx_lookup(s, name);
		int rc;

		imp->steps += strlen(name) * (imp->depth + 1);
		if (!b)
			return ncc_fail(imp->err, -EINVAL,
					"output '%.100s' of graph '%.80s' is "
					"nothing that a node gives",
					name, g->name);
		rc = onnx_value_of(imp, name, b, &out[i]);
		if (rc)
			return rc;
		if (!out[i].op && !out[i].type && !out[i].unknown)
			return ncc_fail(imp->err, -EINVAL, "output '%.100s' is absent", name);
	}
	return 0;
}
