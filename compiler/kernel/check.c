// SPDX-License-Identifier: MIT
/*
 * Is a kernel one for the target? Each instruction is one that its engine executes, and all that it
 * touches lies in one area of the kernel's: what the program around it has in SBUF and PSUM stays.
 */
#include "kernel.h"

#include <errno.h>

#include "neuron/isa/check.h"

static const char *const operands[] = {
	[NEURON_OPERAND_DST] = "dst: ",		[NEURON_OPERAND_SRC0] = "src0: ",
	[NEURON_OPERAND_SRC1] = "src1: ",	[NEURON_OPERAND_SCALAR0] = "scalar0: ",
	[NEURON_OPERAND_SCALAR1] = "scalar1: ", [NEURON_OPERAND_WAIT] = "",
	[NEURON_OPERAND_UPDATE] = "",		[NEURON_OPERAND_FIELD] = "",
	[NEURON_OPERAND_DST1] = "dst1: ",
};

/* Bytes [lo, hi) of partitions [p0, p1) of one memory */
struct box {
	bool psum;
	unsigned int p0, p1;
	uint32_t lo, hi;
};

static bool covers(const struct ncc_asm_area *a, const struct box *b)
{
	return a->psum == b->psum && b->p1 <= a->partitions && b->lo >= a->base &&
	       b->hi <= a->base + a->bytes;
}

/* The area where the operand begins: the parser has seen to it that there is one */
static const struct ncc_asm_area *area_at(const struct ncc_kernel *k, bool psum, uint32_t byte)
{
	const struct ncc_asm_area *a = k->area;

	while (a->psum != psum || byte < a->base || byte >= a->base + a->bytes)
		a++;
	return a;
}

static int check_access(const struct ncc_kernel *k, const struct ncc_kernel_step *s,
			const struct neuron_isa_access *access, struct ncc_error *err)
{
	const struct neuron_isa_region *r = &access->where;
	const struct box b = { r->psum, r->start, r->start + access->partitions, r->lo, r->hi };
	const struct ncc_asm_area *a = area_at(k, r->psum, r->first);

	if (covers(a, &b))
		return 0;
	return ncc_kernel_fail(k, s->line, err, -EINVAL,
			       "%s: %s bytes %d to %d of partitions %u to %u of the area '%s', "
			       "which has %u partitions of %u bytes",
			       neuron_isa_ops[s->insn.opcode].name,
			       access->write ? "writes" : "reads", (int)(b.lo - a->base),
			       (int)(b.hi - a->base) - 1, b.p0, b.p1 - 1, a->name, a->partitions,
			       a->bytes);
}

static int check_insn(const struct ncc_kernel *k, const struct ncc_kernel_step *s,
		      const struct neuron_target *target, struct neuron_isa_array *array,
		      struct ncc_error *err)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[s->insn.opcode];
	const struct neuron_isa_weights *weights = neuron_isa_weights_for(array, &s->insn);
	struct neuron_isa_access access[NEURON_ISA_MAX_ACCESS];
	struct neuron_isa_fault fault = { 0 };
	unsigned int n;
	int rc = 0;

	if (s->engine >= target->engines)
		return ncc_kernel_fail(k, s->line, err, -ENOTSUP,
				       "%s: the target '%s' has no GpSimd engine", op->name,
				       target->name);
	if (op->since > target->core)
		return ncc_kernel_fail(k, s->line, err, -ENOTSUP,
				       "%s: of NeuronCore-v%u and later, the target '%s' has "
				       "NeuronCore-v%u",
				       op->name, op->since, target->name, target->core);
	if (neuron_isa_check(&s->insn, (unsigned int)s->engine, target, &fault) ||
	    neuron_isa_check_weights(&s->insn, target, weights, &fault))
		return ncc_kernel_fail(k, s->line, err, -EINVAL, "%s: %s%s", op->name,
				       operands[fault.operand], fault.reason);
	n = neuron_isa_accesses(&s->insn, target, weights->columns, access);
	for (unsigned int i = 0; !rc && i < n; i++)
		rc = check_access(k, s, &access[i], err);
	neuron_isa_load_weights(array, &s->insn);
	return rc;
}

static int check_transfer(const struct ncc_kernel *k, const struct ncc_kernel_step *s,
			  const struct neuron_target *target, struct ncc_error *err)
{
	const struct neff_desc *d = &s->desc;
	const char *does = d->op == NEFF_CAST ? "a conversion" : "a transpose";

	if (d->op == NEFF_COPY)
		return 0;
	if (target->core < 2)
		return ncc_kernel_fail(k, s->line, err, -ENOTSUP,
				       "dma: %s; DMA engines of the target '%s' only copy", does,
				       target->name);
	if (!(target->dtypes >> d->from_dtype & target->dtypes >> d->to_dtype & 1))
		return ncc_kernel_fail(k, s->line, err, -ENOTSUP,
				       "dma: %s of types that the target '%s' has not", does,
				       target->name);
	if (d->op == NEFF_TRANSPOSE &&
	    (neff_runs(&d->from) > target->packet_max || neff_runs(&d->to) > target->packet_max))
		return ncc_kernel_fail(k, s->line, err, -EINVAL,
				       "dma: a transpose of %llu pieces to %llu, expected at most "
				       "%u on each side",
				       (unsigned long long)neff_runs(&d->from),
				       (unsigned long long)neff_runs(&d->to), target->packet_max);
	return 0;
}

int ncc_kernel_check(const struct ncc_kernel *k, const struct neuron_target *target,
		     struct ncc_error *err)
{
	struct neuron_isa_array array = { 0 };
	int rc = 0;

	if (k->sbuf > target->sbuf_part_size || k->psum > target->psum_part_size)
		return ncc_kernel_fail(k, k->line, err, -EFBIG,
				       "its areas take %u bytes of a partition of SBUF and %u of "
				       "PSUM, the target '%s' has %u and %u",
				       k->sbuf, k->psum, target->name, target->sbuf_part_size,
				       target->psum_part_size);
	for (unsigned int i = 0; i < k->ntensors; i++)
		if (!(target->dtypes >> k->tensor[i].shape.dtype & 1))
			return ncc_kernel_fail(k, k->line, err, -ENOTSUP,
					       "'%s' is of a type that the target '%s' has not",
					       k->tensor[i].name, target->name);
	for (unsigned int i = 0; !rc && i < k->nsteps; i++)
		rc = k->step[i].engine < 0 ? check_transfer(k, &k->step[i], target, err)
					   : check_insn(k, &k->step[i], target, &array, err);
	return rc;
}
