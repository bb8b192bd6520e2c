/* SPDX-License-Identifier: MIT */
/*
 * The tensor engine's instructions from NeuronCore-v3 on, double rows, sparse weights, transposes
 * that move bits, and parts of the array from v2 on, against the scalar reference in each set of
 * kernels; and what is refused.
 */
#include <float.h>
#include <math.h>

#include "fixture.h"
#include "ref_pe.h"

#define BANK 2048 /* bytes of PSUM that results lie in, and as many behind */
#define WEIGHTS 0
#define MOVING 512
#define TAGS 3500

static const uint8_t fp8[] = { NEURON_DT_FP8_E3, NEURON_DT_FP8_E4, NEURON_DT_FP8_E5 };
static const uint8_t floats[] = { NEURON_DT_BF16,   NEURON_DT_FP16,   NEURON_DT_FP8_E3,
				  NEURON_DT_FP8_E4, NEURON_DT_FP8_E5, NEURON_DT_FP32,
				  NEURON_DT_TF32 };

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

static void bench_init_on(struct bench *b, const struct neuron_target *target, uint64_t seed)
{
	memset(b, 0, sizeof(*b));
	b->seed = seed;
	b->machines = machine_kernels(b->kern);
	for (unsigned int i = 0; i < b->machines; i++) {
		machine_init(&b->m[i], target, PART);
		b->m[i].tpb->kern = b->kern[i];
	}
	b->ref.sbuf = calloc(NEURON_PARTITIONS, PART);
	b->ref.psum = calloc(NEURON_PARTITIONS, target->psum_part_size);
	b->ref.sbuf_part_size = PART;
	b->ref.psum_part_size = target->psum_part_size;
	b->ref.version = target->core;
}

static void bench_init(struct bench *b, uint64_t seed)
{
	bench_init_on(b, neuron_gen_trainium2.target, seed);
}

static void bench_fini(struct bench *b)
{
	for (unsigned int i = 0; i < b->machines; i++)
		machine_fini(&b->m[i]);
	free(b->ref.sbuf);
	free(b->ref.psum);
}

static void put(struct bench *b, size_t at, const void *from, size_t n)
{
	memcpy(b->ref.sbuf + at, from, n);
	for (unsigned int i = 0; i < b->machines; i++)
		memcpy(b->m[i].sbuf + at, from, n);
}

/* Numbers of moderate size in the bits of a type; special ones: any bits, now and then */
static void fill(struct bench *b, uint8_t dtype, uint32_t at, bool special)
{
	const uint8_t size = neuron_isa_dtypes[dtype].size;

	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++) {
		for (uint32_t i = at; i + size <= PART; i += size) {
			float x = (float)((int32_t)pick(b, 4001) - 2000) / 512;
			uint32_t raw = ref_from_f32(dtype, x);

			if (special && !pick(b, 64))
				raw = pick(b, UINT32_MAX);
			put(b, (size_t)p * PART + i, &raw, size);
		}
	}
}

/* Tags of a group of so many; distinct: what a reader of weights would make */
static void fill_tags(struct bench *b, unsigned int m, unsigned int group, bool distinct)
{
	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++) {
		for (unsigned int word = 0; word < 32; word++) {
			uint16_t v = (uint16_t)pick(b, 0x10000);

			if (distinct) { /* each partition has a part of its own to choose from */
				const unsigned int part = group / m;

				v = 0;
				for (unsigned int i = 0; i < 4; i++)
					v |= (uint16_t)((p % m * part + pick(b, part)) << 4 * i);
			}
			put(b, (size_t)p * PART + TAGS + 2 * word, &v, 2);
		}
	}
}

static void run(struct bench *b, const struct neuron_insn *insn, unsigned int engine)
{
	const size_t n = (size_t)NEURON_PARTITIONS * b->ref.psum_part_size;

	ref_exec(&b->ref, insn, engine == NEURON_ENG_ACT);
	for (unsigned int i = 0; i < b->machines; i++) {
		machine_run1(&b->m[i], engine, insn);
		ck_assert_uint_eq(b->m[i].notes, 0);
		if (!memcmp(b->m[i].psum, b->ref.psum, n))
			continue;
		for (size_t at = 0; at < n; at += 4)
			if (memcmp(b->m[i].psum + at, b->ref.psum + at, 4))
				ck_abort_msg("%s %s: byte %zu is %08x, want %08x", b->kern[i]->name,
					     neuron_isa_ops[insn->opcode].name, at,
					     *(uint32_t *)(void *)(b->m[i].psum + at),
					     *(uint32_t *)(void *)(b->ref.psum + at));
	}
}

