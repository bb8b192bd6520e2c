/* SPDX-License-Identifier: MIT */
/*
 * Every datapath instruction against the scalar reference (ref.c), with random operands of every
 * type, pattern and special value, in each set of kernels that this processor runs. All memory is
 * compared after each instruction, so a stray write shows.
 */
#include <math.h>
#include <stdio.h>

#include "../check_main.h"
#include "machine.h"
#include "ref.h"

#define PART 2048 /* bytes of an SBUF partition: small, so operands overlap now and then */
#define PSUM_USED 8192
#define LONG_ROW 1025 /* more than the core handles at a time */
/* The types of NeuronCore-v1 first, then the integers that v2 and later have */
#define FIRST 6
#define FIRST_INTS 3
static const uint8_t dtypes[] = { NEURON_DT_INT8,   NEURON_DT_INT16,  NEURON_DT_INT32,
				  NEURON_DT_BF16,   NEURON_DT_FP16,   NEURON_DT_FP32,
				  NEURON_DT_UINT8,  NEURON_DT_UINT16, NEURON_DT_UINT32,
				  NEURON_DT_FP8_E3, NEURON_DT_FP8_E4, NEURON_DT_FP8_E5,
				  NEURON_DT_TF32,   NEURON_DT_FP32R };
static const uint8_t int_dtypes[] = { NEURON_DT_INT8,  NEURON_DT_INT16,	 NEURON_DT_INT32,
				      NEURON_DT_UINT8, NEURON_DT_UINT16, NEURON_DT_UINT32 };

struct bench {
	struct machine m[MACHINE_KERNELS];
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int machines;
	struct ref_core ref;
	uint64_t seed;
};

static uint64_t pick(struct bench *b, uint64_t n)
{
	return machine_random(&b->seed) % n;
}

static bool one_in(struct bench *b, unsigned int n)
{
	return pick(b, n) == 0;
}

static bool is_v2(const struct bench *b)
{
	return b->m[0].target.dtypes >> NEURON_DT_TF32 & 1;
}

static uint8_t random_type(struct bench *b)
{
	return dtypes[pick(b, is_v2(b) ? sizeof(dtypes) : FIRST)];
}

static uint8_t random_int(struct bench *b)
{
	return int_dtypes[pick(b, is_v2(b) ? sizeof(int_dtypes) : FIRST_INTS)];
}

/* Random words, many of them values at the edges of some type */
static void fill(struct bench *b, uint8_t *p, size_t n)
{
	static const uint32_t edge[] = {
		0,	    0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345,
		0x3f800000, 0xbf800000, 0x7f7fffff, 0x00800000, 0x007fffff, 0x00000001, 0x477fefff,
		0x477ff000, 0x33000000, 0x38800000, 0x387fe000, 0x3f808000, 0x3f818000, 0x4effffff,
		0x4f000000, 0xcf000000, 0x42fe0000, 0x42ff0000, 0x7c007c00, 0x7e00fc01, 0x80008000,
		0x7f807fc0, 0xff80ff81, 0x80ff7f01,
	};

	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint32_t v = machine_random(&b->seed);
		float f = ldexpf((float)(int32_t)v, (int)pick(b, 12) - 34);

		if (one_in(b, 8))
			v = edge[pick(b, sizeof(edge) / sizeof(edge[0]))];
		else if (!one_in(b, 4))
			memcpy(&v, &f, 4);
		memcpy(p + i, &v, 4);
	}
}

static void bench_fill(struct bench *b)
{
	struct machine *m = &b->m[0];

	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++) {
		fill(b, m->sbuf + p * PART, PART);
		fill(b, m->psum + p * b->ref.psum_part_size, PSUM_USED);
	}
	for (unsigned int i = 0; i < b->machines; i++) {
		if (i) {
			memcpy(b->m[i].sbuf, m->sbuf, NEURON_PARTITIONS * PART);
			memcpy(b->m[i].psum, m->psum, NEURON_PARTITIONS * b->ref.psum_part_size);
		}
	}
	memcpy(b->ref.sbuf, m->sbuf, NEURON_PARTITIONS * PART);
	memcpy(b->ref.psum, m->psum, NEURON_PARTITIONS * b->ref.psum_part_size);
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
	b->ref.sbuf = malloc(NEURON_PARTITIONS * PART);
	b->ref.psum = malloc(NEURON_PARTITIONS * target->psum_part_size);
	b->ref.sbuf_part_size = PART;
	b->ref.psum_part_size = target->psum_part_size;
	bench_fill(b);
}

