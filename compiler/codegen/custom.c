// SPDX-License-Identifier: MIT
/*
 * Custom operators: an instruction of GpSimd whose arguments lie row-major in DRAM. Part of the
 * code generator.
 */
#include <errno.h>
#include <stdlib.h>

#include "buffer.h"
#include "join.h"
#include "move.h"
#include "place.h"
#include "neuron/hw/gpsimd.h"
#include "view.h"

/* Slices of each processor, some three seconds of the chip; what takes longer does not end */
#define LIMIT (1u << 20)

static struct neff_custom_arg tensor(const struct ncc_view *v, const struct ncc_shape *s,
				     bool write)
{
	struct neff_custom_arg a = {
		.var = v->buf->var,
		.offset = v->buf->base + (uint64_t)v->off * ncc_dtype_size(v->dtype),
		.write = write,
		.dtype = s->dtype,
		.ndim = s->ndim,
	};

	for (unsigned int d = 0; d < s->ndim; d++)
		a.shape[d] = (uint32_t)s->dim[d];
	return a;
}

static int operands(struct ncc_gen *g, struct ncc_op *op, struct neff_custom *args,
		    unsigned int *tensors)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		struct neff_custom_arg *a = &args->arg[args->nargs++];
		struct ncc_view v;
		int rc;

		if (!op->in[i]->shape.ndim && plan_number(op->in[i], &a->value)) {
			a->scalar = true;
			continue;
		}
		rc = gen_in_dram(g, op->in[i], &v);
		if (rc)
			return rc;
		*a = tensor(&v, &op->in[i]->shape, false);
		++*tensors;
	}
	return 0;
}

int gen_custom(struct ncc_gen *g, const struct plan_op *p)
{
	struct ncc_op *op = p->op;
	const struct neff_library *lib = g->opt->library;
	struct neuron_insn insn = { .opcode = NEURON_OP_CUSTOM_OP };
	struct neff_custom args = { 0 };
	unsigned int tensors = 1;
	struct ncc_view result;
	int rc;

	if (!lib || op->index >= lib->nfunctions)
		return gen_fail(g, -EINVAL,
				"no library of custom operators has function "
				"%lld",
				(long long)op->index);
	args.arg = calloc(op->nin + 1, sizeof(*args.arg));
	if (!args.arg)
		return ncc_no_memory(g->err);
	rc = operands(g, op, &args, &tensors);
	for (unsigned int i = 0; !rc && i < op->nin; i++)
		if (op->in[i]->shape.ndim > NEURON_GPS_DIMS || op->shape.ndim > NEURON_GPS_DIMS)
			rc = gen_fail(g, -ENOTSUP,
				      "a rank of more than %d, which tensors of custom "
				      "operators have at most",
				      NEURON_GPS_DIMS);
	if (!rc && tensors > NCC_MAX_ACCESS)
		rc = gen_fail(g, -ENOTSUP, "%u tensors, a custom operator has up to %d", tensors,
			      NCC_MAX_ACCESS);
	rc = rc ? rc : gen_scratch(g, &op->shape, -1, &result);
	if (!rc && !gen_value(g, op, &result))
		rc = ncc_no_memory(g->err);
	if (rc) {
		free(args.arg);
		return rc;
	}
	args.arg[args.nargs++] = tensor(&result, &op->shape, true);
	insn.custom.bytes = lib->bytes;
	insn.custom.entry = lib->entry;
	insn.custom.function = lib->function[op->index].address;
	insn.custom.limit = LIMIT;
	insn.custom.mask = (uint8_t)((1u << lib->cores) - 1);
	return ncc_prog_custom(&g->prog, &insn, &args, g->err);
}
