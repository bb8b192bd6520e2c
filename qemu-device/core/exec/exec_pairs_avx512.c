/* SPDX-License-Identifier: MIT */
/*
 * The PE's products two steps of k at a time, by the instruction that multiplies pairs of bf16.
 * Called through struct exec_pairs, within what exec_pairs_exact allows.
 */
#if defined(__x86_64__)
#include <immintrin.h>

#define KTARGET                                                                                \
	__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bf16,avx2," \
			      "fma")))
#define KBYTES 64
#define MM_FEW 6
#define KNAME(x) pairs_##x
#include "exec_kernels_vector.h"
#include "exec_kernels_mm.h"
#include "exec_pairs.h"

/* First the high halves, then the low ones */
#define MM_STEP(sum, w, x) _mm512_dpbf16_ps(sum, (__m512bh)(w), (__m512bh)(x))
#include "exec_block_avx512.h"

#define PAIRS 16 /* in a vector */
#define FP8S 64

/* The least magnitude but 0 of all elements so far, less 1 */
KINLINE __m512i no_least(void)
{
	return _mm512_set1_epi16(-1);
}

KINLINE __m512i least_of(__m512i least, __m512i pairs)
{
	__m512i mag = _mm512_and_si512(pairs, _mm512_set1_epi16(0x7fff));

	/* 0 becomes the greatest */
	return _mm512_min_epu16(least, _mm512_sub_epi16(mag, _mm512_set1_epi16(1)));
}

KINLINE unsigned int exponent(__m512i least)
{
	uint16_t lane[2 * PAIRS], r = 0xffff;

	_mm512_storeu_si512(lane, least);
	for (int i = 0; i < 2 * PAIRS; i++)
		r = lane[i] < r ? lane[i] : r;
	return (r + 1u) >> 7;
}

KINLINE __mmask16 lanes(size_t n)
{
	return n < PAIRS ? (__mmask16)((1u << n) - 1) : 0xffff;
}

/* Floats of 8 bits, each in 16, as bf16: which holds them all */
KINLINE __m512i from_fp8(__m512i b, unsigned int ebits, unsigned int fbits)
{
	const unsigned int bias = (1u << (ebits - 1)) - 1, special = ((1u << ebits) - 1) << fbits;
	const __m512i mag = _mm512_and_si512(b, _mm512_set1_epi16(0x7f));
	const __m512i sign = _mm512_slli_epi16(_mm512_xor_si512(b, mag), 8);
	__m512i r = _mm512_add_epi16(_mm512_slli_epi16(mag, 7 - fbits),
				     _mm512_set1_epi16((int16_t)((127 - bias) << 7)));
	uint16_t tiny[2 * PAIRS] = { 0 };

	for (unsigned int i = 0; i < 1u << fbits; i++) { /* subnormal numbers: constants */
		float x = (float)i / (float)(1u << fbits) * (2.0f / (float)(1u << bias));
		uint32_t bits;

		memcpy(&bits, &x, sizeof(bits));
		tiny[i] = (uint16_t)(bits >> 16);
	}
	r = _mm512_mask_permutexvar_epi16(
		r, _mm512_cmplt_epu16_mask(mag, _mm512_set1_epi16((int16_t)(1 << fbits))), mag,
		_mm512_loadu_si512(tiny));
	/* infinity and NaN: all ones in the exponent */
	r = _mm512_mask_blend_epi16(_mm512_cmpge_epu16_mask(mag,
							    _mm512_set1_epi16((int16_t)special)),
				    r, _mm512_or_si512(r, _mm512_set1_epi16(0x7f80)));
	return _mm512_or_si512(r, sign);
}

/* The bytes of bf16 of all magnitudes of a type of 8 bits */
struct fp8_bytes {
	__m512i low[2], high[2];
};