static void bench_fini(struct bench *b)
{
	for (unsigned int i = 0; i < b->machines; i++)
		machine_fini(&b->m[i]);
	free(b->ref.sbuf);
	free(b->ref.psum);
}

/* Random operands */

static uint32_t random_start(struct bench *b, unsigned int partitions)
{
	return partitions > 64 ? 0 : partitions > 32 ? 64 * pick(b, 2) : 32 * pick(b, 4);
}

static unsigned int random_partitions(struct bench *b)
{
	return one_in(b, 6) ? 1 + pick(b, 128) : 1 + pick(b, 6);
}

/* n elements split into four dimensions, each step one of the usual or odd ones */
static struct neuron_ap random_ap(struct bench *b, uint8_t dtype, unsigned int partitions,
				  uint32_t n, bool psum)
{
	struct neuron_ap ap = { .dtype = dtype, .num = { 1, 1, 1, 1 } };
	int64_t step = 1;

	for (int d = 3; d > 0; d--) {
		uint32_t f = one_in(b, 3) ? n : 1 + pick(b, n < 9 ? n : 9);

		ap.num[d] = n % f ? 1 : f;
		n /= ap.num[d];
	}
	ap.num[0] = n;

	for (int d = 3; d >= 0; d--) {
		switch (ap.num[d] > 300 ? 4 + pick(b, 4) : pick(b, 8)) {
		case 0:
			ap.step[d] = 0;
			break;
		case 1:
			ap.step[d] = -step;
			break;
		case 2:
			ap.step[d] = (int)pick(b, 7) - 3;
			break;
		case 3:
			ap.step[d] = 2 * step;
			break;
		default:
			ap.step[d] = step;
		}
		step = ap.step[d] * ap.num[d];
		step = step > 500 || step < -500 ? 1 : step;
	}

	ap.offset = pick(b, PART / 4) * 4;
	if (one_in(b, 2))
		ap.offset = ap.offset / 256 * 256;
	if (psum)
		ap.offset +=
			NEURON_PSUM_OFFSET + random_start(b, partitions) * NEURON_PSUM_PART_STRIDE;
	else
		ap.offset += random_start(b, partitions) * NEURON_SBUF_PART_STRIDE;
	return ap;
}

static struct neuron_scalar random_scalar(struct bench *b, const struct neuron_insn *insn,
					  bool ints)
{
	struct neuron_scalar s = { 0 };
	static const float values[] = { 0, -0.0f, 1, -1, 0.5f, 3, 2.5f, 1e-20f, 1e20f, INFINITY };

	if (one_in(b, 3)) {
		s.kind = NEURON_SCALAR_PTR;
		s.dtype = ints ? insn->dst.dtype : random_type(b);
		s.offset = random_ap(b, s.dtype, insn->partitions, 1, one_in(b, 4)).offset;
		return s;
	}
	s.f = values[pick(b, sizeof(values) / sizeof(values[0]))];
	if (ints)
		s.bits = one_in(b, 2) ? pick(b, 40) : (uint32_t)machine_random(&b->seed);
	return s;
}

static uint8_t random_alu(struct bench *b, uint8_t klass)
{
	uint8_t op;

	do
		op = pick(b, NEURON_ISA_ALU_COUNT);
	while (!(neuron_isa_alu_class(op) & klass));
	return op;
}

static bool takes_one(uint8_t op)
{
	return neuron_isa_alu_class(op) & (NEURON_ALU_UNARY | NEURON_ALU_NONE);
}

/* fp32 results where a function may be 1 ulp off: a narrower type would double the rounding */
static bool exact_func(uint8_t f)
{
	bool inexact = false;

	ref_func(f, 1, 1, &inexact);
	return !inexact;
}

