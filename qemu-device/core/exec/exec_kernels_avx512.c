/* SPDX-License-Identifier: MIT */
/* The inner loops for AVX-512. Called through struct exec_kernels. */
#if defined(__x86_64__)
#include <immintrin.h>

#define KTARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define KBYTES 64
#define MM_FEW 6
#define KPANELS
#define KNAME(x) avx512_##x
#define KWIDEN(h) ((vu)_mm512_cvtepu16_epi32((__m256i)(h)))
#define KNARROW(u) ((vh)_mm512_cvtepi32_epi16((__m512i)(u)))
#define KWIDEN8(b) ((vi)_mm512_cvtepi8_epi32((__m128i)(b)))
#define KWIDEN8H(b) ((vsh)_mm256_cvtepi8_epi16((__m128i)(b)))
#define KWIDEN8W(in) ((vhh)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)(in))))
#define KWIDEN8P(a, b) \
	((vhh)_mm512_cvtepi8_epi16(_mm256_loadu2_m128i((const void *)(b), (const void *)(a))))
#define KFP16(h) ((vf)_mm512_cvtph_ps((__m256i)(h)))
#define KNARROW8(i) ((vb)_mm512_cvtepi32_epi8((__m512i)(i)))
#define KROUND(x) _mm512_cvtps_epi32((__m512)(x))
#define KMOST(a, b) ((vi)_mm512_max_epi32((__m512i)(a), (__m512i)(b)))
#define KSTORE(p, mask, v) _mm512_mask_storeu_ps(p, mask, (__m512)(v))
#define KEXPAND(mask, v) ((vf)_mm512_maskz_expand_ps(mask, (__m512)(v)))
#define KCOMPRESS(mask, v) ((vf)_mm512_maskz_compress_ps(mask, (__m512)(v)))
#define KFMA(a, b, c) ((vd)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define KESTIMATE(x) ((vd)_mm512_rcp14_pd((__m512d)(x)))
/* a NaN stays one */
#define KLEAST(limit, x) ((vd)_mm512_min_pd(_mm512_set1_pd(limit), (__m512d)(x)))
#define KMOST64(limit, x) ((vd)_mm512_max_pd(_mm512_set1_pd(limit), (__m512d)(x)))
#define KBELOW(v, limit) _mm512_cmplt_epu64_mask((__m512i)(v), _mm512_set1_epi64((int64_t)(limit)))
#define KBELOW_ALL(v, limit) (KBELOW(v, limit) == 0xff)
#define KTOF64(x) ((vd)_mm512_cvtps_pd((__m256)(x)))
#define KTOF32(x) ((vfh)_mm512_cvtpd_ps((__m512d)(x)))
#define KHALVES(lo, hi, v)                                          \
	(_mm256_storeu_ps(lo, _mm512_castps512_ps256((__m512)(v))), \
	 _mm256_storeu_ps(hi, _mm512_extractf32x8_ps((__m512)(v), 1)))
#define KMAX(a, b) ((vf)avx512_extreme((__m512)(a), (__m512)(b), 5))
#define KMIN(a, b) ((vf)avx512_extreme((__m512)(a), (__m512)(b), 4))

/* VRANGEPS has the order of zeros, but takes the number beside a NaN. */
static inline __attribute__((always_inline)) KTARGET __m512 avx512_extreme(__m512 a, __m512 b,
									   const int which)
{
	__m512 r = which == 5 ? _mm512_range_ps(a, b, 5) : _mm512_range_ps(a, b, 4);

	return _mm512_mask_add_ps(r, _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q), a, b);
}

#define KMUL32(a, b) ((vul)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))

#include "exec_kernels.h"
#include "exec_pairs.h"
#include "exec_quads.h"

#define MM_STEP(sum, w, x) _mm512_fmadd_ps(w, x, sum)
#include "exec_block_avx512.h"

static bool avx512_usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool avx512_vnni_usable(void)
{
	return avx512_usable() && exec_quads_avx512_usable();
}

static bool avx512_bf16_usable(void)
{
	return avx512_vnni_usable() && exec_pairs_avx512_usable();
}

#define AVX512                                                                                    \
	.matmul = avx512_matmul, .widening = avx512_widening, .moving = avx512_moving,            \
	.weights = avx512_weights, .load = avx512_load, .store = avx512_store, .alu = avx512_alu, \
	.arith = avx512_arith, .bits = avx512_bits, .fold = avx512_fold, .across = avx512_across, \
	.act = avx512_act, .gather = avx512_gather, .rank = avx512_rank, .ranked = 192,           \
	.below = avx512_below, .draw = avx512_draw, .round = avx512_round

const struct exec_kernels exec_kernels_avx512 = {
	.name = "avx512",
	.usable = avx512_usable,
	AVX512,
};

const struct exec_kernels exec_kernels_avx512_vnni = {
	.name = "avx512_vnni",
	.usable = avx512_vnni_usable,
	AVX512,
	.quads = &exec_quads_avx512,
};

const struct exec_kernels exec_kernels_avx512_bf16 = {
	.name = "avx512_bf16",
	.usable = avx512_bf16_usable,
	.quicker = exec_pairs_avx512_quicker,
	AVX512,
	.pairs = &exec_pairs_avx512,
	.quads = &exec_quads_avx512,
};
#endif
