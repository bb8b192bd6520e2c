// SPDX-License-Identifier: MIT
/*
 * Products of values too large for SBUF. The operands are first brought into one order in DRAM,
 * contracted dimensions outermost; then boxes of the result accumulate in PSUM while both operands
 * come by in groups. Part of the code generator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "contract.h"
#include "move.h"
#include "neuron/isa/check.h"
#include "tile.h"
#include "view.h"

/*
 * An operand in DRAM with its dimensions in the order of map, of its own type: as it lies, or a
 * copy
 */
static int in_order(struct ncc_gen *g, const struct ncc_op *x, const uint8_t *map, bool lies_so,
		    struct ncc_view *v)
{
	struct ncc_view copy, src = view_permute(&x->gen->value->view, map, x->shape.ndim);
	unsigned int mark = g->ntemps;
	struct ncc_shape s;
	int rc;

	if (lies_so && src.buf->space == NCC_DRAM && src.pdim < 0 && src.dtype == x->shape.dtype) {
		*v = src;
		v->buf->refs++;
		return 0;
	}

	view_shape(&src, &s);
	s.dtype = x->shape.dtype;
	rc = gen_scratch(g, &s, -1, &copy);
	if (rc)
		return rc;
	rc = gen_copy(g, &copy, &src);
	gen_release_temps(g, mark);
	if (rc)
		gen_unref(g, copy.buf);
	*v = copy;
	return rc;
}

/* The batch, contracted and free dimensions of operand i in that order; n: the elements of each */
static void side_order(const struct ncc_op *op, unsigned int i, uint8_t *map, int64_t *n)
{
	const struct ncc_shape *s = &op->in[i]->shape;
	const uint8_t *batch = i ? op->dot->rhs_batch : op->dot->lhs_batch;
	const uint8_t *contract = i ? op->dot->rhs_contract : op->dot->lhs_contract;
	unsigned int k = 0;
	uint32_t used = 0;

	n[0] = n[1] = n[2] = 1;
	for (unsigned int d = 0; d < op->dot->nbatch; d++)
		map[k++] = batch[d];
	for (unsigned int d = 0; d < op->dot->ncontract; d++)
		map[k++] = contract[d];
	for (unsigned int d = 0; d < k; d++) {
		used |= 1u << map[d];
		n[d >= op->dot->nbatch] *= s->dim[map[d]];
	}
	for (unsigned int d = 0; d < s->ndim; d++) {
		if (used >> d & 1)
			continue;
		map[k++] = (uint8_t)d;
		n[2] *= s->dim[d];
	}
}

/*
 * An operand as [batch, contracted, free], contiguous along free. The caller drops the reference to
 * v's buffer.
 */
static int dot_side(struct ncc_gen *g, const struct ncc_op *op, unsigned int i, struct ncc_view *v)
{
	const struct ncc_op *x = op->in[i];
	struct ncc_shape s = { .ndim = 3 };
	uint8_t map[NCC_MAX_DIMS];
	struct ncc_view three, src;
	bool good;
	int rc;

	side_order(op, i, map, s.dim);
	src = view_permute(&x->gen->value->view, map, x->shape.ndim);
	good = view_reshape(&src, &s, &three) && (three.dim[2] == 1 || three.stride[2] == 1);
	rc = in_order(g, x, map, good, &src);
	if (rc)
		return rc;
	if (view_reshape(&src, &s, v))
		return 0;
	gen_unref(g, src.buf);
	return gen_fail(g, -EINVAL, "internal: an operand in order is not in order");
}

#define MOST_CHUNKS 16 /* of 128 contracted elements each, in a group */

/* The operands of one box of the result: st[K, S], mv[slots, K, N], slots 1 if they are dense */
struct dot_operands {
	struct ncc_view st, mv;
	struct ncc_view tags; /* of sparse weights */
	uint8_t neighbours;
};

/* Brings the rows [k, k + n) of them to SBUF and makes terms of them; *nterms: how many */
static int dot_terms(struct ncc_gen *g, const struct dot_operands *o, int64_t k, int64_t n,
		     struct mm_term *term, unsigned int *nterms)
{
	struct ncc_view a = view_slice(&o->st, 0, k, n, 1), b = view_slice(&o->mv, 1, k, n, 1);
	struct ncc_view tags = { 0 };
	int rc = gen_fetch(g, &a, 0, 0, &a);

