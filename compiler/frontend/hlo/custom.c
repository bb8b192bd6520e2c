// SPDX-License-Identifier: MIT
/*
 * Calls of the user's own: a custom-call whose target is "neuron:" and the name of a function of
 * the library of custom operators (docs/gpsimd.md), or of a hand-written kernel (docs/compiler.md).
 * Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

#include "kernel/kernel.h"
#include "neff.h"
#include "neuron/hw/ext.h"
#include "operations.h"

#define PREFIX "neuron:"

bool hlo_is_custom(const struct hlo_inst *in)
{
	return !strncmp(in->p->custom_call_target, PREFIX, strlen(PREFIX));
}

/* The functions that there are, for a message */
static const char *functions(const struct neff_library *lib, char *text, size_t size)
{
	size_t n = 0;

	text[0] = 0;
	for (unsigned int i = 0; i < lib->nfunctions && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "",
				      lib->function[i].name);
	return text;
}

/* The shapes of an instruction's results; returns how many, or -errno */
static int result_shapes(struct hlo_inst *in, struct ncc_shape shape[NCC_KERNEL_TENSORS])
{
	const Ncc__Hlo__Shape *s = in->p->shape;
	const bool tuple = s->element_type == HLO_TUPLE;
	const size_t n = tuple ? s->n_tuple_shapes : 1;
	int rc = 0;

	if (n > NCC_KERNEL_TENSORS)
		return hlo_fail(in, -EINVAL, "%zu results, a kernel has %u tensors at most", n,
				NCC_KERNEL_TENSORS);
	for (size_t i = 0; !rc && i < n; i++)
		rc = hlo_shape(in, tuple ? s->tuple_shapes[i] : s, &shape[i]);
	return rc ? rc : (int)n;
}

static int call_kernel(struct hlo_inst *in, const struct ncc_kernel *k, struct hlo_value *v)
{
	struct ncc_op *x[NCC_MAX_CUSTOM_OPERANDS], *result[NCC_KERNEL_TENSORS];
	struct ncc_shape shape[NCC_KERNEL_TENSORS];
	int n = result_shapes(in, shape), rc;
	struct ncc_error why;

	if (n < 0)
		return n;
	if (in->nin > NCC_MAX_CUSTOM_OPERANDS)
		return hlo_fail(in, -ENOTSUP, "%u operands, a kernel takes up to %u", in->nin,
				NCC_MAX_CUSTOM_OPERANDS);
	for (unsigned int i = 0; i < in->nin; i++)
		x[i] = in->in[i].op[0];
	rc = ncc_kernel_check(k, ncc_target(in->imp->opt), in->imp->err);
	if (!rc)
		rc = ncc_kernel_call(&in->b, in->imp->opt->kernels, k, x, in->nin, shape,
				     (unsigned int)n, result);
	if (rc < 0) {
		why = *in->imp->err;
		return hlo_fail(in, rc, "%s", why.text);
	}
	return hlo_take_results(in, result, (unsigned int)n, v);
}

int hlo_custom(struct hlo_inst *in, struct hlo_value *v)
{
	const struct neff_library *lib = in->imp->opt->library;
	const struct neuron_target *target = ncc_target(in->imp->opt);
	const char *name = in->p->custom_call_target + strlen(PREFIX);
	const struct ncc_kernel *kernel = ncc_kernel_find(in->imp->opt->kernels, name);
	const struct neff_function *fn;
	struct ncc_shape shape;
	struct ncc_op *op;
	char text[256];
	int rc;

	if (kernel && lib && neff_library_find(lib, name))
		return hlo_fail(in, -EINVAL, "'%.80s' is a custom operator and a kernel", name);
	if (kernel)
		return call_kernel(in, kernel, v);
	if (in->imp->opt->kernels && !lib)
		return hlo_fail(in, -EINVAL, "no kernel is named '%.80s' (--kernels)", name);
	if (target->engines <= NEURON_ENG_GPSIMD)
		return hlo_fail(in, -ENOTSUP,
				"custom operator '%.80s': the target '%s' has no "
				"processors for it",
				name, target->name);
	if (!lib)
		return hlo_fail(in, -EINVAL,
				"custom operator '%.80s': no library of custom "
				"operators is given (--custom-ops), and no kernels (--kernels)",
				name);
	fn = neff_library_find(lib, name);
	if (!fn)
		return hlo_fail(in, -EINVAL, "the library has no custom operator '%.80s', but %s",
				name, functions(lib, text, sizeof(text)));
	if (in->p->shape->element_type == HLO_TUPLE)
		return hlo_fail(in, -ENOTSUP,
				"custom operator '%.80s': a tuple, expected one result", name);
	rc = hlo_shape(in, in->p->shape, &shape);
	if (rc)
		return rc;
	op = ncc_op_new(in->imp->m, NCC_CUSTOM, in->p->name, in->nin);
	if (!op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	op->shape = shape;
	op->index = fn - lib->function;
	op->exact = true;
	for (unsigned int i = 0; i < in->nin; i++)
		op->in[i] = in->in[i].op[0];
	ncc_op_append(in->imp->m, op);
	return hlo_take_results(in, &op, 1, v);
}
