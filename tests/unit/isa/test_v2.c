/* SPDX-License-Identifier: MIT */
/*
 * Instructions that NeuronCore-v2 and v3 have besides, on each of them, against the scalar
 * reference (ref_v2.c) in each set of kernels, with random operands of every type and pattern;
 * all memory is compared. A core that lacks one refuses it. Then examples of the public reference.
 */
#include <math.h>
#include <stdio.h>

#include "../check_main.h"
#include "machine.h"
#include "ref.h"

#define PART 2048

struct bench {
	struct machine m[MACHINE_KERNELS];
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int machines;
	struct ref_core ref;
	uint64_t seed;
};

static uint32_t pick(struct bench *b, uint32_t n)
{
	return (uint32_t)(machine_random(&b->seed) % n);
}

static bool one_in(struct bench *b, unsigned int n)
{
	return pick(b, n) == 0;
}

/* Words of a kind: any, numbers of elements in both halves, few different numbers, ordinary ones */
static uint32_t random_word(struct bench *b, unsigned int kind)
{
	static const uint32_t edge[] = {
		0,	    0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
		0x7f800001, 0xffc12345, 0x7fffffff, 0x80000001, 0x00000001,
		0x7f7fffff, 0xff7fffff, 0x80008000, 0x7fc03f80, 0x3f80ff80
	};
	float f = (float)(int)pick(b, kind == 2 ? 7 : 2000) - (kind == 2 ? 3.0f : 1000.0f);
	uint32_t v;

	if (one_in(b, kind ? 60 : 6))
		return edge[pick(b, sizeof(edge) / sizeof(edge[0]))];
	if (kind == 1)
		return pick(b, 24) | (one_in(b, 2) ? pick(b, 24) << 16 : 0);
	if (kind == 0)
		return (uint32_t)machine_random(&b->seed);
	f /= kind == 3 ? 64.0f : 1.0f;
	memcpy(&v, &f, sizeof(v));
	return one_in(b, 2) ? v : v | v >> 16; /* bf16 in both halves */
}

static void bench_fill(struct bench *b)
{
	const unsigned int kind = pick(b, 4);
	const size_t psum = (size_t)NEURON_PARTITIONS * b->ref.psum_part_size;

	for (size_t i = 0; i < (size_t)NEURON_PARTITIONS * PART; i += 4) {
		uint32_t v = random_word(b, kind);

		memcpy(b->ref.sbuf + i, &v, 4);
	}
	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++)
		for (size_t i = 0; i < PART; i += 4) {
			uint32_t v = random_word(b, kind);

			memcpy(b->ref.psum + p * b->ref.psum_part_size + i, &v, 4);
		}
	for (unsigned int k = 0; k < b->machines; k++) {
		memcpy(b->m[k].sbuf, b->ref.sbuf, (size_t)NEURON_PARTITIONS * PART);
		memcpy(b->m[k].psum, b->ref.psum, psum);
	}
}

static void bench_init(struct bench *b, const struct neuron_target *target, uint64_t seed)
{
	memset(b, 0, sizeof(*b));
	b->seed = seed;
	b->machines = machine_kernels(b->kern);
	for (unsigned int i = 0; i < b->machines; i++) {
		machine_init(&b->m[i], target, PART);
		b->m[i].tpb->kern = b->kern[i];
	}
	b->ref.sbuf = malloc((size_t)NEURON_PARTITIONS * PART);
	b->ref.psum = calloc(NEURON_PARTITIONS, target->psum_part_size);
	b->ref.sbuf_part_size = PART;
	b->ref.psum_part_size = target->psum_part_size;
	ref_v2_reset(&b->ref);
	bench_fill(b);
}

static void bench_fini(struct bench *b)
{
	for (unsigned int i = 0; i < b->machines; i++)
		machine_fini(&b->m[i]);
	free(b->ref.sbuf);
	free(b->ref.psum);
}

/* Operands */

