// SPDX-License-Identifier: MIT
/*
 * Transposes of much data. A DMA between two sides that are contiguous along different dimensions
 * goes element by element, a descriptor each. Instead POOL transposes blocks of 32 x 32: directly
 * if both sides are in SBUF, else in tiles whose rows come to SBUF whole and leave as whole
 * columns. Bits do not change. Part of the code generator.
 */
#include <string.h>

#include "buffer.h"
#include "emit.h"
#include "move.h"
#include "neuron/isa/check.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

#define BLOCK NEURON_ISA_TRANSPOSE_BLOCK
#define TILE_COLUMNS 512
#define MOST_BLOCKS 32 /* in an instruction: our choice; it may have 64 */
#define FEWEST_ELEMS 8192 /* with fewer, the descriptors cost little */
#define FEWEST_OF_TILE 512
#define SHORTEST 4 /* elements that either dimension has at least */

/* The contiguous dimension; -1: none */
static int contiguous(const struct ncc_view *v)
{
	for (unsigned int d = 0; d < v->ndim; d++)
		if ((int)d != v->pdim && v->dim[d] > 1 && v->stride[d] == 1)
			return (int)d;
	return -1;
}

static bool along_partitions(const struct ncc_view *v, unsigned int d)
{
	return v->pdim == (int)d || v->pdim == (int)d + 1;
}

/* Joins neighbouring dimensions that both sides step through as one, so that tiles are full. */
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