/* Slots of n elements each, close to each other, with one between, or in each other */
static struct neuron_ap slots_of(struct bench *b, uint32_t at, uint8_t dtype, unsigned int slots,
				 uint32_t n)
{
	struct neuron_ap ap = machine_ap(at, dtype, (uint16_t)n);

	ap.num[0] = (uint16_t)slots;
	ap.step[0] = (int16_t)n;
	if (pick(b, 3) == 0 && slots == 2) {
		ap.step[0] = 1;
		ap.step[3] = 2;
	} else if (n % 2 == 0 && pick(b, 3) == 0) {
		ap.num[2] = 2;
		ap.num[3] = (uint16_t)(n / 2);
		ap.step[2] = (int16_t)(n / 2 + 1);
		ap.step[0] = (int16_t)(n + 3);
	}
	return ap;
}

static struct neuron_ap result_of(struct bench *b, uint32_t n)
{
	struct neuron_ap ap =
		machine_ap(NEURON_PSUM_OFFSET + 4 * pick(b, 8), NEURON_DT_FP32, (uint16_t)n);

	if (pick(b, 4) == 0)
		ap.step[3] = 2;
	return ap;
}

START_TEST(test_double)
{
	struct bench b;

	bench_init(&b, 0x9e3779b97f4a7c15ull + (unsigned int)_i);
	for (unsigned int round = 0; round < 12; round++) {
		const uint8_t p = (uint8_t)(round % 3 ? 1 + pick(&b, 20) : 1 + pick(&b, 128));
		const unsigned int fs = 1 + pick(&b, round % 4 ? 20 : 128);
		struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS_DOUBLE, .partitions = p };
		struct neuron_insn mul = { .opcode = NEURON_OP_MATMUL_DOUBLE, .partitions = p };

		load.src0 = slots_of(&b, WEIGHTS, fp8[_i], 2, fs);
		load.src_bias = (uint8_t)(round % 3 == 1 ? pick(&b, 16) : 0);
		fill(&b, fp8[_i], 0, round % 5 == 4);
		run(&b, &load, NEURON_ENG_PE);
		for (unsigned int i = 0; i < 3; i++) {
			const uint32_t n = 1 + pick(&b, i ? 40 : 512);

			mul.accumulate = i == 1;
			mul.src_bias = (uint8_t)(round % 2 ? pick(&b, 16) : 0);
			mul.src0 = slots_of(&b, MOVING, fp8[pick(&b, 3)], 2, n);
			mul.dst = result_of(&b, n);
			run(&b, &mul, NEURON_ENG_PE);
		}
	}
	bench_fini(&b);
}
END_TEST

/* Plain products with biases, and copies to, from and between types that have one */
START_TEST(test_bias)
{
	static const uint8_t types[] = { NEURON_DT_FP32, NEURON_DT_BF16, NEURON_DT_FP8_E3,
					 NEURON_DT_FP8_E4, NEURON_DT_FP8_E5 };
	struct bench b;

	bench_init(&b, 0x853c49e6748fea9bull + (unsigned int)_i);
	for (unsigned int round = 0; round < 48; round++) {
		struct neuron_insn insn = { .opcode = NEURON_OP_LDWEIGHTS,
					    .partitions = (uint8_t)(1 + pick(&b, 30)),
					    .src_bias = (uint8_t)(round % 16) };
		const uint16_t n = (uint16_t)(1 + pick(&b, 60));

		fill(&b, fp8[_i], 0, round % 4 == 3);
		insn.src0 = machine_ap(WEIGHTS, fp8[_i], n);
		run(&b, &insn, NEURON_ENG_PE);
		insn.opcode = NEURON_OP_MATMUL;
		insn.src0 = machine_ap(MOVING, fp8[pick(&b, 3)], n);
		insn.src_bias = (uint8_t)pick(&b, 16);
		insn.dst = result_of(&b, n);
		run(&b, &insn, NEURON_ENG_PE);
		insn.opcode = NEURON_OP_TENSOR_COPY;
		insn.src0 = machine_ap(MOVING, types[pick(&b, 5)], n);
		insn.dst = machine_ap(NEURON_PSUM_OFFSET + 64, fp8[_i], n);
		insn.src_bias = (uint8_t)(insn.src0.dtype < NEURON_DT_FP8_E3 ? 0 : pick(&b, 16));
		insn.dst_bias = (uint8_t)(round % 5 ? pick(&b, 16) : insn.src_bias);
		run(&b, &insn, round % 2 ? NEURON_ENG_ACT : NEURON_ENG_POOL);
	}
	bench_fini(&b);
}
END_TEST

