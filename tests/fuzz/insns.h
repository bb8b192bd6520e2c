/* SPDX-License-Identifier: MIT */
/*
 * Instructions from a fuzzer's bytes: legal more often than not, because operands are put where
 * memories are and their shapes are small. Header-only; used by the targets of this directory only.
 */
#ifndef FUZZ_INSNS_H
#define FUZZ_INSNS_H

#include "fuzz.h"
#include "neuron/isa/codec.h"

static inline struct neuron_ap fuzz_ap(struct fuzz_in *in, uint32_t part_size)
{
	/* those that every generation has first */
	static const uint8_t dtype[] = { NEURON_DT_FP32,   NEURON_DT_BF16,   NEURON_DT_FP16,
					 NEURON_DT_INT32,  NEURON_DT_INT16,  NEURON_DT_INT8,
					 NEURON_DT_UINT8,  NEURON_DT_UINT16, NEURON_DT_UINT32,
					 NEURON_DT_FP8_E3, NEURON_DT_FP8_E4, NEURON_DT_FP8_E5,
					 NEURON_DT_TF32,   NEURON_DT_FP32R };
	static const int16_t step[] = { 1, 0, 2, 3, 16, -1, -2, 32 };
	static const uint16_t num[] = { 1, 2, 3, 4, 8, 16, 17, 32 };
	struct neuron_ap ap = { .num = { 1, 1, 1, 1 } };
	uint8_t kind = fuzz_u8(in), shape = fuzz_u8(in);
	unsigned int part = (kind & 3) * 32;

	ap.dtype = dtype[kind < 192 ? kind / 8 % 6 : kind / 8 % 8 + 6];
	if (kind >= 248)
		ap.dtype = fuzz_u8(in) & 63;
	if (kind & 4)
		ap.offset = NEURON_PSUM_OFFSET + part * NEURON_PSUM_PART_STRIDE;
	else
		ap.offset = part * NEURON_SBUF_PART_STRIDE;
	ap.offset += (fuzz_u8(in) * 4u) % part_size;
	ap.step[3] = step[shape & 7];
	ap.num[3] = num[shape >> 3 & 7];
	if (shape & 0x40) {
		uint8_t more = fuzz_u8(in);

		ap.step[2] = step[more & 7];
		ap.num[2] = num[more >> 3 & 3];
		ap.step[1] = (int16_t)(more >> 5);
		ap.num[1] = 2;
	}
	if (shape & 0x80 && fuzz_u8(in) < 32) { /* anything */
		for (int d = 0; d < NEURON_AP_DIMS; d++) {
			ap.step[d] = (int16_t)fuzz_u16(in);
			ap.num[d] = fuzz_u16(in);
		}
		ap.offset += fuzz_u32(in);
		ap.offset &= 0x3ffffff;
	}
	return ap;
}

static inline void fuzz_sync(struct fuzz_in *in, struct neuron_insn *insn)
{
	uint8_t kind = fuzz_u8(in);

	if (kind < 128) /* most have neither, because a program that waits for ever shows little */
		return;
	if (kind & 1) {
		insn->update = 1 + kind / 2 % NEURON_UPD_EVT_CLR;
		insn->update_index = fuzz_u8(in) % 40;
		insn->trigger = kind >> 5 & 1;
		if (insn->update >= NEURON_UPD_SEM_ADD_IMM && insn->update <= NEURON_UPD_SEM_WR_IMM)
			insn->update_value = fuzz_u16(in);
	}
	if (kind & 0x40) {
		insn->wait = 1 + kind / 2 % NEURON_WAIT_EVT_CLR;
		insn->wait_index = fuzz_u8(in) % 40;
		if (insn->wait <= NEURON_WAIT_SEM_LE)
			insn->wait_value = fuzz_u8(in) % 4;
	}
}

static inline struct neuron_scalar fuzz_scalar(struct fuzz_in *in, uint32_t part_size)
{
	static const float f[] = { 0, 1, -1, 0.5f, 2, 3e38f, 1e-40f, -0.0f };
	struct neuron_scalar s = { 0 };
	uint8_t kind = fuzz_u8(in);

	if (kind < 64) {
		s.f = f[kind % 8];
	} else if (kind < 128) {
		s.bits = fuzz_u32(in);
	} else {
		struct neuron_ap ap = fuzz_ap(in, part_size);

		s.kind = NEURON_SCALAR_PTR;
		s.dtype = ap.dtype;
		s.offset = ap.offset;
	}
	return s;
}

/*
 * Sets the fields of an opcode that are neither operands nor synchronisation: small values, now and
 * then wild ones.
 */