KINLINE void fp8_bytes(struct fp8_bytes *t, unsigned int ebits, unsigned int fbits)
{
	uint8_t all[2][128];

	for (unsigned int i = 0; i < 128; i += 2 * PAIRS) {
		uint16_t code[2 * PAIRS];
		__m512i v;

		for (unsigned int j = 0; j < 2 * PAIRS; j++)
			code[j] = (uint16_t)(i + j);
		v = from_fp8(_mm512_loadu_si512(code), ebits, fbits);
		_mm256_storeu_si256((void *)&all[0][i], _mm512_cvtepi16_epi8(v));
		_mm256_storeu_si256((void *)&all[1][i],
				    _mm512_cvtepi16_epi8(_mm512_srli_epi16(v, 8)));
	}
	for (unsigned int i = 0; i < 2; i++) {
		t->low[i] = _mm512_loadu_si512(&all[0][64 * i]);
		t->high[i] = _mm512_loadu_si512(&all[1][64 * i]);
	}
}

/*
 * Pairs quarter * PAIRS and those behind it of two rows of 64 bytes: each byte twice, where the
 * bytes that the tables have for it go, and its sign
 */
KINLINE __m512i fp8_pairs(const struct fp8_bytes *t, __m512i high, __m512i low,
			  unsigned int quarter)
{
	const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
	const __m512i where = _mm512_add_epi32(
		_mm512_mullo_epi32(lane, _mm512_set1_epi32(0x01010101)),
		_mm512_set1_epi32((int)(0x40400000 + quarter * PAIRS * 0x01010101)));
	const __m512i code = _mm512_permutex2var_epi8(low, where, high);
	__m512i r = _mm512_mask2_permutex2var_epi8(t->low[0], code, 0x5555555555555555, t->low[1]);

	r = _mm512_mask2_permutex2var_epi8(t->high[0], r, 0xaaaaaaaaaaaaaaaa, t->high[1]);
	/* r | (code & sign) */
	return _mm512_ternarylogic_epi32(r, code, _mm512_set1_epi16((int16_t)0x8000), 0xf8);
}

KINLINE __m512i fp8_row(const uint8_t *row, size_t n)
{
	return n < FP8S ? _mm512_maskz_loadu_epi8((1ull << n) - 1, row) : _mm512_loadu_si512(row);
}

/* The biased exponent, as bf16, of the number nearest to 0 that is not 0 */
KINLINE unsigned int fp8_least(unsigned int ebits, unsigned int fbits)
{
	return 127 + 2 - (1u << (ebits - 1)) - fbits;
}

/* n elements, 16 at most, of two rows side by side; zeros behind them, and for a row at NULL */
KINLINE __m512i side_by_side(const uint8_t *high, const uint8_t *low, size_t n)
{
	__m256i h = _mm256_maskz_loadu_epi16(lanes(n), high), l = _mm256_setzero_si256();

	if (low)
		l = _mm256_maskz_loadu_epi16(lanes(n), low);
	return _mm512_or_si512(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16),
			       _mm512_cvtepu16_epi32(l));
}

/* Every other element, which with its neighbour takes the place of a float */
KINLINE __m512i every_other(const uint8_t *high, const uint8_t *low, size_t n)
{
	__m512i h = _mm512_maskz_loadu_epi32(lanes(n), high), l = _mm512_setzero_si512();

	if (low)
		l = _mm512_maskz_loadu_epi32(lanes(n), low);
	return _mm512_mask_blend_epi16(0x55555555, _mm512_slli_epi32(h, 16), l);
}

#define AHEAD 4 /* pairs of rows: as in exec_kernels.h */
#define LINE 64

KINLINE void ahead(const struct exec_pair_rows *rows, const uint8_t *in, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += LINE) {
		__builtin_prefetch(in + AHEAD * rows->stride + i);
		__builtin_prefetch(in + AHEAD * rows->stride + rows->low + i);
	}
}

