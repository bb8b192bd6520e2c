/* SPDX-License-Identifier: MIT */
/*
 * A matmul's moving operand, widened one block's columns at a time: while one panel is multiplied,
 * which waits for arithmetic, the next one is made, which waits for memory. Two of them take turns.
 * A part of exec_kernels.h, of instances that define KPANELS.
 */

#define PANEL_FEW MM_FEW /* columns that a panel takes with its block */
#define PANEL_X (2 * NEURON_PARTITIONS * 64 + 80) /* floats of a panel, and a vector behind them */
#define PANEL_AHEAD 8 /* rows */
#ifndef PANEL_DEEP
#define PANEL_DEEP EXEC_MM_K
#define PANEL_DEEP_COLS EXEC_MM_COLS
#endif

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
	bool goes_on; /* the line of its first byte has come with the panel before */
};

/* The columns of the panel that begins at one: as many as stay in L1 with a block of w */
KINLINE unsigned int panel_columns(const struct exec_mm *mm, unsigned int col)
{
	const unsigned int most = mm->k > PANEL_DEEP ? PANEL_DEEP_COLS : EXEC_MM_COLS;
	unsigned int left = mm->fm - col;

	return left <= most + PANEL_FEW ? left : most;
}

/* The operands of the panel of n columns from col on */
KINLINE void panel_begin(const struct exec_mm *mm, unsigned int col, unsigned int n,
			 unsigned int half, struct exec_panel *p)
{
	const struct exec_runs *runs = mm->moving->runs;
	uint32_t run = col / runs->len, skip = col % runs->len;

	p->moving = mm->moving;
	p->k = mm->k;
	p->x = mm->moving->x + half * PANEL_X;
	p->x_row = n <= PANEL_DEEP_COLS ? PANEL_DEEP_COLS : n <= EXEC_MM_COLS ? EXEC_MM_COLS : 64;
	p->parts = 0;
	for (uint32_t to = 0; to < n; run++, skip = 0) {
		struct panel_part *part = &p->part[p->parts++];

		part->at = runs->at[run] + skip * runs->step;
		part->to = to;
		part->n = runs->len - skip < n - to ? runs->len - skip : n - to;
		to += part->n;
	}
	p->goes_on = p->parts == 1 && col % runs->len;
	p->first = p->part[0].at;
	p->bytes = p->part[p->parts - 1].at + p->part[p->parts - 1].n * runs->step - p->first;
	if (p->bytes > 512)
		p->bytes = 512;
}

KINLINE const uint8_t *panel_row(const struct exec_moving *m, unsigned int k)
{
	return m->doubled ? m->in + k / 2 * m->stride + k % 2 * m->low : m->in + k * m->stride;
}

/* A vector of elements, step bytes apart */
KINLINE vf panel_load(uint8_t dtype, size_t step, const uint8_t *in)
{
	vu pair;

	if (dtype != NEURON_DT_BF16 || step != 4)
		return load16(dtype, in);
	memcpy(&pair, in, sizeof(pair)); /* the low halves */
	return (vf)(pair << 16);
}

/* The first of n elements, two vectors at a time where that is the quicker way; how many */
KINLINE uint32_t panel_pairs(uint8_t dtype, float *to, const uint8_t *from, uint32_t n)
{
	uint32_t i;
	vf two[2];

	for (i = 0; i + LANES < n && is_taken_by_two(dtype); i += 2 * LANES) {
		load_two(dtype, two, from + i, NULL);
		st(to + i, two[0]);
		st(to + i + LANES, two[1]);
	}
	return i;
}

KINLINE void panel_ahead(const struct exec_panel *p, unsigned int k)
{
	uintptr_t at = (uintptr_t)panel_row(p->moving, k + PANEL_AHEAD) + (uintptr_t)p->first;
	const uintptr_t end = at + (uintptr_t)p->bytes;

	if (k + PANEL_AHEAD >= p->k)
		return;
	for (at = (at + (p->goes_on ? LINE - 1 : 0)) & -(uintptr_t)LINE; at < end; at += LINE)
		__builtin_prefetch((const void *)at);
}

/*
 * Vectors are stored whole: what is behind a part's last column is written over by the next part
 * or row, or is not used.
 */
