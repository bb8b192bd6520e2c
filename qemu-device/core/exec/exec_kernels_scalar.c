/* SPDX-License-Identifier: MIT */
/* The inner loops for any processor. Called through struct exec_kernels. */
#define KTARGET
#define KBYTES 16
#define KNAME(x) scalar_##x
#include "exec_kernels.h"

/*
 * Fused multiply-add of fp32 by fp64: the product is exact; the sum is rounded to odd, so that the
 * rounding to fp32 is the only one (Boldo and Melquiond, 2008).
 */
#ifndef __FP_FAST_FMAF
KINLINE vd fma_odd(vd a, vd b, vd c)
{
	vd p = a * b, s = p + c, t = s - p;
	vd err = (p - (s - t)) + (c - t);
	vl inexact = (err < 0) | (err > 0); /* false when NaN */
	vl even = ((vl)s & 1) == 0;
	vl up = ((vl)err ^ (vl)s) >= 0; /* away from zero */

	return (vd)((vl)s + (inexact & even & ((up & 2) - 1)));
}
#endif

KINLINE void fma_row(float *acc, float w, const float *x, unsigned int n)
{
#ifdef __FP_FAST_FMAF
	for (unsigned int j = 0; j < n; j++)
		acc[j] = __builtin_fmaf(w, x[j], acc[j]);
#else
	for (unsigned int j = 0; j < n; j += LANES / 2) {
		vfh xs, cs;

		memcpy(&xs, x + j, sizeof(xs));
		memcpy(&cs, acc + j, sizeof(cs));
		cs = __builtin_convertvector(fma_odd(dsplat(w), __builtin_convertvector(xs, vd),
						     __builtin_convertvector(cs, vd)),
					     vfh);
		memcpy(acc + j, &cs, sizeof(cs));
	}
#endif
}

KINLINE void mm_block(const struct exec_mm *mm, unsigned int row, unsigned int col,
		      enum exec_mm_mode mode)
{
	float tile[EXEC_MM_ROWS * EXEC_MM_COLS] = { 0 };
	const float *w = mm_weights(mm, row);

	for (unsigned int i = 0; i < mm->k; i++)
		for (unsigned int r = 0; r < EXEC_MM_ROWS; r++)
			fma_row(tile + r * EXEC_MM_COLS, w[i * EXEC_MM_ROWS + r],
				mm->x + (size_t)i * mm->x_row + col,
				(mm_cols(mm, col) + 15) / 16 * 16);
	mm_tile_out(mm, row, col, tile, mode);
}

static bool scalar_usable(void)
{
	return true;
}

const struct exec_kernels exec_kernels_scalar = {
	.name = "scalar",
	.usable = scalar_usable,
	.matmul = scalar_matmul,
	.moving = scalar_moving,
	.weights = scalar_weights,
	.load = scalar_load,
	.store = scalar_store,
	.draw = scalar_draw,
	.round = scalar_round,
	.alu = scalar_alu,
	.arith = scalar_arith,
	.bits = scalar_bits,
	.fold = scalar_fold,
	.across = scalar_across,
	.gather = scalar_gather,
	.rank = scalar_rank,
	.ranked = 32,
	.below = scalar_below,
	.act = scalar_act,
};