/* Numbers at both ends of a type's range, infinities and NaN, a row of n for each of p partitions */
static void fill_ends(struct bench *b, uint8_t dtype, uint32_t at, unsigned int p, unsigned int n)
{
	const uint8_t size = neuron_isa_dtypes[dtype].size;
	const float x[] = { 1,	      -1,   0,		-0.0f,	 1e9f,	    -1e9f, 0x1p-16f,
			    0x1p-14f, NAN,  -0x1p-6f,	14.5f,	 -240,	    1.5f,  0x1p-9f,
			    0.125f,   -448, 0x1.8p-15f, 57344.f, -0x1.4p-7f };

	for (unsigned int k = 0; k < p; k++) {
		for (unsigned int i = 0; i < n; i++) {
			uint32_t raw = ref_from_f32(dtype, x[(i + 7 * k) % 19]);

			put(b, (size_t)k * PART + at + (size_t)i * size, &raw, size);
		}
	}
}

/* Products of every code of an 8-bit type, as the moving operand and as weights, with each bias */
/* Pairs are multiplied where no sum of products can be subnormal, be it of any last places */
START_TEST(test_pairs)
{
	for (unsigned int w = 0; w < 255; w++)
		for (unsigned int x = 0; x < 255; x++) {
			const double last = ldexp(1, (int)(w + x) - 2 * (127 + 7));

			ck_assert_int_eq(exec_pairs_exact(w, x), w && x && last >= (double)FLT_MIN);
		}
}
END_TEST

START_TEST(test_codes)
{
	const uint8_t dtype = fp8[_i % 3], other = floats[_i / 3];
	struct bench b;

	bench_init(&b, 1);
	for (uint8_t bias = 0; bias < 16; bias++) {
		const uint8_t p = (uint8_t)(1 + bias % 3);
		const uint8_t bias2 = neuron_dtype_is_fp8(other) ? bias * 7 % 16 : 0;
		struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS, .partitions = p };
		struct neuron_insn mul = { .opcode = NEURON_OP_MATMUL, .partitions = p };

		for (unsigned int i = 0; i < 256u * p; i++) {
			const uint8_t code = (uint8_t)(i * (2 * (i / 256) + 1));

			put(&b, (size_t)(i / 256) * PART + MOVING + i % 256, &code, 1);
		}
		fill_ends(&b, other, WEIGHTS, p, 57);
		load.src0 = machine_ap(WEIGHTS, other, 19);
		load.src_bias = bias2;
		run(&b, &load, NEURON_ENG_PE);
		mul.src0 = machine_ap(MOVING, dtype, 256);
		mul.src_bias = bias;
		mul.dst = machine_ap(NEURON_PSUM_OFFSET, NEURON_DT_FP32, 256);
		run(&b, &mul, NEURON_ENG_PE);
		load.src0 = machine_ap(MOVING + 128 * (bias / 8), dtype, 128);
		load.src_bias = bias;
		run(&b, &load, NEURON_ENG_PE);
		mul.src0 = machine_ap(WEIGHTS, other, 57);
		mul.src_bias = bias2;
		mul.dst = machine_ap(NEURON_PSUM_OFFSET, NEURON_DT_FP32, 57);
		run(&b, &mul, NEURON_ENG_PE);
	}
	bench_fini(&b);
}
END_TEST

/* A part of the array that a core has, not the whole */
static uint8_t tile_of(struct bench *b, unsigned int core)
{
	const unsigned int most = core < 3 ? 1 : 2; /* halvings */
	const unsigned int rows = pick(b, most + 1), columns = pick(b, most + 1);
	const unsigned int row = pick(b, 1u << rows) << (2 - rows);
	const unsigned int column = pick(b, 1u << columns) << (2 - columns);
	const uint8_t tile = (uint8_t)(row | column << 2 | rows << 4 | columns << 6);

	return tile ? tile : tile_of(b, core);
}