static void random_alu_insn(struct bench *b, struct neuron_insn *insn)
{
	bool bitvec = insn->opcode != NEURON_OP_SCALAR_TENSOR_TENSOR && one_in(b, 4);
	uint8_t klass = bitvec ? NEURON_ALU_BITVEC | NEURON_ALU_NONE
			       : NEURON_ALU_ARITH | NEURON_ALU_UNARY | NEURON_ALU_NONE;

	do
		insn->op0 = random_alu(b, klass);
	while (!bitvec && insn->op0 == NEURON_ALU_NOT);
	if (insn->opcode == NEURON_OP_TENSOR_REDUCE) {
		insn->op0 = random_alu(b, NEURON_ALU_REDUCES);
		bitvec = neuron_isa_alu_class(insn->op0) & NEURON_ALU_BITVEC;
	}
	if (neuron_isa_ops[insn->opcode].fields & NEURON_FB(OP1))
		do
			insn->op1 = random_alu(b, klass);
		while (!bitvec && insn->op1 == NEURON_ALU_NOT);
	if (bitvec) {
		uint8_t t = random_int(b);

		insn->dst.dtype = insn->src0.dtype = t;
		if (insn->src1.num[0])
			insn->src1.dtype = t;
	}
	if (insn->op0 == NEURON_ALU_POW || insn->op1 == NEURON_ALU_POW) {
		insn->dst.dtype = NEURON_DT_FP32;
		insn->op1 = insn->op0 == NEURON_ALU_POW ? NEURON_ALU_BYPASS : insn->op1;
		insn->op0 = insn->op1 == NEURON_ALU_POW ? NEURON_ALU_BYPASS : insn->op0;
	}
	if (neuron_isa_ops[insn->opcode].fields & NEURON_FB(SCALAR0) && !takes_one(insn->op0)) {
		insn->scalar0 = random_scalar(b, insn, bitvec);
		insn->reverse0 = one_in(b, 3);
	}
	if (neuron_isa_ops[insn->opcode].fields & NEURON_FB(SCALAR1) && !takes_one(insn->op1)) {
		insn->scalar1 = random_scalar(b, insn, bitvec);
		insn->reverse1 = one_in(b, 3);
	}
	if (insn->opcode == NEURON_OP_SCALAR_TENSOR_TENSOR)
		insn->reverse1 = one_in(b, 3);
}

static void random_activate(struct bench *b, struct neuron_insn *insn)
{
	insn->func = pick(b, NEURON_ACT_COUNT);
	insn->alpha = one_in(b, 2) ? 0.25f : -2;
	insn->scalar0 = random_scalar(b, insn, false);
	insn->scalar1 = random_scalar(b, insn, false);
	insn->reduce_cmd = pick(b, 4);
	if (!exact_func(insn->func)) {
		insn->dst.dtype = NEURON_DT_FP32;
		insn->reduce_cmd &= 1;
	}
}

/* Results that lie side by side, one reduced dimension or two; the number of elements */
static uint32_t side_by_side(struct bench *b, struct neuron_ap *ap, uint8_t dims)
{
	const uint32_t width = 1 + pick(b, one_in(b, 3) ? 200 : 40), rows = 1 + pick(b, 3);
	const uint32_t length = 1 + pick(b, 9), more = dims == 2 ? 2 : 1;

	ap->dtype = one_in(b, 8) ? NEURON_DT_BF16 : NEURON_DT_FP32;
	*ap = (struct neuron_ap){ .dtype = ap->dtype,
				  .offset = ap->offset,
				  .num = { 1, 1, (uint16_t)more, (uint16_t)length } };
	ap->step[3] = one_in(b, 8) ? -1 : (int)(width + pick(b, 3));
	ap->step[2] = (int)pick(b, 20);
	ap->num[3 - dims] = (uint16_t)width;
	ap->step[3 - dims] = 1;
	ap->num[2 - dims] = (uint16_t)rows;
	ap->step[2 - dims] = (int)(width * (one_in(b, 2) ? 1 : length));
	return rows * width * more * length;
}

static void random_reduce(struct bench *b, struct neuron_insn *insn, uint32_t n)
{
	const bool beside = one_in(b, 2);
	uint32_t reduced = 1;

	if (beside)
		n = side_by_side(b, &insn->src0, insn->reduce_dims = one_in(b, 4) ? 2 : 1);
	else
		insn->reduce_dims = 1 + pick(b, 4);
	for (int d = 0; d < insn->reduce_dims; d++)
		reduced *= insn->src0.num[3 - d];
	insn->dst = random_ap(b, insn->dst.dtype, insn->partitions, n / reduced, one_in(b, 4));
	if (one_in(b, 3))
		insn->alpha = 1.0f / reduced;
	insn->negate = one_in(b, 4);
}

static uint8_t common_alu(struct bench *b)
{
	static const uint8_t ops[] = { NEURON_ALU_BYPASS, NEURON_ALU_ADD, NEURON_ALU_SUB,
				       NEURON_ALU_MULT,	  NEURON_ALU_MAX, NEURON_ALU_MIN,
				       NEURON_ALU_LT,	  NEURON_ALU_GE };

	return ops[pick(b, sizeof(ops))];
}

