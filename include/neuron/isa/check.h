/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Is a decoded instruction one that an engine executes? Engine, types, shapes, and that every
 * element of every operand lies in its memory (docs/isa.md, Operands and Errors). The NeuronCore
 * asks before it executes, libneff before it accepts a file, the compiler before it writes one.
 * Header-only. What depends on an earlier LDWEIGHTS is neuron_isa_check_matmul's.
 */
#ifndef NEURON_ISA_CHECK_H
#define NEURON_ISA_CHECK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "neuron/hw/inferentia.h"
#include "neuron/hw/ours.h"
#include "neuron/isa/table.h"

#define NEURON_ISA_MAX_ELEMS_SBUF 65536 /* of a partition, in one operand */
#define NEURON_ISA_MAX_ELEMS_PSUM 4096
#define NEURON_ISA_MAX_MOVING 512
#define NEURON_ISA_MAX_STATIONARY 128
#define NEURON_ISA_TRANSPOSE_BLOCK 32
#define NEURON_ISA_MAX_TRANSPOSE 2048

/* Operand index in an error notification */
enum neuron_isa_operand {
	NEURON_OPERAND_DST,
	NEURON_OPERAND_SRC0,
	NEURON_OPERAND_SRC1,
	NEURON_OPERAND_SCALAR0,
	NEURON_OPERAND_SCALAR1,
	NEURON_OPERAND_WAIT,
	NEURON_OPERAND_UPDATE,
	NEURON_OPERAND_FIELD, /* any other field */
};

struct neuron_isa_fault {
	uint16_t code; /* NEURON_NERR_* */
	uint8_t operand; /* enum neuron_isa_operand */
	uint32_t offset; /* the operand's */
	const char *reason;
};

/* Where an access pattern lies: the same bytes [lo, hi) of each of its partitions */
struct neuron_isa_region {
	bool psum;
	uint8_t start; /* first partition */
	uint8_t size; /* of an element */
	uint32_t count; /* elements a partition */
	uint32_t first; /* byte in the partition of element 0 */
	uint32_t lo, hi;
};

static inline int neuron_isa_fail(struct neuron_isa_fault *fault, unsigned int operand,
				  uint32_t offset, const char *reason)
{
	if (fault) {
		fault->code = NEURON_NERR_ILLEGAL_OPERAND;
		fault->operand = operand;
		fault->offset = offset;
		fault->reason = reason;
	}
	return -EINVAL;
}

static inline int neuron_isa_illegal(struct neuron_isa_fault *fault, const char *reason)
{
	neuron_isa_fail(fault, NEURON_OPERAND_FIELD, 0, reason);
	if (fault)
		fault->code = NEURON_NERR_ILLEGAL_INSN;
	return -EINVAL;
}

/* Start partitions: 0 above 64 partitions, 0 or 64 above 32, else any quadrant */
static inline bool neuron_isa_start_ok(unsigned int start, unsigned int partitions)
{
	unsigned int grain = partitions > 64 ? 128 : partitions > 32 ? 64 : 32;

	return partitions && partitions <= NEURON_PARTITIONS && start % grain == 0 &&
	       start + partitions <= NEURON_PARTITIONS;
}

