// SPDX-License-Identifier: MIT
/*
 * Moving data: engine copies where both sides have the same dimension along the partitions, DMA
 * everywhere else; and fetching an operand in the form that an operation needs. Part of the code
 * generator.
 */
#include "move.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "emit.h"
#include "keep.h"
#include "pool.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

int gen_dma(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	if (gen_is_transpose(dst, src))
		return gen_transpose(g, dst, src);
	return gen_dma_list(g, dst, src, 1);
}

/* Copies alternate between ACT and POOL; int32 keeps its bits on POOL only. */
static int copy_on_engine(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	const struct ncc_view *v[2] = { dst, src };
	bool act = g->copies++ % 2 == 0 && src->dtype != NEURON_DT_INT32 &&
		   dst->dtype != NEURON_DT_INT32;
	struct walk w;

	walk_begin_chunks(&w, v, 2, 0, src->buf->space == NCC_PSUM ? 512 : WALK_MAX);
	while (walk_next(&w)) {
		struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_COPY,
					    .partitions = (uint8_t)w.partitions,
					    .dst = w.ap[0],
					    .src0 = w.ap[1] };
		int rc = gen_insn(g, act ? NEURON_ENG_ACT : NEURON_ENG_POOL, &insn);

		if (rc)
			return rc;
	}
	return 0;
}

/* Do the chunks of both views end together? A walk steps both by 128 partitions. */
static bool same_chunks(const struct ncc_view *a, const struct ncc_view *b)
{
	if (a->pdim < 0)
		return true;
	return (a->pstart % NEURON_PARTITIONS + a->dim[a->pdim] <= NEURON_PARTITIONS ||
		a->pstart % NEURON_PARTITIONS == 0) &&
	       (b->pstart % NEURON_PARTITIONS + b->dim[b->pdim] <= NEURON_PARTITIONS ||
		b->pstart % NEURON_PARTITIONS == 0);
}

static bool engine_can_copy(const struct ncc_view *dst, const struct ncc_view *src)
{
	return view_on_engine(dst) && view_on_engine(src) && dst->pdim == src->pdim &&
	       same_chunks(dst, src);
}

static int make_dense(struct ncc_gen *g, struct ncc_view *v)
{
	struct ncc_view to;
	struct ncc_shape s;
	int rc;

	view_shape(v, &s);
	rc = gen_sbuf_view(g, &s, v->pdim, &to);
	rc = rc ? rc : gen_temp(g, to.buf);
	rc = rc ? rc : copy_on_engine(g, &to, v);
	*v = to;
	return rc;
}

/*
 * The dimension in which a destination in DRAM has neighbours, if the source repeats along it: a
 * DMA would write those one by one. -1: it does not, or they are few
 */
static int fill_dim(const struct ncc_view *dst, const struct ncc_view *src)
{
	int64_t n = 1;
	int inner = -1;

	if (dst->buf->space != NCC_DRAM)
		return -1;
	for (unsigned int d = 0; d < src->ndim; d++) {
		n *= src->dim[d];
		if (src->dim[d] > 1 && dst->stride[d] == 1)
			inner = (int)d;
	}
	if (inner < 0 || n < FEWEST_SPARSE || src->stride[inner] || inner == src->pdim)
		return -1;
	return inner;
}

/* The dimension that lies along the partitions on the way through SBUF */
static int through_pdim(const struct ncc_view *dst, const struct ncc_view *src)
{
	if (view_on_engine(dst))
		return dst->pdim;
	if (fill_dim(dst, src) >= 0)
		return src->pdim >= 0 ? src->pdim : tile_pdim(dst, -1, 0);
	return tile_pdim(src, src->pdim, 0);
}

/*
 * Copies by way of SBUF what needs a cast, lies in PSUM or repeats, laid out as the side that an
 * engine can reach.
 */
static int copy_through(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	int rc, pdim = src->pdim;
	struct ncc_view t;

	if (view_on_engine(dst)) {
		rc = gen_fetch(g, src, dst->pdim, 0, &t);
		return rc ? rc : copy_on_engine(g, dst, &t);
	}
	if (tile_bytes(src, src->dim, pdim, 0) > TILE_BYTES || gen_sparse_dim(src, -1) >= 0 ||
	    fill_dim(dst, src) >= 0)
		pdim = through_pdim(dst, src);
	rc = gen_fetch(g, src, pdim, dst->dtype, &t);
	if (!rc && (gen_sparse_dim(&t, -1) >= 0 || fill_dim(dst, &t) >= 0))
		rc = make_dense(g, &t);
	return rc ? rc : gen_dma(g, dst, &t);
}