/*
 * Operands whose rows lie alike, or without anything between, the first source's elements side by
 * side or with one between, and operations that networks have
 */
static void random_windows(struct bench *b, struct neuron_insn *insn)
{
	const uint32_t width = 1 + pick(b, one_in(b, 4) ? 90 : 20), rows = 1 + pick(b, 9);
	const uint32_t pitch = width + pick(b, width + 1);
	const int apart = one_in(b, 3) ? 2 : 1;
	struct neuron_ap *ap[3] = { &insn->dst, &insn->src0, &insn->src1 };

	for (unsigned int i = 0; i < 3; i++) {
		if (!ap[i]->num[0])
			continue;
		*ap[i] = (struct neuron_ap){
			.dtype = one_in(b, 12) ? NEURON_DT_BF16 : NEURON_DT_FP32,
			.offset = ap[i]->offset,
			.num = { 1, 1, (uint16_t)rows, (uint16_t)width },
			.step = { 0, 0, (int)(one_in(b, 2) ? pitch : width), 1 },
		};
	}
	insn->src0.step[2] *= (int16_t)apart;
	insn->src0.step[3] = (int16_t)apart;
	insn->op0 = common_alu(b);
	if (neuron_isa_ops[insn->opcode].fields & NEURON_FB(OP1))
		insn->op1 = common_alu(b);
}

static void random_pe(struct bench *b, struct neuron_insn *insn, unsigned int k, unsigned int fs)
{
	static const uint8_t types[] = { NEURON_DT_BF16,   NEURON_DT_FP16,   NEURON_DT_INT8,
					 NEURON_DT_FP8_E3, NEURON_DT_FP8_E4, NEURON_DT_FP8_E5,
					 NEURON_DT_FP32,   NEURON_DT_TF32,   NEURON_DT_FP32R };
	const unsigned int count = is_v2(b) ? sizeof(types) : 3;
	unsigned int fm = one_in(b, 4) ? 1 + pick(b, 300) : 1 + pick(b, 60);

	insn->partitions = k;
	if (insn->opcode == NEURON_OP_PE_TRANSPOSE) {
		insn->partitions = fm = 1 + pick(b, one_in(b, 4) ? 128 : 40);
		fs = 1 + pick(b, one_in(b, 4) ? 128 : 40);
	}
	insn->src0 = random_ap(b, types[pick(b, count)], insn->partitions,
			       insn->opcode == NEURON_OP_MATMUL ? fm : fs, false);
	if (insn->opcode == NEURON_OP_LDWEIGHTS)
		return;
	if (insn->opcode == NEURON_OP_MATMUL)
		insn->accumulate = one_in(b, 2);
	insn->dst =
		random_ap(b, insn->src0.dtype == NEURON_DT_INT8 ? NEURON_DT_INT32 : NEURON_DT_FP32,
			  fs, fm, true);
}

static void random_transpose(struct bench *b, struct neuron_insn *insn)
{
	bool one = one_in(b, 2);
	uint32_t p = one ? 1 + pick(b, 32) : 32 * (1 + pick(b, 4));
	uint32_t n = one ? 1 + pick(b, 32) : 32 * (1 + pick(b, 4));
	bool single = p <= 32 && n <= 32;
	uint8_t t = random_type(b);

	insn->partitions = p;
	insn->src0 = random_ap(b, t, p, n, one_in(b, 4));
	insn->dst = random_ap(b, t, single ? n : p, single ? p : n, one_in(b, 4));
	if ((!single || p == n) && one_in(b, 4))
		insn->dst = insn->src0;
}

static bool has_places(uint8_t opcode)
{
	return opcode == NEURON_OP_GATHER || opcode == NEURON_OP_SCATTER ||
	       opcode == NEURON_OP_SORT;
}

