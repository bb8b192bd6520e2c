// SPDX-License-Identifier: MIT
/*
 * Moves of elements from partition to partition. What lies along the partitions on one side and
 * inside them on the other would go element by element in a DMA, a descriptor each. Instead POOL
 * transposes blocks of up to 32 x 32, of any size, from SBUF to SBUF; a side in DRAM is met by a
 * tile whose rows come, or go, whole. Bits do not change. Part of the code generator; transpose.c
 * has what is too large for a tile.
 */
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "emit.h"
#include "move.h"
#include "neuron/isa/check.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

#define BLOCK NEURON_ISA_TRANSPOSE_BLOCK
#define FEWEST_PIECES 16 /* a DMA of fewer is as good */
#define WORTH 2 /* pieces of a DMA that an instruction takes the place of, at least */

enum way { BY_DMA, IN_SBUF, LOADED, STORED };

struct across {
	enum way way;
	int tile; /* LOADED, STORED: the dimension along the tile's partitions; -1: none */
};

static int64_t length(const struct ncc_view *v, int d)
{
	return d < 0 ? 1 : v->dim[d];
}

static int64_t blocks(int64_t n)
{
	return (n + BLOCK - 1) / BLOCK;
}

/* Instructions that transpose all blocks of two dimensions */
static int64_t instructions(const struct ncc_view *v, int a, int b)
{
	int64_t na = length(v, a), nb = length(v, b);

	return view_elems(v) / (na * nb) * blocks(na) * blocks(nb);
}

/* Pieces of a DMA: as many as there are elements, unless both sides step through some alike. */
static int64_t pieces(const struct ncc_view *x, const struct ncc_view *y)
{
	int64_t run = 1, before;

	do {
		before = run;
		for (unsigned int d = 0; d < x->ndim; d++)
			if ((int)d != x->pdim && (int)d != y->pdim && x->dim[d] > 1 &&
			    x->stride[d] == run && y->stride[d] == run)
				run *= x->dim[d];
	} while (run != before);
	return view_elems(x) / run;
}

static bool is_step(const struct ncc_view *v, int d)
{
	return d < 0 || (v->stride[d] >= INT16_MIN && v->stride[d] <= INT16_MAX);
}

/* Can engines take blocks of v, whose elements along a partition are those of dimension d? */
static bool has_blocks(const struct ncc_view *v, int d)
{
	int64_t at = v->pstart % NEURON_PARTITIONS;

	if (v->buf->space != NCC_SBUF || at % BLOCK || !is_step(v, d))
		return false;
	return v->pdim < 0 || v->dim[v->pdim] == 1 ||
	       (v->pstep == 1 && (!at || at + v->dim[v->pdim] <= NEURON_PARTITIONS));
}

/* The longest dimension but d along which v has different elements, or none */
static int tile_dim(const struct ncc_view *v, int d)
{
	int best = -1;

	for (unsigned int i = 0; i < v->ndim; i++)
		if ((int)i != d && v->dim[i] > 1 && v->stride[i] &&
		    (best < 0 || v->dim[i] > v->dim[best]))
			best = (int)i;
	return best;
}

/* Has DRAM's side elements that lie in SBUF along the partitions one behind the other? */
static bool has_rows(const struct ncc_view *dram, const struct ncc_view *sbuf)
{
	return dram->buf->space == NCC_DRAM && dram->pdim < 0 && sbuf->pdim >= 0 &&
	       sbuf->dim[sbuf->pdim] > 1 && dram->stride[sbuf->pdim] == 1;
}

static struct across find_way(const struct ncc_view *dst, const struct ncc_view *src)
{
	struct across by_dma = { BY_DMA, -1 }, x = by_dma;

	if (has_blocks(dst, src->pdim) && has_blocks(src, dst->pdim)) {
		x.way = IN_SBUF;
		x.tile = src->pdim;
		return src->pdim == dst->pdim ? by_dma : x;
	}
	if (has_rows(dst, src)) {
		x.way = STORED;
		x.tile = tile_dim(dst, src->pdim);
		return has_blocks(src, x.tile) ? x : by_dma;
	}
	if (has_rows(src, dst) || (src->buf->row && src->pdim >= 0 && src->pdim != dst->pdim)) {
		x.way = LOADED;
		x.tile = src->buf->row ? src->pdim : tile_dim(src, dst->pdim);
		return has_blocks(dst, x.tile) ? x : by_dma;
	}
	return by_dma;
}

