// SPDX-License-Identifier: MIT
/*
 * Nodes that cannot be imported: each is noted, and the import goes on so that the obstacles behind
 * it are found as well. Their results are unknown; where the model tells a result's shape something
 * of that shape stands in for it. A model with obstacles is never compiled. Part of the ONNX front
 * end.
 */
#include <errno.h>

#include "model.h"

bool onnx_is_unknown(const struct onnx_value *v)
{
	return v->unknown && !v->op;
}

/* A result's name means the model's only outside of functions and of nodes' graphs. */
static void make_unknown(struct onnx_node *n, unsigned int i)
{
	struct ncc_shape s = { .ndim = 0 };
	struct ncc_error err;
	int32_t type = 0;
	onnx_op op;

	n->out[i] = (struct onnx_value){ .unknown = true };
	if (!n->imp->depth)
		n->imp->steps +=
			n->imp->proto->graph->n_value_info + n->imp->proto->graph->n_output;
	if (n->imp->depth || !onnx_told_shape(n->imp, n->p->output[i], &s, &type))
		return;
	op = ncc_op_new(n->imp->m, NCC_PARAM, n->p->output[i], 0);
	if (!op)
		return;
	op->shape = s;
	if (!ncc_verify_op(op, &err))
		n->out[i] = (struct onnx_value){ .op = op, .type = type, .unknown = true };
}

/*
 * Does the node miss what nobody can know: the numbers of a shape, say, that an unknown node would
 * have given? Then it may be fine itself.
 */
static bool misses_numbers(const struct onnx_node *n)
{
	for (unsigned int i = 0; i < n->nin; i++) {
		const struct onnx_value *v = &n->in[i];

		if (v->unknown && (!v->op || v->op->shape.ndim < 2))
			return true;
	}
	return false;
}

int onnx_refuse(struct onnx_node *n)
{
	struct ncc_obstacles *o = n->imp->obstacles;
	const char *kind = n->rule ? NULL : n->p->op_type;
	bool within = o->seen != n->seen; /* in its graphs, whose results are unknown */
	const int rc = n->rc;

	if (ncc_obstacle_follows(o, &n->b, rc))
		return rc;
	if (!within && (!n->rule || !misses_numbers(n)) && ncc_obstacle(o, &n->b, n->p, kind, rc))
		return rc;
	if (rc == -ENOMEM && !within)
		return rc;
	n->imp->err->text[0] = 0;
	n->rc = 0;
	for (unsigned int i = 0; i < n->nout; i++)
		if (!n->imported || !n->out[i].op)
			make_unknown(n, i);
	return 0;
}

static void blind_graph(struct onnx_node *n, const Ncc__Onnx__Graph *g)
{
	struct onnx_value *in = ncc_alloc(n->imp->m, (g->n_input + 1) * sizeof(*in));
	struct onnx_value *out = ncc_alloc(n->imp->m, (g->n_output + 1) * sizeof(*out));

	if (!in || !out) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return;
	}
	for (size_t i = 0; i < g->n_input; i++)
		in[i].unknown = true;
	onnx_run_graph(n, g, in, (unsigned int)g->n_input, out, (unsigned int)g->n_output);
}

void onnx_blind(struct onnx_node *n)
{
	n->rule = onnx_find(n->p->domain, n->p->op_type);
	if (!n->rule) {
		onnx_unsupported(n);
		return;
	}
	for (size_t i = 0; i < n->p->n_attribute && !n->rc; i++)
		if (n->p->attribute[i]->g)
			blind_graph(n, n->p->attribute[i]->g);
	for (unsigned int i = 0; i < n->nout && !n->rc; i++)
		make_unknown(n, i);
}

void onnx_pass_unknown(struct onnx_node *n)
{
	bool unknown = false;

	for (unsigned int i = 0; i < n->nin; i++)
		unknown = unknown || n->in[i].unknown;
	for (unsigned int i = 0; i < n->nout && unknown; i++)
		n->out[i].unknown = true;
}
