/* SPDX-License-Identifier: MIT */
/*
 * The register block of the matmul with 512-bit vectors, a template as exec_kernels_mm.h is: each
 * instance defines MM_STEP(sum, w, x), sum and the products of a step of k, in their order; where
 * sums do not begin with 0, MM_START(w, r), and MM_INTEGERS if what it adds are int32.
 */

#define ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#ifndef MM_START
#define MM_START(w, r) _mm512_setzero_ps()
#endif
#define ZERO(r) __m512 a##r = MM_START(w, r), b##r = a##r, c##r = a##r;
#define STEP(r)                                      \
	{                                            \
		__m512 s = _mm512_set1_ps(w[r]);     \
		a##r = MM_STEP(a##r, s, x0);         \
		if (nv > 1)                          \
			b##r = MM_STEP(b##r, s, x1); \
		if (nv > 2)                          \
			c##r = MM_STEP(c##r, s, x2); \
	}
#define TILE(r)                                               \
	_mm512_storeu_ps(tile + r * EXEC_MM_COLS, a##r);      \
	_mm512_storeu_ps(tile + r * EXEC_MM_COLS + 16, b##r); \
	_mm512_storeu_ps(tile + r * EXEC_MM_COLS + 32, c##r);
#define OUT(r)                                                                \
	if (r < rows) {                                                       \
		float *dst = (float *)(out + r * mm->dst_stride);             \
		mm_out(dst, nv > 1 ? 0xffff : mask, a##r, mode);              \
		if (nv > 1)                                                   \
			mm_out(dst + 16, nv > 2 ? 0xffff : mask, b##r, mode); \
		if (nv > 2)                                                   \
			mm_out(dst + 32, mask, c##r, mode);                   \
	}

#ifdef MM_INTEGERS
#define MM_STORES(mode) true
KINLINE void mm_out(float *dst, __mmask16 mask, __m512 c, enum exec_mm_mode mode)
{
	__m512i i = _mm512_castps_si512(c);

	if (mode == EXEC_MM_ADD_I32)
		i = _mm512_add_epi32(_mm512_maskz_loadu_epi32(mask, dst), i);
	_mm512_mask_storeu_epi32(dst, mask, i);
}
#else
#define MM_STORES(mode) ((mode) == EXEC_MM_SET_F32 || (mode) == EXEC_MM_ADD_F32)
/* Stores the sums, which replace or are added to what is there; NaN becomes canonical. */
KINLINE void mm_out(float *dst, __mmask16 mask, __m512 c, enum exec_mm_mode mode)
{
	const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(EXEC_NAN));

	if (mode == EXEC_MM_ADD_F32)
		c = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, dst), c);
	/* of the eight kinds of numbers the first two, quiet and signalling NaN, become nan */
	c = _mm512_fixupimm_ps(nan, c, _mm512_set1_epi32(0x11111100), 0);
	_mm512_mask_storeu_ps(dst, mask, c);
}
#endif

/* 8 rows by nv vectors: up to 24 accumulators stay in registers over all of k */
KINLINE void mm_vectors(const struct exec_mm *mm, unsigned int row, unsigned int col,
			unsigned int nv, enum exec_mm_mode mode)
{
	const float *w = mm_weights(mm, row), *x = mm->x + col;
	ROWS(ZERO)

	if (MM_STORES(mode))
		for (unsigned int r = 0; r < mm_rows(mm, row); r++) {
			const uint8_t *out = mm->dst + (row + r) * mm->dst_stride + col * 4ull;
			for (unsigned int v = 0; v < nv; v++)
				_mm_prefetch(out + v * 64, _MM_HINT_T0);
		}
	for (unsigned int i = 0; i < mm->k; i++, w += EXEC_MM_ROWS, x += mm->x_row) {
		__m512 x0 = _mm512_loadu_ps(x), x1 = x0, x2 = x0;

		if (nv > 1)
			x1 = _mm512_loadu_ps(x + 16);
		if (nv > 2)
			x2 = _mm512_loadu_ps(x + 32);
		ROWS(STEP)
	}
	if (MM_STORES(mode)) {
		unsigned int rows = mm_rows(mm, row), last = mm_cols(mm, col) - 16 * (nv - 1);
		uint8_t *out = mm->dst + row * mm->dst_stride + col * 4ull;
		__mmask16 mask = (__mmask16)(0xffffu >> (16 - last));

		ROWS(OUT)
	} else {
		float tile[EXEC_MM_ROWS * EXEC_MM_COLS];

		ROWS(TILE)
		mm_tile_out(mm, row, col, tile, mode);
	}
}

KINLINE void mm_block(const struct exec_mm *mm, unsigned int row, unsigned int col,
		      enum exec_mm_mode mode)
{
	unsigned int cols = mm_cols(mm, col);

	if (cols <= 16)
		mm_vectors(mm, row, col, 1, mode);
	else if (cols <= 32)
		mm_vectors(mm, row, col, 2, mode);
	else
		mm_vectors(mm, row, col, 3, mode);
}

#define MM_SUMS 24

/* 16 rows' weights of a step of k: of two blocks */
KINLINE __m512 mm_two_blocks(const float *w)
{
	return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(w)),
				  _mm256_loadu_ps(w + EXEC_MM_W_BLOCK), 1);
}

/* The sums of n columns in nv vectors of rows, 16 rows from one to the next */
KINLINE void mm_few_sums(const struct exec_mm *mm, unsigned int row, unsigned int col,
			 unsigned int nv, unsigned int n, float (*sum)[NEURON_PARTITIONS])
{
	const float *w = mm_weights(mm, row), *x = mm->x + col;
	__m512 acc[MM_SUMS];

#pragma GCC unroll 24
	for (unsigned int j = 0; j < nv * n; j++)
		acc[j] = _mm512_setzero_ps();
	for (unsigned int i = 0; i < mm->k; i++, w += EXEC_MM_ROWS, x += mm->x_row) {
#pragma GCC unroll 8
		for (unsigned int j = 0; j < nv; j++) {
			__m512 rows = mm_two_blocks(w + 2ull * j * EXEC_MM_W_BLOCK);

#pragma GCC unroll 6
			for (unsigned int c = 0; c < n; c++)
				acc[j * n + c] =
					MM_STEP(acc[j * n + c], rows, _mm512_set1_ps(x[c]));
		}
	}
#pragma GCC unroll 24
	for (unsigned int j = 0; j < nv * n; j++)
		_mm512_storeu_ps(sum[j % n] + row + j / n * 16, acc[j]);
}

/* Sums as many rows at a time as there are registers for, so that no sum waits for another */
KINLINE void mm_rows_sums(const struct exec_mm *mm, unsigned int col, unsigned int n,
			  float (*sum)[NEURON_PARTITIONS])
{
	if (mm->fs <= 16) {
		mm_few_sums(mm, 0, col, 1, n, sum);
		return;
	}
	if (mm->fs <= 32) {
		mm_few_sums(mm, 0, col, 2, n, sum);
		return;
	}
	if (n == 1 && mm->fs > 64) {
		mm_few_sums(mm, 0, col, 8, n, sum);
		return;
	}
	for (unsigned int row = 0; row < mm->fs; row += 64)
		mm_few_sums(mm, row, col, 4, n, sum);
}

#ifdef MM_FEW
KTARGET static void mm_sums(const struct exec_mm *mm, unsigned int col, unsigned int n,
			    float (*sum)[NEURON_PARTITIONS])
{
	switch (n) {
	case 1:
		mm_rows_sums(mm, col, 1, sum);
		break;
	case 2:
		mm_rows_sums(mm, col, 2, sum);
		break;
	case 3:
		mm_rows_sums(mm, col, 3, sum);
		break;
	case 4:
		mm_rows_sums(mm, col, 4, sum);
		break;
	case 5:
		mm_rows_sums(mm, col, 5, sum);
		break;
	default:
		mm_rows_sums(mm, col, 6, sum);
	}
}
#endif