static uint8_t random_type(struct bench *b, uint64_t among)
{
	uint8_t t;

	do
		t = (uint8_t)pick(b, NEURON_ISA_DTYPE_COUNT);
	while (!((b->m[0].target.dtypes & among) >> t & 1));
	return t;
}

#define ANY (~0ull)
#define INTS                                                                             \
	(NEURON_DTB(INT8) | NEURON_DTB(UINT8) | NEURON_DTB(INT16) | NEURON_DTB(UINT16) | \
	 NEURON_DTB(INT32) | NEURON_DTB(UINT32))

/* n elements in up to three dimensions, each step one of the usual or odd ones */
static struct neuron_ap random_ap(struct bench *b, uint8_t dtype, unsigned int partitions,
				  uint32_t n, bool psum)
{
	struct neuron_ap ap = { .dtype = dtype, .num = { 1, 1, 1, 1 } };
	int64_t step = 1;
	const uint32_t grain = partitions > 64 ? 128 : partitions > 32 ? 64 : 32;
	const uint32_t start = pick(b, 128 / grain) * grain;

	for (int d = 3; d > 1; d--) {
		uint32_t f = one_in(b, 3) ? n : 1 + pick(b, n < 9 ? n : 9);

		ap.num[d] = (uint16_t)(n % f ? 1 : f);
		n /= ap.num[d];
	}
	ap.num[1] = (uint16_t)n;
	for (int d = 3; d > 0; d--) {
		const unsigned int how = pick(b, 10);

		ap.step[d] = (int16_t)(how == 0 ? -step : how == 1 ? 2 * step : step);
		step = step * ap.num[d] > 400 ? 1 : ap.step[d] * ap.num[d];
	}
	ap.offset = pick(b, PART / 8) * 4;
	ap.offset += psum ? NEURON_PSUM_OFFSET + start * NEURON_PSUM_PART_STRIDE
			  : start * NEURON_SBUF_PART_STRIDE;
	return ap;
}

static struct neuron_ap side_by_side(struct bench *b, uint8_t dtype, unsigned int partitions,
				     uint32_t n)
{
	struct neuron_ap ap = random_ap(b, dtype, partitions, 1, false);

	ap.num[3] = (uint16_t)n;
	ap.step[3] = 1;
	return ap;
}

static struct neuron_scalar random_scalar(struct bench *b, unsigned int partitions, bool constant)
{
	static const float values[] = { 0, -0.0f, 1, -1, 0.5f, 3, 2.5f, 1e-20f, 1e20f, INFINITY };
	struct neuron_scalar s = { 0 };

	if (constant || one_in(b, 2)) {
		s.f = values[pick(b, sizeof(values) / sizeof(values[0]))];
		return s;
	}
	s.kind = NEURON_SCALAR_PTR;
	s.dtype = random_type(b, NEURON_DTB(FP32) | NEURON_DTB(BF16));
	s.offset = random_ap(b, s.dtype, partitions, 1, one_in(b, 4)).offset;
	return s;
}

static uint8_t random_alu(struct bench *b, uint8_t klass)
{
	uint8_t op;

	do
		op = (uint8_t)pick(b, NEURON_ISA_ALU_COUNT);
	while (!(neuron_isa_alu_class(op) & klass) || op == NEURON_ALU_POW || op == NEURON_ALU_NOT);
	return op;
}

static void random_acc(struct bench *b, struct neuron_insn *insn)
{
	insn->reduce_cmd = (uint8_t)pick(b, 5);
	if (insn->reduce_cmd == 4 && insn->opcode != NEURON_OP_RANGE_SELECT)
		insn->scalar1 = random_scalar(b, insn->partitions, false);
}