/* Copies by way of SBUF what is too large for it, box by box. */
static int copy_boxes(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	const struct ncc_view *widest = fill_dim(dst, src) >= 0 ? dst : src;
	int pdim = through_pdim(dst, src), rc;
	unsigned int mark = g->ntemps;
	int64_t step[NCC_MAX_DIMS];
	struct tile_box b;

	memcpy(step, src->dim, sizeof(step));
	while (tile_bytes(widest, step, pdim, dst->dtype) > TILE_BYTES / 2 &&
	       tile_halve(step, src->ndim, pdim, ~0u))
		;
	tile_first(&b, src->ndim, src->dim, step);
	do {
		struct ncc_view to = view_box(dst, b.lo, b.size),
				from = view_box(src, b.lo, b.size);

		rc = copy_through(g, &to, &from);
		gen_release_temps(g, mark);
	} while (!rc && tile_next(&b));
	return rc;
}

/* Fills what repeats along d, which is spread over the partitions if too few other rows are. */
static int copy_fill(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src,
		     int d)
{
	int pdim = through_pdim(dst, src), rc;
	struct ncc_view to, from;

	if (pdim != d && (pdim == src->pdim || dst->dim[pdim] >= NEURON_PARTITIONS / 4 ||
			  !tile_can_split(dst, d)))
		return copy_boxes(g, dst, src);
	if (!tile_can_split(dst, d))
		return gen_dma(g, dst, src);
	to = tile_split(dst, (unsigned int)d);
	from = tile_split(src, (unsigned int)d);
	rc = copy_boxes(g, &to, &from);
	to = tile_rest(dst, (unsigned int)d);
	from = tile_rest(src, (unsigned int)d);
	return rc || !to.dim[d] ? rc : gen_dma(g, &to, &from);
}

/*
 * A source in SBUF with gaps between its elements is made dense first, if there is room: a DMA
 * would take them one by one.
 */
static int copy_by_dma(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	unsigned int mark = g->ntemps;
	bool before = g->no_room;
	struct ncc_view dense = *src;
	int rc;

	if (!view_on_engine(src) || gen_sparse_dim(src, -1) < 0 ||
	    tile_bytes(src, src->dim, src->pdim, 0) > TILE_BYTES / 2 || gen_is_transpose(dst, src))
		return gen_dma(g, dst, src);
	g->no_room = false;
	rc = make_dense(g, &dense);
	if (rc && !g->no_room)
		return rc;
	g->no_room = before;
	rc = gen_dma(g, dst, rc ? src : &dense);
	gen_release_temps(g, mark);
	return rc;
}

/*
 * Would a DMA to an engine's view go in pieces of a few bytes that gen_fetch avoids: short runs, or
 * one that repeats?
 */
static bool fetches_better(const struct ncc_view *dst, const struct ncc_view *src)
{
	int64_t run = 1, n = 1;
	bool repeats = false;
	int inner;

	if (src->buf->space != NCC_DRAM || src->pdim >= 0 || !view_on_engine(dst))
		return false;
	for (unsigned int d = 0; d < src->ndim; d++) {
		n *= src->dim[d];
		if (src->stride[d] == 1 && (int)d != dst->pdim)
			run = src->dim[d];
		repeats = repeats || (!src->stride[d] && src->dim[d] > 1 && (int)d != dst->pdim);
	}
	return (repeats && n >= FEWEST_SPARSE && run * ncc_dtype_size(src->dtype) < SPARSE_RUN) ||
	       gen_short_runs(src, dst->pdim, &inner) >= 0;
}

int gen_copy(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	const int fill = src->dtype == dst->dtype ? fill_dim(dst, src) : -1;
	bool before = g->no_room;
	unsigned int mark = g->ntemps;
	int rc;

	if (engine_can_copy(dst, src))
		return copy_on_engine(g, dst, src);
	if (gen_is_across(dst, src)) {
		g->no_room = false;
		rc = gen_across(g, dst, src);
		if (!rc || !g->no_room)
			return rc;
		g->no_room = before;
	}
	if (fill >= 0 && src->buf->space != NCC_PSUM)
		return copy_fill(g, dst, src, fill);
	if (dst->dtype == src->dtype && dst->buf->space != NCC_PSUM &&
	    src->buf->space != NCC_PSUM && !fetches_better(dst, src) &&
	    (dst->buf->space != NCC_DRAM || gen_sparse_dim(src, -1) < 0))
		return copy_by_dma(g, dst, src);
	g->no_room = false;
	rc = copy_through(g, dst, src);
	if (!rc || !g->no_room)
		return rc;
	gen_release_temps(g, mark);
	g->no_room = before;
	return copy_boxes(g, dst, src);
}

static bool fits_as_it_is(const struct ncc_view *v, int pdim, uint8_t dtype)
{
	return v->buf->space == NCC_SBUF && v->pdim == pdim && v->dtype == dtype &&
	       view_on_engine(v) &&
	       (v->pdim < 0 || v->pstart % NEURON_PARTITIONS == 0 ||
		v->pstart % NEURON_PARTITIONS + v->dim[v->pdim] <= NEURON_PARTITIONS);
}