/* A table, and how many of it are named: operands of three lengths that may overlap */
static void random_places(struct bench *b, struct neuron_insn *insn)
{
	static const uint8_t ops[] = { NEURON_ALU_BYPASS, NEURON_ALU_ADD, NEURON_ALU_MAX,
				       NEURON_ALU_MIN };
	uint32_t n = 1 + pick(b, one_in(b, 3) ? 400 : 40), m = 1 + pick(b, one_in(b, 3) ? 300 : 40);
	uint8_t t = random_type(b);

	if (insn->opcode == NEURON_OP_SORT) {
		bool lengthy = one_in(b, 5);

		n = lengthy ? LONG_ROW + pick(b, 900) : n;
		m = one_in(b, 2) ? n : 1 + pick(b, one_in(b, 2) ? n : (n + 7) / 8);
		insn->partitions = lengthy ? 1 : insn->partitions;
		insn->src0 = random_ap(b, NEURON_DT_INT32, insn->partitions, n, lengthy);
		insn->dst = random_ap(b, NEURON_DT_INT32, insn->partitions, m, lengthy);
		insn->reverse0 = one_in(b, 2);
		return;
	}
	insn->src1 = random_ap(b, NEURON_DT_INT32, insn->partitions, m, one_in(b, 4));
	if (insn->opcode == NEURON_OP_SCATTER) {
		insn->op0 = ops[pick(b, sizeof(ops))];
		if (insn->op0 != NEURON_ALU_BYPASS)
			t = one_in(b, 3) ? NEURON_DT_INT32 : NEURON_DT_FP32;
		insn->dst = random_ap(b, t, insn->partitions, n, one_in(b, 4));
		insn->src0 = random_ap(b, t, insn->partitions, m, one_in(b, 4));
	} else {
		insn->dst = random_ap(b, t, insn->partitions, m, one_in(b, 4));
		insn->src0 = random_ap(b, t, insn->partitions, n, one_in(b, 4));
	}
}

/* Half of the words are indices, most of them of elements that there are, and keys many of which
 * are equal */
static void bench_fill_places(struct bench *b)
{
	const size_t psum = b->ref.psum_part_size;

	bench_fill(b);
	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++)
		for (size_t i = 0; i < PART + PSUM_USED; i += 4) {
			int32_t v = (int32_t)pick(b, one_in(b, 2) ? 44 : 330) - 2;
			size_t at = i < PART ? p * PART + i : p * psum + i - PART;

			if (one_in(b, 2))
				continue;
			for (unsigned int k = 0; k < b->machines; k++)
				memcpy((i < PART ? b->m[k].sbuf : b->m[k].psum) + at, &v, 4);
			memcpy((i < PART ? b->ref.sbuf : b->ref.psum) + at, &v, 4);
		}
}

static bool is_elementwise(uint8_t opcode)
{
	return opcode == NEURON_OP_TENSOR_SCALAR || opcode == NEURON_OP_TENSOR_TENSOR ||
	       opcode == NEURON_OP_SCALAR_TENSOR_TENSOR;
}

/* A candidate; most pass the checker */
static struct neuron_insn random_insn(struct bench *b, uint8_t opcode)
{
	struct neuron_insn insn = { .opcode = opcode, .partitions = random_partitions(b) };
	uint32_t f = neuron_isa_ops[opcode].fields, n = 1 + pick(b, one_in(b, 4) ? 300 : 40);
	bool lengthy = one_in(b, 5);

	if (opcode == NEURON_OP_MATMUL) {
		random_pe(b, &insn, b->ref.k, b->ref.fs);
		return insn;
	}
	if (neuron_isa_ops[opcode].groups == NEURON_ISA_PE) {
		random_pe(b, &insn, insn.partitions, 1 + pick(b, one_in(b, 3) ? 128 : 20));
		return insn;
	}
	if (opcode == NEURON_OP_TRANSPOSE) {
		random_transpose(b, &insn);
		return insn;
	}

	if (has_places(opcode)) {
		random_places(b, &insn);
		return insn;
	}

	if (lengthy) { /* one input: both sides in PSUM, where a row may be long, and overlap */
		n = LONG_ROW + pick(b, 900);
		insn.partitions = 1;
	}

	insn.dst = random_ap(b, random_type(b), insn.partitions,
			     opcode == NEURON_OP_ACT_READ_ACC ? 1 : n, lengthy || one_in(b, 4));
	if (f & NEURON_FB(SRC0))
		insn.src0 =
			random_ap(b, random_type(b), insn.partitions, n, lengthy || one_in(b, 4));
	if (f & NEURON_FB(SRC1))
		insn.src1 = random_ap(b, random_type(b), insn.partitions, n, one_in(b, 4));

	if (one_in(b, 4)) /* in place */
		insn.dst = insn.src0.num[0] ? insn.src0 : insn.dst;
	if (opcode == NEURON_OP_TENSOR_REDUCE)
		random_reduce(b, &insn, n);
	if (opcode == NEURON_OP_ACTIVATE)
		random_activate(b, &insn);
	if (f & NEURON_FB(OP0))
		random_alu_insn(b, &insn);
	if (is_elementwise(opcode) && one_in(b, 3))
		random_windows(b, &insn);

