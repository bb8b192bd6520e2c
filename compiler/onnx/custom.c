// SPDX-License-Identifier: MIT
/*
 * Calls of custom operators: a node of the domain "neuron", whose operator is a function of the
 * library that the user gives (docs/gpsimd.md). The model has to tell the shape of its result. Part
 * of the ONNX front end.
 */
#include <errno.h>

#include "graph.h"
#include "neff.h"
#include "neuron/hw/ext.h"

static void import_custom(struct onnx_node *n)
{
	const struct neff_library *lib = n->imp->opt->library;
	const struct neuron_target *target = ncc_target(n->imp->opt);
	const struct neff_function *fn;
	struct ncc_shape s = { .ndim = 0 };
	int32_t type = 0;
	onnx_op op;

	if (target->engines <= NEURON_ENG_GPSIMD)
		onnx_fail(n, -ENOTSUP, "custom operator: the target '%s' has no processors for it",
			  target->name);
	else if (!lib)
		onnx_fail(n, -EINVAL,
			  "custom operator: no library of custom operators is given "
			  "(--custom-ops)");
	if (n->rc)
		return;
	fn = neff_library_find(lib, n->p->op_type);
	if (!fn)
		onnx_fail(n, -EINVAL, "the library has no such custom operator");
	else if (n->nout != 1)
		onnx_fail(n, -ENOTSUP, "%u results, a custom operator has one", n->nout);
	else if (n->imp->depth || !onnx_told_shape(n->imp, n->p->output[0], &s, &type))
		onnx_fail(n, -EINVAL, "the model does not tell the shape of its result");
	for (unsigned int i = 0; i < n->nin && !n->rc; i++)
		if (!n->in[i].op)
			onnx_fail(n, -ENOTSUP, "operand %u is empty or absent", i);
	if (n->rc)
		return;
	op = ncc_op_new(n->imp->m, NCC_CUSTOM, n->p->output[0], n->nin);
	if (!op) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return;
	}
	op->shape = s;
	op->index = fn - lib->function;
	op->exact = true;
	for (unsigned int i = 0; i < n->nin; i++)
		op->in[i] = n->in[i].op;
	ncc_op_append(n->imp->m, op);
	onnx_give_as(n, 0, op, type);
}

/* Of any operator of the domain */
const struct onnx_rule onnx_custom = { "", 0, -1, .import = import_custom, .unchanged = true };
