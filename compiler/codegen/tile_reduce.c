// SPDX-License-Identifier: MIT
/*
 * Reductions of values too large for SBUF. The result is computed in boxes; what a box reduces
 * comes in chunks, in the order of their indices, and the chunks' results are accumulated in that
 * order (in fp32 for the 16-bit types). How it is chunked depends on shapes and types only
 * (docs/compiler-design.md). Part of the code generator.
 */
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "move.h"
#include "reduce.h"
#include "sbuf.h"
#include "tile.h"
#include "view.h"

#define LONG_RUN 64 /* elements: halves of it still make decent DMAs */
#define MOST_REDUCED 16384 /* elements that one instruction reduces to one */

static uint8_t acc_dtype(const struct ncc_op *op)
{
	uint8_t dtype = op->shape.dtype;

	return dtype == NEURON_DT_BF16 || dtype == NEURON_DT_FP16 ? NEURON_DT_FP32 : dtype;
}

/* The shape that a box of x has after the reduction, and where its pdim is then */
static int kept_shape(const struct ncc_view *x, const int64_t *size, uint32_t mask, int pdim,
		      struct ncc_shape *s)
{
	int kept = -1;

	s->ndim = 0;
	for (unsigned int d = 0; d < x->ndim; d++) {
		if (mask >> d & 1)
			continue;
		if ((int)d == pdim)
			kept = (int)s->ndim;
		s->dim[s->ndim++] = size[d];
	}
	return kept;
}

struct reduction {
	const struct plan_step *init; /* what is done with the initial value */
	uint8_t alu, dtype; /* dtype: the operand's */
	uint8_t sum; /* the type that chunks are added in */
	const struct ncc_view *acc;
	uint32_t mask; /* the dimensions that are reduced within a chunk */
	int pdim; /* of the operand */
	bool fold; /* chunks along pdim share partitions */
	bool begun; /* acc holds something */
};

static struct reduction reduction_of(const struct ncc_op *op)
{
	return (struct reduction){ .init = &op->plan->step,
				   .alu = op->plan->step.alu,
				   .dtype = op->in[0]->shape.dtype,
				   .sum = acc_dtype(op),
				   .mask = op->mask,
				   .fold = !op->shape.ndim };
}

static int reduce_chunk(struct ncc_gen *g, struct reduction *r, const struct ncc_view *x)
{
	unsigned int mark = g->ntemps;
	struct ncc_view src, part, acc = *r->acc;
	struct ncc_shape s;
	int rc;

	g->stamp++;
	rc = gen_fetch(g, x, r->pdim, r->dtype, &src);
	if (!rc && r->fold && acc.dim[0] > x->dim[r->pdim])
		acc = view_slice(&acc, 0, 0, x->dim[r->pdim], 1);
	if (!rc && r->begun) {
		view_shape(&acc, &s);
		rc = gen_sbuf_view(g, &s, acc.pdim, &part);
		rc = rc ? rc : gen_temp(g, part.buf);
		rc = rc ? rc : gen_reduce_part(g, r->alu, &part, &src, r->mask);
		rc = rc ? rc : gen_reduce_combine(g, r->alu, &acc, &part);
	} else if (!rc) {
		rc = gen_reduce_part(g, r->alu, &acc, &src, r->mask);
	}

	r->begun = true;
	gen_release_temps(g, mark);
	return rc;
}

static int reduce_chunks(struct ncc_gen *g, struct reduction *r, const struct ncc_view *x,
			 const int64_t *step)
{
	struct tile_box b;
	int rc;

	tile_first(&b, x->ndim, x->dim, step);
	do {
		struct ncc_view chunk = view_box(x, b.lo, b.size);

		rc = reduce_chunk(g, r, &chunk);
	} while (!rc && tile_next(&b));
	return rc;
}

static int64_t product(const int64_t *size, unsigned int ndim, uint32_t mask)
{
	int64_t n = 1;

	for (unsigned int d = 0; d < ndim; d++)
		if (mask >> d & 1)
			n *= size[d];
	return n;
}