/* The shape of the tile: what v has once is there once. */
static void tile_shape(const struct ncc_view *v, struct ncc_shape *s)
{
	view_shape(v, s);
	for (unsigned int d = 0; d < v->ndim; d++)
		if (!v->stride[d] && (int)d != v->pdim)
			s->dim[d] = 1;
}

static bool is_worth(const struct across *x, const struct ncc_view *dst, const struct ncc_view *src)
{
	const struct ncc_view *sbuf = x->way == LOADED ? dst : src;
	const struct ncc_view *other = x->way == LOADED ? src : dst;
	int64_t n = pieces(dst, src), takes;
	struct ncc_shape s;

	if (x->way == BY_DMA || n < FEWEST_PIECES)
		return false;
	if (x->way == IN_SBUF)
		return instructions(dst, dst->pdim, src->pdim) * WORTH <= n;
	tile_shape(other, &s);
	if (tile_bytes(other, s.dim, x->tile, 0) > TILE_BYTES / 2)
		return false;
	takes = instructions(sbuf, sbuf->pdim, x->tile) + ncc_elems(&s) / length(sbuf, sbuf->pdim);
	return takes * WORTH <= n;
}

/*
 * Has one side its elements along the partitions, one in each, in several chunks, and the other
 * side one behind the other?
 */
static bool has_chunks(const struct ncc_view *line, const struct ncc_view *chunks)
{
	int d = chunks->pdim;
	int64_t esz = ncc_dtype_size(chunks->dtype);

	return d >= 0 && chunks->buf->space == NCC_SBUF && !chunks->pstart && chunks->pstep == 1 &&
	       chunks->dim[d] >= 2 * NEURON_PARTITIONS &&
	       chunks->dim[d] <= NEURON_PARTITIONS * NEURON_PARTITIONS &&
	       view_elems(chunks) == chunks->dim[d] && chunks->buf->chunk / esz <= INT16_MAX &&
	       line->pdim < 0 && !line->buf->row && line->stride[d] == 1 &&
	       line->buf->space != NCC_PSUM;
}

bool gen_is_across(const struct ncc_view *dst, const struct ncc_view *src)
{
	struct across x;

	if (dst->dtype != src->dtype)
		return false;
	if (has_chunks(dst, src) || has_chunks(src, dst))
		return true;
	x = find_way(dst, src);
	return is_worth(&x, dst, src);
}

static int transpose_block(struct ncc_gen *g, const struct ncc_view *dst,
			   const struct ncc_view *src)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TRANSPOSE };
	struct walk to, from;

	walk_begin(&to, &dst, 1, 0, BLOCK);
	walk_begin(&from, &src, 1, 0, BLOCK);
	walk_next(&to);
	walk_next(&from);
	insn.partitions = (uint8_t)from.partitions;
	insn.dst = to.ap[0];
	insn.src0 = from.ap[0];
	return gen_insn(g, NEURON_ENG_POOL, &insn);
}

/* Transposes between two views in SBUF, block by block. */
static int transpose_small(struct ncc_gen *g, const struct ncc_view *dst,
			   const struct ncc_view *src)
{
	int64_t step[NCC_MAX_DIMS];
	struct tile_box b;
	int rc;

	for (unsigned int d = 0; d < dst->ndim; d++)
		step[d] = (int)d == dst->pdim || (int)d == src->pdim ? BLOCK : 1;
	tile_first(&b, dst->ndim, dst->dim, step);
	do {
		struct ncc_view to = view_box(dst, b.lo, b.size),
				from = view_box(src, b.lo, b.size);

		rc = transpose_block(g, &to, &from);
	} while (!rc && tile_next(&b));
	return rc;
}

static int in_sbuf(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	return gen_is_blocks(dst, src) ? gen_transpose(g, dst, src) : transpose_small(g, dst, src);
}