static void random_pattern(struct bench *b, struct neuron_insn *insn)
{
	struct neuron_pattern *a = &insn->pattern;

	memcpy(a->num, insn->dst.num, sizeof(a->num));
	if (one_in(b, 3)) { /* of another shape */
		a->num[0] = (uint16_t)ref_count(&insn->dst);
		a->num[1] = a->num[2] = a->num[3] = 1;
	}
	a->base = one_in(b, 4) ? (int32_t)machine_random(&b->seed) : (int32_t)pick(b, 100) - 50;
	a->channel = one_in(b, 6) ? (int32_t)machine_random(&b->seed) : (int32_t)pick(b, 5) - 2;
	for (int d = 0; d < 4; d++)
		a->step[d] =
			one_in(b, 6) ? (int32_t)machine_random(&b->seed) : (int32_t)pick(b, 7) - 3;
}

static void random_topk(struct bench *b, struct neuron_insn *insn)
{
	insn->partitions = (uint8_t)(16 * (1 + pick(b, 8)));
	insn->total = (uint16_t)(8 + pick(b, 90));
	insn->count = (uint16_t)(1 + pick(b, insn->total));
	insn->src0 =
		random_ap(b, NEURON_DT_BF16, insn->partitions, (insn->total + 15u) / 16, false);
	/* elements that are left out of the last column are not written: no element twice */
	insn->dst = side_by_side(b, NEURON_DT_BF16, insn->partitions, (insn->count + 15u) / 16);
	insn->dst1 = side_by_side(b, NEURON_DT_UINT32, insn->partitions, (insn->count + 15u) / 16);
}

static void random_local(struct bench *b, struct neuron_insn *insn)
{
	const uint8_t t = random_type(b, ANY);
	uint32_t valid = 1 + pick(b, 40);

	insn->partitions = (uint8_t)(16 * (1 + pick(b, 8)));
	insn->count = (uint16_t)(1u << pick(b, 4));
	insn->dst = random_ap(b, t, insn->partitions, valid * insn->count, false);
	insn->src0 = random_ap(b, t, insn->partitions, 1 + pick(b, 100), false);
	insn->src1 = random_ap(b, NEURON_DT_UINT16, insn->partitions,
			       (valid + 15) / 16 + pick(b, 2), false);
}

/* Opcodes whose operands are not as many elements as dst has; false: those of any other */
static bool random_own(struct bench *b, struct neuron_insn *insn, uint32_t n)
{
	const unsigned int p = insn->partitions;

	switch (insn->opcode) {
	case NEURON_OP_BN_STATS:
		insn->dst = random_ap(b, random_type(b, ANY), p, 6, one_in(b, 4));
		break;
	case NEURON_OP_BN_AGGR:
		n = 3 * (1 + n / 3);
		insn->dst = random_ap(b, random_type(b, ANY), p, 2, one_in(b, 4));
		break;
	case NEURON_OP_MAX8:
		n += 8;
		insn->dst = random_ap(b, random_type(b, ANY), p, 8, one_in(b, 4));
		break;
	case NEURON_OP_FIND_INDEX8:
		n += 8;
		insn->dst = random_ap(b, random_type(b, NEURON_DTB(UINT16) | NEURON_DTB(UINT32)), p,
				      8, one_in(b, 4));
		insn->src1 = random_ap(b, random_type(b, ANY), p, 8, one_in(b, 4));
		break;
	case NEURON_OP_SEQUENCE_BOUNDS:
		insn->partitions = 1;
		insn->dst = random_ap(b, random_type(b, NEURON_DTB(FP32) | NEURON_DTB(INT32)), 1,
				      2 * n, false);
		insn->src0 = random_ap(b, random_type(b, NEURON_DTB(FP32) | NEURON_DTB(INT32)), 1,
				       n, false);
		return true;
	case NEURON_OP_NONZERO_WITH_COUNT:
		insn->partitions = (uint8_t)(1 + pick(b, 128));
		insn->dst = random_ap(b, NEURON_DT_INT32, insn->partitions, n + 1, false);
		insn->src0 = random_ap(b, random_type(b, NEURON_DTB(FP32) | NEURON_DTB(INT32)),
				       insn->partitions, n, false);
		insn->scalar0.bits = pick(b, 1000);
		insn->scalar1.bits = (uint32_t)-1;
		return true;
	default:
		return false;
	}
	insn->src0 = random_ap(b, random_type(b, ANY), p, n, one_in(b, 4));
	return true;
}