/*
 * The bytes in SBUF at once: a chunk, and up to three results (the sum, the chunk's, the narrowed)
 */
static int64_t reduce_bytes(const struct reduction *r, const struct ncc_view *x,
			    const int64_t *size)
{
	int64_t kept[NCC_MAX_DIMS];

	for (unsigned int d = 0; d < x->ndim; d++)
		kept[d] = r->mask >> d & 1 ? 1 : size[d];
	return tile_bytes(x, size, r->pdim, r->dtype) +
	       3 * tile_bytes(x, kept, r->pdim, 0) * 4 / ncc_dtype_size(x->dtype);
}

/*
 * Chooses the box of a chunk: first fewer kept elements, but whole runs of neighbours; then fewer
 * reduced ones; shorter runs only when nothing else is left.
 */
static void chunk_step(const struct reduction *r, const struct ncc_view *x, int64_t *step)
{
	const uint32_t mask = r->mask;
	const int pdim = r->pdim;
	uint32_t run = 0;

	memcpy(step, x->dim, sizeof(x->dim));
	for (unsigned int d = 0; d < x->ndim; d++)
		if (x->stride[d] == 1 && (int)d != pdim && !(mask >> d & 1) && x->dim[d] > 1)
			run |= 1u << d;

	while (reduce_bytes(r, x, step) > TILE_BYTES &&
	       tile_halve(step, x->ndim, pdim, ~(mask | run)))
		;

	while (reduce_bytes(r, x, step) > TILE_BYTES && run && step[__builtin_ctz(run)] >= LONG_RUN)
		tile_halve(step, x->ndim, pdim, run);

	while ((reduce_bytes(r, x, step) > TILE_BYTES ||
		product(step, x->ndim, mask) > MOST_REDUCED) &&
	       tile_halve(step, x->ndim, -1, mask))
		;

	while (reduce_bytes(r, x, step) > TILE_BYTES && tile_halve(step, x->ndim, pdim, run))
		;
}

/*
 * Stores the sum of a box in its type and releases acc, also when rc says that a step before
 * failed.
 */
static int finish(struct ncc_gen *g, const struct plan_step *init, struct tile_store *st,
		  const struct ncc_view *acc, const struct ncc_view *to, int rc)
{
	struct ncc_view tile;
	struct ncc_shape s;

	rc = rc ? rc : gen_reduce_init(g, init, acc);
	if (!rc && acc->dtype == to->dtype)
		return tile_put(g, st, acc, to);
	view_shape(to, &s);
	rc = rc ? rc : tile_alloc(g, &s, acc->pdim, &tile);
	if (!rc) {
		rc = gen_copy(g, &tile, acc);
		rc = rc ? rc : tile_put(g, st, &tile, to);
	}
	gen_unref(g, acc->buf);
	return rc;
}

/* Reduces all of x to one number: the sums of 128 partitions, then their sum. */
static int reduce_to_one(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *x,
			 const struct ncc_view *dst)
{
	struct reduction r = reduction_of(op);
	struct ncc_shape s = { .dtype = acc_dtype(op), .ndim = 1 };
	int64_t n = ncc_elems(&op->in[0]->shape), rows = NEURON_PARTITIONS, step[NCC_MAX_DIMS];
	struct ncc_view v = *x, rest = *x, acc, tile, one;
	struct tile_store st = { 0 };
	bool flat = tile_flatten(&v) && n >= rows;
	int rc;

	if (flat) { /* 128 rows and a rest */
		rest = tile_flat_piece(&v, n - n % rows, n % rows, 1);
		v = tile_flat_piece(&v, 0, rows, n / rows);
	} else {
		v = *x;
	}

	r.pdim = flat ? 0 : tile_pdim(x, op->in[0]->pdim, 0);
	r.mask = ((1u << v.ndim) - 1) & ~(1u << r.pdim);
	chunk_step(&r, &v, step);
	if (step[r.pdim] > rows)
		step[r.pdim] = rows;
	s.dim[0] = step[r.pdim];
	rc = gen_sbuf_view(g, &s, 0, &acc);
	rc = rc ? rc : gen_temp(g, acc.buf);
	r.acc = &acc;
	rc = rc ? rc : reduce_chunks(g, &r, &v, step);
	if (!rc && flat && n % rows)
		rc = reduce_chunk(g, &r, &rest);
	rc = rc ? rc : gen_fetch(g, &acc, -1, 0, &one);
	s.ndim = 0;
	rc = rc ? rc : tile_alloc(g, &s, -1, &tile);
	if (!rc) {
		rc = gen_reduce_part(g, r.alu, &tile, &one, 1);
		rc = finish(g, &op->plan->step, &st, &tile, dst, rc);
	}
	return tile_flush(g, &st, rc);
}

