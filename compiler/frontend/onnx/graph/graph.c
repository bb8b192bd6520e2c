// SPDX-License-Identifier: MIT
/* Functions and graphs that a node runs, each in a scope of its own. Part of the ONNX front end. */
#include "graph.h"

#include <errno.h>
#include <string.h>

static bool enter(struct onnx_node *n)
{
	if (n->imp->depth >= ONNX_MAX_CALLS) {
		onnx_fail(n, -EINVAL, "functions or graphs nested more than %d deep, or in a cycle",
			  ONNX_MAX_CALLS);
		return false;
	}
	n->imp->depth++;
	return true;
}

static int64_t opset_of(const struct onnx_node *n, const Ncc__Onnx__Function *f)
{
	for (size_t i = 0; i < f->n_opset_import; i++)
		if (!*f->opset_import[i]->domain)
			return f->opset_import[i]->version;
	return n->opset;
}

static int run_function(struct onnx_node *n, const Ncc__Onnx__Function *f, struct onnx_scope *s)
{
	int rc;

	for (size_t i = 0; i < f->n_input; i++) {
		struct onnx_value none = { 0 };

		n->imp->steps += strlen(f->input[i]);
		if (!onnx_bind(s, f->input[i], i < n->nin ? n->in[i] : none))
			return onnx_fail(n, -EINVAL, "the function has '%.80s' twice", f->input[i]);
	}
	n->body = f;
	n->opset = opset_of(n, f);
	rc = n->imp->run(n, n->imp, f->node, f->n_node, s);
	for (size_t i = 0; i < f->n_output && !rc && i < n->nout; i++) {
		struct onnx_binding *b = onnx_lookup(s, f->output[i]);

		n->imp->steps += strlen(f->output[i]);
		if (!b || b->tensor)
			return onnx_fail(n, -EINVAL, "the function gives no '%.80s'", f->output[i]);
		n->out[i] = b->v;
	}
	return rc;
}

void onnx_call(struct onnx_node *n, const Ncc__Onnx__Function *f)
{
	size_t names = f->n_input;
	struct onnx_scope s;
	int rc;

	for (size_t i = 0; i < f->n_node; i++)
		names += f->node[i]->n_output;
	n->imp->steps += ONNX_NAME_STEPS * names + f->n_node + f->n_opset_import + f->n_output;
	if (onnx_check_steps(n))
		return;
	if (n->nin > f->n_input || n->nout > f->n_output) {
		onnx_fail(n, -EINVAL, "%u operands and %u results, the function has %zu and %zu",
			  n->nin, n->nout, f->n_input, f->n_output);
		return;
	}

	if (!enter(n))
		return;
	if (onnx_scope_init(&s, NULL, names)) {
		onnx_fail(n, -ENOMEM, "out of memory");
	} else {
		rc = run_function(n, f, &s);
		if (!n->rc)
			n->rc = rc;
		onnx_scope_free(&s);
	}
	n->imp->depth--;
}

void onnx_run_graph(struct onnx_node *n, const Ncc__Onnx__Graph *g, const struct onnx_value *in,
		    unsigned int nin, struct onnx_value *out, unsigned int nout)
{
	struct onnx_scope s = { 0 };
	int rc;

	if (g->n_input != nin || g->n_output != nout) {
		onnx_fail(n, -EINVAL,
			  "graph '%.60s' has %zu inputs and %zu outputs, expected %u and %u",
			  g->name, g->n_input, g->n_output, nin, nout);
		return;
	}

	n->imp->steps += ONNX_NAME_STEPS * onnx_names_in(g) + g->n_node + g->n_output;
	if (onnx_check_steps(n) || !enter(n))
		return;
	rc = onnx_graph_scope(n->imp, g, n->scope, &s);
	for (unsigned int i = 0; i < nin && !rc; i++)
		if (!onnx_bind(&s, g->input[i]->name, in[i]))
			rc = onnx_fail(n, -EINVAL, "graph input '%.80s' is defined twice",
				       g->input[i]->name);

	rc = rc ?: n->imp->run(n, n->imp, g->node, g->n_node, &s);
	rc = rc ?: onnx_graph_outputs(n->imp, g, &s, out);
	if (!n->rc)
		n->rc = rc;
	onnx_scope_free(&s);
	n->imp->depth--;
}