static void random_rest(struct bench *b, struct neuron_insn *insn, uint64_t fields)
{
	if (fields & NEURON_FB(OP0))
		insn->op0 = random_alu(b, NEURON_ALU_ARITH);
	if (fields & NEURON_FB(OP1))
		insn->op1 = random_alu(b, NEURON_ALU_ARITH);
	if (fields & NEURON_FB(SCALAR0))
		insn->scalar0 = random_scalar(b, insn->partitions, one_in(b, 2));
	if (fields & NEURON_FB(REVERSE0))
		insn->reverse0 = one_in(b, 2);
	if (fields & NEURON_FB(REVERSE1))
		insn->reverse1 = one_in(b, 2);
	if (fields & NEURON_FB(NEGATE))
		insn->negate = one_in(b, 2);
	if (fields & NEURON_FB(ACC_CMD))
		random_acc(b, insn);
	if (fields & NEURON_FB(PATTERN))
		random_pattern(b, insn);
	if (fields & NEURON_FB(RESULT_SCALE) && one_in(b, 3))
		insn->alpha = 0.125f;
	for (unsigned int i = 0; i < 32 && fields & NEURON_FB(SHUFFLE); i++)
		insn->shuffle[i / 8] |= (uint64_t)(one_in(b, 5) ? 255 : pick(b, 32)) << i % 8 * 8;
}

/* Makes random operands obey the rules that an operation has for them */
static void random_ties(struct bench *b, struct neuron_insn *insn, uint32_t n)
{
	const unsigned int p = insn->partitions;

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_SCALAR_REDUCE:
	case NEURON_OP_TENSOR_SCALAR_CUMULATIVE:
		if (one_in(b, 4)) {
			insn->op0 = random_alu(b, NEURON_ALU_UNARY | NEURON_ALU_NONE);
			memset(&insn->scalar0, 0, sizeof(insn->scalar0));
			insn->reverse0 = false;
		}
		break;
	case NEURON_OP_MATCH_REPLACE8:
		insn->src1 = random_ap(b, random_type(b, ANY), p, 8, one_in(b, 4));
		if (one_in(b, 2))
			insn->dst1 =
				random_ap(b, one_in(b, 2) ? NEURON_DT_UINT16 : NEURON_DT_UINT32, p,
					  8, one_in(b, 4));
		break;
	case NEURON_OP_RANGE_SELECT:
		insn->scalar0 = random_scalar(b, p, false);
		insn->scalar1 = random_scalar(b, p, false);
		insn->imm = (float)(int)pick(b, 50) - 25.0f;
		break;
	case NEURON_OP_PARTITION_REDUCE:
		if (one_in(b, 3)) {
			insn->op0 = one_in(b, 2) ? NEURON_ALU_AND : NEURON_ALU_OR;
			insn->alpha = 0;
			insn->dst.dtype = insn->src0.dtype = random_type(b, INTS);
		}
		break;
	case NEURON_OP_TENSOR_TENSOR: /* GpSimd's integers */
		insn->dst.dtype = random_type(b, NEURON_DTB(INT32) | NEURON_DTB(UINT32));
		insn->src0.dtype = insn->src1.dtype = insn->dst.dtype;
		break;
	case NEURON_OP_N_GATHER:
		insn->src0 = random_ap(b, insn->dst.dtype, p, 1 + pick(b, 2 * n), false);
		insn->src1.dtype = NEURON_DT_UINT32;
		break;
	case NEURON_OP_STREAM_SHUFFLE:
	case NEURON_OP_DROPOUT:
	case NEURON_OP_AFFINE_SELECT:
		if (one_in(b, 2)) /* in place */
			insn->dst = insn->src0;
		if (insn->opcode != NEURON_OP_AFFINE_SELECT)
			insn->dst.dtype = insn->src0.dtype;
		break;
	case NEURON_OP_SET_RNG_SEED:
		insn->partitions = 1;
		break;
	}
}