	rc = rc ? rc : gen_fetch(g, &b, 1, 0, &b);
	if (!rc && o->neighbours) {
		tags = view_slice(&o->tags, 0, k, n, 1);
		rc = gen_fetch(g, &tags, 0, 0, &tags);
	}
	*nterms = 0;
	for (int64_t c = 0; !rc && c < n; c += NEURON_PARTITIONS) {
		int64_t kn = n - c < NEURON_PARTITIONS ? n - c : NEURON_PARTITIONS;
		struct mm_term *t = &term[(*nterms)++];

		*t = (struct mm_term){ .neighbours = o->neighbours };
		t->st = view_slice(&a, 0, c, kn, 1);
		t->mv = view_slice(&b, 1, c, kn, 1);
		t->slots = (uint16_t)b.dim[0];
		t->step = b.stride[0];
		t->mv = view_slice(&t->mv, 0, 0, 1, 1);
		t->mv = view_drop(&t->mv, 0);
		if (o->neighbours)
			t->tags = view_slice(&tags, 0, c, kn, 1);
	}
	return rc;
}

/* Computes one box of the result, in groups along K. */
static int dot_box(struct ncc_gen *g, const struct dot_operands *o, const struct ncc_view *tile)
{
	const struct ncc_view *st = &o->st, *mv = &o->mv;
	int64_t chunk = (st->dim[1] + mv->dim[0] * mv->dim[2]) * ncc_dtype_size(st->dtype) +
			(o->neighbours ? o->tags.dim[1] * (int64_t)sizeof(uint16_t) : 0);
	int64_t room = TILE_BYTES - tile->dim[1] * ncc_dtype_size(tile->dtype), size[NCC_MAX_DIMS];
	int64_t group = room / (chunk + 3 * NCC_SBUF_ALIGN);
	struct mm_term term[MOST_CHUNKS];
	struct ncc_view row = view_drop(mv, 0);
	struct mm mm;
	int rc = 0;

	group = (group < 1 ? 1 : group > MOST_CHUNKS ? MOST_CHUNKS : group) * NEURON_PARTITIONS;
	gen_mm_box_size(2, tile->dim, &row, o->neighbours, size);
	gen_mm_begin(g, &mm, tile, size, st->dtype);
	for (int64_t k = 0; !rc && k < st->dim[0]; k += group) {
		int64_t n = st->dim[0] - k < group ? st->dim[0] - k : group;
		unsigned int mark = g->ntemps, nterms;

		g->stamp++;
		rc = dot_terms(g, o, k, n, term, &nterms);
		rc = rc ? rc : gen_mm_add(g, &mm, term, nterms, k > 0);
		gen_release_temps(g, mark);
	}
	return rc ? rc : gen_mm_end(g, &mm, tile);
}

/* Computes dst[S, N] of one batch index in boxes. */
static int dot_matrix(struct ncc_gen *g, struct tile_store *store, const struct ncc_view *dst,
		      const struct dot_operands *all)
{
	int64_t step[2] = { NEURON_PARTITIONS, (int64_t)MM_BOXES * NEURON_ISA_MAX_MOVING };
	struct tile_box b;
	int rc;

	tile_first(&b, 2, dst->dim, step);
	do {
		struct ncc_view to = view_box(dst, b.lo, b.size), tile;
		struct dot_operands o = *all;
		struct ncc_shape shape;

		o.st = view_slice(&all->st, 1, b.lo[0], b.size[0], 1);
		o.mv = view_slice(&all->mv, 2, b.lo[1], b.size[1], 1);
		if (o.neighbours)
			o.tags = view_slice(&all->tags, 1, b.lo[0] / 4, (b.size[0] + 3) / 4, 1);

		view_shape(&to, &shape);
		rc = tile_alloc(g, &shape, 0, &tile);
		if (rc)
			break;
		rc = dot_box(g, &o, &tile);
		if (rc)
			gen_unref(g, tile.buf);
		else
			rc = tile_put(g, store, &tile, &to);
	} while (!rc && tile_next(&b));
	return rc;
}

/* The operands of batch index i, side st stationary */
static struct dot_operands operands_of(const struct ncc_op *op, const struct ncc_view *side,
				       unsigned int st, int64_t i)
{
	struct dot_operands o = { .neighbours = op->dot->neighbours };
	const struct ncc_view mv = view_slice(&side[!st], 0, i, 1, 1);
	struct ncc_shape s = { .ndim = 3 };

	o.st = view_slice(&side[st], 0, i, 1, 1);
	o.st = view_drop(&o.st, 0);
	s.dim[0] = ncc_dot_slots(op);
	s.dim[1] = o.st.dim[0];
	s.dim[2] = mv.dim[2];
	view_reshape(&mv, &s, &o.mv);
	if (o.neighbours)
		o.tags = op->in[2]->gen->value->view;
	return o;
}

