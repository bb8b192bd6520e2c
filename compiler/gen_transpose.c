// SPDX-License-Identifier: MIT
/*
 * Transposes of much data. A DMA between two sides that are contiguous along different dimensions
 * goes element by element, a descriptor each. Instead both dimensions are cut into tiles: rows
 * come to SBUF whole, POOL transposes their blocks of 32 x 32, and the blocks go on in runs of 32
 * elements. Bits do not change. Part of the code generator.
 */
#include <string.h>

#include "gen.h"
#include "neuron/isa/check.h"

#define BLOCK NEURON_ISA_TRANSPOSE_BLOCK
#define TILE_COLUMNS 512
#define BLOCKS (NEURON_PARTITIONS / BLOCK * (TILE_COLUMNS / BLOCK)) /* of a tile */
#define FEWEST_ELEMS 65536 /* below, the descriptors are no burden */
#define FEWEST_OF_TILE 1024
#define SHORTEST 4 /* elements of either dimension */

/* The dimension along which elements are neighbours; -1: none */
static int contiguous(const struct ncc_view *v)
{
	for (unsigned int d = 0; d < v->ndim; d++)
		if ((int)d != v->pdim && v->dim[d] > 1 && v->stride[d] == 1)
			return (int)d;
	return -1;
}

bool gen_is_transpose(const struct ncc_view *dst, const struct ncc_view *src)
{
	int a = contiguous(dst), b = contiguous(src);
	int64_t n = 1;

	if (a < 0 || b < 0 || a == b || dst->dim[a] < SHORTEST || dst->dim[b] < SHORTEST ||
	    dst->dim[a] * dst->dim[b] < FEWEST_OF_TILE)
		return false;
	for (unsigned int d = 0; d < dst->ndim; d++)
		n *= dst->dim[d];
	return n >= FEWEST_ELEMS;
}

static bool along_partitions(const struct ncc_view *v, unsigned int d)
{
	return v->pdim == (int)d || v->pdim == (int)d + 1;
}

/* Join neighbouring dimensions that both sides step through as one, so that tiles are full */
static void join_dims(struct ncc_view *x, struct ncc_view *y)
{
	for (unsigned int d = 0; d + 1 < x->ndim;) {
		if (along_partitions(x, d) || along_partitions(y, d) ||
		    x->stride[d] != x->stride[d + 1] * x->dim[d + 1] ||
		    y->stride[d] != y->stride[d + 1] * y->dim[d + 1]) {
			d++;
			continue;
		}
		x->dim[d + 1] = y->dim[d + 1] = x->dim[d] * x->dim[d + 1];
		*x = view_drop(x, d);
		*y = view_drop(y, d);
	}
}

static int64_t round_up(int64_t n)
{
	return (n + BLOCK - 1) / BLOCK * BLOCK;
}

static int tile_view(struct ncc_gen *g, uint8_t dtype, int64_t rows, int64_t columns,
		     struct ncc_view *v)
{
	const struct ncc_shape s = { .dtype = dtype, .ndim = 2, .dim = { rows, columns } };
	int rc = gen_sbuf_view(g, &s, 0, v);

	return rc ? rc : gen_temp(g, v->buf);
}

static int transpose_blocks(struct ncc_gen *g, const struct ncc_view *dst,
			    const struct ncc_view *src)
{
	const struct ncc_view *v[2] = { dst, src };
	struct neuron_insn insn = { .opcode = NEURON_OP_TRANSPOSE };
	struct walk w;

	walk_begin(&w, v, 2, 0, TILE_COLUMNS);
	walk_next(&w);
	insn.partitions = (uint8_t)w.partitions;
	insn.dst = w.ap[0];
	insn.src0 = w.ap[1];
	return gen_insn(g, NEURON_ENG_POOL, &insn);
}

/* A dimension as blocks of 32 and the place in a block */
static struct ncc_view in_blocks(const struct ncc_view *v, unsigned int d, int64_t block,
				 int64_t inner)
{
	struct ncc_view r = *v;

	for (unsigned int i = v->ndim; i > d; i--) {
		r.dim[i] = v->dim[i - 1];
		r.stride[i] = v->stride[i - 1];
	}
	r.ndim++;
	r.dim[d] = v->dim[d] / BLOCK;
	r.stride[d] = block;
	r.dim[d + 1] = BLOCK;
	r.stride[d + 1] = inner;
	return r;
}

/*
 * Block (q, k) holds rows 32q.. as columns: partition 32q + j is column 32k + j of the tile. to is
 * [columns, rows]. The whole blocks of a block row are one pair of views, if columns do not lie
 * along partitions there.
 */