/* A candidate; many pass the checker */
static struct neuron_insn random_insn(struct bench *b, uint8_t opcode, bool sbuf)
{
	struct neuron_insn insn = { .opcode = opcode,
				    .partitions = (uint8_t)(one_in(b, 3) ? 1 + pick(b, 128)
									 : 1 + pick(b, 12)) };
	const uint64_t f = neuron_isa_ops[opcode].fields;
	uint32_t n = 1 + pick(b, one_in(b, 4) ? 200 : 30);
	bool own;

	if (opcode == NEURON_OP_STREAM_SHUFFLE)
		insn.partitions = (uint8_t)(32 * (1 + pick(b, 4)));
	if (opcode == NEURON_OP_TOPK || opcode == NEURON_OP_LOCAL_GATHER) {
		if (opcode == NEURON_OP_TOPK)
			random_topk(b, &insn);
		else
			random_local(b, &insn);
		return insn;
	}
	own = random_own(b, &insn, n);
	if (opcode == NEURON_OP_RAND_SET_STATE || opcode == NEURON_OP_RAND_GET_STATE)
		n = 6;
	if (opcode == NEURON_OP_SET_RNG_SEED || opcode == NEURON_OP_VECTOR_READ_ACC)
		n = 1;
	if (!own && f & NEURON_FB(DST))
		insn.dst = random_ap(b, random_type(b, ANY), insn.partitions, n,
				     !sbuf && one_in(b, 4));
	if (!own && f & NEURON_FB(SRC0))
		insn.src0 = random_ap(b, random_type(b, ANY), insn.partitions, n,
				      !sbuf && one_in(b, 4));
	if (!own && f & NEURON_FB(SRC1))
		insn.src1 = random_ap(b, random_type(b, ANY), insn.partitions, n,
				      !sbuf && one_in(b, 4));
	if (opcode != NEURON_OP_NONZERO_WITH_COUNT)
		random_rest(b, &insn, f);
	random_ties(b, &insn, n);
	return insn;
}

/* Comparison */

static void same(const uint8_t *got, const uint8_t *want, size_t n, const char *kernel,
		 const struct neuron_insn *insn)
{
	if (!memcmp(got, want, n))
		return;
	for (size_t i = 0; i < n; i += 4)
		if (memcmp(got + i, want + i, 4))
			ck_abort_msg("%s: %s P=%u op %u/%u cmd %u dst %#x type %u src0 %#x type "
				     "%u: byte %zu is %08x, want %08x",
				     kernel, neuron_isa_ops[insn->opcode].name, insn->partitions,
				     insn->op0, insn->op1, insn->reduce_cmd, insn->dst.offset,
				     insn->dst.dtype, insn->src0.offset, insn->src0.dtype, i,
				     *(const uint32_t *)(got + i), *(const uint32_t *)(want + i));
}

static void run_one(struct bench *b, unsigned int engine, const struct neuron_insn *insn)
{
	ref_v2(&b->ref, insn, engine == NEURON_ENG_GPSIMD);
	for (unsigned int i = 0; i < b->machines; i++) {
		struct machine *m = &b->m[i];

		machine_run1(m, engine, insn);
		ck_assert_uint_eq(m->notes, 0);
		same(m->sbuf, b->ref.sbuf, (size_t)NEURON_PARTITIONS * PART, b->kern[i]->name,
		     insn);
		same(m->psum, b->ref.psum, (size_t)NEURON_PARTITIONS * b->ref.psum_part_size,
		     b->kern[i]->name, insn);
		ck_assert_mem_eq(m->tpb->xorshift, b->ref.xorshift, sizeof(b->ref.xorshift));
		ck_assert_mem_eq(m->tpb->xorwow, b->ref.xorwow, sizeof(b->ref.xorwow));
	}
}

