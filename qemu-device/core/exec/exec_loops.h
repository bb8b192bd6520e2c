/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of instructions: what they work on, and the table of those that a processor has.
 * exec_kernels_*.c hold them, the same source (exec_kernels.h) compiled for several processors with
 * identical results. Private to the core library (unit tests may pick the loops).
 */
#ifndef NCORE_EXEC_LOOPS_H
#define NCORE_EXEC_LOOPS_H

/* a * b + c rounds twice unless it is written as a fused operation */
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "neuron/isa/check.h"
#include "neuron/isa/codec.h"
#include "neuron/isa/isa.h"

#define EXEC_NAN 0x7fc00000u /* the bits of the one that arithmetic results in (isa.md, 4.1) */

/* Elements that the elementwise paths convert and compute at a time: buffers stay in L1 */
#define EXEC_CHUNK 1024
#define EXEC_AHEAD 1024 /* bytes of the next partition that are fetched while one is worked on */
/* Columns and rows of one register block of the matmul kernels */
#define EXEC_MM_COLS 48
#define EXEC_MM_ROWS 8
/* Floats between rows of the moving operand and between blocks of weights: odd numbers of lines,
 * so that neighbours fall into different cache sets */
#define EXEC_MM_X_ROW (NEURON_ISA_MAX_MOVING + 48)
#define EXEC_MM_K (4 * NEURON_PARTITIONS) /* rows at most: of a sparse product */
#define EXEC_MM_W_BLOCK (EXEC_MM_K * EXEC_MM_ROWS + 16)
#define EXEC_MM_W_SIZE (NEURON_ISA_MAX_STATIONARY / EXEC_MM_ROWS * EXEC_MM_W_BLOCK)

struct exec_moving;
struct exec_panel;

enum exec_mm_mode { EXEC_MM_SET_F32, EXEC_MM_ADD_F32, EXEC_MM_SET_I32, EXEC_MM_ADD_I32 };

/*
 * dst[r][j] (+)= sum over k of w[k][r] * x[k][j]: fp32 fused multiply-add from +0 in the order of
 * k, NaN canonical. Operands in fp32: the weights w[r / ROWS][k][r % ROWS], EXEC_MM_W_BLOCK from
 * block to block; x[k][j], x_row from row to row. For int32 the sums are exact integers.
 */
struct exec_mm {
	const float *w, *x;
	unsigned int x_row;
	unsigned int k, fs, fm;
	uint8_t *dst;
	uint64_t dst_stride; /* bytes between rows */
	enum exec_mm_mode mode;
	const struct exec_moving *moving; /* for widening */
	const struct exec_panel *beside; /* the kernel's own, to be widened beside; or NULL */
};

/* The moving operand as it lies, in each partition one row or two of k, the first at in */
struct exec_moving {
	const uint8_t *in;
	size_t stride; /* bytes from partition to partition */
	int64_t low; /* to a partition's second row, if it has two */
	bool doubled;
	uint8_t dtype; /* of one or two bytes */
	const struct exec_runs *runs; /* nothing is between their elements, or of bf16 one more */
	float *x; /* room for it */
};

/* Copies so few bytes that a call would cost more */
static inline void exec_copy_few(uint8_t *to, const uint8_t *from, size_t n)
{
	for (; n >= 16; n -= 16, to += 16, from += 16)
		memcpy(to, from, 16);
	for (; n >= 4; n -= 4, to += 4, from += 4)
		memcpy(to, from, 4);
	for (; n; n--)
		*to++ = *from++;
}

/* An operand of the ALU: an array, or one value that stands 16 times at p */
struct exec_vec {
	const float *p;
	size_t step; /* 1 or 0 */
};

static inline struct exec_vec exec_array(const float *p)
{
	return (struct exec_vec){ p, 1 };
}

static inline struct exec_vec exec_const(float buf[16], float x)
{
	for (int i = 0; i < 16; i++)
		buf[i] = x;
	return (struct exec_vec){ buf, 0 };
}

/* A processor's NaN may have the sign and payload of an operand, and which one is the compiler's
 * choice */
static inline float exec_canonical(float x)
{
	const uint32_t nan = EXEC_NAN;

	if (x != x)
		memcpy(&x, &nan, sizeof(x));
	return x;
}

/* An access pattern whose runs (the fastest dimension) are few: the same in every partition */
struct exec_runs {
	uint32_t count, len; /* runs; elements of each */
	int64_t step; /* bytes between elements of a run */
	int64_t at[NEURON_ISA_MAX_MOVING]; /* byte of each run's first element */
};