/* Loads into parts that overlap or do not, and products with those that are left */
START_TEST(test_tiles)
{
	const struct neuron_target *target =
		_i ? neuron_gen_trainium2.target : neuron_gen_trainium.target;
	unsigned int products = 0;
	struct bench b;

	bench_init_on(&b, target, 0xda3e39cb94b95bdbull + (unsigned int)_i);
	for (unsigned int round = 0; round < 60; round++) {
		const uint8_t dtype = floats[round / 12 % sizeof(floats)];
		struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
					    .tile = tile_of(&b, target->core) };
		const struct neuron_isa_tile t = neuron_isa_tile(load.tile);

		if (round % 12 == 0)
			fill(&b, dtype, 0, round % 24 == 12);
		load.partitions = (uint8_t)(1 + pick(&b, t.rows));
		load.src0 = machine_ap(WEIGHTS + 2 * neuron_isa_dtypes[dtype].size * pick(&b, 8),
				       dtype, (uint16_t)(1 + pick(&b, t.columns)));
		if (_i && neuron_dtype_is_fp8(dtype))
			load.src_bias = (uint8_t)pick(&b, 16);
		run(&b, &load, NEURON_ENG_PE);
		for (unsigned int i = 0; i < 256; i++) {
			struct neuron_insn mul = { .opcode = NEURON_OP_MATMUL,
						   .tile = (uint8_t)i,
						   .accumulate = i % 3 == 0 };
			const uint32_t n = 1 + pick(&b, 40);

			if (!i || !ref_tile_loaded(&b.ref, mul.tile))
				continue;
			products++;
			mul.partitions = b.ref.cell[i & 3][i >> 2 & 3].k;
			if (b.ref.cell[i & 3][i >> 2 & 3].dtype != dtype)
				continue;
			mul.src0 = machine_ap(MOVING, dtype, (uint16_t)n);
			mul.dst = result_of(&b, n);
			run(&b, &mul, NEURON_ENG_PE);
		}
	}
	ck_assert_uint_gt(products, 100);
	bench_fini(&b);
}
END_TEST

static const struct {
	unsigned int m, slots;
} patterns[] = { { 4, 4 }, { 4, 3 }, { 4, 2 }, { 2, 4 }, { 2, 2 }, { 1, 4 }, { 1, 2 } };

START_TEST(test_sparse)
{
	const unsigned int m = patterns[_i].m, slots = patterns[_i].slots;
	struct bench b;

	bench_init(&b, 0x2545f4914f6cdd1dull + (unsigned int)_i);
	for (unsigned int round = 0; round < 14; round++) {
		const uint8_t p = (uint8_t)(m * (1 + pick(&b, (round % 5 ? 16 : 128) / m)));
		const unsigned int fs = 1 + pick(&b, round % 3 ? 20 : 128);
		const uint8_t dtype = floats[round % sizeof(floats)];
		const uint32_t most = round < 2 && neuron_isa_dtypes[dtype].size < 4 ? 300 : 30;
		struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS, .partitions = p };
		struct neuron_insn mul = { .opcode = NEURON_OP_MATMUL_SPARSE, .partitions = p };
		const uint32_t n = 1 + pick(&b, most);

		fill(&b, dtype, 0, round % 4 == 3);
		fill_tags(&b, m, m * slots, round % 2);
		load.src0 = machine_ap(WEIGHTS, dtype, (uint16_t)fs);
		run(&b, &load, NEURON_ENG_PE);
		mul.neighbours = (uint8_t)m;
		mul.accumulate = round % 3 == 1;
		mul.src0 = slots_of(&b, MOVING, dtype, slots, n);
		mul.src1 = machine_ap(TAGS, NEURON_DT_UINT16, (uint16_t)((fs + 3) / 4));
		mul.dst = result_of(&b, n);
		run(&b, &mul, NEURON_ENG_PE);
	}
	bench_fini(&b);
}
END_TEST

/* A sum of the least products: that of zeros has the sign that the order gives it */
START_TEST(test_sparse_signs)
{
	const uint16_t tiny = 0x8080, tags = 0x0000, x[2] = { 0x0080, 0x0080 };
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS, .partitions = 1 };
	struct neuron_insn mul = { .opcode = NEURON_OP_MATMUL_SPARSE, .partitions = 1 };
	struct bench b;

	bench_init(&b, 1);
	put(&b, WEIGHTS, &tiny, 2);
	put(&b, MOVING, x, 4);
	put(&b, TAGS, &tags, 2);
	load.src0 = machine_ap(WEIGHTS, NEURON_DT_BF16, 1);
	mul.neighbours = 1;
	mul.src0 = slots_of(&b, MOVING, NEURON_DT_BF16, 2, 1);
	mul.src1 = machine_ap(TAGS, NEURON_DT_UINT16, 1);
	mul.dst = machine_ap(NEURON_PSUM_OFFSET, NEURON_DT_FP32, 1);
	run(&b, &load, NEURON_ENG_PE);
	run(&b, &mul, NEURON_ENG_PE);
	bench_fini(&b);
}
END_TEST