/* A tile for what v has in DRAM; *all: with v's dimensions */
static int make_tile(struct ncc_gen *g, const struct ncc_view *v, int pdim, struct ncc_view *tile,
		     struct ncc_view *all)
{
	struct ncc_shape s;
	int rc;

	tile_shape(v, &s);
	rc = gen_view_like(g, v, &s, pdim, tile);
	rc = rc ? rc : gen_temp(g, tile->buf);
	*all = *tile;
	for (unsigned int d = 0; d < v->ndim; d++) {
		all->dim[d] = v->dim[d];
		if (s.dim[d] != v->dim[d])
			all->stride[d] = 0;
	}
	return rc;
}

/* [partitions, chunks], of so many whole chunks */
static struct ncc_view as_matrix(const struct ncc_view *chunks, int64_t whole)
{
	const struct ncc_shape s = { .dtype = chunks->dtype,
				     .ndim = 2,
				     .dim = { NEURON_PARTITIONS, whole } };
	struct ncc_view v;

	view_row_major(&v, chunks->buf, &s);
	view_set_pdim(&v, 0);
	v.off = chunks->off;
	v.stride[1] = chunks->buf->chunk / ncc_dtype_size(chunks->dtype);
	return v;
}

/*
 * The whole chunks are transposed to rows of a tile, and those go, or came, as they are. What is
 * left over has a chunk for itself.
 */
static int across_chunks(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src,
			 bool to_line)
{
	static const uint8_t turn[2] = { 1, 0 };
	const struct ncc_view *chunks = to_line ? src : dst, *line = to_line ? dst : src;
	const unsigned int d = (unsigned int)chunks->pdim;
	const int64_t n = chunks->dim[d], whole = n / NEURON_PARTITIONS;
	const struct ncc_shape s = { .dtype = dst->dtype,
				     .ndim = 2,
				     .dim = { whole, NEURON_PARTITIONS } };
	struct ncc_view matrix, tile, rows, turned, left[2];
	int rc = gen_sbuf_view(g, &s, 0, &tile);

	rc = rc ? rc : gen_temp(g, tile.buf);
	if (rc)
		return rc;
	matrix = as_matrix(chunks, whole);
	turned = view_permute(&tile, turn, 2);
	view_row_major(&rows, line->buf, &s);
	rows.off = line->off;
	rows.pstart = line->pstart;
	if (to_line)
		rc = in_sbuf(g, &turned, &matrix) ?: gen_dma_list(g, &rows, &tile, 1);
	else
		rc = gen_dma_list(g, &tile, &rows, 1) ?: in_sbuf(g, &matrix, &turned);
	if (rc || n == whole * NEURON_PARTITIONS)
		return rc;
	left[0] = view_slice(dst, d, whole * NEURON_PARTITIONS, n % NEURON_PARTITIONS, 1);
	left[1] = view_slice(src, d, whole * NEURON_PARTITIONS, n % NEURON_PARTITIONS, 1);
	return gen_is_across(&left[0], &left[1]) ? gen_across(g, &left[0], &left[1])
						 : gen_dma_list(g, &left[0], &left[1], 1);
}

int gen_across(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	struct across x = find_way(dst, src);
	struct ncc_view tile, all, once;
	unsigned int mark = g->ntemps;
	int rc;

	if (has_chunks(dst, src) || has_chunks(src, dst)) {
		rc = across_chunks(g, dst, src, has_chunks(dst, src));
		gen_release_temps(g, mark);
		return rc;
	}
	if (x.way == IN_SBUF)
		return in_sbuf(g, dst, src);
	rc = make_tile(g, x.way == LOADED ? src : dst, x.tile, &tile, &all);
	if (!rc && x.way == LOADED) {
		once = *src;
		memcpy(once.dim, tile.dim, sizeof(once.dim));
		rc = gen_dma_list(g, &tile, &once, 1);
	}
	if (!rc)
		rc = x.way == LOADED ? in_sbuf(g, dst, &all) : in_sbuf(g, &all, src);
	if (!rc && x.way == STORED)
		rc = gen_dma_list(g, dst, &tile, 1);
	gen_release_temps(g, mark);
	return rc;
}