KINLINE unsigned int moving_bf16(float *x, const struct exec_pair_rows *rows,
				 const struct exec_runs *runs, size_t step)
{
	const uint8_t *in = rows->in;
	__m512i least = no_least();

	for (unsigned int k = 0; k < rows->rows; k += 2, in += rows->stride, x += EXEC_MM_X_ROW) {
		for (uint32_t r = 0; r < runs->count; r++) {
			const uint8_t *from = in + runs->at[r];
			float *to = x + (size_t)r * runs->len;

			if (k + 2 * AHEAD + 1 < rows->rows)
				ahead(rows, from, runs->len * step);
			for (size_t i = 0; i < runs->len; i += PAIRS, from += PAIRS * step) {
				const uint8_t *low = k + 1 < rows->rows ? from + rows->low : NULL;
				__m512i v = step == 4 ? every_other(from, low, runs->len - i)
						      : side_by_side(from, low, runs->len - i);

				least = least_of(least, v);
				_mm512_storeu_si512(to + i, v);
			}
		}
	}
	return exponent(least);
}

KINLINE unsigned int moving_fp8(float *x, const struct exec_pair_rows *rows,
				const struct exec_runs *runs, unsigned int ebits,
				unsigned int fbits)
{
	const uint8_t *in = rows->in;
	struct fp8_bytes t;

	fp8_bytes(&t, ebits, fbits);
	for (unsigned int k = 0; k < rows->rows; k += 2, in += rows->stride, x += EXEC_MM_X_ROW) {
		for (uint32_t r = 0; r < runs->count; r++) {
			const uint8_t *from = in + runs->at[r];
			float *to = x + (size_t)r * runs->len;

			if (k + 2 * AHEAD + 1 < rows->rows)
				ahead(rows, from, runs->len);
			for (size_t i = 0; i < runs->len; i += FP8S, from += FP8S) {
				const size_t n = runs->len - i;
				const __m512i h = fp8_row(from, n);
				const __m512i l = k + 1 < rows->rows ? fp8_row(from + rows->low, n)
								     : _mm512_setzero_si512();

#pragma GCC unroll 4
				for (unsigned int q = 0; q < FP8S / PAIRS; q++)
					if (q * PAIRS < n)
						_mm512_storeu_si512(to + i + q * PAIRS,
								    fp8_pairs(&t, h, l, q));
			}
		}
	}
	return fp8_least(ebits, fbits);
}

#define EACH_FP8(call)             \
	case NEURON_DT_FP8_E3:     \
		return call(3, 4); \
	case NEURON_DT_FP8_E4:     \
		return call(4, 3); \
	case NEURON_DT_FP8_E5:     \
		return call(5, 2);

KTARGET static unsigned int pairs_moving(float *x, const struct exec_pair_rows *rows,
					 const struct exec_runs *runs)
{
#define MOVING(ebits, fbits) moving_fp8(x, rows, runs, ebits, fbits)
	switch (rows->dtype) {
		EACH_FP8(MOVING)
	default:
		return runs->step == 4 ? moving_bf16(x, rows, runs, 4)
				       : moving_bf16(x, rows, runs, 2);
	}
#undef MOVING
}

/* A vector's columns are in two blocks */
KINLINE void put_weights(float *w, size_t column, __m512i v)
{
	float *to = w + column / EXEC_MM_ROWS * EXEC_MM_W_BLOCK;

	_mm256_storeu_si256((void *)to, _mm512_castsi512_si256(v));
	_mm256_storeu_si256((void *)(to + EXEC_MM_W_BLOCK), _mm512_extracti64x4_epi64(v, 1));
}