/* Rows of k, two by two: first ones stride bytes apart, the second of each low behind it */
struct exec_pair_rows {
	const uint8_t *in;
	size_t stride;
	int64_t low;
	unsigned int rows; /* of both */
	uint8_t dtype;
};

/*
 * The matmul two steps of k at a time, for a processor that multiplies pairs of bf16. Operands are
 * as struct exec_mm says with a pair in the place of a float, the first step in its high half, and
 * half as many steps; what an odd number of them lacks is 0. What packs operands returns the biased
 * exponent of the element nearest to 0 that is not 0, of a subnormal 0, or less; 255 or more
 * without any.
 */
struct exec_pairs {
	void (*matmul)(const struct exec_mm *mm);
	/* as those of struct exec_kernels, from bf16, a run's elements 2 or 4 bytes apart, or from
	 * fp8 without anything between */
	unsigned int (*moving)(float *x, const struct exec_pair_rows *in,
			       const struct exec_runs *runs);
	unsigned int (*weights)(float *w, const struct exec_pair_rows *in, size_t n);
	/* in place, from floats that bf16 holds */
	unsigned int (*pack_moving)(float *x, unsigned int rows, size_t n);
	unsigned int (*pack_weights)(float *w, unsigned int rows, size_t n);
};

/*
 * Such a processor takes subnormals for 0. It meets none if no operand is one and no sum can be:
 * all sums are multiples of the product of the operands' last places.
 */
static inline bool exec_pairs_exact(unsigned int w, unsigned int x)
{
	return w && x && w + x >= 2 * (127 + 7) - 126;
}

/*
 * The matmul four steps of k at a time, for a processor that multiplies quads of int8 and adds to
 * int32, which is exact: a quad in the place of a float, the first step in its lowest byte, and a
 * fourth as many steps. Elements of a run, and of a row of weights, are some bytes apart.
 */
struct exec_quads {
	void (*matmul)(const struct exec_mm *mm);
	void (*moving)(float *x, const uint8_t *in, size_t stride, unsigned int rows,
		       const struct exec_runs *runs);
	void (*weights)(float *w, const uint8_t *in, size_t stride, unsigned int rows, int64_t step,
			size_t n);
};

struct exec_arith;

/*
 * An engine's source of random words: draw i is word i / 16 % 4 of block 16 * (i / 64) + i % 16, so
 * that a vector of any width has them without a permutation.
 */
#define EXEC_DRAW_BLOCKS 16
#define EXEC_DRAW_GROUP (4 * EXEC_DRAW_BLOCKS)
struct exec_draws {
	uint64_t seed, count; /* count: those that are made */
	uint32_t core, engine;
};

/*
 * The inner loops. Arrays of floats are padded: n may be rounded up to 16 in them. TPB_SLACK bytes
 * behind an input may be read.
 */
struct exec_kernels {
	const char *name;
	bool (*usable)(void);
	bool (*quicker)(void); /* than those behind it, where the processor decides; or NULL */
	void (*matmul)(const struct exec_mm *mm);
	/* the same of a moving operand that is not in x yet; or NULL */
	void (*widening)(const struct exec_mm *mm);
	/* x[k][j], EXEC_MM_X_ROW from row to row: the elements of a pattern in each of rows
	 * partitions, the first at in, stride bytes apart */
	void (*moving)(uint8_t dtype, float *x, const uint8_t *in, size_t stride, unsigned int rows,
		       const struct exec_runs *runs);
	/* the weights at w: n contiguous elements (at most 128) of each row; what pads the last
	 * vector is 0, and no result comes from it or from what else is beside them */
	void (*weights)(float *w, const struct exec_pair_rows *in, size_t n);
	/* conversions of n contiguous elements to and from fp32 (docs/isa.md, Conversions) */
	void (*load)(uint8_t dtype, float *out, const void *in, size_t n);
	void (*store)(uint8_t dtype, void *out, const float *in, size_t n);
	/* words of whole groups of draws; what x becomes by words in a type that narrows it, as
	 * fp32 */
	void (*draw)(const struct exec_draws *d, uint64_t group, unsigned int groups,
		     uint32_t *out);
	void (*round)(uint8_t dtype, float *out, const float *x, const uint32_t *words, size_t n);
	/* r[i] = a[i] op b[i]; an arithmetic or unary operation */
	void (*alu)(uint8_t op, float *r, struct exec_vec a, struct exec_vec b, size_t n);
	/* an element-wise instruction, of arithmetic and on raw bits; its streams end anywhere */
	void (*arith)(struct exec_arith *x);
	void (*bits)(struct exec_arith *x);
	/* x[0] op x[1] op ..., where the order does not matter: max, min, logical operations on
	 * 1.0 and 0.0. n at least 1; x may be read up to the end of a vector */
	float (*fold)(uint8_t op, const float *x, size_t n);
	/* r[i] = x[i] op the element step bytes on op ..., rows of them (at least 1), in order;
	 * false, and nothing done, for an operation that it has not */
	bool (*across)(uint8_t op, float *r, const uint8_t *x, int64_t step, size_t rows, size_t n);
	/* out[i] = table[index[i]], of n elements of 1, 2 or 4 bytes; 0 where it has no such one */
	void (*gather)(void *out, const void *table, uint8_t size, uint32_t n, const int32_t *index,
		       uint32_t m);
	/* how many keys come before each one, equal ones in the order in which they are; arrays are
	 * padded as those of floats. It is quicker than sorting by digits for ranked keys or less */
	void (*rank)(uint32_t *rank, const int32_t *keys, uint32_t n);
	uint32_t ranked;
	/* the first place, not before from, whose key is smaller than the bound; n without any */
	uint32_t (*below)(const int32_t *keys, uint32_t from, uint32_t n, int32_t bound);
	/* x[i] = func(x[i]) */
	void (*act)(uint8_t func, float alpha, float *x, size_t n);
	const struct exec_pairs *pairs; /* or NULL */
	const struct exec_quads *quads; /* or NULL */
};
extern const struct exec_kernels exec_kernels_scalar, exec_kernels_avx2, exec_kernels_avx512;
extern const struct exec_kernels exec_kernels_avx512_bf16, exec_kernels_avx512_vnni;
/* all that were built, the fastest first; NULL ends them */
extern const struct exec_kernels *const exec_kernels_all[];
/* the same ones in all of the process; which does not show in any result */
const struct exec_kernels *exec_kernels_best(void);