static int reduce_box(struct ncc_gen *g, struct reduction *r, struct tile_store *st,
		      const struct ncc_view *x, const struct ncc_view *to, const int64_t *step)
{
	struct ncc_view acc;
	struct ncc_shape s = { .dtype = r->sum };
	int rc = tile_alloc(g, &s, kept_shape(x, x->dim, r->mask, r->pdim, &s), &acc);

	if (rc)
		return rc;
	r->acc = &acc;
	r->begun = false;
	rc = reduce_chunks(g, r, x, step);
	return finish(g, r->init, st, &acc, to, rc);
}

static int reduce_boxes(struct ncc_gen *g, struct reduction *r, const struct ncc_view *x,
			const struct ncc_view *dst)
{
	int64_t step[NCC_MAX_DIMS], chunk[NCC_MAX_DIMS];
	struct tile_store st = { 0 };
	struct tile_box b;
	int rc;

	chunk_step(r, x, chunk);
	for (unsigned int d = 0; d < x->ndim; d++)
		step[d] = r->mask >> d & 1 ? x->dim[d] : chunk[d];
	tile_first(&b, x->ndim, x->dim, step);
	do {
		struct ncc_view from = view_box(x, b.lo, b.size), to = *dst;

		for (unsigned int d = 0, k = 0; d < x->ndim; d++) {
			if (r->mask >> d & 1)
				continue;
			to = view_slice(&to, k, b.lo[d], b.size[d], 1);
			k++;
		}
		rc = reduce_box(g, r, &st, &from, &to, chunk);
	} while (!rc && tile_next(&b));
	return tile_flush(g, &st, rc);
}

int tile_reduce(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	const struct ncc_view *x = &op->in[0]->gen->value->view;
	struct reduction r = reduction_of(op);
	struct ncc_view from, to;
	int wish = -1, k = 0, rc;

	if (!op->shape.ndim)
		return reduce_to_one(g, op, x, dst);
	for (int d = 0, i = 0; d < (int)x->ndim; d++)
		if (!(op->mask >> d & 1) && i++ == op->pdim)
			wish = d;

	r.pdim = tile_pdim(x, wish, op->mask);
	if (!tile_should_split(x, r.pdim))
		return reduce_boxes(g, &r, x, dst);
	for (int d = 0; d < r.pdim; d++)
		k += !(op->mask >> d & 1);
	from = tile_split(x, (unsigned int)r.pdim);
	to = tile_split(dst, (unsigned int)k);
	r.mask = (op->mask & ((1u << r.pdim) - 1)) | (op->mask >> r.pdim << (r.pdim + 1));
	rc = reduce_boxes(g, &r, &from, &to);
	from = tile_rest(x, (unsigned int)r.pdim);
	to = tile_rest(dst, (unsigned int)k);
	r.mask = op->mask;
	return rc || !from.dim[r.pdim] ? rc : reduce_boxes(g, &r, &from, &to);
}

/* The part of x that window positions [w0, w0 + wn) read for a box of the result */
static void window_box(const struct ncc_op *op, const int64_t *lo, const int64_t *size, int64_t w0,
		       int64_t wn, int64_t *xlo, int64_t *xsize)
{
	for (unsigned int d = 0; d < op->shape.ndim; d++) {
		const struct ncc_window *w = &op->window[d];
		bool wide = w->size > 1;

		xlo[d] = lo[d] * w->stride + (wide ? w0 * w->window_dilation : 0);
		xsize[d] =
			(size[d] - 1) * w->stride + (wide ? (wn - 1) * w->window_dilation : 0) + 1;
	}
}