static int store_blocks(struct ncc_gen *g, const struct ncc_view *turned, const struct ncc_view *t)
{
	int64_t rows = turned->dim[1], columns = turned->dim[0], whole = columns / BLOCK * BLOCK;
	struct ncc_view to[BLOCKS], from[BLOCKS];
	unsigned int n = 0;

	if (turned->pdim == 0)
		whole = 0;
	for (int64_t i = 0; i < rows; i += BLOCK) {
		int64_t ni = rows - i < BLOCK ? rows - i : BLOCK;
		struct ncc_view row = view_slice(turned, 1, i, ni, 1);

		if (whole) {
			to[n] = view_slice(&row, 0, 0, whole, 1);
			to[n] = in_blocks(&to[n], 0, row.stride[0] * BLOCK, row.stride[0]);
			from[n] = view_slice(t, 0, i, BLOCK, 1);
			from[n].ndim = 3;
			from[n].pdim = 1;
			from[n].dim[0] = whole / BLOCK;
			from[n].stride[0] = BLOCK;
			from[n].dim[1] = BLOCK;
			from[n].stride[1] = 0;
			from[n].dim[2] = ni;
			from[n].stride[2] = 1;
			n++;
		}
		for (int64_t j = whole; j < columns; j += BLOCK) {
			int64_t nj = columns - j < BLOCK ? columns - j : BLOCK;

			to[n] = view_slice(&row, 0, j, nj, 1);
			from[n] = view_slice(t, 0, i, nj, 1);
			from[n] = view_slice(&from[n], 1, j, ni, 1);
			n++;
		}
	}
	return gen_dma_list(g, to, from, n);
}

/* [rows, columns]: rows along dst's contiguous dimension, columns along src's */
static int transpose_tile(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	static const uint8_t swap[2] = { 1, 0 };
	int64_t rows = round_up(dst->dim[0]), columns = round_up(dst->dim[1]);
	unsigned int mark = g->ntemps;
	struct ncc_view in, out, part;
	int rc = tile_view(g, dst->dtype, rows, columns, &in);

	rc = rc ? rc : tile_view(g, dst->dtype, rows, columns, &out);
	if (!rc) {
		part = view_slice(&in, 0, 0, dst->dim[0], 1);
		part = view_slice(&part, 1, 0, dst->dim[1], 1);
		rc = gen_dma_list(g, &part, src, 1);
	}
	rc = rc ? rc : transpose_blocks(g, &out, &in);
	part = view_permute(dst, swap, 2);
	rc = rc ? rc : store_blocks(g, &part, &out);
	gen_release_temps(g, mark);
	return rc;
}

/* All tiles of two dimensions, the others at one index */
static int transpose_plane(struct ncc_gen *g, const struct ncc_view *dst,
			   const struct ncc_view *src)
{
	int rc = 0;

	for (int64_t i = 0; i < dst->dim[0]; i += NEURON_PARTITIONS) {
		int64_t ni =
			dst->dim[0] - i < NEURON_PARTITIONS ? dst->dim[0] - i : NEURON_PARTITIONS;
		struct ncc_view drow = view_slice(dst, 0, i, ni, 1),
				srow = view_slice(src, 0, i, ni, 1);

		for (int64_t j = 0; !rc && j < dst->dim[1]; j += TILE_COLUMNS) {
			int64_t nj =
				dst->dim[1] - j < TILE_COLUMNS ? dst->dim[1] - j : TILE_COLUMNS;
			struct ncc_view d = view_slice(&drow, 1, j, nj, 1),
					s = view_slice(&srow, 1, j, nj, 1);

			rc = transpose_tile(g, &d, &s);
		}
	}
	return rc;
}

int gen_transpose(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	struct ncc_view d = *dst, s = *src;
	int64_t at[NCC_MAX_DIMS] = { 0 };
	uint8_t plane[2];
	int rc = 0;

	join_dims(&d, &s);
	plane[0] = (uint8_t)contiguous(&d);
	plane[1] = (uint8_t)contiguous(&s);
	for (;;) {
		struct ncc_view dp = d, sp = s;
		int i = (int)d.ndim - 1;

		for (unsigned int k = 0; k < d.ndim; k++) {
			if (k == plane[0] || k == plane[1])
				continue;
			dp = view_slice(&dp, k, at[k], 1, 1);
			sp = view_slice(&sp, k, at[k], 1, 1);
		}
		dp = view_permute(&dp, plane, 2);
		sp = view_permute(&sp, plane, 2);
		rc = transpose_plane(g, &dp, &sp);
		for (; i >= 0; i--) {
			if (i == plane[0] || i == plane[1])
				continue;
			if (++at[i] < d.dim[i])
				break;
			at[i] = 0;
		}
		if (rc || i < 0)
			return rc;
	}
}