static inline void fuzz_fields(struct fuzz_in *in, struct neuron_insn *insn, uint64_t fields)
{
	for (unsigned int i = 0; i < neuron_isa_place_count; i++) {
		const struct neuron_isa_place *p = &neuron_isa_places[i];
		uint64_t v;

		if (p->field == NEURON_F_SYNC || p->field == NEURON_F_PARTITIONS ||
		    p->field == NEURON_F_DST || p->field == NEURON_F_SRC0 ||
		    p->field == NEURON_F_SRC1 || p->field == NEURON_F_DST1 ||
		    p->field == NEURON_F_SHUFFLE || p->field == NEURON_F_PATCH ||
		    !(fields >> p->field & 1))
			continue;
		v = fuzz_u8(in);
		if (v >= 224)
			v = fuzz_u64(in);
		else if (p->bits > 8)
			v <<= 24; /* floats */
		else
			v %= 40;
		neuron_isa_member_set(insn, p, v & neuron_isa_mask(p->bits));
	}
}

/* Chooses a number of partitions that goes with a start in any quadrant, more often than not. */
static inline uint8_t fuzz_partitions(struct fuzz_in *in)
{
	static const uint8_t some[] = { 1, 2, 3, 16, 31, 32, 32, 64, 128, 33, 0, 129 };

	return fuzz_pick(in, some);
}

/* Types that instructions whose places are data take */
static inline void fuzz_places(struct neuron_insn *insn)
{
	if (insn->opcode == NEURON_OP_SORT) {
		insn->dst.dtype = insn->src0.dtype = NEURON_DT_INT32;
		return;
	}
	insn->dst.dtype = insn->src0.dtype;
	insn->src1.dtype = NEURON_DT_INT32;
	insn->op0 = insn->opcode == NEURON_OP_SCATTER ? insn->op0 % 6 : 0;
}

/* Types, element counts and fields that instructions after NeuronCore-v1 take */
static inline void fuzz_v2(struct fuzz_in *in, struct neuron_insn *insn)
{
	static const struct {
		uint8_t opcode, dst, src0, src1; /* types; 0: any */
		uint8_t elements, others; /* of dst, src1; 0: as src0 */
	} shapes[] = {
		{ NEURON_OP_VECTOR_READ_ACC, 0, 0, 0, 1, 0 },
		{ NEURON_OP_BN_STATS, 0, 0, 0, 6, 0 },
		{ NEURON_OP_BN_AGGR, 0, 0, 0, 2, 0 },
		{ NEURON_OP_MAX8, 0, 0, 0, 8, 0 },
		{ NEURON_OP_FIND_INDEX8, NEURON_DT_UINT32, 0, 0, 8, 8 },
		{ NEURON_OP_MATCH_REPLACE8, 0, 0, 0, 0, 8 },
		{ NEURON_OP_SELECT_REDUCE, 0, NEURON_DT_FP32, NEURON_DT_UINT8, 0, 0 },
		{ NEURON_OP_RANGE_SELECT, 0, NEURON_DT_BF16, 0, 0, 0 },
		{ NEURON_OP_RNG, NEURON_DT_UINT16, 0, 0, 0, 0 },
		{ NEURON_OP_SET_RNG_SEED, 0, NEURON_DT_UINT32, 0, 0, 0 },
		{ NEURON_OP_TENSOR_TENSOR, NEURON_DT_INT32, NEURON_DT_INT32, NEURON_DT_INT32, 0,
		  0 },
		{ NEURON_OP_LOCAL_GATHER, NEURON_DT_BF16, NEURON_DT_BF16, NEURON_DT_UINT16, 16, 4 },
		{ NEURON_OP_N_GATHER, NEURON_DT_BF16, NEURON_DT_BF16, NEURON_DT_UINT32, 0, 0 },
		{ NEURON_OP_SEQUENCE_BOUNDS, NEURON_DT_INT32, NEURON_DT_FP32, 0, 0, 0 },
		{ NEURON_OP_NONZERO_WITH_COUNT, NEURON_DT_INT32, NEURON_DT_INT32, 0, 0, 0 },
		{ NEURON_OP_TOPK, NEURON_DT_BF16, NEURON_DT_BF16, 0, 1, 0 },
		{ NEURON_OP_RAND_SET_STATE, 0, NEURON_DT_UINT32, 0, 0, 0 },
		{ NEURON_OP_RAND_GET_STATE, NEURON_DT_UINT32, 0, 0, 6, 0 },
	};
	const uint64_t f = neuron_isa_ops[insn->opcode].fields;
	const uint8_t kind = fuzz_u8(in);

	for (unsigned int i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		if (shapes[i].opcode != insn->opcode)
			continue;
		if (shapes[i].dst)
			insn->dst.dtype = shapes[i].dst;
		if (shapes[i].src0)
			insn->src0.dtype = shapes[i].src0;
		if (shapes[i].src1)
			insn->src1.dtype = shapes[i].src1;
		for (int d = 0; d < NEURON_AP_DIMS; d++) {
			if (shapes[i].elements)
				insn->dst.num[d] = d == 3 ? shapes[i].elements : 1;
			if (shapes[i].others)
				insn->src1.num[d] = d == 3 ? shapes[i].others : 1;
		}
	}
	if (f & NEURON_FB(PATTERN))
		memcpy(insn->pattern.num, insn->dst.num, sizeof(insn->pattern.num));
	if (f & NEURON_FB(ACC_CMD))
		insn->reduce_cmd %= 5;
	if (f & NEURON_FB(ELEMS))
		insn->count = (uint16_t)(1u << kind % 5);
	insn->op0 = f & NEURON_FB(OP0) ? insn->op0 % 12 : 0;
	insn->op1 = f & NEURON_FB(OP1) ? insn->op1 % 12 : 0;
	insn->total = f & NEURON_FB(TOTAL) ? (uint16_t)(16 * insn->src0.num[3]) : 0;
	if (insn->opcode == NEURON_OP_SEQUENCE_BOUNDS)
		insn->dst.num[0] = 2;
	if (insn->opcode == NEURON_OP_NONZERO_WITH_COUNT)
		insn->dst.num[3]++;
	if (insn->opcode == NEURON_OP_STREAM_SHUFFLE || insn->opcode == NEURON_OP_DROPOUT)
		insn->dst.dtype = insn->src0.dtype;
	if (insn->opcode == NEURON_OP_SEQUENCE_BOUNDS || insn->opcode == NEURON_OP_SET_RNG_SEED)
		insn->partitions = 1;
}

