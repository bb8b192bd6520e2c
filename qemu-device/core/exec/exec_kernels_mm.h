/* SPDX-License-Identifier: MIT */
/*
 * The matmul of exec_kernels.h around a register block that each exec_kernels_*.c supplies:
 * mm_block(mm, row, col, mode), at most EXEC_MM_ROWS by EXEC_MM_COLS results from there on. The
 * columns of x that a block reads (24 KiB) stay in L1 while the blocks of w stream past them.
 * Up to MM_FEW columns beside whole blocks, if an instance defines it and mm_sums(), are taken with
 * rows in the lanes of a vector: most lanes of a block would be for nothing.
 */

KINLINE void mm_block(const struct exec_mm *mm, unsigned int row, unsigned int col,
		      enum exec_mm_mode mode);

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

KINLINE const float *mm_weights(const struct exec_mm *mm, unsigned int row)
{
	return mm->w + (size_t)(row / EXEC_MM_ROWS) * EXEC_MM_W_BLOCK;
}

KINLINE unsigned int mm_rows(const struct exec_mm *mm, unsigned int row)
{
	return mm->fs - row < EXEC_MM_ROWS ? mm->fs - row : EXEC_MM_ROWS;
}

KINLINE unsigned int mm_cols(const struct exec_mm *mm, unsigned int col)
{
	return mm->fm - col < EXEC_MM_COLS ? mm->fm - col : EXEC_MM_COLS;
}

/* A block's results from tile[row][col] to their place */
KINLINE void mm_tile_out(const struct exec_mm *mm, unsigned int row, unsigned int col,
			 const float *tile, enum exec_mm_mode mode)
{
	unsigned int rows = mm_rows(mm, row), cols = mm_cols(mm, col);

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

#ifndef MM_BESIDE /* what else is to be done before a block of rows */
#define MM_BESIDE(mm, row) (void)0
#endif

#ifdef MM_FEW
/* The sums of n columns, MM_FEW at most, of all rows and beyond, to the end of a vector */
KTARGET static void mm_sums(const struct exec_mm *mm, unsigned int col, unsigned int n,
			    float (*sum)[NEURON_PARTITIONS]);

/* The rows of a column, which lie in as many partitions */
KINLINE void mm_column(const struct exec_mm *mm, unsigned int col, const float *sum,
		       enum exec_mm_mode mode)
{
	float out[NEURON_PARTITIONS] = { 0 };
	uint8_t *dst = mm->dst + col * 4ull;

	if (mode == EXEC_MM_ADD_F32 || mode == EXEC_MM_ADD_I32)
		for (unsigned int r = 0; r < mm->fs; r++)
			memcpy(out + r, dst + r * mm->dst_stride, sizeof(*out));
	for (unsigned int r = 0; r < mm->fs; r += LANES)
		mm_store((uint8_t *)(out + r), ld(sum + r), sizeof(vf), mode);
	for (unsigned int r = 0; r < mm->fs; r++)
		memcpy(dst + r * mm->dst_stride, out + r, sizeof(*out));
}

/* The last columns, if so few are left beside the blocks; how many */
KINLINE unsigned int mm_few(const struct exec_mm *mm, enum exec_mm_mode mode)
{
	unsigned int n = mm->fm % EXEC_MM_COLS;
	float sum[MM_FEW][NEURON_PARTITIONS];

	if (n == 0 || n > MM_FEW)
		return 0;
	mm_sums(mm, mm->fm - n, n, sum);
	for (unsigned int c = 0; c < n; c++)
		mm_column(mm, mm->fm - n + c, sum[c], mode);
	return n;
}
#endif

KINLINE void mm_all(const struct exec_mm *mm, enum exec_mm_mode mode)
{
	unsigned int blocks = mm->fm;

#ifdef MM_FEW
	blocks -= mm_few(mm, mode);
#endif
	for (unsigned int col = 0; col < blocks; col += EXEC_MM_COLS) {
		for (unsigned int row = 0; row < mm->fs; row += EXEC_MM_ROWS) {
			MM_BESIDE(mm, row);
			mm_block(mm, row, col, mode);
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
