// SPDX-License-Identifier: MIT
/*
 * Calls of the user's own: a node of the domain "neuron", whose operator is a function of the
 * library of custom operators (docs/gpsimd.md), of whose result the model has to tell the shape, or
 * a hand-written kernel (docs/compiler.md). Part of the ONNX front end.
 */
#include <errno.h>

#include "model.h"
#include "kernel/kernel.h"
#include "neff.h"
#include "neuron/hw/ext.h"

static bool has_operands(struct onnx_node *n)
{
	for (unsigned int i = 0; i < n->nin && !n->rc; i++)
		if (!n->in[i].op)
			onnx_fail(n, -ENOTSUP, "operand %u is empty or absent", i);
	return !n->rc;
}

static bool told_result(const struct onnx_node *n, unsigned int i, struct ncc_shape *s,
			int32_t *type)
{
	*s = (struct ncc_shape){ .ndim = 0 };
	*type = 0;
	return !n->imp->depth && onnx_told_shape(n->imp, n->p->output[i], s, type);
}

/* The results' shapes are what the model tells of them, if it does. */
static void call_kernel(struct onnx_node *n, const struct ncc_kernel *k)
{
	struct ncc_op *in[NCC_MAX_CUSTOM_OPERANDS], *result[NCC_KERNEL_TENSORS];
	struct ncc_shape shape[NCC_KERNEL_TENSORS];
	int32_t type[NCC_KERNEL_TENSORS];
	struct ncc_error why;
	int rc;

	if (n->nin > NCC_MAX_CUSTOM_OPERANDS || n->nout > NCC_KERNEL_TENSORS)
		onnx_fail(n, -ENOTSUP, "%u operands, %u results: a kernel has fewer", n->nin,
			  n->nout);
	if (n->rc || !has_operands(n))
		return;
	for (unsigned int i = 0; i < n->nin; i++)
		in[i] = n->in[i].op;
	for (unsigned int i = 0; i < n->nout; i++)
		if (!told_result(n, i, &shape[i], &type[i]) && i < ncc_kernel_outputs(k)) {
			shape[i] = *ncc_kernel_result(k, i);
			type[i] = onnx_type_of(&shape[i]);
		}
	rc = ncc_kernel_check(k, ncc_target(n->imp->opt), n->imp->err);
	if (!rc)
		rc = ncc_kernel_call(&n->b, n->imp->opt->kernels, k, in, n->nin, shape, n->nout,
				     result);
	if (rc < 0) {
		why = *n->imp->err;
		onnx_fail(n, rc, "%s", why.text);
		return;
	}
	for (unsigned int i = 0; i < n->nout; i++) {
		if (!result[i])
			onnx_fail(n, -ENOMEM, "out of memory");
		onnx_give_as(n, i, result[i], type[i]);
	}
}

static void import_custom(struct onnx_node *n)
{
	const struct neff_library *lib = n->imp->opt->library;
	const struct ncc_kernel *k = ncc_kernel_find(n->imp->opt->kernels, n->p->op_type);
	const struct neuron_target *target = ncc_target(n->imp->opt);
	const struct neff_function *fn;
	struct ncc_shape s = { .ndim = 0 };
	int32_t type = 0;
	onnx_op op;

	if (k && lib && neff_library_find(lib, n->p->op_type))
		onnx_fail(n, -EINVAL, "a custom operator and a kernel");
	else if (k)
		call_kernel(n, k);
	else if (n->imp->opt->kernels && !lib)
		onnx_fail(n, -EINVAL, "no kernel has this name (--kernels)");
	else if (target->engines <= NEURON_ENG_GPSIMD)
		onnx_fail(n, -ENOTSUP, "custom operator: the target '%s' has no processors for it",
			  target->name);
	else if (!lib)
		onnx_fail(n, -EINVAL,
			  "custom operator: no library of custom operators is given "
			  "(--custom-ops)");
	if (n->rc || k)
		return;
	fn = neff_library_find(lib, n->p->op_type);
	if (!fn)
		onnx_fail(n, -EINVAL, "the library has no such custom operator");
	else if (n->nout != 1)
		onnx_fail(n, -ENOTSUP, "%u results, a custom operator has one", n->nout);
	else if (n->imp->depth || !onnx_told_shape(n->imp, n->p->output[0], &s, &type))
		onnx_fail(n, -EINVAL, "the model does not tell the shape of its result");
	if (n->rc || !has_operands(n))
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

/* The rule for every operator of the domain `neuron` */
const struct onnx_rule onnx_custom = {
	"", 0, -1, .import = import_custom, .unchanged = true, .any_attrs = true
};