/* NULL when the pattern lies wholly in one memory and is well formed; else the reason */
static inline const char *neuron_isa_locate(const struct neuron_ap *ap, unsigned int partitions,
					    uint32_t sbuf_part_size, struct neuron_isa_region *r)
{
	int64_t lo, hi;
	uint64_t count = 1;
	uint32_t part_size, off = ap->offset;

	r->size = neuron_isa_dtypes[ap->dtype & 63].size;
	if (!r->size || ap->dtype > 63)
		return "data type is not of this generation";
	r->psum = off >= NEURON_PSUM_OFFSET;
	if (r->psum) {
		off -= NEURON_PSUM_OFFSET;
		if (off >= NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE)
			return "offset is in no memory";
		r->start = off / NEURON_PSUM_PART_STRIDE;
		r->first = off % NEURON_PSUM_PART_STRIDE;
		part_size = NEURON_PSUM_PART_SIZE;
	} else {
		r->start = off / NEURON_SBUF_PART_STRIDE;
		r->first = off % NEURON_SBUF_PART_STRIDE;
		part_size = sbuf_part_size;
	}
	if (!neuron_isa_start_ok(r->start, partitions))
		return "start partition does not suit the number of partitions";
	if (r->first % r->size)
		return "offset is not aligned to the element";
	lo = hi = r->first;
	for (int d = 0; d < NEURON_AP_DIMS; d++) {
		int64_t span = ((int64_t)ap->num[d] - 1) * ap->step[d] * r->size;

		if (!ap->num[d])
			return "a dimension has no elements";
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
	if (lo < 0 || hi + r->size > part_size)
		return "elements outside the partition";
	r->count = count;
	r->lo = lo;
	r->hi = hi + r->size;
	return NULL;
}

struct neuron_isa_checker {
	const struct neuron_insn *insn;
	uint32_t sbuf_part_size;
	struct neuron_isa_fault *fault;
	struct neuron_isa_region dst, src0, src1;
};

static inline int neuron_isa_check_ap(struct neuron_isa_checker *c, unsigned int operand,
				      const struct neuron_ap *ap, unsigned int partitions,
				      struct neuron_isa_region *r)
{
	const char *reason = neuron_isa_locate(ap, partitions, c->sbuf_part_size, r);

	return reason ? neuron_isa_fail(c->fault, operand, ap->offset, reason) : 0;
}

static inline int neuron_isa_check_scalar(struct neuron_isa_checker *c, unsigned int operand,
					  const struct neuron_scalar *s)
{
	struct neuron_ap ap = { .offset = s->offset, .dtype = s->dtype, .num = { 1, 1, 1, 1 } };
	struct neuron_isa_region r;

	if (s->kind == NEURON_SCALAR_IMM)
		return 0;
	return neuron_isa_check_ap(c, operand, &ap, c->insn->partitions, &r);
}

static inline bool neuron_isa_is_int(uint8_t dtype)
{
	return neuron_isa_dtypes[dtype & 63].integer;
}

/* Bitvec operations take raw integers of one size everywhere */
static inline int neuron_isa_check_bitvec(struct neuron_isa_checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint32_t fields = neuron_isa_ops[insn->opcode].fields;
	const struct neuron_scalar *s[2] = { &insn->scalar0, &insn->scalar1 };
	uint8_t size = c->dst.size;

	if (!neuron_isa_is_int(insn->dst.dtype))
		return neuron_isa_fail(c->fault, NEURON_OPERAND_DST, insn->dst.offset,
				       "bitvec operations take integers");
	if (!neuron_isa_is_int(insn->src0.dtype) || c->src0.size != size)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "bitvec operands are integers of one size");
	if ((fields & NEURON_FB(SRC1)) &&
	    (!neuron_isa_is_int(insn->src1.dtype) || c->src1.size != size))
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC1, insn->src1.offset,
				       "bitvec operands are integers of one size");
	for (int i = 0; i < 2; i++)
		if (s[i]->kind == NEURON_SCALAR_PTR &&
		    (!neuron_isa_is_int(s[i]->dtype) ||
		     neuron_isa_dtypes[s[i]->dtype].size != size))
			return neuron_isa_fail(c->fault, NEURON_OPERAND_SCALAR0 + i, s[i]->offset,
					       "bitvec operands are integers of one size");
	return 0;
}

static inline uint8_t neuron_isa_alu_class(uint8_t op)
{
	return op < NEURON_ISA_ALU_COUNT && neuron_isa_alus[op].name ? neuron_isa_alus[op].klass
								     : 0;
}