static const uint8_t moved[] = { NEURON_DT_FP32,   NEURON_DT_TF32,   NEURON_DT_BF16,
				 NEURON_DT_FP16,   NEURON_DT_FP8_E3, NEURON_DT_FP8_E4,
				 NEURON_DT_FP8_E5, NEURON_DT_FP32R };

/* Any bits, NaN and infinities among them, are where they belong and as they were */
START_TEST(test_transpose)
{
	const uint8_t dtype = moved[_i];
	struct bench b;

	bench_init(&b, 88172645463325252ull + (unsigned int)_i);
	for (unsigned int round = 0; round < 8; round++) {
		const uint8_t p = (uint8_t)(1 + pick(&b, 128));
		const uint32_t n = 1 + pick(&b, 128);
		struct neuron_insn insn = { .opcode = NEURON_OP_PE_TRANSPOSE, .partitions = p };

		for (size_t i = 0; i < (size_t)NEURON_PARTITIONS * PART; i += 4) {
			uint32_t v = (uint32_t)machine_random(&b.seed);

			put(&b, i, &v, 4);
		}
		insn.src0 = machine_ap(WEIGHTS, dtype, (uint16_t)n);
		if (round % 3 == 2)
			insn.src0.step[3] = 3;
		insn.dst = machine_ap(NEURON_PSUM_OFFSET,
				      neuron_isa_dtypes[dtype].size == 1 ? NEURON_DT_UINT16 : dtype,
				      p);
		run(&b, &insn, NEURON_ENG_PE);
	}
	bench_fini(&b);
}
END_TEST

static void setup_third(void)
{
	machine_init(&m, neuron_gen_trainium2.target, PART);
}

/* Instructions that are refused, each for one reason */
#define PE_AP(off, type, a, n)                         \
	{                                              \
		off, NEURON_DT_##type, { n, 0, 0, 1 }, \
		{                                      \
			a, 1, 1, n                     \
		}                                      \
	}
#define DOUBLE(type, a, n)                                               \
	{                                                                \
		.opcode = NEURON_OP_LDWEIGHTS_DOUBLE, .partitions = 128, \
		.src0 = PE_AP(0, type, a, n)                             \
	}
#define SPARSE(p, m, type, a, n, tag)                                                \
	{                                                                            \
		.opcode = NEURON_OP_MATMUL_SPARSE, .partitions = p, .neighbours = m, \
		.src0 = PE_AP(0, type, a, n), .src1 = PE_AP(TAGS, tag, 1, 1),        \
		.dst = PE_AP(NEURON_PSUM_OFFSET, FP32, 1, n)                         \
	}
#define TILE(p, code, n)                                                      \
	{                                                                     \
		.opcode = NEURON_OP_LDWEIGHTS, .partitions = p, .tile = code, \
		.src0 = PE_AP(0, BF16, 1, n)                                  \
	}