/* The first core that has the instruction on the engine */
static const struct {
	uint8_t opcode, engine, core;
	unsigned int count;
} cases[] = {
	{ NEURON_OP_TENSOR_TENSOR_SCAN, NEURON_ENG_POOL, 2, 400 },
	{ NEURON_OP_TENSOR_SCALAR_REDUCE, NEURON_ENG_POOL, 2, 400 },
	{ NEURON_OP_TENSOR_SCALAR_CUMULATIVE, NEURON_ENG_POOL, 2, 300 },
	{ NEURON_OP_VECTOR_READ_ACC, NEURON_ENG_POOL, 2, 20 },
	{ NEURON_OP_BN_STATS, NEURON_ENG_POOL, 2, 200 },
	{ NEURON_OP_BN_AGGR, NEURON_ENG_POOL, 2, 200 },
	{ NEURON_OP_MAX8, NEURON_ENG_POOL, 2, 200 },
	{ NEURON_OP_FIND_INDEX8, NEURON_ENG_POOL, 2, 200 },
	{ NEURON_OP_MATCH_REPLACE8, NEURON_ENG_POOL, 2, 300 },
	{ NEURON_OP_SELECT_REDUCE, NEURON_ENG_POOL, 2, 200 },
	{ NEURON_OP_RANGE_SELECT, NEURON_ENG_POOL, 3, 200 },
	{ NEURON_OP_STREAM_SHUFFLE, NEURON_ENG_POOL, 2, 100 },
	{ NEURON_OP_DROPOUT, NEURON_ENG_POOL, 2, 150 },
	{ NEURON_OP_RNG, NEURON_ENG_POOL, 2, 60 },
	{ NEURON_OP_SET_RNG_SEED, NEURON_ENG_POOL, 2, 30 },
	{ NEURON_OP_IOTA, NEURON_ENG_GPSIMD, 2, 200 },
	{ NEURON_OP_AFFINE_SELECT, NEURON_ENG_GPSIMD, 2, 300 },
	{ NEURON_OP_PARTITION_REDUCE, NEURON_ENG_GPSIMD, 2, 200 },
	{ NEURON_OP_LOCAL_GATHER, NEURON_ENG_GPSIMD, 2, 150 },
	{ NEURON_OP_N_GATHER, NEURON_ENG_GPSIMD, 2, 200 },
	{ NEURON_OP_SEQUENCE_BOUNDS, NEURON_ENG_GPSIMD, 2, 100 },
	{ NEURON_OP_TENSOR_TENSOR, NEURON_ENG_GPSIMD, 2, 400 },
	{ NEURON_OP_NONZERO_WITH_COUNT, NEURON_ENG_GPSIMD, 3, 100 },
	{ NEURON_OP_TOPK, NEURON_ENG_GPSIMD, 3, 60 },
	{ NEURON_OP_RNG, NEURON_ENG_GPSIMD, 3, 60 },
	{ NEURON_OP_RAND_SET_STATE, NEURON_ENG_GPSIMD, 3, 30 },
	{ NEURON_OP_RAND_GET_STATE, NEURON_ENG_GPSIMD, 3, 30 },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

static const struct neuron_target *core(unsigned int version)
{
	return version == 1   ? &neuron_target_inf1
	       : version == 2 ? neuron_gen_trainium.target
			      : neuron_gen_trainium2.target;
}

/* The registers that an instruction has left */
static void read_acc(struct bench *b)
{
	struct neuron_insn read = { .opcode = NEURON_OP_VECTOR_READ_ACC, .partitions = 128 };

	read.dst = machine_ap(pick(b, PART / 4) * 4, NEURON_DT_FP32, 1);
	run_one(b, NEURON_ENG_POOL, &read);
}

static void run_case(const struct neuron_target *target, unsigned int i)
{
	unsigned int done = 0, tried = 0;
	struct bench b;

	bench_init(&b, target, 0x9e3779b97f4a7c15ull + i);
	while (done < cases[i].count) {
		struct neuron_insn insn =
			random_insn(&b, cases[i].opcode, cases[i].engine == NEURON_ENG_GPSIMD);
		struct neuron_isa_fault fault = { 0 };

		ck_assert_msg(tried++ < 400 * cases[i].count, "%s: %u of %u pass the checker",
			      neuron_isa_ops[insn.opcode].name, done, tried);
		if (neuron_isa_check(&insn, cases[i].engine, &b.m[0].target, &fault))
			continue;
		run_one(&b, cases[i].engine, &insn);
		if (neuron_isa_ops[insn.opcode].fields & NEURON_FB(ACC_CMD))
			read_acc(&b);
		if (++done % 8 == 0)
			bench_fill(&b);
	}
	bench_fini(&b);
}

START_TEST(test_against_reference)
{
	for (unsigned int version = cases[_i].core; version <= 3; version++)
		run_case(core(version), (unsigned int)_i);
}
END_TEST

/* Before the first core that has it the instruction is illegal, on each engine */
START_TEST(test_lacking)
{
	struct bench b;

	bench_init(&b, core(cases[_i].core), 5);
	for (unsigned int done = 0; done < 5;) {
		struct neuron_insn insn =
			random_insn(&b, cases[_i].opcode, cases[_i].engine == NEURON_ENG_GPSIMD);
		struct neuron_isa_fault fault;

		if (neuron_isa_check(&insn, cases[_i].engine, &b.m[0].target, &fault))
			continue;
		done++;
		for (unsigned int version = 1; version < cases[_i].core; version++) {
			ck_assert_int_eq(neuron_isa_check(&insn, cases[_i].engine, core(version),
							  &fault),
					 -EINVAL);
			ck_assert_uint_eq(fault.code, NEURON_NERR_ILLEGAL_INSN);
		}
		ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_SP, core(3), &fault), -EINVAL);
	}
	bench_fini(&b);
}
END_TEST