KINLINE unsigned int weights_bf16(float *w, const struct exec_pair_rows *rows, size_t n)
{
	const uint8_t *in = rows->in;
	__m512i least = no_least();

	for (unsigned int k = 0; k < rows->rows; k += 2, in += rows->stride, w += EXEC_MM_ROWS) {
		if (k + 2 * AHEAD + 1 < rows->rows)
			ahead(rows, in, n * 2);
		for (size_t i = 0; i < n; i += PAIRS) {
			const uint8_t *low = in + rows->low + 2 * i;
			__m512i v =
				side_by_side(in + 2 * i, k + 1 < rows->rows ? low : NULL, n - i);

			least = least_of(least, v);
			put_weights(w, i, v);
		}
	}
	return exponent(least);
}

KINLINE unsigned int weights_fp8(float *w, const struct exec_pair_rows *rows, size_t n,
				 unsigned int ebits, unsigned int fbits)
{
	const uint8_t *in = rows->in;
	struct fp8_bytes t;

	fp8_bytes(&t, ebits, fbits);
	for (unsigned int k = 0; k < rows->rows; k += 2, in += rows->stride, w += EXEC_MM_ROWS) {
		if (k + 2 * AHEAD + 1 < rows->rows)
			ahead(rows, in, n);
		for (size_t i = 0; i < n; i += FP8S) {
			const __m512i h = fp8_row(in + i, n - i);
			const __m512i l = k + 1 < rows->rows ? fp8_row(in + rows->low + i, n - i)
							     : _mm512_setzero_si512();

#pragma GCC unroll 4
			for (unsigned int q = 0; q < FP8S / PAIRS; q++)
				if (i + q * PAIRS < n)
					put_weights(w, i + q * PAIRS, fp8_pairs(&t, h, l, q));
		}
	}
	return fp8_least(ebits, fbits);
}

KTARGET static unsigned int pairs_weights(float *w, const struct exec_pair_rows *rows, size_t n)
{
#define WEIGHTS(ebits, fbits) weights_fp8(w, rows, n, ebits, fbits)
	switch (rows->dtype) {
		EACH_FP8(WEIGHTS)
	default:
		return weights_bf16(w, rows, n);
	}
#undef WEIGHTS
}

/* The high halves of two vectors of floats, which have nothing in the low ones */
KINLINE __m512i high_halves(__m512i high, __m512i low)
{
	return _mm512_or_si512(high, _mm512_srli_epi32(low, 16));
}

KTARGET static unsigned int pairs_pack_moving(float *x, unsigned int rows, size_t n)
{
	__m512i least = no_least();

	for (unsigned int k = 0; k < rows; k += 2) {
		const float *high = x + (size_t)k * EXEC_MM_X_ROW, *low = high + EXEC_MM_X_ROW;
		float *to = x + (size_t)(k / 2) * EXEC_MM_X_ROW;

		for (size_t i = 0; i < n; i += PAIRS) {
			__m512i h = _mm512_maskz_loadu_epi32(lanes(n - i), high + i);
			__m512i l = _mm512_setzero_si512();

			if (k + 1 < rows)
				l = _mm512_maskz_loadu_epi32(lanes(n - i), low + i);
			h = high_halves(h, l);
			least = least_of(least, h);
			_mm512_storeu_si512(to + i, h);
		}
	}
	return exponent(least);
}

KTARGET static unsigned int pairs_pack_weights(float *w, unsigned int rows, size_t n)
{
	__m512i least = no_least();

	for (size_t c = 0; c < n; c += EXEC_MM_ROWS, w += EXEC_MM_W_BLOCK) {
		for (unsigned int k = 0; k < rows; k += 2) {
			const float *from = w + (size_t)k * EXEC_MM_ROWS;
			size_t columns = n - c < EXEC_MM_ROWS ? n - c : EXEC_MM_ROWS;
			__mmask16 mask = lanes(columns);
			__m512i h = _mm512_maskz_loadu_epi32(mask, from);
			__m512i l = _mm512_setzero_si512();

			if (k + 1 < rows)
				l = _mm512_maskz_loadu_epi32(mask, from + EXEC_MM_ROWS);
			h = high_halves(h, l);
			least = least_of(least, h);
			_mm256_storeu_si256((void *)(w + (size_t)(k / 2) * EXEC_MM_ROWS),
					    _mm512_castsi512_si256(h));
		}
	}
	return exponent(least);
}