struct windows {
	const struct ncc_op *op;
	const struct ncc_view *x;
	int pdim;
	unsigned int dim; /* the windowed one */
	int64_t positions; /* window positions in one chunk */
};

static int64_t window_bytes(const struct windows *w, const int64_t *size)
{
	int64_t lo[NCC_MAX_DIMS] = { 0 }, xlo[NCC_MAX_DIMS], xsize[NCC_MAX_DIMS];
	struct ncc_view dst = *w->x;

	window_box(w->op, lo, size, 0, w->positions, xlo, xsize);
	return tile_bytes(w->x, xsize, w->pdim, w->op->in[0]->shape.dtype) +
	       3 * tile_bytes(&dst, size, w->pdim, 0) * 4 / ncc_dtype_size(dst.dtype);
}

static int window_chunk(struct ncc_gen *g, const struct windows *w, const struct tile_box *b,
			int64_t w0, const struct ncc_view *acc)
{
	int64_t xlo[NCC_MAX_DIMS], xsize[NCC_MAX_DIMS], wn = w->op->window[w->dim].size - w0;
	unsigned int mark = g->ntemps;
	struct ncc_window window[NCC_MAX_DIMS];
	struct ncc_view x, part = *acc;
	struct ncc_shape s;
	struct tile_op t;
	int rc = 0;

	g->stamp++;
	wn = wn < w->positions ? wn : w->positions;
	window_box(w->op, b->lo, b->size, w0, wn, xlo, xsize);
	x = view_box(w->x, xlo, xsize);
	view_shape(acc, &s);
	if (w0) {
		rc = gen_sbuf_view(g, &s, w->pdim, &part);
		rc = rc ? rc : gen_temp(g, part.buf);
	}

	tile_op_init(&t, w->op, &s, w->pdim);
	memcpy(window, w->op->window, sizeof(window));
	window[w->dim].size = wn;
	t.op.window = window;
	tile_op_operand(&t, 0, &x);
	rc = rc ? rc : gen_window_part(g, &t.op, &part);
	if (!rc && w0)
		rc = gen_reduce_combine(g, w->op->plan->step.alu, acc, &part);
	gen_release_temps(g, mark);
	return rc;
}

int tile_window(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct windows w = { .op = op, .x = &op->in[0]->gen->value->view };
	struct ncc_shape s = { .dtype = acc_dtype(op) };
	struct tile_store st = { 0 };
	int64_t step[NCC_MAX_DIMS];
	struct tile_box b;
	int rc = 0;

	for (unsigned int d = 0; d < op->shape.ndim; d++)
		if (op->window[d].size > 1)
			w.dim = d;
	w.positions = op->window[w.dim].size;
	w.pdim = tile_pdim(dst, op->pdim, 1u << w.dim);
	memcpy(step, dst->dim, sizeof(step));
	while (window_bytes(&w, step) > TILE_BYTES || w.positions > MOST_REDUCED) {
		bool half = w.positions <= MOST_REDUCED && w.positions <= step[w.dim] &&
			    tile_halve(step, dst->ndim, w.pdim, ~0u);

		if (!half && w.positions == 1)
			break;
		if (!half)
			w.positions = (w.positions + 1) / 2;
	}
	tile_first(&b, dst->ndim, dst->dim, step);
	do {
		struct ncc_view to = view_box(dst, b.lo, b.size), acc;

		s.ndim = dst->ndim;
		memcpy(s.dim, b.size, sizeof(s.dim));
		rc = tile_alloc(g, &s, w.pdim, &acc);
		if (rc)
			break;
		for (int64_t w0 = 0; !rc && w0 < op->window[w.dim].size; w0 += w.positions)
			rc = window_chunk(g, &w, &b, w0, &acc);
		rc = finish(g, &op->plan->step, &st, &acc, &to, rc);
	} while (!rc && tile_next(&b));
	return tile_flush(g, &st, rc);
}