/* An instruction's walk through one access pattern in one partition, dimensions merged */
struct exec_stream {
	uint8_t *base; /* the partition's first byte */
	int64_t pos; /* byte of the next element */
	int64_t first;
	int64_t step[NEURON_AP_DIMS]; /* bytes; dimension ndim - 1 is the fastest */
	uint32_t num[NEURON_AP_DIMS];
	uint32_t idx[NEURON_AP_DIMS];
	unsigned int ndim;
	uint8_t size;
	uint32_t count;
};

/* One operand, located: its stream for each partition */
struct exec_operand {
	struct exec_stream s;
	uint8_t *part0; /* host address of its first partition */
	uint64_t stride; /* between partitions in the host's memory */
	uint8_t dtype;
	struct neuron_isa_region r;
};

/* A key that is to be sorted */
struct exec_pair {
	uint32_t key, at;
};

struct exec_scratch {
	float a[EXEC_CHUNK + 16], b[EXEC_CHUNK + 16], c[EXEC_CHUNK + 16];
	uint32_t raw[EXEC_CHUNK + 16];
	uint32_t row[NEURON_ISA_MAX_ELEMS_SBUF + 16]; /* a whole row of results, as raw elements */
	float acc[NEURON_ISA_MAX_ELEMS_SBUF + 16]; /* TENSOR_REDUCE: a row of results */
	float rounded[EXEC_CHUNK + 16];
	uint32_t words[EXEC_CHUNK + 2 * EXEC_DRAW_GROUP]; /* what a chunk draws, and around it */
	float x[EXEC_MM_K * EXEC_MM_X_ROW];
	/* MATMUL_SPARSE: the rows that one column takes */
	float column[(EXEC_MM_K + NEURON_PARTITIONS) * EXEC_MM_X_ROW];
	struct exec_runs runs;
	/* SORT: keys with the numbers of their elements */
	struct exec_pair pairs[2][NEURON_ISA_MAX_ELEMS_SBUF];
	uint32_t result[NEURON_ISA_MAX_STATIONARY][NEURON_ISA_MAX_MOVING]; /* raw */
	float w[EXEC_MM_W_SIZE]; /* PE_TRANSPOSE, MATMUL_SPARSE: as weights */
};

/*
 * The scalar of each partition: at is the first one's place, stride bytes before the next, or NULL
 */
struct exec_arith_scalar {
	const uint8_t *at;
	uint64_t stride;
	uint8_t dtype;
	float value; /* without a place */
};

/* An element-wise instruction, located: dst = (src0 op0 scalar) op1 src1 or scalar */
struct exec_arith {
	struct exec_operand dst, src0, src1;
	bool has_src1;
	bool choose; /* dst = src0 where src1 is not 0, or where it is (reverse0) */
	bool direct; /* chunks may be written before the rest of the row is read */
	bool reverse0, reverse1;
	uint8_t op0, op1;
	unsigned int partitions;
	struct exec_arith_scalar scalar[2];
	struct exec_scratch *scratch;
};

#endif