/* op0 and op1: known, of one class, unary scalars zero. Sets *bitvec */
static inline int neuron_isa_check_alu(struct neuron_isa_checker *c, bool *bitvec)
{
	const struct neuron_insn *insn = c->insn;
	uint32_t fields = neuron_isa_ops[insn->opcode].fields;
	uint8_t k0 = neuron_isa_alu_class(insn->op0), k1 = neuron_isa_alu_class(insn->op1);
	uint8_t mine = (k0 | k1) & NEURON_ALU_BITVEC;

	*bitvec = mine;
	if (!k0 || !k1)
		return neuron_isa_illegal(c->fault, "unknown ALU operation");
	if (mine && ((!(k0 & (NEURON_ALU_BITVEC | NEURON_ALU_NONE))) ||
		     (!(k1 & (NEURON_ALU_BITVEC | NEURON_ALU_NONE)))))
		return neuron_isa_illegal(c->fault, "op0 and op1 are of different classes");
	if ((fields & NEURON_FB(SCALAR0)) && (k0 & (NEURON_ALU_UNARY | NEURON_ALU_NONE)) &&
	    (insn->scalar0.kind || insn->scalar0.bits || insn->reverse0))
		return neuron_isa_illegal(c->fault, "op0 has no second operand: scalar0 is 0");
	if ((fields & NEURON_FB(SCALAR1)) && (k1 & (NEURON_ALU_UNARY | NEURON_ALU_NONE)) &&
	    (insn->scalar1.kind || insn->scalar1.bits || insn->reverse1))
		return neuron_isa_illegal(c->fault, "op1 has no second operand: scalar1 is 0");
	return 0;
}

static inline int neuron_isa_check_pool(struct neuron_isa_checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint8_t k0 = neuron_isa_alu_class(insn->op0);
	bool bitvec;
	int rc = neuron_isa_check_alu(c, &bitvec);

	if (rc)
		return rc;
	switch (insn->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		if (k0 & (NEURON_ALU_UNARY | NEURON_ALU_NONE))
			return neuron_isa_illegal(c->fault, "op0 takes one operand");
		break;
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		if (bitvec)
			return neuron_isa_illegal(c->fault, "arithmetic operations only");
		if (neuron_isa_alu_class(insn->op1) & (NEURON_ALU_UNARY | NEURON_ALU_NONE))
			return neuron_isa_illegal(c->fault, "op1 takes one operand");
		break;
	case NEURON_OP_TENSOR_REDUCE:
		if (!(k0 & NEURON_ALU_REDUCES))
			return neuron_isa_illegal(c->fault, "op0 is not a reduction");
		if (bitvec && (insn->negate || insn->alpha != 0))
			return neuron_isa_illegal(c->fault, "bitvec reductions have no scale");
		break;
	}
	return bitvec ? neuron_isa_check_bitvec(c) : 0;
}

/* Element counts, and the types that an operation ties together */
static inline int neuron_isa_check_shape(struct neuron_isa_checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint32_t want = c->src0.count, reduced = 1;

	if (insn->opcode == NEURON_OP_TENSOR_REDUCE) {
		if (!insn->reduce_dims || insn->reduce_dims > NEURON_AP_DIMS)
			return neuron_isa_illegal(c->fault, "reduce_dims is 1 to 4");
		for (int d = 0; d < insn->reduce_dims; d++)
			reduced *= insn->src0.num[NEURON_AP_DIMS - 1 - d];
		want /= reduced;
	}
	if (c->dst.count != want)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_DST, insn->dst.offset,
				       "element counts differ");
	if (insn->opcode == NEURON_OP_COPY_PREDICATED) {
		if (insn->dst.dtype != insn->src0.dtype)
			return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
					       "source and destination have one type");
		if (!neuron_isa_is_int(insn->src1.dtype))
			return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC1, insn->src1.offset,
					       "the predicate is an integer");
	}
	if (!(neuron_isa_ops[insn->opcode].fields & NEURON_FB(SRC1)))
		return 0;
	if (c->src1.count != c->src0.count)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC1, insn->src1.offset,
				       "element counts differ");
	if (c->src0.psum && c->src1.psum)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC1, insn->src1.offset,
				       "two inputs in PSUM");
	return 0;
}

/* dst partitions and elements of a PE destination */
static inline int neuron_isa_check_pe_dst(struct neuron_isa_checker *c, unsigned int partitions,
					  uint32_t count)
{
	const struct neuron_insn *insn = c->insn;
	int rc = neuron_isa_check_ap(c, NEURON_OPERAND_DST, &insn->dst, partitions, &c->dst);
	bool is_int = insn->src0.dtype == NEURON_DT_INT8;

	if (rc)
		return rc;
	if (!c->dst.psum)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_DST, insn->dst.offset,
				       "the PE writes PSUM only");
	if (insn->dst.dtype != (is_int ? NEURON_DT_INT32 : NEURON_DT_FP32))
		return neuron_isa_fail(c->fault, NEURON_OPERAND_DST, insn->dst.offset,
				       "destination type is fp32, int32 for int8");
	if (c->dst.count != count)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_DST, insn->dst.offset,
				       "element counts differ");
	return 0;
}

