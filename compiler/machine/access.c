// SPDX-License-Identifier: MIT
/*
 * What an instruction or a DMA accesses, as boxes of memory. It is derived from the operands
 * themselves, so that the scheduler and the checker cannot disagree with what will execute.
 */
#include "prog.h"

uint64_t ncc_pattern_bytes(const struct neff_pattern *p)
{
	uint64_t n = 1;

	for (unsigned int d = 0; d < p->ndim; d++)
		n *= p->size[d];
	return n;
}

unsigned int ncc_insn_access(const struct neuron_insn *insn, const struct neuron_target *target,
			     unsigned int columns, struct ncc_access *acc)
{
	struct neuron_isa_access touched[NEURON_ISA_MAX_ACCESS];
	unsigned int n = neuron_isa_accesses(insn, target, columns, touched);

	/* A write is ordered against reads and writes, so it stands for both. */
	for (unsigned int i = 0; i < n; i++)
		acc[i] = (struct ncc_access){ .space = touched[i].where.psum ? NCC_PSUM : NCC_SBUF,
					      .write = touched[i].write,
					      .p0 = touched[i].where.start,
					      .p1 = (uint16_t)(touched[i].where.start +
							       touched[i].partitions),
					      .lo = touched[i].where.lo,
					      .hi = touched[i].where.hi };
	return n;
}

unsigned int ncc_custom_access(const struct neff_custom *custom, struct ncc_access *acc)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < custom->nargs && n < NCC_MAX_ACCESS; i++) {
		const struct neff_custom_arg *a = &custom->arg[i];
		uint64_t bytes = ncc_dtype_size(a->dtype);

		if (a->scalar)
			continue;
		for (unsigned int d = 0; d < a->ndim; d++)
			bytes *= a->shape[d];
		acc[n++] = (struct ncc_access){ .space = NCC_DRAM,
						.write = a->write,
						.var = a->var,
						.lo = a->offset,
						.hi = a->offset + bytes };
	}
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

struct neff_pattern ncc_index_of(const struct neff_desc *d)
{
	return (struct neff_pattern){ .var = d->index,
				      .offset = d->index_off,
				      .ndim = 1,
				      .size = { neff_row_count(d) * sizeof(uint32_t) },
				      .step = { 1 } };
}

unsigned int ncc_desc_access(const struct neff_desc *d, struct ncc_access *acc)
{
	struct neff_pattern index;

	ncc_pattern_access(&d->from, !d->from.var, false, &acc[0]);
	ncc_pattern_access(&d->to, !d->to.var, true, &acc[1]);
	if (!neff_indexed(d))
		return 2;
	index = ncc_index_of(d);
	ncc_pattern_access(&index, !index.var, false, &acc[2]);
	return 3;
}