/*
 * What the instruction's descriptions leave open: both additions round, and no product does, beyond
 * the greatest number either. Operands are near 1, and with a power of 2 where products overflow.
 */
KTARGET static bool as_fused(uint32_t power)
{
	uint32_t seed = 1, v[3][PAIRS]; /* w, x, sum */

	for (int round = 0; round < 64; round++) {
		__m512i high = _mm512_set1_epi32((int)0xffff0000), w, x;
		__m512 want, got;

		for (int i = 0; i < PAIRS; i++) {
			for (int j = 0; j < 3; j++) {
				seed = seed * 1664525 + 1013904223;
				v[j][i] = (seed & (j < 2 ? 0x81ff81ff : 0x81ffffff)) +
					  (j < 2 ? 0x3f003f00 + power * 0x00800080
						 : 0x3f000000 + 2 * power * 0x00800000);
			}
		}
		w = _mm512_loadu_si512(v[0]);
		x = _mm512_loadu_si512(v[1]);
		want = got = _mm512_loadu_ps(v[2]);
		want = _mm512_fmadd_ps((__m512)_mm512_and_si512(w, high),
				       (__m512)_mm512_and_si512(x, high), want);
		want = _mm512_fmadd_ps((__m512)_mm512_slli_epi32(w, 16),
				       (__m512)_mm512_slli_epi32(x, 16), want);
		got = MM_STEP(got, (__m512)w, (__m512)x);
		if (_mm512_cmpneq_epi32_mask((__m512i)canonical((vf)got),
					     (__m512i)canonical((vf)want)))
			return false;
	}
	return true;
}

bool exec_pairs_avx512_usable(void)
{
	return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vbmi") &&
	       as_fused(0) && as_fused(62);
}

#define CHAINS 16 /* sums that do not wait for each other, as a block has them */
#define STEPS 64
#define TRIALS 16

/* The cycles that STEPS steps of all chains take, by one operation each or by two; the least of
 * some */
KINLINE uint64_t time_of(bool fused)
{
	const __m512 w = _mm512_castsi512_ps(_mm512_set1_epi32(0x3f803f80));
	uint64_t least = UINT64_MAX;
	__m512 sum[CHAINS] = { w };

	for (unsigned int trial = 0; trial < TRIALS; trial++) {
		uint64_t from = __rdtsc(), took;

		for (unsigned int k = 0; k < STEPS; k++) {
#pragma GCC unroll 16
			for (unsigned int i = 0; i < CHAINS; i++) {
				if (!fused) {
					sum[i] = MM_STEP(sum[i], w, w);
					continue;
				}
				sum[i] = _mm512_fmadd_ps(w, w, sum[i]);
				sum[i] = _mm512_fmadd_ps(w, w, sum[i]);
			}
		}
		__asm__ volatile("" : "+m"(sum)); /* what was to be done is done */
		took = __rdtsc() - from;
		least = took < least ? took : least;
	}
	return least;
}

KTARGET static uint64_t time_of_pairs(void)
{
	return time_of(false);
}

KTARGET static uint64_t time_of_fused(void)
{
	return time_of(true);
}

/*
 * Processors have the instruction at twice the rate of fused multiply-adds (AMD's), or at a fourth
 * (some of Intel's), where two of these are quicker.
 */
bool exec_pairs_avx512_quicker(void)
{
	return time_of_pairs() < time_of_fused();
}

const struct exec_pairs exec_pairs_avx512 = {
	.matmul = pairs_matmul,
	.moving = pairs_moving,
	.weights = pairs_weights,
	.pack_moving = pairs_pack_moving,
	.pack_weights = pairs_pack_weights,
};
#endif
