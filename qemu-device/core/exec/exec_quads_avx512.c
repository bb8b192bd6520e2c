/* SPDX-License-Identifier: MIT */
/*
 * The PE's products of int8 four steps of k at a time, by the instruction that multiplies quads of
 * bytes and adds to int32. It takes one operand as unsigned: the moving one, plus 128. What that
 * adds to the sums of each row of weights is known when they are loaded. Called through struct
 * exec_quads.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#define KTARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")))
#define KBYTES 64
#define KNAME(x) quads_##x
#include "exec_kernels_vector.h"
#include "exec_kernels_mm.h"
#include "exec_quads.h"

/* Integers in the registers of floats: the last step of the weights has the sums' beginning. */
#define MM_START(w, r) _mm512_set1_ps((w)[mm->k * EXEC_MM_ROWS + (r)])
#define MM_STEP(sum, w, x)                                                                        \
	_mm512_castsi512_ps(_mm512_dpbusd_epi32(_mm512_castps_si512(sum), _mm512_castps_si512(x), \
						_mm512_castps_si512(w)))
#define MM_INTEGERS
#include "exec_block_avx512.h"

#define SPAN 16 /* columns at a time */
#define QUAD 4

/* n bytes, 16 at most, some bytes apart; what is behind them is 0 */
KINLINE __m128i span(const uint8_t *in, int64_t step, size_t n)
{
	const __mmask16 mask = n < SPAN ? (__mmask16)((1u << n) - 1) : 0xffff;
	uint8_t at[SPAN] = { 0 };

	if (step == 1)
		return _mm_maskz_loadu_epi8(mask, in);
	if (step == 2)
		return _mm256_cvtepi16_epi8(_mm256_and_si256(
			_mm256_maskz_loadu_epi8(n < SPAN ? (1u << 2 * n) - 1 : UINT32_MAX, in),
			_mm256_set1_epi16(0xff)));
	for (size_t i = 0; i < n && i < SPAN; i++)
		at[i] = in[(int64_t)i * step];
	return _mm_loadu_si128((const void *)at);
}

/* Puts four rows side by side, column by column; flip: what changes in each byte */
KINLINE void interleave(float *to, const __m128i row[QUAD], __m128i flip)
{
	const __m128i low0 = _mm_unpacklo_epi8(row[0], row[1]);
	const __m128i low1 = _mm_unpacklo_epi8(row[2], row[3]);
	const __m128i high0 = _mm_unpackhi_epi8(row[0], row[1]);
	const __m128i high1 = _mm_unpackhi_epi8(row[2], row[3]);
	const __m128i quad[QUAD] = {
		_mm_unpacklo_epi16(low0, low1),
		_mm_unpackhi_epi16(low0, low1),
		_mm_unpacklo_epi16(high0, high1),
		_mm_unpackhi_epi16(high0, high1),
	};

	for (unsigned int i = 0; i < QUAD; i++)
		_mm_storeu_si128((void *)(to + i * QUAD), _mm_xor_si128(quad[i], flip));
}

#define AHEAD 8 /* rows: as in exec_kernels.h */
#define LINE 64

KINLINE void ahead(const uint8_t *in, size_t stride, size_t bytes)
{
	for (unsigned int row = 0; row < QUAD; row++)
		for (size_t i = 0; i < bytes; i += LINE)
			__builtin_prefetch(in + (AHEAD + row) * stride + i);
}

KINLINE void moving_run(float *to, const uint8_t *in, size_t stride, unsigned int rows,
			int64_t step, size_t n)
{
	const __m128i flip = _mm_set1_epi8(-128);

	for (size_t i = 0; i < n; i += SPAN, in += SPAN * step) {
		__m128i row[QUAD];

		for (unsigned int k = 0; k < QUAD; k++)
			row[k] =
				k < rows ? span(in + k * stride, step, n - i) : _mm_setzero_si128();
		interleave(to + i, row, flip);
	}
}

KINLINE void moving_all(float *x, const uint8_t *in, size_t stride, unsigned int rows,
			const struct exec_runs *runs, int64_t step)
{
	for (unsigned int k = 0; k < rows; k += QUAD, in += QUAD * stride, x += EXEC_MM_X_ROW) {
		for (uint32_t r = 0; r < runs->count; r++) {
			const uint8_t *from = in + runs->at[r];

			if (k + AHEAD + QUAD <= rows && step > 0)
				ahead(from, stride, runs->len * (size_t)step);
			moving_run(x + (size_t)r * runs->len, from, stride, rows - k, step,
				   runs->len);
		}
	}
}

KTARGET static void quads_moving(float *x, const uint8_t *in, size_t stride, unsigned int rows,
				 const struct exec_runs *runs)
{
	if (runs->step == 1)
		moving_all(x, in, stride, rows, runs, 1);
	else if (runs->step == 2)
		moving_all(x, in, stride, rows, runs, 2);
	else
		moving_all(x, in, stride, rows, runs, runs->step);
}

/* First values of the sums of 16 columns, each of their quads in q: less 128 times all weights */
KINLINE __m512i begin(__m512i start, __m512i q)
{
	return _mm512_sub_epi32(start, _mm512_dpbusd_epi32(_mm512_setzero_si512(),
							   _mm512_set1_epi8(-128), q));
}

/* The columns' numbers into two blocks at this step of k */
KINLINE void put_blocks(float *w, unsigned int step, __m512i v)
{
	float *to = w + (size_t)step * EXEC_MM_ROWS;

	_mm256_storeu_si256((void *)to, _mm512_castsi512_si256(v));
	_mm256_storeu_si256((void *)(to + EXEC_MM_W_BLOCK), _mm512_extracti64x4_epi64(v, 1));
}

/* Four rows of 16 columns, each column's together; a row that is not there is zeros */
KINLINE __m512i columns_of(const uint8_t *in, size_t stride, unsigned int rows, int64_t step,
			   size_t n)
{
	__m128i row[QUAD];
	float quad[SPAN];

	for (unsigned int i = 0; i < QUAD; i++)
		row[i] = i < rows ? span(in + i * stride, step, n) : _mm_setzero_si128();
	interleave(quad, row, _mm_setzero_si128());
	return _mm512_loadu_si512(quad);
}

/* Row by row: those of all columns are in few lines, and all rows are in few of a cache's sets. */
KTARGET static void quads_weights(float *w, const uint8_t *in, size_t stride, unsigned int rows,
				  int64_t step, size_t n)
{
	const unsigned int steps = (rows + QUAD - 1) / QUAD;
	__m512i start[NEURON_ISA_MAX_STATIONARY / SPAN] = { 0 };

	for (unsigned int k = 0; k < steps; k++, in += QUAD * stride) {
		if (k * QUAD + AHEAD + QUAD <= rows && step > 0)
			ahead(in, stride, n * (size_t)step);
		for (size_t c = 0; c < n; c += SPAN) {
			__m512i q = columns_of(in + (int64_t)c * step, stride, rows - k * QUAD,
					       step, n - c);

			start[c / SPAN] = begin(start[c / SPAN], q);
			put_blocks(w + c / SPAN * 2 * EXEC_MM_W_BLOCK, k, q);
		}
	}
	for (size_t c = 0; c < n; c += SPAN)
		put_blocks(w + c / SPAN * 2 * EXEC_MM_W_BLOCK, steps, start[c / SPAN]);
}

bool exec_quads_avx512_usable(void)
{
	return __builtin_cpu_supports("avx512vnni");
}

const struct exec_quads exec_quads_avx512 = {
	.matmul = quads_matmul,
	.moving = quads_moving,
	.weights = quads_weights,
};
#endif