/*
 * So many batch indices, of which each is one product, have room together; 0: it takes more than
 * one.
 */
static int64_t most_batches(const struct ncc_op *op, const struct ncc_view *st,
			    const struct ncc_view *mv)
{
	const int64_t esz = ncc_dtype_size(st->dtype);
	const int64_t bytes = (st->dim[2] + mv->dim[2]) * esz +
			      mv->dim[2] * (int64_t)ncc_dtype_size(op->shape.dtype);

	return op->dot->neighbours || st->dim[1] > NEURON_PARTITIONS ||
			       st->dim[2] > NEURON_PARTITIONS
		       ? 0
		       : TILE_BYTES / bytes;
}

/* One batch index of a piece [batches, partitions, elements] */
static struct ncc_view one_batch(const struct ncc_view *v, int64_t i)
{
	struct ncc_view r = view_slice(v, 0, i, 1, 1);

	return view_drop(&r, 0);
}

/*
 * Computes dst[batches, S, N] of batch indices that have room together: they come and go by one DMA
 * each.
 */
static int dot_batches(struct ncc_gen *g, struct tile_store *store, const struct ncc_view *dst,
		       const struct ncc_view *st, const struct ncc_view *mv)
{
	const unsigned int mark = g->ntemps;
	struct mm_term term = { .slots = 1 };
	struct ncc_view a, b, tile, to;
	struct ncc_shape shape;
	int rc;

	g->stamp++;
	view_shape(dst, &shape);
	rc = tile_alloc(g, &shape, 1, &tile);
	if (rc)
		return rc;
	rc = gen_fetch(g, st, 1, 0, &a);
	rc = rc ? rc : gen_fetch(g, mv, 1, 0, &b);
	for (int64_t i = 0; !rc && i < dst->dim[0]; i++) {
		term.st = one_batch(&a, i);
		term.mv = one_batch(&b, i);
		to = one_batch(&tile, i);
		rc = gen_matmul(g, &to, &term, 1);
	}
	gen_release_temps(g, mark);
	if (!rc)
		return tile_put(g, store, &tile, dst);
	gen_unref(g, tile.buf);
	return rc;
}

int tile_dot(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct ncc_view side[2], to, d;
	struct tile_store store = { 0 };
	struct ncc_shape s = { .ndim = 3 };
	uint8_t map[3] = { 0, 1, 2 };
	int64_t most;
	const unsigned int st = op->plan->stationary_in_pieces;
	int rc = dot_side(g, op, 0, &side[0]);

	if (rc)
		return rc;
	rc = dot_side(g, op, 1, &side[1]);
	if (rc) {
		gen_unref(g, side[0].buf);
		return rc;
	}

	s.dim[0] = side[0].dim[0];
	s.dim[1] = side[0].dim[2];
	s.dim[2] = side[1].dim[2];
	if (st) {
		map[1] = 2;
		map[2] = 1;
	}

	if (!view_reshape(dst, &s, &d))
		rc = gen_fail(g, -EINVAL, "internal: a result is not row-major");
	d = view_permute(&d, map, 3);
	most = most_batches(op, &side[st], &side[!st]);
	for (int64_t i = 0, n; !rc && i < s.dim[0]; i += n) {
		n = s.dim[0] - i < most ? s.dim[0] - i : most;
		to = view_slice(&d, 0, i, n > 1 ? n : 1, 1);
		if (n > 1) {
			const struct ncc_view a = view_slice(&side[st], 0, i, n, 1);
			const struct ncc_view b = view_slice(&side[!st], 0, i, n, 1);

			rc = dot_batches(g, &store, &to, &a, &b);
		} else {
			const struct dot_operands o = operands_of(op, side, st, i);

			n = 1;
			to = view_drop(&to, 0);
			rc = dot_matrix(g, &store, &to, &o);
		}
	}

	rc = tile_flush(g, &store, rc);
	gen_unref(g, side[0].buf);
	gen_unref(g, side[1].buf);
	return rc;
}

/* A convolution: x[features, batch, spatial...], k[features, spatial..., features out],
 * y[features out, batch, spatial...] */
struct conv {
	const struct ncc_op *op;
	unsigned int nspatial;
	struct ncc_view x, k, y; /* one group's */
	int64_t kbox[NCC_MAX_DIMS]; /* kernel positions fetched together, as dimensions of k */
};