static const struct {
	struct neuron_insn insn;
	uint16_t code;
	uint8_t operand;
} wrong[] = {
	{ TILE(16, 0x30, 4), NEURON_NERR_ILLEGAL_INSN, 0 }, /* 16 rows */
	{ TILE(16, 0xc0, 4), NEURON_NERR_ILLEGAL_INSN, 0 },
	{ TILE(16, 0x01, 4), NEURON_NERR_ILLEGAL_INSN, 0 }, /* 128 rows from row 32 on */
	{ TILE(16, 0x11, 4), NEURON_NERR_ILLEGAL_INSN, 0 }, /* 64 from row 32 on */
	{ TILE(16, 0x44, 4), NEURON_NERR_ILLEGAL_INSN, 0 },
	{ TILE(33, 0x20, 4), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ TILE(65, 0x10, 4), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ TILE(16, 0x80, 33), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ TILE(16, 0x40, 65), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ { .opcode = NEURON_OP_LDWEIGHTS,
	    .partitions = 4,
	    .src_bias = 1,
	    .src0 = PE_AP(0, BF16, 1, 4) },
	  NEURON_NERR_ILLEGAL_INSN,
	  0 },
	{ { .opcode = NEURON_OP_LDWEIGHTS,
	    .partitions = 4,
	    .dst_bias = 1,
	    .src0 = PE_AP(0, FP8_E4, 1, 4) },
	  NEURON_NERR_ILLEGAL_INSN,
	  0 },
	{ DOUBLE(BF16, 2, 4), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ DOUBLE(FP8_E4, 1, 4), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ DOUBLE(FP8_E4, 4, 4), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ DOUBLE(FP8_E4, 2, 129), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ SPARSE(4, 3, BF16, 4, 4, UINT16), NEURON_NERR_ILLEGAL_INSN, 0 },
	{ SPARSE(4, 4, BF16, 1, 4, UINT16), NEURON_NERR_ILLEGAL_INSN, 0 },
	{ SPARSE(4, 4, BF16, 5, 4, UINT16), NEURON_NERR_ILLEGAL_INSN, 0 },
	{ SPARSE(4, 2, BF16, 3, 4, UINT16), NEURON_NERR_ILLEGAL_INSN, 0 },
	{ SPARSE(6, 4, BF16, 4, 4, UINT16), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ SPARSE(4, 4, INT8, 4, 4, UINT16), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	{ SPARSE(4, 4, BF16, 4, 4, INT16), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC1 },
	{ SPARSE(4, 4, BF16, 2, 513, UINT16), NEURON_NERR_ILLEGAL_OPERAND, NEURON_OPERAND_SRC0 },
	/* no weights; those of other forms and widths are below */
	{ SPARSE(4, 4, BF16, 4, 4, UINT16), NEURON_NERR_ILLEGAL_INSN, 0 },
};

START_TEST(test_wrong)
{
	machine_run1(&m, NEURON_ENG_PE, &wrong[_i].insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, wrong[_i].code);
	if (wrong[_i].code == NEURON_NERR_ILLEGAL_OPERAND)
		ck_assert_uint_eq(m.note[0].data >> 32, wrong[_i].operand);
}
END_TEST

/* Products of weights of the other form, and tags for other columns than there are */
START_TEST(test_wrong_weights)
{
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
				    .partitions = 4,
				    .src0 = PE_AP(0, FP8_E4, 1, 5) };
	struct neuron_insn mul = SPARSE(4, 4, FP8_E4, 4, 4, UINT16);

	if (_i == 1) {
		mul = (struct neuron_insn){ .opcode = NEURON_OP_MATMUL_DOUBLE,
					    .partitions = 4,
					    .src0 = PE_AP(0, FP8_E4, 2, 4),
					    .dst = PE_AP(NEURON_PSUM_OFFSET, FP32, 1, 4) };
	} else if (_i == 2) {
		load.opcode = NEURON_OP_LDWEIGHTS_DOUBLE;
		load.src0.num[0] = 2;
		mul = (struct neuron_insn){ .opcode = NEURON_OP_MATMUL,
					    .partitions = 4,
					    .src0 = PE_AP(0, FP8_E4, 1, 4),
					    .dst = PE_AP(NEURON_PSUM_OFFSET, FP32, 1, 4) };
	}
	machine_run1(&m, NEURON_ENG_PE, &load);
	ck_assert_uint_eq(m.notes, 0);
	machine_run1(&m, NEURON_ENG_PE, &mul);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code,
			  _i ? NEURON_NERR_ILLEGAL_INSN : NEURON_NERR_ILLEGAL_OPERAND);
}
END_TEST

/* Three slots are a pattern of four neighbours alone, whatever the weights are. */
START_TEST(test_three_slots)
{
	const struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
					  .partitions = 4,
					  .src0 = PE_AP(0, BF16, 1, 4) };
	const struct neuron_insn mul[] = { SPARSE(4, 4, BF16, 3, 4, UINT16),
					   SPARSE(4, 2, BF16, 3, 4, UINT16),
					   SPARSE(4, 1, BF16, 3, 4, UINT16) };

	machine_run1(&m, NEURON_ENG_PE, &load);
	machine_run1(&m, NEURON_ENG_PE, &mul[_i]);
	ck_assert_uint_eq(m.notes, _i > 0);
	if (_i)
		ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
}
END_TEST