	if (opcode == NEURON_OP_TENSOR_REDUCE &&
	    neuron_isa_alu_class(insn.op0) & NEURON_ALU_BITVEC) {
		insn.alpha = 0;
		insn.negate = false;
	}
	if (opcode == NEURON_OP_MEMSET) {
		insn.scalar0 = random_scalar(b, &insn, false);
	}
	if (opcode == NEURON_OP_COPY_PREDICATED) {
		insn.dst.dtype = insn.src0.dtype;
		insn.src1.dtype = random_int(b);
		insn.reverse0 = one_in(b, 2);
	}
	return insn;
}

/* Comparison */

static void describe(const struct neuron_insn *insn, char *out, size_t n)
{
	snprintf(out, n, "%s P=%u op %u/%u func %u dst %#x type %u src0 %#x type %u",
		 neuron_isa_ops[insn->opcode].name, insn->partitions, insn->op0, insn->op1,
		 insn->func, insn->dst.offset, insn->dst.dtype, insn->src0.offset,
		 insn->src0.dtype);
}

static bool near(const uint8_t *pa, const uint8_t *pb)
{
	uint32_t a, b;

	memcpy(&a, pa, 4);
	memcpy(&b, pb, 4);
	if (a == b)
		return true;
	/* fp32 bit patterns of one sign are ordered; a result may underflow to either zero */
	return (a >> 31 == b >> 31) && (a > b ? a - b : b - a) <= 1;
}

static void same(const uint8_t *got, const uint8_t *want, size_t n, bool ulp, const char *kernel,
		 const struct neuron_insn *insn)
{
	char text[200];

	if (!memcmp(got, want, n))
		return;
	for (size_t i = 0; i < n; i += 4) {
		if (!memcmp(got + i, want + i, 4) || (ulp && near(got + i, want + i)))
			continue;
		describe(insn, text, sizeof(text));
		ck_abort_msg("%s: %s: byte %zu is %08x, want %08x", kernel, text, i,
			     *(const uint32_t *)(got + i), *(const uint32_t *)(want + i));
	}
}

static void run_one(struct bench *b, unsigned int engine, const struct neuron_insn *insn)
{
	size_t nsbuf = NEURON_PARTITIONS * PART;
	size_t npsum = (size_t)NEURON_PARTITIONS * b->ref.psum_part_size;

	ref_exec(&b->ref, insn, engine == NEURON_ENG_ACT);
	for (unsigned int i = 0; i < b->machines; i++) {
		struct machine *m = &b->m[i];

		machine_run1(m, engine, insn);
		ck_assert_uint_eq(m->notes, 0);
		same(m->sbuf, b->ref.sbuf, nsbuf, b->ref.inexact, b->kern[i]->name, insn);
		same(m->psum, b->ref.psum, npsum, b->ref.inexact, b->kern[i]->name, insn);
		/* between kernels nothing may differ, functions included */
		same(m->sbuf, b->m[0].sbuf, nsbuf, false, b->kern[i]->name, insn);
		same(m->psum, b->m[0].psum, npsum, false, b->kern[i]->name, insn);
	}
	if (b->ref.inexact) {
		memcpy(b->ref.sbuf, b->m[0].sbuf, nsbuf);
		memcpy(b->ref.psum, b->m[0].psum, npsum);
	}
}

/* Weights and registers too, in the form in which another host may load them */
static void same_states(const struct bench *b)
{
	int64_t n = tpb_save(b->m[0].tpb, NULL, 0);
	uint8_t *want = malloc((size_t)n), *got = malloc((size_t)n);

	ck_assert_int_eq(tpb_save(b->m[0].tpb, want, (uint64_t)n), n);
	for (unsigned int i = 1; i < b->machines; i++) {
		ck_assert_int_eq(tpb_save(b->m[i].tpb, got, (uint64_t)n), n);
		ck_assert_msg(!memcmp(got, want, (size_t)n), "%s", b->kern[i]->name);
	}
	free(want);
	free(got);
}

/*
 * SBUF full of bf16 between 2^(exponent - 127) and some 8 times that, whose sums cancel to the last
 * place of their products now and then
 */