/* The shape with broadcast dimensions as 1: they take no room. */
static void dense_shape(const struct ncc_view *v, int pdim, struct ncc_shape *s)
{
	view_shape(v, s);
	for (unsigned int d = 0; d < s->ndim; d++)
		if (v->stride[d] == 0 && (int)d != v->pdim && (int)d != pdim)
			s->dim[d] = 1;
}

/* Fetches a dimension together with its gaps, and lets an engine step over those in SBUF. */
static int fetch_gaps(struct ncc_gen *g, const struct ncc_view *v, unsigned int d, int pdim,
		      uint8_t dtype, struct ncc_view *out)
{
	int64_t step = llabs(v->stride[d]), n = v->dim[d];
	struct ncc_view dense = *v;
	int rc;

	if (v->stride[d] < 0)
		dense = view_slice(v, d, n - 1, n, -1);
	dense.dim[d] = (n - 1) * step + 1;
	dense.stride[d] = 1;
	rc = gen_fetch(g, &dense, pdim, dtype, out);
	if (rc)
		return rc;
	*out = v->stride[d] < 0 ? view_slice(out, d, dense.dim[d] - 1, n, -step)
				: view_slice(out, d, 0, n, step);
	return 0;
}

/* The same into a view of SBUF without gaps, box by box */
static int copy_gaps(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src,
		     unsigned int d)
{
	const unsigned int mark = g->ntemps;
	int64_t step[NCC_MAX_DIMS];
	struct tile_box b;
	int rc;

	memcpy(step, src->dim, sizeof(step));
	while (tile_bytes(src, step, dst->pdim, dst->dtype) > TILE_BYTES / 2 &&
	       tile_halve(step, src->ndim, dst->pdim, ~0u))
		;
	tile_first(&b, src->ndim, src->dim, step);
	do {
		struct ncc_view to = view_box(dst, b.lo, b.size),
				from = view_box(src, b.lo, b.size);

		rc = fetch_gaps(g, &from, d, dst->pdim, dst->dtype, &from);
		rc = rc ? rc : copy_on_engine(g, &to, &from);
		gen_release_temps(g, mark);
	} while (!rc && tile_next(&b));
	return rc;
}

/*
 * Tries fetch_gaps(), unless what is fetched would take more than half of SBUF. 0, -errno, or 1 if
 * there is no room
 */
static int fetch_sparse(struct ncc_gen *g, const struct ncc_view *v, unsigned int d, int pdim,
			uint8_t dtype, struct ncc_view *out)
{
	const unsigned int mark = g->ntemps;
	const bool before = g->no_room;
	int rc;

	if (tile_bytes(v, v->dim, pdim, 0) > g->prog.target->sbuf_part_size / 2)
		return 1;
	g->no_room = false;
	rc = fetch_gaps(g, v, d, pdim, dtype, out);
	if (!rc || !g->no_room)
		return rc;
	gen_release_temps(g, mark);
	g->no_room = before;
	return 1;
}

/*
 * Fetches short runs together with what lies between them. 0, -errno, or 1 if that would lead out
 * of the variable
 */
static int fetch_runs(struct ncc_gen *g, const struct ncc_view *v, int outer, int inner, int pdim,
		      uint8_t dtype, struct ncc_view *out)
{
	int64_t pitch = v->stride[outer], at = v->off % pitch, last = v->off - at + pitch;
	const struct neff_var *var = &g->prog.var[v->buf->var];
	struct ncc_view dense = *v;
	int rc;

	for (unsigned int d = 0; d < v->ndim; d++)
		if ((int)d != inner)
			last += (v->dim[d] - 1) * v->stride[d];
	if (v->buf->base + (uint64_t)last * ncc_dtype_size(v->dtype) > var->size)
		return 1;
	dense.off -= at;
	dense.dim[inner] = pitch;
	rc = gen_fetch(g, &dense, pdim, dtype, out);
	if (!rc)
		*out = view_slice(out, (unsigned int)inner, at, v->dim[inner], 1);
	return rc;
}

/*
 * Does v lie along the partitions (or was it spilled from there) and repeat along others? A DMA
 * would go element by element to each of them.
 */
static bool is_spread_across(const struct ncc_view *v, int pdim)
{
	return (v->buf->space == NCC_SBUF || v->buf->row) && v->pdim >= 0 && pdim >= 0 &&
	       v->pdim != pdim && v->dim[v->pdim] > 1 && v->stride[pdim] == 0 &&
	       v->dim[pdim] >= NEURON_PARTITIONS / 4;
}

/* Copies such a view to DRAM first, where its elements are neighbours. */
static int fetch_spread(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
			struct ncc_view *out)
{
	struct ncc_view one = *v, flat;
	struct ncc_shape s;
	int rc;