/* Weights of the whole array and of its parts take each other's place, and of parts that overlap */
static const struct {
	uint8_t loads[3], product;
	bool there;
} replaced[] = {
	{ { 0x10, 0x12, 0x10 }, 0x12, true },  { { 0x10, 0x12, 0x00 }, 0x12, false },
	{ { 0x10, 0x12, 0x10 }, 0x00, false }, { { 0x00, 0x00, 0x00 }, 0x10, false },
	{ { 0xa0, 0xa5, 0xaf }, 0xa5, true },  { { 0xa0, 0xa5, 0x50 }, 0xa5, false },
	{ { 0xa0, 0xa5, 0x50 }, 0x50, true },  { { 0x50, 0x5a, 0x52 }, 0x5a, true },
	{ { 0x50, 0x5a, 0x40 }, 0x50, false }, { { 0x50, 0x5a, 0x40 }, 0x5a, true },
	{ { 0xa0, 0xa0, 0xa0 }, 0xa4, false }, { { 0xa0, 0x90, 0x90 }, 0xa0, false },
	{ { 0x00, 0x10, 0x12 }, 0x00, false },
};

START_TEST(test_replaced)
{
	struct neuron_insn mul = { .opcode = NEURON_OP_MATMUL,
				   .tile = replaced[_i].product,
				   .partitions = 4,
				   .src0 = PE_AP(0, BF16, 1, 4),
				   .dst = PE_AP(NEURON_PSUM_OFFSET, FP32, 1, 4) };

	for (unsigned int i = 0; i < 3; i++) {
		const struct neuron_insn load = TILE(4, replaced[_i].loads[i], 4);

		machine_run1(&m, NEURON_ENG_PE, &load);
	}
	ck_assert_uint_eq(m.notes, 0);
	machine_run1(&m, NEURON_ENG_PE, &mul);
	ck_assert_uint_eq(m.notes, !replaced[_i].there);
	if (m.notes)
		ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
}
END_TEST

/* A saved state is refused if no loads can leave the parts of weights that it has. */
START_TEST(test_parts_state)
{
	static const struct neuron_insn loads[] = { TILE(20, 0xa5, 9), TILE(64, 0x52, 64),
						    TILE(128, 0x8c, 1) };
	struct neuron_insn mul = { .opcode = NEURON_OP_MATMUL,
				   .tile = 0x52,
				   .partitions = 64,
				   .src0 = PE_AP(0, BF16, 1, 8),
				   .dst = PE_AP(NEURON_PSUM_OFFSET, FP32, 1, 8) };
	struct neuron_isa_weights *part = &m.tpb->parts.at[5];
	const struct neuron_isa_weights good = {
		.k = 20, .columns = 9, .dtype = NEURON_DT_BF16, .tile = 0xa5
	};
	struct neuron_isa_weights bad[] = { good, good, good, good, good, good };
	const int64_t plain = tpb_save(m.tpb, NULL, 0);
	struct machine other;
	uint8_t *state;
	int64_t size;

	bad[0].k = 33;
	bad[1].columns = 0;
	bad[2].columns = 33;
	bad[3].dtype = NEURON_DT_INT32;
	bad[4].tile = 0x55; /* from row 32 on 64 */
	bad[5].tile = 0xaa; /* of another place */
	for (size_t i = 0; i < (size_t)NEURON_PARTITIONS * PART; i++)
		m.sbuf[i] = (uint8_t)(i * 37 % 110);
	for (unsigned int i = 0; i < 3; i++)
		machine_run1(&m, NEURON_ENG_PE, &loads[i]);
	size = tpb_save(m.tpb, NULL, 0);
	ck_assert_int_eq(size, plain + (int64_t)sizeof(m.tpb->part_weights));
	state = malloc((size_t)size);
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	machine_init(&other, neuron_gen_trainium2.target, PART);
	memcpy(other.sbuf, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), 0);
	machine_run1(&m, NEURON_ENG_PE, &mul);
	machine_run1(&other, NEURON_ENG_PE, &mul);
	ck_assert_uint_eq(m.notes + other.notes, 0);
	ck_assert_mem_eq(m.psum, other.psum, 32);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		*part = bad[i];
		ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
		ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), -EINVAL);
	}
	*part = good;
	m.tpb->parts.at[0] = (struct neuron_isa_weights){
		.k = 1, .columns = 1, .dtype = NEURON_DT_BF16, .tile = 0x50
	}; /* overlaps part 5 */
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), -EINVAL);
	m.tpb->parts.at[0].k = 0;
	m.tpb->weights.dtype = NEURON_DT_BF16; /* the whole array beside parts */
	m.tpb->weights.k = m.tpb->weights.fs = 1;
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), -EINVAL);
	machine_fini(&other);
	free(state);
}
END_TEST