static inline int neuron_isa_check_pe(struct neuron_isa_checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint8_t t = insn->src0.dtype;
	uint32_t limit = insn->opcode == NEURON_OP_MATMUL ? NEURON_ISA_MAX_MOVING
							  : NEURON_ISA_MAX_STATIONARY;
	int rc = neuron_isa_check_ap(c, NEURON_OPERAND_SRC0, &insn->src0, insn->partitions,
				     &c->src0);

	if (rc)
		return rc;
	if (c->src0.psum)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "the PE reads SBUF only");
	if (t != NEURON_DT_BF16 && t != NEURON_DT_FP16 && t != NEURON_DT_INT8)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "the PE takes bf16, fp16 and int8");
	if (c->src0.count > limit)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "more columns than the array takes");
	if (insn->opcode == NEURON_OP_LDWEIGHTS)
		return 0;
	if (insn->opcode == NEURON_OP_PE_TRANSPOSE)
		return neuron_isa_check_pe_dst(c, c->src0.count, insn->partitions);
	/* how many partitions the result has is known with the weights; at least one */
	return neuron_isa_check_pe_dst(c, 1, c->src0.count);
}

/* 32 x 32 blocks; one block that is not full may be of any size (docs/isa.md, TRANSPOSE) */
static inline int neuron_isa_check_transpose(struct neuron_isa_checker *c)
{
	const struct neuron_insn *insn = c->insn;
	unsigned int p = insn->partitions, n, b = NEURON_ISA_TRANSPOSE_BLOCK;
	bool one;
	int rc = neuron_isa_check_ap(c, NEURON_OPERAND_SRC0, &insn->src0, p, &c->src0);

	if (rc)
		return rc;
	n = c->src0.count;
	one = p <= b && n <= b;
	if (n > NEURON_ISA_MAX_TRANSPOSE)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "too many elements");
	if (!one && (p % b || n % b))
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "partitions and elements are multiples of 32");
	rc = neuron_isa_check_ap(c, NEURON_OPERAND_DST, &insn->dst, one ? n : p, &c->dst);
	if (rc)
		return rc;
	if (c->dst.count != (one ? p : n))
		return neuron_isa_fail(c->fault, NEURON_OPERAND_DST, insn->dst.offset,
				       "element counts differ");
	if (insn->dst.dtype != insn->src0.dtype)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "source and destination have one type");
	return 0;
}

static inline int neuron_isa_check_elementwise(struct neuron_isa_checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint32_t f = neuron_isa_ops[insn->opcode].fields;
	int rc = neuron_isa_check_ap(c, NEURON_OPERAND_DST, &insn->dst, insn->partitions, &c->dst);

	if (!rc && (f & NEURON_FB(SRC0)))
		rc = neuron_isa_check_ap(c, NEURON_OPERAND_SRC0, &insn->src0, insn->partitions,
					 &c->src0);
	if (!rc && (f & NEURON_FB(SRC1)))
		rc = neuron_isa_check_ap(c, NEURON_OPERAND_SRC1, &insn->src1, insn->partitions,
					 &c->src1);
	if (!rc && (f & NEURON_FB(SCALAR0)))
		rc = neuron_isa_check_scalar(c, NEURON_OPERAND_SCALAR0, &insn->scalar0);
	if (!rc && (f & NEURON_FB(SCALAR1)))
		rc = neuron_isa_check_scalar(c, NEURON_OPERAND_SCALAR1, &insn->scalar1);
	if (!rc && (f & NEURON_FB(SRC0)))
		rc = neuron_isa_check_shape(c);
	if (rc)
		return rc;
	switch (insn->opcode) {
	case NEURON_OP_ACTIVATE:
		if (insn->func >= NEURON_ACT_COUNT)
			return neuron_isa_illegal(c->fault, "unknown activation function");
		if (insn->reduce_cmd >= NEURON_ISA_REDUCE_CMDS)
			return neuron_isa_illegal(c->fault, "unknown accumulator command");
		return 0;
	case NEURON_OP_ACT_READ_ACC:
		return c->dst.count == 1
			       ? 0
			       : neuron_isa_fail(c->fault, NEURON_OPERAND_DST, insn->dst.offset,
						 "one element a partition");
	case NEURON_OP_MEMSET:
		return insn->scalar0.kind == NEURON_SCALAR_IMM
			       ? 0
			       : neuron_isa_illegal(c->fault, "the value is a constant");
	default:
		return f & NEURON_FB(OP0) ? neuron_isa_check_pool(c) : 0;
	}
}

