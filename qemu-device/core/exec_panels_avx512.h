/* SPDX-License-Identifier: MIT */
/*
 * A matmul's moving operand, widened from bf16 one block's columns at a time: while one panel is
 * multiplied, which waits for arithmetic, the next one is made, which waits for memory. Two of them
 * take turns.
 */
#include "exec_kernels_vector.h"

#define PANEL_FEW MM_FEW /* columns that a panel takes with its block */
#define PANEL_X (NEURON_PARTITIONS * 64 + 80) /* floats of a panel, and a vector behind them */
#define PANEL_AHEAD 8 /* rows */

/* Columns of a panel that come from one run */
struct panel_part {
	int64_t at; /* byte of the first one's element */
	uint32_t to, n;
};

struct exec_panel {
	const struct exec_moving *moving;
	unsigned int k;
	float *x;
	unsigned int x_row;
	unsigned int parts;
	struct panel_part part[EXEC_MM_COLS + PANEL_FEW];
	int64_t first, bytes; /* what is asked for ahead of a row */
};

/* How many columns the panel that begins at one has */
KINLINE unsigned int panel_columns(const struct exec_mm *mm, unsigned int col)
{
	unsigned int left = mm->fm - col;

	return left <= EXEC_MM_COLS + PANEL_FEW ? left : EXEC_MM_COLS;
}

/* What the panel of n columns from col on is made of */
KINLINE void panel_begin(const struct exec_mm *mm, unsigned int col, unsigned int n,
			 struct exec_panel *p)
{
	const struct exec_runs *runs = mm->moving->runs;
	uint32_t run = col / runs->len, skip = col % runs->len;

	p->moving = mm->moving;
	p->k = mm->k;
	p->x = mm->moving->x + col / EXEC_MM_COLS % 2 * PANEL_X;
	p->x_row = n <= EXEC_MM_COLS ? EXEC_MM_COLS : 64;
	p->parts = 0;
	for (uint32_t to = 0; to < n; run++, skip = 0) {
		struct panel_part *part = &p->part[p->parts++];

		part->at = runs->at[run] + skip * runs->step;
		part->to = to;
		part->n = runs->len - skip < n - to ? runs->len - skip : n - to;
		to += part->n;
	}
	p->first = p->part[0].at;
	p->bytes = p->part[p->parts - 1].at + p->part[p->parts - 1].n * runs->step - p->first;
	if (p->bytes > 512)
		p->bytes = 512;
}

/*
 * Rows from k on. Vectors are stored whole: what is behind a part's last column is written over by
 * the next part or row, or is not used.
 */
KINLINE void panel_rows(const struct exec_panel *p, unsigned int k, unsigned int end, size_t step)
{
	const uint8_t *in = p->moving->in + k * p->moving->stride;
	float *x = p->x + (size_t)k * p->x_row;

	for (; k < end; k++, in += p->moving->stride, x += p->x_row) {
		if (k + PANEL_AHEAD < p->k)
			for (int64_t i = 0; i < p->bytes + 63; i += 64)
				__builtin_prefetch(in + PANEL_AHEAD * p->moving->stride + p->first +
						   i);
		for (unsigned int j = 0; j < p->parts; j++) {
			const uint8_t *from = in + p->part[j].at;
			float *to = x + p->part[j].to;

			for (uint32_t i = 0; i < p->part[j].n; i += 16) {
				__m512i v;

				if (step == 2)
					v = _mm512_cvtepu16_epi32(_mm256_loadu_si256(
						(const void *)(from + i * 2ull)));
				else
					v = _mm512_loadu_si512(from + i * 4ull);
				_mm512_storeu_si512(to + i, _mm512_slli_epi32(v, 16));
			}
		}
	}
}

KTARGET static void panel_widen(const struct exec_panel *p, unsigned int k, unsigned int end)
{
	if (p->moving->runs->step == 2)
		panel_rows(p, k, end, 2);
	else
		panel_rows(p, k, end, 4);
}

/* The part of the next panel that is made beside a block of rows */
KINLINE void panel_beside(const struct exec_mm *mm, unsigned int row)
{
	const unsigned int blocks = (mm->fs + EXEC_MM_ROWS - 1) / EXEC_MM_ROWS;
	const unsigned int each = (mm->k + blocks - 1) / blocks, k = row / EXEC_MM_ROWS * each;

	if (mm->beside && k < mm->k)
		panel_widen(mm->beside, k, k + each < mm->k ? k + each : mm->k);
}