/* The address at which instructions find the device's memory: a window, and data behind it */
#define FUZZ_HBM 0x10000u
#define FUZZ_WINDOW 2048u

/*
 * Brings an instruction that works on registers into the form that the codec takes; its windows and
 * jumps mostly hit
 */
static inline void fuzz_registers(struct fuzz_in *in, struct neuron_insn *insn, uint64_t fields)
{
	uint8_t kind = fuzz_u8(in);

	if (fields & NEURON_FB(RB))
		insn->immediate = kind & 1;
	if (fields & NEURON_FB(RB) && insn->immediate) {
		insn->rb = 0;
		insn->value = kind & 2 ? kind >> 2 : fuzz_u32(in);
	} else if (fields & NEURON_FB(RB)) {
		insn->value = 0;
	}
	if (fields & NEURON_FB(RELATION) && kind < 240)
		insn->target = (kind % 9 - 6) * NEURON_INSN_WORD;
	if (fields & NEURON_FB(WINDOW) && kind < 240) {
		insn->address = FUZZ_HBM;
		insn->length = FUZZ_WINDOW;
		insn->pc = kind % 32 * NEURON_INSN_WORD;
	}
	if (!(fields & NEURON_FB(PLACE)))
		return;
	insn->device = kind & 4;
	insn->indexed = kind & 8;
	insn->rtype = NEURON_DT_INT8 + kind % 8;
	if (!insn->indexed)
		insn->ra = insn->scale = 0;
	else if (kind < 240)
		insn->scale = kind % 16;
	insn->address = insn->device ? FUZZ_HBM + fuzz_u8(in) * 16u
				     : fuzz_u32(in) & (kind < 240 ? 0x20c00fc : 0x3ffffff);
}

/* Registers are small numbers more often than not */
static inline void fuzz_patches(struct fuzz_in *in, struct neuron_insn *insn)
{
	uint8_t kind = fuzz_u8(in);

	memset(insn->patch, 0, sizeof(insn->patch));
	memset(insn->patch_reg, 0, sizeof(insn->patch_reg));
	memset(insn->patch_scale, 0, sizeof(insn->patch_scale));
	for (unsigned int i = 0; i < NEURON_PATCHES && kind >= 240 + i; i++) {
		insn->patch[i] = fuzz_u8(in) % 22;
		if (!insn->patch[i])
			continue;
		insn->patch_reg[i] = fuzz_u8(in) % 8;
		insn->patch_scale[i] = kind & 1 ? 4 : (int32_t)fuzz_u32(in);
	}
}