/* The part of x that a box of y needs for the kernel positions from lo on */
static struct ncc_view conv_input(const struct conv *c, const struct tile_box *y,
				  const int64_t *klo, const int64_t *ksize)
{
	struct ncc_view v = view_slice(&c->x, 0, klo[0], ksize[0], 1);

	v = view_slice(&v, 1, y->lo[1], y->size[1], 1);
	for (unsigned int i = 0; i < c->nspatial; i++) {
		const struct ncc_window *w = &c->op->window[i];
		int64_t lo = y->lo[2 + i] * w->stride + klo[1 + i] * w->window_dilation;
		int64_t n = (y->size[2 + i] - 1) * w->stride +
			    (ksize[1 + i] - 1) * w->window_dilation + 1;

		v = view_slice(&v, 2 + i, lo, n, 1);
	}
	return v;
}

/* Makes a term, one matrix product, for each kernel position of a fetched box of the kernel. */
static unsigned int conv_terms(const struct conv *c, const struct tile_box *y,
			       const struct ncc_view *x, const struct ncc_view *k,
			       struct mm_term *term)
{
	unsigned int n = 0, nk = c->nspatial + 2;
	int64_t one[NCC_MAX_DIMS];
	struct tile_box at;

	for (unsigned int d = 0; d < nk; d++)
		one[d] = d == 0 || d == nk - 1 ? k->dim[d] : 1;
	tile_first(&at, nk, k->dim, one);
	do {
		struct ncc_view mv = *x, st = view_box(k, at.lo, at.size);

		for (unsigned int i = 0; i < c->nspatial; i++) {
			const struct ncc_window *w = &c->op->window[i];

			mv = view_slice(&mv, 2 + i, at.lo[1 + i] * w->window_dilation,
					y->size[2 + i], w->stride);
			st = view_drop(&st, 1);
		}
		term[n].mv = mv;
		term[n++].st = st;
	} while (tile_next(&at));
	return n;
}

static int conv_group(struct ncc_gen *g, const struct conv *c, const struct tile_box *y,
		      const struct tile_box *kb, const struct mm *mm, bool accumulate)
{
	struct ncc_view x = conv_input(c, y, kb->lo, kb->size),
			k = view_box(&c->k, kb->lo, kb->size);
	unsigned int mark = g->ntemps, n = 1;
	struct mm_term *term;
	int rc;

	g->stamp++;
	k = view_slice(&k, c->nspatial + 1, y->lo[0], y->size[0], 1);
	rc = gen_fetch(g, &x, 0, 0, &x);
	rc = rc ? rc : gen_fetch(g, &k, 0, 0, &k);
	for (unsigned int i = 0; i < c->nspatial; i++)
		n *= (unsigned int)kb->size[1 + i];
	term = rc ? NULL : calloc(n, sizeof(*term));
	if (!rc && !term)
		rc = ncc_no_memory(g->err);
	if (!rc) {
		n = conv_terms(c, y, &x, &k, term);
		rc = gen_mm_add(g, mm, term, n, accumulate);
	}

	free(term);
	gen_release_temps(g, mark);
	return rc;
}

static int conv_box(struct ncc_gen *g, const struct conv *c, const struct tile_box *y,
		    const struct ncc_view *tile, const int64_t *bank)
{
	int64_t step[NCC_MAX_DIMS];
	struct tile_box kb;
	struct mm mm;
	bool any = false;
	int rc;

	memcpy(step, c->kbox, sizeof(step));
	gen_mm_begin(g, &mm, tile, bank, c->k.dtype);
	tile_first(&kb, c->k.ndim, c->k.dim, step);
	do {
		rc = conv_group(g, c, y, &kb, &mm, any);
		any = true;
	} while (!rc && tile_next(&kb));
	return rc ? rc : gen_mm_end(g, &mm, tile);
}

/* The bytes of a partition that a box of y and c->kbox take */
static int64_t conv_bytes(const struct conv *c, const int64_t *ysize)
{
	struct tile_box y = { 0 };
	const int64_t zero[NCC_MAX_DIMS] = { 0 };
	int64_t ksize[NCC_MAX_DIMS];
	struct ncc_view x;

	memcpy(y.size, ysize, sizeof(y.size));
	memcpy(ksize, c->kbox, sizeof(ksize));
	ksize[c->nspatial + 1] = ysize[0];
	x = conv_input(c, &y, zero, ksize);
	return tile_bytes(&x, x.dim, 0, 0) + tile_bytes(&c->k, ksize, 0, 0) +
	       tile_bytes(&c->y, ysize, 0, 0);
}