/* The public reference's example of nc_match_replace8, and what find_index8 says of the same */
START_TEST(test_eight)
{
	static const float data[] = { 1, 2, 3, 4, 8, 8, 8, 8, 8, 8, 8 };
	static const float value[] = { 3, 8, 8, 8, 8, 8, 8, 8 };
	static const uint32_t last_first[] = { 2, 10, 9, 8, 7, 6, 5, 4 };
	static const uint32_t first_first[] = { 2, 4, 5, 6, 7, 8, 9, 10 };
	static const float left[] = { 1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0 };
	struct neuron_insn insn = { .opcode = NEURON_OP_FIND_INDEX8, .partitions = 1 };
	struct machine m;

	machine_init(&m, neuron_gen_trainium.target, PART);
	memcpy(m.sbuf, data, sizeof(data));
	memcpy(m.sbuf + 64, value, sizeof(value));
	insn.src0 = machine_ap(0, NEURON_DT_FP32, 11);
	insn.src1 = machine_ap(64, NEURON_DT_FP32, 8);
	insn.dst = machine_ap(128, NEURON_DT_UINT32, 8);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_mem_eq(m.sbuf + 128, first_first, sizeof(first_first));
	insn.opcode = NEURON_OP_MATCH_REPLACE8;
	insn.dst1 = insn.dst;
	insn.dst = insn.src0;
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_mem_eq(m.sbuf + 128, last_first, sizeof(last_first));
	ck_assert_mem_eq(m.sbuf, left, sizeof(left));
	machine_fini(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("later");
	TCase *tc = tcase_create("reference");

	tcase_add_loop_test(tc, test_against_reference, 0, CASES);
	tcase_add_loop_test(tc, test_lacking, 0, CASES);
	tcase_add_test(tc, test_eight);
	suite_add_tcase(s, tc);
	return check_run(s);
}
