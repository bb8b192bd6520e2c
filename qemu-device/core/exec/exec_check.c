/* SPDX-License-Identifier: MIT */
/*
 * What an instruction that asks for it is told of its result: a NaN in dst, once it is written
 * (docs/isa.md, Errors). Called by tpb.c.
 */
#include "exec_walk.h"

/* Are the bits of an element of so many bytes, without the sign, above those of infinity? */
static inline bool is_nan(unsigned int size, uint32_t infinity, const uint8_t *p)
{
	uint16_t half;
	uint32_t word;

	if (size == 1)
		return (*p & 0x7fu) > infinity;
	if (size == 2) {
		memcpy(&half, p, sizeof(half));
		return (half & 0x7fffu) > infinity;
	}
	memcpy(&word, p, sizeof(word));
	return (word & 0x7fffffff) > infinity;
}

static inline bool any_nan(unsigned int size, uint32_t infinity, const uint8_t *p, uint32_t n)
{
	bool any = false;

	for (uint32_t i = 0; i < n; i++)
		any |= is_nan(size, infinity, p + (size_t)i * size);
	return any;
}

/* Is there a NaN at all among elements side by side? Without a branch, for long rows */
static bool row_has_nan(unsigned int size, uint32_t infinity, const uint8_t *p, uint32_t n)
{
	if (size == 1)
		return any_nan(1, infinity, p, n);
	return size == 2 ? any_nan(2, infinity, p, n) : any_nan(4, infinity, p, n);
}

/* The byte in partition p of its first NaN in element order; -1: there is none */
static int64_t find_in_partition(struct exec_operand *o, unsigned int p)
{
	const uint32_t infinity = neuron_isa_dtypes[o->dtype].infinity;
	uint32_t left = o->s.count, n;

	exec_operand_row(o, p);
	for (; left; left -= n, exec_stream_advance(&o->s, n)) {
		int64_t step = o->s.step[o->s.ndim - 1];
		const uint8_t *run = o->s.base + o->s.pos;

		n = exec_stream_run(&o->s, left);
		if (step == o->s.size && !row_has_nan(o->s.size, infinity, run, n))
			continue;
		for (uint32_t i = 0; i < n; i++)
			if (is_nan(o->s.size, infinity, run + i * step))
				return o->s.pos + i * step;
	}
	return -1;
}

uint32_t exec_find_nan(const struct tpb *t, const struct neuron_insn *insn)
{
	unsigned int partitions =
		neuron_isa_dst_partitions(insn, exec_weights_for(t, insn).columns);
	struct neuron_isa_region where;
	struct exec_operand dst;

	if (neuron_isa_dtypes[insn->dst.dtype].integer ||
	    neuron_isa_locate(&insn->dst, partitions, t->cfg.target, &where))
		return UINT32_MAX;
	exec_operand_init(t, &dst, &insn->dst, &where);
	for (unsigned int p = 0; p < partitions; p++) {
		int64_t at = find_in_partition(&dst, p);

		if (at < 0)
			continue;
		p += where.start;
		return (uint32_t)at + (where.psum ? NEURON_PSUM_OFFSET + p * NEURON_PSUM_PART_STRIDE
						  : p * NEURON_SBUF_PART_STRIDE);
	}
	return UINT32_MAX;
}