	for (unsigned int d = 0; d < v->ndim; d++)
		if (v->stride[d] == 0 && (int)d != v->pdim)
			one.dim[d] = 1;
	view_shape(&one, &s);
	rc = gen_scratch(g, &s, -1, &flat);
	rc = rc ? rc : gen_temp(g, flat.buf);
	rc = rc ? rc : gen_copy(g, &flat, &one);
	if (rc)
		return rc;
	for (unsigned int d = 0; d < v->ndim; d++)
		if (one.dim[d] != v->dim[d])
			flat.stride[d] = 0;
	memcpy(flat.dim, v->dim, sizeof(flat.dim));
	return gen_fetch(g, &flat, pdim, dtype, out);
}

/* Does v repeat along pdim, in more than one chunk of partitions? */
static bool repeats_chunks(const struct ncc_view *v, int pdim)
{
	return pdim >= 0 && v->pdim != pdim && !v->stride[pdim] && v->dim[pdim] > NEURON_PARTITIONS;
}

static struct ncc_view turned_round(const struct ncc_view *v, uint32_t dims)
{
	struct ncc_view w = *v;

	for (unsigned int d = 0; d < v->ndim; d++)
		if (dims >> d & 1)
			w = view_slice(&w, d, w.dim[d] - 1, w.dim[d], -1);
	return w;
}

/*
 * Fetches what is read from its end (a convolution's kernel for the gradient of its input) as it
 * lies in DRAM: the other way round each element would be a piece. 0, -errno, or 1 if there is no
 * such dimension
 */
static int fetch_reversed(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
			  struct ncc_view *out)
{
	struct ncc_view as_it_lies;
	uint32_t dims = 0;
	int rc;

	for (unsigned int d = 0; d < v->ndim && v->buf->space == NCC_DRAM; d++)
		if ((int)d != pdim && v->dim[d] > 1 && v->stride[d] < 0)
			dims |= 1u << d;
	if (!dims)
		return 1;
	as_it_lies = turned_round(v, dims);
	rc = gen_fetch(g, &as_it_lies, pdim, dtype, out);
	if (!rc)
		*out = turned_round(out, dims);
	return rc;
}

int gen_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
	      struct ncc_view *out)
{
	struct ncc_view dst, src = *v;
	struct ncc_shape s;
	int rc, outer, inner, sparse;

	if (!dtype)
		dtype = v->dtype;
	if (fits_as_it_is(v, pdim, dtype)) {
		*out = *v;
		if (v->buf->pin != NCC_PIN_TEMP)
			v->buf->pin = g->stamp;
		return 0;
	}

	rc = fetch_reversed(g, v, pdim, dtype, out);
	if (rc <= 0)
		return rc;
	if (dtype == v->dtype) {
		rc = gen_pool_fetch(g, v, pdim, out);
		if (rc)
			return rc < 0 ? rc : 0;
	}
	sparse = v->buf->space == NCC_DRAM ? gen_sparse_dim(v, pdim) : -1;
	outer = gen_short_runs(v, pdim, &inner);
	rc = sparse >= 0  ? fetch_sparse(g, v, (unsigned int)sparse, pdim, dtype, out)
	     : outer >= 0 ? fetch_runs(g, v, outer, inner, pdim, dtype, out)
			  : 1;
	if (rc <= 0)
		return rc;
	if (sparse < 0 && is_spread_across(v, pdim))
		return fetch_spread(g, v, pdim, dtype, out);
	dense_shape(v, pdim, &s);
	if (repeats_chunks(v, pdim))
		s.dim[pdim] = NEURON_PARTITIONS;
	s.dtype = dtype;
	rc = gen_view_like(g, v, &s, pdim, &dst);
	if (rc)
		return rc;
	rc = gen_temp(g, dst.buf);
	if (rc)
		return rc;
	for (unsigned int d = 0; d < s.ndim; d++)
		src.dim[d] = s.dim[d];
	rc = sparse >= 0 ? copy_gaps(g, &dst, &src, (unsigned int)sparse) : gen_copy(g, &dst, &src);
	if (repeats_chunks(v, pdim))
		dst.buf->chunk = 0; /* the one is all of them */
	*out = dst;

	for (unsigned int d = 0; d < v->ndim; d++) {
		out->dim[d] = v->dim[d];
		if (s.dim[d] == 1 && v->dim[d] != 1)
			out->stride[d] = 0;
	}
	return rc;
}

int gen_fetch_kept(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
		   struct ncc_view *out)
{
	int rc;

	if (gen_keep_find(g, v, pdim, dtype, out)) {
		out->buf->refs++;
		return gen_temp(g, out->buf);
	}
	rc = gen_fetch(g, v, pdim, dtype, out);
	if (!rc)
		gen_keep_add(g, v, pdim, dtype, out);
	return rc;
}