bool gen_is_transpose(const struct ncc_view *dst, const struct ncc_view *src)
{
	struct ncc_view x = *dst, y = *src;
	int64_t n = 1;
	int a, b;

	join_dims(&x, &y);
	a = contiguous(&x);
	b = contiguous(&y);
	if (a < 0 || b < 0 || a == b || x.dim[a] < SHORTEST || x.dim[b] < SHORTEST ||
	    x.dim[a] * x.dim[b] < FEWEST_OF_TILE)
		return false;
	for (unsigned int d = 0; d < x.ndim; d++)
		n *= x.dim[d];
	return n >= FEWEST_ELEMS;
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

/* A view of [32 partitions, the other dimensions, chunks of a, chunks of b, 32] */
static void blocks_of(struct ncc_view *r, const struct ncc_view *v, unsigned int inner,
		      int64_t first, int64_t astep, int64_t bstep)
{
	struct ncc_view x = *v;
	unsigned int n = 1;

	r->buf = v->buf;
	r->dtype = v->dtype;
	r->off = v->off;
	r->pdim = 0;
	r->pstart = v->pstart + first;
	r->pstep = 1;
	r->stride[0] = 0;
	for (unsigned int d = 0; d < v->ndim; d++)
		if ((int)d != v->pdim && d != inner)
			r->stride[n++] = x.stride[d];
	r->stride[n++] = astep;
	r->stride[n++] = bstep;
	r->stride[n] = x.stride[inner];
}

static int transpose_blocks(struct ncc_gen *g, const struct ncc_view *dst,
			    const struct ncc_view *src)
{
	const struct ncc_view *v[2] = { dst, src };
	struct neuron_insn insn = { .opcode = NEURON_OP_TRANSPOSE };
	struct walk w;
	int rc = 0;

	walk_begin(&w, v, 2, 0, BLOCK * MOST_BLOCKS);
	while (!rc && walk_next(&w)) {
		insn.partitions = (uint8_t)w.partitions;
		insn.dst = w.ap[0];
		insn.src0 = w.ap[1];
		rc = gen_insn(g, NEURON_ENG_POOL, &insn);
	}
	return rc;
}

/* Transposes the blocks from one quadrant of the source's partitions to one of the result's. */
static int transpose_quadrant(struct ncc_gen *g, const struct ncc_view *dst,
			      const struct ncc_view *src, int64_t qa, int64_t qb)
{
	const int64_t esz = ncc_dtype_size(src->dtype), per = NEURON_PARTITIONS / BLOCK;
	unsigned int a = (unsigned int)src->pdim, b = (unsigned int)dst->pdim, n = 1;
	struct ncc_view from = { 0 }, to = { 0 }, s = *src, d = *dst;

	s.off += qb * BLOCK * src->stride[b];
	d.off += qa * BLOCK * dst->stride[a];
	blocks_of(&from, &s, b, qa * BLOCK, src->buf->chunk / esz,
		  NEURON_PARTITIONS * src->stride[b]);
	blocks_of(&to, &d, a, qb * BLOCK, NEURON_PARTITIONS * dst->stride[a],
		  dst->buf->chunk / esz);

	from.dim[0] = BLOCK;
	for (unsigned int k = 0; k < src->ndim; k++)
		if (k != a && k != b)
			from.dim[n++] = src->dim[k];

	from.dim[n++] = (src->dim[a] / BLOCK - qa + per - 1) / per;
	from.dim[n++] = (src->dim[b] / BLOCK - qb + per - 1) / per;
	from.dim[n++] = BLOCK;
	from.ndim = to.ndim = n;
	memcpy(to.dim, from.dim, sizeof(to.dim));
	return transpose_blocks(g, &to, &from);
}

/*
 * Transposes between two views in SBUF: POOL puts the blocks into whichever partitions they belong
 * to.
 */
static int transpose_in_sbuf(struct ncc_gen *g, const struct ncc_view *dst,
			     const struct ncc_view *src)
{
	const int64_t per = NEURON_PARTITIONS / BLOCK;
	int64_t na = src->dim[src->pdim] / BLOCK, nb = src->dim[dst->pdim] / BLOCK;
	int rc = 0;

	for (int64_t qa = 0; qa < per && qa < na; qa++)
		for (int64_t qb = 0; !rc && qb < per && qb < nb; qb++)
			rc = transpose_quadrant(g, dst, src, qa, qb);
	return rc;
}

static bool starts_a_chunk(const struct ncc_view *v)
{
	return v->pstart % NEURON_PARTITIONS == 0 && v->pstep == 1 &&
	       v->buf->chunk % ncc_dtype_size(v->dtype) == 0;
}

/* Are both sides whole blocks in partitions? Then no DMA is needed. */
static bool can_transpose_in_sbuf(const struct ncc_view *dst, const struct ncc_view *src)
{
	return src->buf->space == NCC_SBUF && dst->buf->space == NCC_SBUF &&
	       src->ndim + 2 < NCC_MAX_DIMS && src->pdim >= 0 && dst->pdim >= 0 &&
	       src->pdim != dst->pdim && src->dim[src->pdim] % BLOCK == 0 &&
	       src->dim[dst->pdim] % BLOCK == 0 && starts_a_chunk(src) && starts_a_chunk(dst);
}

bool gen_is_blocks(const struct ncc_view *dst, const struct ncc_view *src)
{
	struct ncc_view d = *dst, s = *src;

	join_dims(&d, &s);
	return can_transpose_in_sbuf(&d, &s);
}

/* Transposes a tile [rows, columns]: rows along dst's contiguous dimension, columns along src's. */
static int transpose_tile(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	static const uint8_t swap[2] = { 1, 0 };
	int64_t rows = round_up(dst->dim[0]), columns = round_up(dst->dim[1]);
	unsigned int mark = g->ntemps;
	struct ncc_view in, out, part;
	int rc = tile_view(g, dst->dtype, rows, columns, &in);

	rc = rc ? rc : tile_view(g, dst->dtype, columns, rows, &out);
	if (!rc) {
		part = view_slice(&in, 0, 0, dst->dim[0], 1);
		part = view_slice(&part, 1, 0, dst->dim[1], 1);
		rc = gen_dma_list(g, &part, src, 1);
	}
	if (!rc) {
		part = view_permute(&out, swap, 2);
		rc = transpose_in_sbuf(g, &part, &in);
	}
	if (!rc) {
		part = view_slice(&part, 0, 0, dst->dim[0], 1);
		part = view_slice(&part, 1, 0, dst->dim[1], 1);
		rc = gen_dma_list(g, dst, &part, 1);
	}

	gen_release_temps(g, mark);
	return rc;
}

/* Transposes all tiles of two dimensions, with the others at one index. */
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
	if (can_transpose_in_sbuf(&d, &s))
		return transpose_in_sbuf(g, &d, &s);
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