/* Chooses the size of a box of the result: four banks, fewer when kernel and input are large. */
static void conv_sizes(struct conv *c, int64_t *ysize, int64_t *bank)
{
	unsigned int nd = c->y.ndim, nk = c->nspatial + 2;
	struct ncc_view plain = { .ndim = nd };
	uint32_t inner = (1u << nd) - 2, kernel = (1u << (nk - 1)) - 2;

	gen_mm_box_size(nd, c->y.dim, &plain, false, bank);
	memcpy(ysize, bank, sizeof(plain.dim));
	ysize[0] = c->y.dim[0] < NEURON_PARTITIONS ? c->y.dim[0] : NEURON_PARTITIONS;
	for (unsigned int d = nd; d-- > 1;) {
		if (ysize[d] == c->y.dim[d])
			continue;
		ysize[d] *= MM_BOXES;
		if (ysize[d] > c->y.dim[d])
			ysize[d] = c->y.dim[d];
		break;
	}

	memcpy(c->kbox, c->k.dim, sizeof(c->kbox));
	if (c->kbox[0] > NEURON_PARTITIONS)
		c->kbox[0] = NEURON_PARTITIONS;
	while (conv_bytes(c, ysize) > TILE_BYTES && tile_halve(c->kbox, nk, -1, kernel))
		;
	while (conv_bytes(c, ysize) > TILE_BYTES && tile_halve(ysize, nd, -1, inner))
		;

	for (unsigned int d = 1; d < nd; d++)
		if (bank[d] > ysize[d])
			bank[d] = ysize[d];
}

static int conv_boxes(struct ncc_gen *g, struct conv *c, struct tile_store *store)
{
	int64_t ysize[NCC_MAX_DIMS], bank[NCC_MAX_DIMS];
	struct tile_box y;
	int rc;

	conv_sizes(c, ysize, bank);
	tile_first(&y, c->y.ndim, c->y.dim, ysize);
	do {
		struct ncc_view to = view_box(&c->y, y.lo, y.size), tile;
		struct ncc_shape shape;

		view_shape(&to, &shape);
		rc = tile_alloc(g, &shape, 0, &tile);
		if (rc)
			break;
		rc = conv_box(g, c, &y, &tile, bank);
		if (rc)
			gen_unref(g, tile.buf);
		else
			rc = tile_put(g, store, &tile, &to);
	} while (!rc && tile_next(&y));
	return rc;
}

static int conv_operands(struct ncc_gen *g, const struct ncc_op *op, struct ncc_view *x,
			 struct ncc_view *k)
{
	const struct ncc_conv *d = op->conv;
	uint8_t xmap[NCC_MAX_DIMS] = { d->in_feature, d->in_batch },
		kmap[NCC_MAX_DIMS] = { d->k_in };
	const struct ncc_view *xv = &op->in[0]->gen->value->view,
			      *kv = &op->in[1]->gen->value->view;
	int rc;

	memcpy(xmap + 2, d->in_spatial, d->nspatial);
	memcpy(kmap + 1, d->k_spatial, d->nspatial);
	kmap[d->nspatial + 1] = d->k_out;
	rc = in_order(g, op->in[0], xmap,
		      xv->dim[d->in_feature] == 1 || xv->stride[d->in_feature] != 1, x);
	if (rc)
		return rc;
	rc = in_order(g, op->in[1], kmap, kv->stride[d->k_out] == 1, k);
	if (rc)
		gen_unref(g, x->buf);
	return rc;
}

int tile_conv(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	const struct ncc_conv *d = op->conv;
	int64_t in = op->in[1]->shape.dim[d->k_in], out = op->shape.dim[d->out_feature] / d->groups;
	uint8_t ymap[NCC_MAX_DIMS] = { d->out_feature, d->out_batch };
	struct tile_store store = { 0 };
	struct ncc_view x, k, y;
	int rc = conv_operands(g, op, &x, &k);

	if (rc)
		return rc;
	memcpy(ymap + 2, d->out_spatial, d->nspatial);
	y = view_permute(dst, ymap, op->shape.ndim);
	for (int64_t i = 0; !rc && i < d->groups; i++) {
		struct conv c = { .op = op, .nspatial = d->nspatial };

		c.x = view_slice(&x, 0, i * in, in, 1);
		c.k = view_slice(&k, d->nspatial + 1, i * out, out, 1);
		c.y = view_slice(&y, 0, i * out, out, 1);
		rc = conv_boxes(g, &c, &store);
	}
	rc = tile_flush(g, &store, rc);
	gen_unref(g, x.buf);
	gen_unref(g, k.buf);
	return rc;
}
