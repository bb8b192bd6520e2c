// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The memory that an instruction reads and writes, from its operands and its row of the table. */
#include "neuron/isa/check.h"

/* Start partitions: 0 above 64 partitions, 0 or 64 above 32, else any quadrant */
static bool start_ok(unsigned int start, unsigned int partitions)
{
	unsigned int grain = partitions > 64 ? 128 : partitions > 32 ? 64 : 32;

	return partitions && partitions <= NEURON_PARTITIONS && start % grain == 0 &&
	       start + partitions <= NEURON_PARTITIONS;
}

const char *neuron_isa_locate(const struct neuron_ap *ap, unsigned int partitions,
			      const struct neuron_target *target, struct neuron_isa_region *r)
{
	int64_t lo, hi;
	uint64_t count = 1;
	uint32_t part_size, off = ap->offset, size = neuron_isa_dtypes[ap->dtype & 63].size;

	if (!size || ap->dtype > 63 || !(target->dtypes >> ap->dtype & 1))
		return "data type is not of this generation";
	r->psum = off >= NEURON_PSUM_OFFSET;
	if (r->psum) {
		off -= NEURON_PSUM_OFFSET;
		if (off >= NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE)
			return "offset is in no memory";
		r->start = off / NEURON_PSUM_PART_STRIDE;
		r->first = off % NEURON_PSUM_PART_STRIDE;
		part_size = target->psum_part_size;
	} else {
		r->start = off / NEURON_SBUF_PART_STRIDE;
		r->first = off % NEURON_SBUF_PART_STRIDE;
		part_size = target->sbuf_part_size;
	}
	if (!start_ok(r->start, partitions))
		return "start partition does not suit the number of partitions";
	if (r->first & (size - 1))
		return "offset is not aligned to the element";
	lo = hi = r->first;
	for (int d = 0; d < NEURON_AP_DIMS; d++) {
		int64_t span;

		if (ap->num[d] == 1) /* most are */
			continue;
		if (!ap->num[d])
			return "a dimension has no elements";
		span = ((int64_t)ap->num[d] - 1) * ap->step[d] * size;
		count *= ap->num[d];
		if (count > NEURON_ISA_MAX_ELEMS_SBUF)
			return "too many elements";
		if (span < 0)
			lo += span;
		else
			hi += span;
	}
	if (r->psum && count > NEURON_ISA_MAX_ELEMS_PSUM)
		return "too many elements for PSUM";
	if (lo < 0 || hi + size > part_size)
		return "elements outside the partition";
	r->count = count;
	r->lo = lo;
	r->hi = hi + size;
	r->size = size;
	return NULL;
}

unsigned int neuron_isa_dst_partitions(const struct neuron_insn *insn, unsigned int columns)
{
	const uint16_t *num = insn->src0.num;
	unsigned int n = (unsigned int)num[0] * num[1] * num[2] * num[3];

	switch (neuron_isa_ops[insn->opcode].span) {
	case NEURON_SPAN_COLUMNS:
		return columns;
	case NEURON_SPAN_ELEMENTS:
		return n;
	case NEURON_SPAN_ONE:
		return 1;
	case NEURON_SPAN_BLOCK:
		return insn->partitions <= NEURON_ISA_TRANSPOSE_BLOCK &&
				       n <= NEURON_ISA_TRANSPOSE_BLOCK
			       ? n
			       : insn->partitions;
	default:
		return insn->partitions;
	}
}

/* A pattern of the instruction; one that lies in no memory touches none */
static unsigned int touch(const struct neuron_target *target, const struct neuron_ap *ap,
			  unsigned int partitions, bool write, struct neuron_isa_access *access)
{
	if (neuron_isa_locate(ap, partitions, target, &access->where))
		return 0;
	access->partitions = partitions;
	access->write = write;
	return 1;
}

static unsigned int touch_scalar(const struct neuron_target *target, const struct neuron_scalar *s,
				 unsigned int partitions, struct neuron_isa_access *access)
{
	struct neuron_ap ap = { .offset = s->offset, .dtype = s->dtype, .num = { 1, 1, 1, 1 } };

	return s->kind == NEURON_SCALAR_PTR ? touch(target, &ap, partitions, false, access) : 0;
}

unsigned int neuron_isa_accesses(const struct neuron_insn *insn, const struct neuron_target *target,
				 unsigned int columns, struct neuron_isa_access *access)
{
	uint64_t fields = neuron_isa_ops[insn->opcode].fields;
	unsigned int n = 0, p = insn->partitions;

	if (fields & NEURON_FB(SRC0))
		n += touch(target, &insn->src0, p, false, &access[n]);
	if (fields & NEURON_FB(SRC1))
		n += touch(target, &insn->src1, p, false, &access[n]);
	if (fields & NEURON_FB(SCALAR0))
		n += touch_scalar(target, &insn->scalar0, p, &access[n]);
	if (fields & NEURON_FB(SCALAR1))
		n += touch_scalar(target, &insn->scalar1, p, &access[n]);
	if (fields & NEURON_FB(DST1))
		n += touch(target, &insn->dst1, p, true, &access[n]);
	if (fields & NEURON_FB(DST))
		n += touch(target, &insn->dst, neuron_isa_dst_partitions(insn, columns), true,
			   &access[n]);
	return n;
}