static void bench_fill_near(struct bench *b, unsigned int exponent)
{
	static const uint16_t mantissa[] = { 0, 0, 1, 1, 2, 127 };
	uint8_t *sbuf = b->m[0].sbuf;

	bench_fill(b);
	for (size_t i = 0; i < (size_t)NEURON_PARTITIONS * PART; i += 2) {
		unsigned int e = exponent + (one_in(b, 8) ? pick(b, 4) : 0);
		uint16_t v = (uint16_t)(pick(b, 2) << 15 | e << 7 | mantissa[pick(b, 6)]);

		if (one_in(b, 8))
			v &= 0x8000;
		memcpy(sbuf + i, &v, 2);
	}
	for (unsigned int i = 1; i < b->machines; i++)
		memcpy(b->m[i].sbuf, sbuf, (size_t)NEURON_PARTITIONS * PART);
	memcpy(b->ref.sbuf, sbuf, (size_t)NEURON_PARTITIONS * PART);
}

static struct neuron_insn random_bf16(struct bench *b, uint8_t opcode)
{
	const struct neuron_target *target = &b->m[0].target;
	struct neuron_insn insn;

	do
		insn = random_insn(b, opcode);
	while (insn.src0.dtype != NEURON_DT_BF16 ||
	       neuron_isa_check(&insn, NEURON_ENG_PE, target, NULL));
	return insn;
}

/* Biased exponents of weights and moving operand: common ones, and those about where sums become
 * subnormal, where operands are, and where products overflow */
static const unsigned int exponents[][2] = {
	{ 124, 124 }, { 74, 69 },   { 71, 71 },	  { 71, 70 },	{ 70, 70 },
	{ 40, 60 },   { 0, 150 },   { 150, 0 },	  { 0, 0 },	{ 0, 252 },
	{ 190, 186 }, { 190, 190 }, { 252, 100 }, { 100, 252 },
};

START_TEST(test_products)
{
	struct bench b;

	bench_init(&b, &neuron_target_inf1, 0x2545f4914f6cdd1dull + (unsigned int)_i);
	for (unsigned int done = 0; done < 60; done++) {
		struct neuron_isa_weights weights;
		struct neuron_insn insn;

		if (done % 4 == 0) {
			bench_fill_near(&b, exponents[_i][0]);
			insn = random_bf16(&b, NEURON_OP_LDWEIGHTS);
			run_one(&b, NEURON_ENG_PE, &insn);
			if (done % 8 == 0)
				same_states(&b);
			bench_fill_near(&b, exponents[_i][1]);
		}
		weights = ref_weights(&b.ref);
		do
			insn = random_bf16(&b, NEURON_OP_MATMUL);
		while (neuron_isa_check_weights(&insn, &b.m[0].target, &weights, NULL));
		run_one(&b, NEURON_ENG_PE, &insn);
	}
	bench_fini(&b);
}
END_TEST

static void bench_round_at_random(struct bench *b, unsigned int engine)
{
	const struct neuron_insn insn = { .opcode = NEURON_OP_SET_ROUNDING,
					  .rounding = NEURON_ROUND_STOCHASTIC,
					  .seed = 0x0123456789abcdef };

	for (unsigned int i = 0; i < b->machines; i++)
		machine_run1(&b->m[i], engine, &insn);
	b->ref.draws = (struct ref_draws){ .on = true, .seed = insn.seed, .engine = engine };
}

static void run_random(const struct neuron_target *target, uint8_t opcode, unsigned int engine,
		       unsigned int count, bool at_random)
{
	void (*refill)(struct bench * b) = has_places(opcode) ? bench_fill_places : bench_fill;
	struct bench b;
	unsigned int done = 0, tried = 0;

	bench_init(&b, target, 0x9e3779b97f4a7c15ull + opcode);
	if (at_random)
		bench_round_at_random(&b, engine);
	refill(&b);
	while (done < count) {
		struct neuron_isa_weights weights;
		struct neuron_insn insn;

		ck_assert_uint_lt(tried++, count * 100);
		if (opcode == NEURON_OP_MATMUL && done % 4 == 0) {
			struct neuron_insn w = random_insn(&b, NEURON_OP_LDWEIGHTS);

			if (neuron_isa_check(&w, engine, &b.m[0].target, NULL))
				continue;
			run_one(&b, engine, &w);
		}
		insn = random_insn(&b, opcode);
		if (neuron_isa_check(&insn, engine, &b.m[0].target, NULL))
			continue;
		weights = ref_weights(&b.ref);
		if (neuron_isa_check_weights(&insn, &b.m[0].target, &weights, NULL))
			continue;
		run_one(&b, engine, &insn);
		if (opcode == NEURON_OP_LDWEIGHTS) /* which nothing but the state shows */
			same_states(&b);
		if (++done % 16 == 0)
			refill(&b);
	}
	same_states(&b);
	bench_fini(&b);
}

