/* SPDX-License-Identifier: MIT */
/* The inner loops for AVX2 with FMA. Called through struct exec_kernels. */
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define KTARGET __attribute__((target("avx2,fma,f16c")))
#define KBYTES 32
#define MM_FEW 4
#define KPANELS
/* beyond so many rows panels are as wide as one register block: L1 holds no more */
#define PANEL_DEEP NEURON_PARTITIONS
#define PANEL_DEEP_COLS 24
#define KNAME(x) avx2_##x
#define KWIDEN8(b) ((vi)avx2_widen(b))
#define KWIDEN8H(b) ((vsh)avx2_widen_half(b))
#define KWIDEN8W(in) ((vhh)_mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)(in))))
#define KWIDEN8P(a, b) ((vhh)_mm256_cvtepi8_epi16(avx2_pair(a, b)))
#define KFP16(h) ((vf)_mm256_cvtph_ps((__m128i)(h)))
#define KNARROW8(i) ((vb)avx2_narrow((__m256i)(i)))
#define KROUND(x) _mm256_cvtps_epi32((__m256)(x))
#define KMOST(a, b) ((vi)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define KMUL32(a, b) ((vul)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define KSTORE(p, mask, v) avx2_store_lanes(p, mask, (__m256)(v))

typedef int8_t avx2_bytes __attribute__((vector_size(KBYTES / 4)));

static inline KTARGET __m256i avx2_widen(avx2_bytes b)
{
	__m128i v = { 0 };

	memcpy(&v, &b, sizeof(b));
	return _mm256_cvtepi8_epi32(v);
}

static inline KTARGET __m128i avx2_widen_half(avx2_bytes b)
{
	__m128i v = { 0 };

	memcpy(&v, &b, sizeof(b));
	return _mm_cvtepi8_epi16(v);
}

static inline KTARGET __m128i avx2_pair(const uint8_t *a, const uint8_t *b)
{
	return _mm_unpacklo_epi64(_mm_loadl_epi64((const void *)a),
				  _mm_loadl_epi64((const void *)b));
}

/* Vectors of bytes */
static inline KTARGET avx2_bytes avx2_narrow(__m256i i)
{
	__m128i v = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
	avx2_bytes b;

	v = _mm_packs_epi16(v, v);
	memcpy(&b, &v, sizeof(b));
	return b;
}

static inline KTARGET void avx2_store_lanes(float *p, uint16_t mask, __m256 v)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	__m256i lanes = _mm256_and_si256(_mm256_set1_epi32(mask), bit);

	_mm256_maskstore_ps(p, _mm256_cmpeq_epi32(lanes, bit), v);
}

#include "exec_kernels.h"

#define ROWS(X) X(0) X(1) X(2) X(3)
#define ZERO(r) \
	__m256 a##r = _mm256_setzero_ps(), b##r = _mm256_setzero_ps(), c##r = _mm256_setzero_ps();
#define FMA(r)                                       \
	{                                            \
		__m256 s = _mm256_set1_ps(w[r]);     \
		a##r = _mm256_fmadd_ps(s, x0, a##r); \
		b##r = _mm256_fmadd_ps(s, x1, b##r); \
		c##r = _mm256_fmadd_ps(s, x2, c##r); \
	}
#define STORE(r)                                             \
	_mm256_storeu_ps(tile + r * EXEC_MM_COLS, a##r);     \
	_mm256_storeu_ps(tile + r * EXEC_MM_COLS + 8, b##r); \
	_mm256_storeu_ps(tile + r * EXEC_MM_COLS + 16, c##r);

/* 4 rows by 24 columns: 12 accumulators of the 16 registers */
KINLINE void mm_quarter(const struct exec_mm *mm, const float *w, const float *x, float *tile)
{
	ROWS(ZERO)

	for (unsigned int i = 0; i < mm->k; i++, w += EXEC_MM_ROWS, x += mm->x_row) {
		__m256 x0 = _mm256_loadu_ps(x), x1 = _mm256_loadu_ps(x + 8);
		__m256 x2 = _mm256_loadu_ps(x + 16);

		ROWS(FMA)
	}
	ROWS(STORE)
}

KINLINE void mm_block(const struct exec_mm *mm, unsigned int row, unsigned int col,
		      enum exec_mm_mode mode)
{
	float tile[EXEC_MM_ROWS * EXEC_MM_COLS] __attribute__((aligned(64)));

	for (unsigned int r = 0; r < EXEC_MM_ROWS; r += 4)
		for (unsigned int j = 0; j < mm_cols(mm, col); j += 24)
			mm_quarter(mm, mm_weights(mm, row) + r, mm->x + col + j,
				   tile + r * EXEC_MM_COLS + j);
	mm_tile_out(mm, row, col, tile, mode);
}

#define COLUMN 8 /* blocks at once: as many sums that do not wait for each other */

KINLINE void mm_column_sums(const struct exec_mm *mm, unsigned int row, unsigned int col,
			    unsigned int blocks, float *sum)
{
	const float *w = mm_weights(mm, row), *x = mm->x + col;
	__m256 acc[COLUMN];

#pragma GCC unroll 8
	for (unsigned int j = 0; j < blocks; j++)
		acc[j] = _mm256_setzero_ps();
	for (unsigned int i = 0; i < mm->k; i++, w += EXEC_MM_ROWS, x += mm->x_row) {
		__m256 s = _mm256_set1_ps(*x);

#pragma GCC unroll 8
		for (unsigned int j = 0; j < blocks; j++)
			acc[j] = _mm256_fmadd_ps(_mm256_loadu_ps(w + j * EXEC_MM_W_BLOCK), s,
						 acc[j]);
	}
#pragma GCC unroll 8
	for (unsigned int j = 0; j < blocks; j++)
		_mm256_storeu_ps(sum + row + j * EXEC_MM_ROWS, acc[j]);
}

KTARGET static void mm_sums(const struct exec_mm *mm, unsigned int col, unsigned int n,
			    float (*sum)[NEURON_PARTITIONS])
{
	for (unsigned int c = 0; c < n; c++) {
		if (mm->fs <= EXEC_MM_ROWS) {
			mm_column_sums(mm, 0, col + c, 1, sum[c]);
			continue;
		}
		for (unsigned int row = 0; row < mm->fs; row += COLUMN * EXEC_MM_ROWS)
			mm_column_sums(mm, row, col + c, COLUMN, sum[c]);
	}
}

static bool avx2_usable(void)
{
	unsigned int a, b, c, d;

	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C; /* not by name in each compiler */
}

const struct exec_kernels exec_kernels_avx2 = {
	.name = "avx2",
	.usable = avx2_usable,
	.matmul = avx2_matmul,
	.widening = avx2_widening,
	.moving = avx2_moving,
	.weights = avx2_weights,
	.load = avx2_load,
	.store = avx2_store,
	.draw = avx2_draw,
	.round = avx2_round,
	.alu = avx2_alu,
	.arith = avx2_arith,
	.bits = avx2_bits,
	.fold = avx2_fold,
	.across = avx2_across,
	.gather = avx2_gather,
	.rank = avx2_rank,
	.ranked = 64,
	.below = avx2_below,
	.act = avx2_act,
};
#endif
