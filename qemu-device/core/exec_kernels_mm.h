/* SPDX-License-Identifier: MIT */
/*
 * The matmul of exec_kernels.h around a register block that each exec_kernels_*.c supplies:
 * KNAME(mm_block)(w, x, k, nv, tile), nv times 16 columns. A panel of x (24 KiB) stays in L1
 * while the blocks of w stream past it.
 */

KTARGET static void KNAME(mm_block)(const float *w, const float *x, unsigned int k, unsigned int nv,
				    float *tile);

/* Write one row of a tile: set or add once, NaN canonical; or integers, modulo 2^32 */
KINLINE void mm_store(uint8_t *dst, vf c, size_t bytes, enum exec_mm_mode mode)
{
	vf old = splat(0), r;
	vi i;

	if (mode == EXEC_MM_ADD_F32 || mode == EXEC_MM_ADD_I32)
		memcpy(&old, dst, bytes);
	switch (mode) {
	case EXEC_MM_SET_F32:
		r = canonical(c);
		break;
	case EXEC_MM_ADD_F32:
		r = canonical(old + c);
		break;
	default: /* at most 128 * 128 * 128 in magnitude, so exact */
		i = (vi)(c + splat(0x1.8p23f)) - 0x4b400000;
		r = (vf)((vu)old + (vu)i);
	}
	memcpy(dst, &r, bytes);
}

KINLINE void mm_tile_out(const struct exec_mm *mm, unsigned int row, unsigned int col,
			 const float *tile, enum exec_mm_mode mode)
{
	unsigned int rows = mm->fs - row < EXEC_MM_ROWS ? mm->fs - row : EXEC_MM_ROWS;
	unsigned int cols = mm->fm - col < EXEC_MM_COLS ? mm->fm - col : EXEC_MM_COLS;

	for (unsigned int r = 0; r < rows; r++) {
		uint8_t *dst = mm->dst + (row + r) * mm->dst_stride + col * 4ull;
		const float *c = tile + r * EXEC_MM_COLS;
		unsigned int j;

		for (j = 0; j + LANES <= cols; j += LANES)
			mm_store(dst + j * 4ull, ld(c + j), LANES * 4, mode);
		if (j < cols)
			mm_store(dst + j * 4ull, ld(c + j), (cols - j) * 4ull, mode);
	}
}

KINLINE void mm_all(const struct exec_mm *mm, enum exec_mm_mode mode)
{
	float tile[EXEC_MM_ROWS * EXEC_MM_COLS] __attribute__((aligned(64)));

	for (unsigned int col = 0; col < mm->fm; col += EXEC_MM_COLS) {
		const float *x = mm->x + (size_t)(col / EXEC_MM_COLS) * EXEC_MM_PANEL;
		unsigned int left = (mm->fm - col + 15) / 16;

		for (unsigned int row = 0; row < mm->fs; row += EXEC_MM_ROWS) {
			KNAME(mm_block)
			(mm->w + (size_t)row * NEURON_PARTITIONS, x, mm->k, left < 3 ? left : 3,
			 tile);
			mm_tile_out(mm, row, col, tile, mode);
		}
	}
}

KTARGET static void KNAME(matmul)(const struct exec_mm *mm)
{
	switch (mm->mode) {
	case EXEC_MM_SET_F32:
		mm_all(mm, EXEC_MM_SET_F32);
		break;
	case EXEC_MM_ADD_F32:
		mm_all(mm, EXEC_MM_ADD_F32);
		break;
	case EXEC_MM_SET_I32:
		mm_all(mm, EXEC_MM_SET_I32);
		break;
	case EXEC_MM_ADD_I32:
		mm_all(mm, EXEC_MM_ADD_I32);
		break;
	}
}