static const struct {
	uint8_t opcode, engine;
	unsigned int count;
} cases[] = {
	/* the last ones on the tests' own generation */
	{ NEURON_OP_LDWEIGHTS, NEURON_ENG_PE, 20 },
	{ NEURON_OP_MATMUL, NEURON_ENG_PE, 250 },
	{ NEURON_OP_PE_TRANSPOSE, NEURON_ENG_PE, 150 },
	{ NEURON_OP_ACTIVATE, NEURON_ENG_ACT, 800 },
	{ NEURON_OP_ACT_READ_ACC, NEURON_ENG_ACT, 30 },
	{ NEURON_OP_TENSOR_COPY, NEURON_ENG_ACT, 200 },
	{ NEURON_OP_TENSOR_COPY, NEURON_ENG_POOL, 400 },
	{ NEURON_OP_TENSOR_TENSOR, NEURON_ENG_POOL, 600 },
	{ NEURON_OP_TENSOR_SCALAR, NEURON_ENG_POOL, 600 },
	{ NEURON_OP_SCALAR_TENSOR_TENSOR, NEURON_ENG_POOL, 400 },
	{ NEURON_OP_TENSOR_REDUCE, NEURON_ENG_POOL, 1000 },
	{ NEURON_OP_MEMSET, NEURON_ENG_POOL, 100 },
	{ NEURON_OP_MEMSET, NEURON_ENG_ACT, 50 },
	{ NEURON_OP_RECIPROCAL, NEURON_ENG_POOL, 100 },
	{ NEURON_OP_TRANSPOSE, NEURON_ENG_POOL, 200 },
	{ NEURON_OP_COPY_PREDICATED, NEURON_ENG_POOL, 1200 },
	{ NEURON_OP_GATHER, NEURON_ENG_POOL, 400 },
	{ NEURON_OP_SCATTER, NEURON_ENG_POOL, 500 },
	{ NEURON_OP_SORT, NEURON_ENG_POOL, 400 },
	{ NEURON_OP_TENSOR_COPY, SECOND_ENG_GP, 50 },
	{ NEURON_OP_TENSOR_SCALAR, SECOND_ENG_GP, 50 },
	{ NEURON_OP_TRANSPOSE, SECOND_ENG_GP, 50 },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

START_TEST(test_against_reference)
{
	const struct neuron_target *target =
		cases[_i].engine == SECOND_ENG_GP ? &neuron_target_second : &neuron_target_inf1;

	run_random(target, cases[_i].opcode, cases[_i].engine, cases[_i].count, false);
}
END_TEST

/* Random instructions with the types of NeuronCore-v2 and later */
START_TEST(test_v2_types)
{
	if (cases[_i].engine != SECOND_ENG_GP)
		run_random(neuron_gen_trainium.target, cases[_i].opcode, cases[_i].engine,
			   cases[_i].count * 2, false);
}
END_TEST

/* ... and on the third, but for what moves bits there (test_pe.c, test_v2_refused.c) */
START_TEST(test_third)
{
	const uint8_t opcode = cases[_i].opcode, engine = cases[_i].engine;

	if (engine != SECOND_ENG_GP && opcode != NEURON_OP_PE_TRANSPOSE &&
	    (opcode != NEURON_OP_TENSOR_COPY || engine != NEURON_ENG_ACT))
		run_random(neuron_gen_trainium2.target, opcode, engine, cases[_i].count / 4, false);
}
END_TEST

/* ... and results rounded at random */
START_TEST(test_at_random)
{
	if (cases[_i].engine != SECOND_ENG_GP)
		run_random(neuron_gen_trainium.target, cases[_i].opcode, cases[_i].engine,
			   cases[_i].count / 2, true);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("insn");
	TCase *tc = tcase_create("reference");

	tcase_add_loop_test(tc, test_against_reference, 0, CASES);
	tcase_add_loop_test(tc, test_v2_types, 0, CASES);
	tcase_add_loop_test(tc, test_third, 0, CASES);
	tcase_add_loop_test(tc, test_at_random, 0, CASES);
	tcase_add_loop_test(tc, test_products, 0, sizeof(exponents) / sizeof(exponents[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
