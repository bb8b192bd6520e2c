// SPDX-License-Identifier: MIT
/*
 * Calls of custom operators: a custom-call whose target is "neuron:" and the name of a function of
 * the library that the user gives (docs/gpsimd.md). Part of the HLO front end.
 */
#include <errno.h>
#include <string.h>

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

int hlo_custom(struct hlo_inst *in, struct hlo_value *v)
{
	const struct neff_library *lib = in->imp->opt->library;
	const struct neuron_target *target = ncc_target(in->imp->opt);
	const char *name = in->p->custom_call_target + strlen(PREFIX);
	const struct neff_function *fn;
	struct ncc_shape shape;
	struct ncc_op *op;
	char text[256];
	int rc;

	if (target->engines <= NEURON_ENG_GPSIMD)
		return hlo_fail(in, -ENOTSUP,
				"custom operator '%.80s': the target '%s' has no "
				"processors for it",
				name, target->name);
	if (!lib)
		return hlo_fail(in, -EINVAL,
				"custom operator '%.80s': no library of custom "
				"operators is given (--custom-ops)",
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