static inline int neuron_isa_check_sync(struct neuron_isa_checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (insn->wait >= NEURON_WAIT_SEM_EQ && insn->wait <= NEURON_WAIT_SEM_LE &&
	    insn->wait_index >= NEURON_V1_SEMAPHORES)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_WAIT, insn->wait_index,
				       "no such semaphore");
	if (insn->update >= NEURON_UPD_SEM_INC && insn->update <= NEURON_UPD_SEM_WR_IMM &&
	    insn->update_index >= NEURON_V1_SEMAPHORES)
		return neuron_isa_fail(c->fault, NEURON_OPERAND_UPDATE, insn->update_index,
				       "no such semaphore");
	if (insn->opcode == NEURON_OP_SEM_RANGE_CLEAR &&
	    (insn->first > insn->last || insn->last >= NEURON_V1_SEMAPHORES))
		return neuron_isa_illegal(c->fault, "no such range of semaphores");
	return 0;
}

/*
 * MATMUL against the weights that are loaded: k partitions of fs columns of type dtype. 0, or
 * -EINVAL with *fault (may be NULL).
 */
static inline int neuron_isa_check_matmul(const struct neuron_insn *insn, uint32_t sbuf_part_size,
					  unsigned int k, unsigned int fs, uint8_t dtype,
					  struct neuron_isa_fault *fault)
{
	struct neuron_isa_checker c = { insn, sbuf_part_size, fault, { 0 }, { 0 }, { 0 } };
	int rc = neuron_isa_check_ap(&c, NEURON_OPERAND_SRC0, &insn->src0, insn->partitions,
				     &c.src0);

	if (rc)
		return rc;
	if (insn->partitions != k)
		return neuron_isa_fail(fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "as many partitions as the loaded weights");
	if ((insn->src0.dtype == NEURON_DT_INT8) != (dtype == NEURON_DT_INT8))
		return neuron_isa_fail(fault, NEURON_OPERAND_SRC0, insn->src0.offset,
				       "int8 goes with int8 weights only");
	return neuron_isa_check_pe_dst(&c, fs, c.src0.count);
}

/*
 * An instruction for an engine of a core whose SBUF partitions hold sbuf_part_size bytes. 0, or
 * -EINVAL with *fault (may be NULL). PSEUDO_DMA_TRIGGER passes: it is legal in a file; an engine
 * refuses it by itself.
 */
static inline int neuron_isa_check(const struct neuron_insn *insn, unsigned int engine,
				   uint32_t sbuf_part_size, struct neuron_isa_fault *fault)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];
	struct neuron_isa_checker c = { insn, sbuf_part_size, fault, { 0 }, { 0 }, { 0 } };
	int rc;

	if (!op->name || engine >= NEURON_ENG_COUNT || !(op->engines & (1u << engine)))
		return neuron_isa_illegal(fault, "the engine has no such instruction");
	rc = neuron_isa_check_sync(&c);
	if (rc || !(op->fields & NEURON_FB(PARTITIONS)))
		return rc;
	if (op->engines == NEURON_ISA_PE)
		return neuron_isa_check_pe(&c);
	if (insn->opcode == NEURON_OP_TRANSPOSE)
		return neuron_isa_check_transpose(&c);
	return neuron_isa_check_elementwise(&c);
}

#endif