/* Makes fields and operands of an instruction of NeuronCore-v2 or later agree with each other */
static inline void fuzz_forms(struct fuzz_in *in, struct neuron_insn *insn, uint64_t f)
{
	if (f & NEURON_FB(BIAS)) {
		insn->src_bias = neuron_dtype_is_fp8(insn->src0.dtype) ? insn->src_bias : 0;
		insn->dst_bias = neuron_dtype_is_fp8(insn->dst.dtype) ? insn->dst_bias : 0;
	}
	if (f & NEURON_FB(TILE)) { /* few parts, which overlap often */
		static const uint8_t tiles[] = { 0, 0, 0, 0x10, 0x12, 0x50, 0x5a, 0x82, 0xa5, 0xff };

		insn->tile = tiles[insn->tile % sizeof(tiles)];
	}
	if (f & NEURON_FB(ROUNDING))
		insn->rounding = insn->seed || insn->rounding % 2;
	if (insn->opcode == NEURON_OP_LDWEIGHTS_DOUBLE || insn->opcode == NEURON_OP_MATMUL_DOUBLE) {
		insn->src0.dtype = NEURON_DT_FP8_E3 + insn->src0.dtype % 3;
		insn->src0.num[0] = 2;
		insn->src0.step[0] = 64;
	}
	if (insn->opcode == NEURON_OP_MATMUL_SPARSE) {
		insn->neighbours = (uint8_t)(1 << insn->neighbours % 3);
		insn->src0.num[0] = insn->neighbours == 4 ? 2 + fuzz_u8(in) % 3 : 2;
		insn->src0.step[0] = 32;
		insn->src1.dtype = NEURON_DT_UINT16;
		insn->src1.num[3] = 1 + fuzz_u8(in) % 8;
		insn->partitions &= ~3;
	}
}

