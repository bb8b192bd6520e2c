// SPDX-License-Identifier: MIT
/*
 * What an instruction or a DMA touches, as boxes of memory: derived from the operands themselves,
 * so that the scheduler and the checker cannot disagree with what will execute.
 */
#include "neuron/isa/check.h"
#include "prog.h"

static void add_ap(const struct neuron_ap *ap, unsigned int partitions, bool write,
		   struct ncc_access *acc, int *n)
{
	struct neuron_isa_region r;

	if (neuron_isa_locate(ap, partitions, NEURON_V1_SBUF_PART_SIZE, &r))
		return;
	acc[(*n)++] = (struct ncc_access){ .space = r.psum ? NCC_PSUM : NCC_SBUF,
					   .write = write,
					   .p0 = r.start,
					   .p1 = (uint16_t)(r.start + partitions),
					   .lo = r.lo,
					   .hi = r.hi };
}

static void add_scalar(const struct neuron_scalar *s, unsigned int partitions,
		       struct ncc_access *acc, int *n)
{
	struct neuron_ap ap = { .offset = s->offset, .dtype = s->dtype, .num = { 1, 1, 1, 1 } };

	if (s->kind == NEURON_SCALAR_PTR)
		add_ap(&ap, partitions, false, acc, n);
}

/* Partitions of the destination where the operation changes them */
static unsigned int dst_partitions(const struct neuron_insn *insn, unsigned int fs)
{
	const struct neuron_ap *s = &insn->src0;
	unsigned int n = (unsigned int)s->num[0] * s->num[1] * s->num[2] * s->num[3];

	switch (insn->opcode) {
	case NEURON_OP_MATMUL:
		return fs;
	case NEURON_OP_PE_TRANSPOSE:
		return n;
	case NEURON_OP_TRANSPOSE:
		return insn->partitions <= 32 && n <= 32 ? n : insn->partitions;
	default:
		return insn->partitions;
	}
}

int ncc_insn_access(const struct neuron_insn *insn, unsigned int fs, struct ncc_access *acc)
{
	uint32_t f = neuron_isa_ops[insn->opcode].fields;
	int n = 0;

	if (f & NEURON_FB(SRC0))
		add_ap(&insn->src0, insn->partitions, false, acc, &n);
	if (f & NEURON_FB(SRC1))
		add_ap(&insn->src1, insn->partitions, false, acc, &n);
	if (f & NEURON_FB(SCALAR0))
		add_scalar(&insn->scalar0, insn->partitions, acc, &n);
	if (f & NEURON_FB(SCALAR1))
		add_scalar(&insn->scalar1, insn->partitions, acc, &n);
	if (f & NEURON_FB(DST)) /* a write orders against reads and writes: it stands for both */
		add_ap(&insn->dst, dst_partitions(insn, fs), true, acc, &n);
	return n;
}

void ncc_pattern_access(const struct neff_pattern *p, bool state_buffer, bool write,
			struct ncc_access *acc)
{
	int64_t lo = (int64_t)p->offset, hi = lo, part = 0, stride = NEURON_SBUF_PART_STRIDE;
	int64_t p0 = 0, p1 = 0;

	if (state_buffer) {
		part = lo / stride;
		lo = hi = lo % stride;
		p0 = p1 = part;
	}
	for (unsigned int d = 0; d < p->ndim; d++) {
		int64_t span = (int64_t)(p->size[d] - 1) * p->step[d];
		bool rows = state_buffer && d && p->step[d] % stride == 0;

		if (rows)
			span /= stride;
		*(rows ? span < 0 ? &p0 : &p1 : span < 0 ? &lo : &hi) += span;
	}
	*acc = (struct ncc_access){ .space = state_buffer ? NCC_SBUF : NCC_DRAM,
				    .write = write,
				    .var = p->var,
				    .p0 = (uint16_t)p0,
				    .p1 = (uint16_t)(p1 + 1),
				    .lo = (uint64_t)lo,
				    .hi = (uint64_t)hi + 1 };
}

uint64_t ncc_gather_rows(const struct neff_desc *d)
{
	uint64_t n = 1;

	for (unsigned int i = 1; i < d->to.ndim; i++)
		n *= d->to.size[i];
	return n;
}

struct neff_pattern ncc_gather_index(const struct neff_desc *d)
{
	return (struct neff_pattern){ .var = d->index,
				      .offset = d->index_off,
				      .ndim = 1,
				      .size = { ncc_gather_rows(d) * sizeof(uint32_t) },
				      .step = { 1 } };
}

unsigned int ncc_desc_access(const struct neff_desc *d, struct ncc_access *acc)
{
	struct neff_pattern index;

	ncc_pattern_access(&d->from, !d->from.var, false, &acc[0]);
	ncc_pattern_access(&d->to, !d->to.var, true, &acc[1]);
	if (!d->gather)
		return 2;
	index = ncc_gather_index(d);
	ncc_pattern_access(&index, !index.var, false, &acc[2]);
	return 3;
}