KINLINE void panel_one(const struct exec_panel *p, unsigned int k, uint8_t dtype, size_t step)
{
	panel_ahead(p, k);
	for (unsigned int j = 0; j < p->parts; j++) {
		const uint8_t *from = panel_row(p->moving, k) + p->part[j].at;
		float *to = p->x + (size_t)k * p->x_row + p->part[j].to;

		for (uint32_t i = panel_pairs(dtype, to, from, p->part[j].n); i < p->part[j].n;
		     i += LANES)
			st(to + i, panel_load(dtype, step, from + i * step));
	}
}

/* Rows k and k + 1 of one part: the vectors left beside each one's pairs are taken together */
KINLINE void panel_two(const struct exec_panel *p, unsigned int k, uint8_t dtype)
{
	const uint8_t *a = panel_row(p->moving, k) + p->part->at;
	const uint8_t *b = panel_row(p->moving, k + 1) + p->part->at;
	float *to = p->x + (size_t)k * p->x_row, *below = to + p->x_row;
	uint32_t i;
	vf two[2];

	panel_ahead(p, k);
	panel_ahead(p, k + 1);
	i = panel_pairs(dtype, to, a, p->part->n);
	panel_pairs(dtype, below, b, p->part->n);
	if (i < p->part->n) {
		load_two(dtype, two, a + i, b + i);
		st(to + i, two[0]);
		st(below + i, two[1]);
	}
}

/* Rows from k on */
KINLINE void panel_rows(const struct exec_panel *p, unsigned int k, unsigned int end, uint8_t dtype,
			size_t step)
{
	/* of many parts the last one's vectors may reach into the next row, which must come after */
	if (p->parts == 1 && is_taken_by_two(dtype))
		for (; k + 1 < end; k += 2)
			panel_two(p, k, dtype);
	for (; k < end; k++)
		panel_one(p, k, dtype, step);
}

KTARGET static void panel_widen(const struct exec_panel *p, unsigned int k, unsigned int end)
{
	switch (p->moving->dtype) {
#define PANEL(type, ebits, fbits)                           \
	case NEURON_DT_##type:                              \
		panel_rows(p, k, end, NEURON_DT_##type, 1); \
		break;
		NEURON_ISA_FP8S(PANEL)
#undef PANEL
	case NEURON_DT_INT8:
		panel_rows(p, k, end, NEURON_DT_INT8, 1);
		break;
	case NEURON_DT_FP16:
		panel_rows(p, k, end, NEURON_DT_FP16, 2);
		break;
	default:
		if (p->moving->runs->step == 4)
			panel_rows(p, k, end, NEURON_DT_BF16, 4);
		else
			panel_rows(p, k, end, NEURON_DT_BF16, 2);
	}
}

/* The part of the next panel that is made beside a block of rows */
KINLINE void panel_beside(const struct exec_mm *mm, unsigned int row)
{
	const unsigned int blocks = (mm->fs + EXEC_MM_ROWS - 1) / EXEC_MM_ROWS;
	const unsigned int each = (mm->k + blocks - 1) / blocks, k = row / EXEC_MM_ROWS * each;

	if (mm->beside && k < mm->k)
		panel_widen(mm->beside, k, k + each < mm->k ? k + each : mm->k);
}

#define MM_BESIDE(mm, row) panel_beside(mm, row)
#include "exec_kernels_mm.h"

KTARGET static void KNAME(widening)(const struct exec_mm *mm)
{
	unsigned int cols = panel_columns(mm, 0);
	struct exec_panel panel[2];
	struct exec_mm part = *mm;

	panel_begin(mm, 0, cols, 0, &panel[0]);
	panel_widen(&panel[0], 0, mm->k);
	for (unsigned int col = 0, half = 0; col < mm->fm; col += part.fm, half ^= 1) {
		part.dst = mm->dst + col * 4ull;
		part.x = panel[half].x;
		part.x_row = panel[half].x_row;
		part.fm = cols;
		part.beside = NULL;
		if (col + cols < mm->fm) {
			part.beside = &panel[!half];
			cols = panel_columns(mm, col + cols);
			panel_begin(mm, col + part.fm, cols, !half, &panel[!half]);
		}
		KNAME(matmul)(&part);
	}
}
