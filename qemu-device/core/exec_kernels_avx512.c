/* SPDX-License-Identifier: MIT */
/* The inner loops for AVX-512. Called through struct exec_kernels. */
#if defined(__x86_64__)
#include <immintrin.h>

#define KTARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#define KBYTES 64
#define KNAME(x) avx512_##x
#include "exec_kernels.h"

#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define ZERO(r) \
	__m512 a##r = _mm512_setzero_ps(), b##r = _mm512_setzero_ps(), c##r = _mm512_setzero_ps();
#define FMA(r)                                               \
	{                                                    \
		__m512 s = _mm512_set1_ps(w[r]);             \
		a##r = _mm512_fmadd_ps(s, x0, a##r);         \
		if (nv > 1)                                  \
			b##r = _mm512_fmadd_ps(s, x1, b##r); \
		if (nv > 2)                                  \
			c##r = _mm512_fmadd_ps(s, x2, c##r); \
	}
#define STORE(r)                                              \
	_mm512_storeu_ps(tile + r * EXEC_MM_COLS, a##r);      \
	_mm512_storeu_ps(tile + r * EXEC_MM_COLS + 16, b##r); \
	_mm512_storeu_ps(tile + r * EXEC_MM_COLS + 32, c##r);

/* 8 rows by 48 columns: 24 accumulators stay in registers over all of k */
KINLINE void mm_block(const float *w, const float *x, unsigned int k, unsigned int nv, float *tile)
{
	ROWS(ZERO)

	for (unsigned int i = 0; i < k; i++, w += EXEC_MM_ROWS, x += EXEC_MM_COLS) {
		__m512 x0 = _mm512_loadu_ps(x), x1 = _mm512_loadu_ps(x + 16);
		__m512 x2 = _mm512_loadu_ps(x + 32);

		ROWS(FMA)
	}
	ROWS(STORE)
}

KTARGET static void avx512_mm_block(const float *w, const float *x, unsigned int k, unsigned int nv,
				    float *tile)
{
	if (nv == 1)
		mm_block(w, x, k, 1, tile);
	else if (nv == 2)
		mm_block(w, x, k, 2, tile);
	else
		mm_block(w, x, k, 3, tile);
}

static bool avx512_usable(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

const struct exec_kernels exec_kernels_avx512 = {
	.name = "avx512",
	.usable = avx512_usable,
	.matmul = avx512_matmul,
	.pack = avx512_pack,
	.weights = avx512_weights,
	.load = avx512_load,
	.store = avx512_store,
	.alu = avx512_alu,
	.fold = avx512_fold,
	.act = avx512_act,
};
#endif