static inline struct neuron_insn fuzz_insn(struct fuzz_in *in, unsigned int engine,
					   uint32_t part_size)
{
	static const uint8_t ops[NEURON_V2_ENGINES][8] = {
		{ NEURON_OP_LDWEIGHTS, NEURON_OP_LDWEIGHTS, NEURON_OP_MATMUL, NEURON_OP_MATMUL,
		  NEURON_OP_PE_TRANSPOSE, NEURON_OP_NOP, NEURON_OP_NOTIFY, NEURON_OP_MATMUL },
		{ NEURON_OP_ACTIVATE, NEURON_OP_ACTIVATE, NEURON_OP_ACT_READ_ACC,
		  NEURON_OP_TENSOR_COPY, NEURON_OP_MEMSET, NEURON_OP_SEM_RANGE_CLEAR, NEURON_OP_NOP,
		  NEURON_OP_ACTIVATE },
		{ NEURON_OP_TENSOR_COPY, NEURON_OP_TENSOR_TENSOR, NEURON_OP_TENSOR_SCALAR,
		  NEURON_OP_SCALAR_TENSOR_TENSOR, NEURON_OP_TENSOR_REDUCE, NEURON_OP_RECIPROCAL,
		  NEURON_OP_TRANSPOSE, NEURON_OP_COPY_PREDICATED },
		{ NEURON_OP_NOP, NEURON_OP_WRITE, NEURON_OP_NOTIFY, NEURON_OP_SEM_RANGE_CLEAR,
		  NEURON_OP_PROGRAM_START, NEURON_OP_PSEUDO_DMA_TRIGGER, NEURON_OP_WRITE,
		  NEURON_OP_NOP },
		{ NEURON_OP_IOTA, NEURON_OP_AFFINE_SELECT, NEURON_OP_TENSOR_TENSOR,
		  NEURON_OP_TENSOR_COPY, NEURON_OP_TENSOR_SCALAR, NEURON_OP_MEMSET,
		  NEURON_OP_PARTITION_REDUCE, NEURON_OP_RNG },
	};
	static const uint8_t later[2][16] = {
		{ NEURON_OP_TENSOR_TENSOR_SCAN, NEURON_OP_TENSOR_SCALAR_REDUCE,
		  NEURON_OP_TENSOR_SCALAR_CUMULATIVE, NEURON_OP_VECTOR_READ_ACC, NEURON_OP_BN_STATS,
		  NEURON_OP_BN_AGGR, NEURON_OP_MAX8, NEURON_OP_FIND_INDEX8,
		  NEURON_OP_MATCH_REPLACE8, NEURON_OP_SELECT_REDUCE, NEURON_OP_RANGE_SELECT,
		  NEURON_OP_STREAM_SHUFFLE, NEURON_OP_DROPOUT, NEURON_OP_RNG,
		  NEURON_OP_SET_RNG_SEED, NEURON_OP_TENSOR_TENSOR_SCAN },
		{ NEURON_OP_LOCAL_GATHER, NEURON_OP_N_GATHER, NEURON_OP_SEQUENCE_BOUNDS,
		  NEURON_OP_NONZERO_WITH_COUNT, NEURON_OP_TOPK, NEURON_OP_RAND_SET_STATE,
		  NEURON_OP_RAND_GET_STATE, NEURON_OP_IOTA, NEURON_OP_AFFINE_SELECT,
		  NEURON_OP_PARTITION_REDUCE, NEURON_OP_LOCAL_GATHER, NEURON_OP_TOPK,
		  NEURON_OP_N_GATHER, NEURON_OP_TENSOR_TENSOR, NEURON_OP_RNG, NEURON_OP_TOPK },
	};
	struct neuron_insn insn = { 0 };
	uint8_t kind = fuzz_u8(in), same;
	bool new = (engine == NEURON_ENG_POOL || engine == NEURON_ENG_GPSIMD) && kind < 128;
	uint64_t f;

	insn.opcode = kind < 224 ? ops[engine][kind % 8] : fuzz_u8(in) % 0x40;
	if (engine == NEURON_ENG_POOL && kind >= 240)
		insn.opcode = NEURON_OP_GATHER + kind % 3;
	if (new)
		insn.opcode = later[engine == NEURON_ENG_GPSIMD][kind % 16];
	else if (kind >= 208 && kind < 224)
		insn.opcode = NEURON_OP_FETCH + kind % 8;
	if (engine == NEURON_ENG_PE && kind >= 232)
		insn.opcode = NEURON_OP_LDWEIGHTS_DOUBLE + kind % 3;
	if ((engine == NEURON_ENG_POOL || engine == NEURON_ENG_ACT) && kind >= 224 && kind < 232)
		insn.opcode = NEURON_OP_SET_ROUNDING;
	f = neuron_isa_ops[insn.opcode].fields;
	fuzz_sync(in, &insn);
	fuzz_fields(in, &insn, f);
	if (f & NEURON_FB_REGISTERS)
		fuzz_registers(in, &insn, f);
	if (f & NEURON_FB(PATCH))
		fuzz_patches(in, &insn);
	if (f & NEURON_FB(PARTITIONS))
		insn.partitions = fuzz_partitions(in);
	if (f & NEURON_FB(SRC0))
		insn.src0 = fuzz_ap(in, part_size);
	same = f & NEURON_FB(DST) ? fuzz_u8(in) : 0;
	if (f & NEURON_FB(DST))
		insn.dst = fuzz_ap(in, part_size);
	if (f & NEURON_FB(SRC1))
		insn.src1 = fuzz_ap(in, part_size);
	if (f & NEURON_FB(DST1) && fuzz_u8(in) < 160) {
		insn.dst1 = fuzz_ap(in, part_size);
		insn.dst1.dtype = NEURON_DT_UINT32;
		memset(insn.dst1.num, 0, sizeof(insn.dst1.num));
		for (int d = 0; d < NEURON_AP_DIMS; d++)
			insn.dst1.num[d] =
				d == 3 && insn.opcode == NEURON_OP_MATCH_REPLACE8 ? 8 : 1;
	}
	for (unsigned int i = 0; i < NEURON_ISA_QUADRANT && f & NEURON_FB(SHUFFLE); i++) {
		uint8_t from = fuzz_u8(in);

		insn.shuffle[i / 8] |= (uint64_t)(from < 224 ? from % 32 : 255) << i % 8 * 8;
	}
	/* most operands share one shape; otherwise nearly all would be refused */
	if ((f & NEURON_FB(SRC0)) && same < 200) {
		memcpy(insn.dst.num, insn.src0.num, sizeof(insn.dst.num));
		if (f & NEURON_FB(SRC1))
			memcpy(insn.src1.num, insn.src0.num, sizeof(insn.src1.num));
		if (!(f & NEURON_FB(DST)))
			memset(&insn.dst, 0, sizeof(insn.dst));
	}
	if (insn.opcode >= NEURON_OP_GATHER && insn.opcode <= NEURON_OP_SORT && same < 100)
		fuzz_places(&insn);
	if (same < 200)
		fuzz_forms(in, &insn, f);
	if (f & NEURON_FB(SCALAR0))
		insn.scalar0 = fuzz_scalar(in, part_size);
	if (f & NEURON_FB(SCALAR1))
		insn.scalar1 = fuzz_scalar(in, part_size);
	if (new &&same < 220)
		fuzz_v2(in, &insn);
	return insn;
}

#endif