/* NeuronCore-v2 has no parts of 32, the first none */
START_TEST(test_older)
{
	const struct neuron_insn load = TILE(4, _i == 1 ? 0x20 : 0x10, 4);
	const struct neuron_target *target =
		_i == 2 ? neuron_gen_inferentia.target : neuron_gen_trainium.target;

	machine_fini(&m);
	machine_init(&m, target, PART);
	machine_run1(&m, NEURON_ENG_PE, &load);
	ck_assert_uint_eq(m.notes, _i > 0);
}
END_TEST

/* NeuronCore-v2 has none of them, and multiplies when it transposes: one type of results */
START_TEST(test_second)
{
	static const uint8_t ops[] = { NEURON_OP_LDWEIGHTS_DOUBLE, NEURON_OP_MATMUL_DOUBLE,
				       NEURON_OP_MATMUL_SPARSE, NEURON_OP_PE_TRANSPOSE,
				       NEURON_OP_LDWEIGHTS };
	struct neuron_insn insn = SPARSE(4, 4, FP8_E4, 2, 4, UINT16);

	machine_fini(&m);
	machine_init(&m, neuron_gen_trainium.target, PART);
	insn.opcode = ops[_i];
	insn.src_bias = insn.opcode == NEURON_OP_LDWEIGHTS;
	if (insn.opcode == NEURON_OP_PE_TRANSPOSE) {
		insn.src0 = machine_ap(0, NEURON_DT_BF16, 4);
		insn.dst = machine_ap(NEURON_PSUM_OFFSET, NEURON_DT_BF16, 4);
	}
	if (!(neuron_isa_ops[insn.opcode].fields & NEURON_FB(SRC1))) {
		insn.src1 = (struct neuron_ap){ 0 };
		insn.neighbours = 0;
	}
	if (!(neuron_isa_ops[insn.opcode].fields & NEURON_FB(DST)))
		insn.dst = (struct neuron_ap){ 0 };
	machine_run1(&m, NEURON_ENG_PE, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, insn.opcode == NEURON_OP_PE_TRANSPOSE
						  ? NEURON_NERR_ILLEGAL_OPERAND
						  : NEURON_NERR_ILLEGAL_INSN);
}
END_TEST

/* Weights of double rows in a state, and what of it is refused */
START_TEST(test_state)
{
	struct neuron_insn load = DOUBLE(FP8_E4, 2, 9);
	int64_t plain = tpb_save(m.tpb, NULL, 0), size;
	uint8_t *state, *again;
	struct machine other;

	for (size_t i = 0; i < (size_t)NEURON_PARTITIONS * PART; i++)
		m.sbuf[i] = (uint8_t)(i * 37 % 110);
	machine_run1(&m, NEURON_ENG_PE, &load);
	size = tpb_save(m.tpb, NULL, 0);
	ck_assert_int_gt(size, plain);
	state = malloc((size_t)size);
	again = malloc((size_t)size);
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	machine_init(&other, neuron_gen_trainium2.target, PART);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), 0);
	ck_assert_int_eq(tpb_save(other.tpb, again, (uint64_t)size), size);
	ck_assert_mem_eq(again, state, (size_t)size);
	ck_assert(other.tpb->weights.doubled);
	ck_assert_uint_eq(other.tpb->weights.k, 256);
	m.tpb->weights.k = 255;
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), -EINVAL);
	m.tpb->weights.k = 258;
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), -EINVAL);
	machine_fini(&other);
	free(state);
	free(again);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pe");
	TCase *tc = tcase_create("reference"), *refused = tcase_create("refused");

	LOOP(tc, test_double, fp8);
	LOOP(tc, test_bias, fp8);
	tcase_add_test(tc, test_pairs);
	tcase_add_loop_test(tc, test_codes, 0, 3 * 5); /* fp32 has no products with them */
	tcase_add_loop_test(tc, test_tiles, 0, 2);
	LOOP(tc, test_sparse, patterns);
	tcase_add_test(tc, test_sparse_signs);
	LOOP(tc, test_transpose, moved);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(refused, setup_third, teardown);
	LOOP(refused, test_wrong, wrong);
	tcase_add_loop_test(refused, test_wrong_weights, 0, 3);
	tcase_add_loop_test(refused, test_three_slots, 0, 3);
	tcase_add_loop_test(refused, test_second, 0, 5);
	LOOP(refused, test_replaced, replaced);
	tcase_add_loop_test(refused, test_older, 0, 3);
	tcase_add_test(refused, test_state);
	tcase_add_test(refused, test_parts_state);
	suite_add_tcase(s, refused);
	return check_run(s);
}
