// SPDX-License-Identifier: MIT
/*
 * Moving data: engine copies where both sides have the same dimension along the partitions, DMA
 * everywhere else, and fetching an operand into the form an operation needs. Part of the code
 * generator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tile.h"

int gen_insn(struct ncc_gen *g, unsigned int engine, const struct neuron_insn *insn)
{
	struct ncc_error e;
	int rc = ncc_prog_insn(&g->prog, engine, insn, &e);

	return rc ? ncc_fail_op(g->err, rc, g->op, "%s", e.text) : 0;
}

/* One side of a DMA: byte steps over one chunk of partitions */
struct side {
	uint32_t var;
	int64_t offset;
	int64_t step[NCC_MAX_DIMS];
};

static void side_of(const struct ncc_view *v, int64_t p, struct side *s)
{
	int64_t esz = ncc_dtype_size(v->dtype), part = v->pstart + p * v->pstep;
	int64_t row = v->buf->space == NCC_DRAM ? v->buf->row : NEURON_SBUF_PART_STRIDE;

	s->var = v->buf->space == NCC_DRAM ? v->buf->var : 0;
	s->offset = (int64_t)v->buf->base + v->off * esz;
	if (row)
		s->offset +=
			part / NEURON_PARTITIONS * v->buf->chunk + part % NEURON_PARTITIONS * row;
	for (unsigned int d = 0; d < v->ndim; d++)
		s->step[d] = (int)d == v->pdim ? v->pstep * row : v->stride[d] * esz;
}

/* How many indices of pdim from p on stay in one chunk */
static int64_t in_chunk(const struct ncc_view *v, int64_t p, int64_t n)
{
	int64_t part = (v->pstart + p * v->pstep) % NEURON_PARTITIONS, room;

	if (v->pdim < 0)
		return n;
	room = v->pstep > 0 ? (NEURON_PARTITIONS - 1 - part) / v->pstep + 1 : part / -v->pstep + 1;
	return room < n ? room : n;
}

struct dma {
	struct neff_desc *desc;
	unsigned int n, cap;
	unsigned int nd; /* innermost first: an element's bytes, then the dimensions */
	int64_t dim[NCC_MAX_DIMS + 1], to[NCC_MAX_DIMS + 1], from[NCC_MAX_DIMS + 1];
};

static int dma_add(struct ncc_gen *g, struct dma *x, const struct side *to, const struct side *from,
		   int64_t to_off, int64_t from_off)
{
	struct neff_desc *d;
	unsigned int nd = x->nd < 4 ? x->nd : 4;

	if (x->n == x->cap) {
		unsigned int cap = x->cap ? x->cap * 2 : 4;

		if (cap > NCC_MAX_DESCS)
			return ncc_fail_op(g->err, -EFBIG, g->op,
					   "too large: a copy of too many pieces");
		d = realloc(x->desc, cap * sizeof(*d));
		if (!d)
			return ncc_fail(g->err, -ENOMEM, "out of memory");
		x->desc = d;
		x->cap = cap;
	}
	d = &x->desc[x->n++];
	memset(d, 0, sizeof(*d));
	d->from.var = from->var;
	d->from.offset = (uint64_t)(from->offset + from_off);
	d->to.var = to->var;
	d->to.offset = (uint64_t)(to->offset + to_off);
	d->from.ndim = d->to.ndim = nd;
	for (unsigned int i = 0; i < nd; i++) {
		d->from.size[i] = d->to.size[i] = (uint64_t)x->dim[i];
		d->from.step[i] = x->from[i];
		d->to.step[i] = x->to[i];
	}
	return 0;
}

/* Innermost first: from the last on, or in the order of their steps */
static void dma_order(unsigned int ndim, const struct side *to, const struct side *from, bool sort,
		      uint8_t *order)
{
	for (unsigned int d = 0; d < ndim; d++)
		order[ndim - 1 - d] = (uint8_t)d;
	for (unsigned int i = 1; sort && i < ndim; i++) {
		for (unsigned int k = i; k > 0; k--) {
			uint8_t a = order[k - 1], b = order[k];

			if (llabs(to->step[a]) + llabs(from->step[a]) <=
			    llabs(to->step[b]) + llabs(from->step[b]))
				break;
			order[k - 1] = b;
			order[k] = a;
		}
	}
}

/* Join dimensions of the two sides (outermost first in dim) into x, innermost first, in bytes */
static void dma_join(struct dma *x, unsigned int ndim, const int64_t *dim, const struct side *to,
		     const struct side *from, int64_t esz, const uint8_t *order)
{
	x->nd = 1;
	x->dim[0] = esz;
	x->to[0] = x->from[0] = 1;
	for (unsigned int k = 0; k < ndim; k++) {
		unsigned int i = x->nd - 1, d = order[k];

		if (dim[d] == 1)
			continue;
		if (to->step[d] == x->to[i] * x->dim[i] &&
		    from->step[d] == x->from[i] * x->dim[i]) {
			x->dim[i] *= dim[d];
			continue;
		}
		x->dim[x->nd] = dim[d];
		x->to[x->nd] = to->step[d];
		x->from[x->nd] = from->step[d];
		x->nd++;
	}
}

/* In the order that leaves longer pieces without a gap; the dimensions' own one when both do */
static void dma_dims(struct dma *x, unsigned int ndim, const int64_t *dim, const struct side *to,
		     const struct side *from, int64_t esz)
{
	uint8_t order[NCC_MAX_DIMS];
	int64_t run;

	dma_order(ndim, to, from, false, order);
	dma_join(x, ndim, dim, to, from, esz, order);
	run = x->dim[0];
	dma_order(ndim, to, from, true, order);
	dma_join(x, ndim, dim, to, from, esz, order);
	if (x->dim[0] > run)
		return;
	dma_order(ndim, to, from, false, order);
	dma_join(x, ndim, dim, to, from, esz, order);
}

static int dma_piece(struct ncc_gen *g, struct dma *x, const struct ncc_view *dst,
		     const struct ncc_view *src, const int64_t *dim, int64_t pd, int64_t ps)
{
	int64_t at[NCC_MAX_DIMS + 1] = { 0 }, to_off = 0, from_off = 0;
	struct side to, from;

	side_of(dst, pd, &to);
	side_of(src, ps, &from);
	dma_dims(x, dst->ndim, dim, &to, &from, ncc_dtype_size(dst->dtype));
	for (;;) { /* dimensions past the fourth are looped over */
		unsigned int d = 4;
		int rc = dma_add(g, x, &to, &from, to_off, from_off);

		if (rc)
			return rc;
		for (; d < x->nd; d++) {
			to_off += x->to[d];
			from_off += x->from[d];
			if (++at[d] < x->dim[d])
				break;
			to_off -= x->to[d] * x->dim[d];
			from_off -= x->from[d] * x->dim[d];
			at[d] = 0;
		}
		if (d >= x->nd)
			return 0;
	}
}

static enum ncc_queue queue_of(const struct ncc_gen *g, const struct ncc_view *dst,
			       const struct ncc_view *src)
{
	if (src->buf->space == NCC_DRAM && g->prog.var[src->buf->var].type == NEFF_VAR_INPUT)
		return NCC_Q_IN;
	if (dst->buf->space == NCC_DRAM && g->prog.var[dst->buf->var].type == NEFF_VAR_OUTPUT)
		return NCC_Q_OUT;
	return NCC_Q_DATA;
}

/* Pieces in which neither side leaves a chunk of partitions; the two pdims may differ */
static int dma_collect(struct ncc_gen *g, struct dma *x, const struct ncc_view *dst,
		       const struct ncc_view *src)
{
	int64_t dim[NCC_MAX_DIMS], nd = dst->pdim < 0 ? 1 : dst->dim[dst->pdim];
	int64_t ns = src->pdim < 0 || src->pdim == dst->pdim ? 1 : src->dim[src->pdim];
	int rc = 0;

	memcpy(dim, dst->dim, sizeof(dim));
	for (int64_t i = 0, n; !rc && i < nd; i += n) {
		struct ncc_view d = *dst, s = *src;

		n = in_chunk(dst, i, nd - i);
		if (src->pdim == dst->pdim)
			n = in_chunk(src, i, n);
		if (dst->pdim >= 0) {
			d = view_slice(dst, (unsigned int)dst->pdim, i, n, 1);
			s = view_slice(src, (unsigned int)dst->pdim, i, n, 1);
			dim[dst->pdim] = n;
		}
		for (int64_t j = 0, m; !rc && j < ns; j += m) {
			struct ncc_view d2 = d, s2 = s;

			m = ns - j;
			if (src->pdim >= 0 && src->pdim != dst->pdim) {
				m = in_chunk(&s, j, m);
				d2 = view_slice(&d, (unsigned int)src->pdim, j, m, 1);
				s2 = view_slice(&s, (unsigned int)src->pdim, j, m, 1);
				dim[src->pdim] = m;
			}
			rc = dma_piece(g, x, &d2, &s2, dim, 0, 0);
		}
	}
	return rc;
}

int gen_dma_list(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src,
		 unsigned int n)
{
	struct dma x = { 0 };
	int rc = 0;

	for (unsigned int i = 0; !rc && i < n; i++)
		rc = dma_collect(g, &x, &dst[i], &src[i]);
	if (rc) {
		free(x.desc);
		return rc;
	}
	return ncc_prog_dma(&g->prog, queue_of(g, dst, src), x.desc, x.n, g->err);
}

int gen_dma(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	if (gen_is_transpose(dst, src))
		return gen_transpose(g, dst, src);
	return gen_dma_list(g, dst, src, 1);
}

/* Copies alternate between ACT and POOL; int32 only keeps its bits on POOL */
static int copy_on_engine(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	const struct ncc_view *v[2] = { dst, src };
	bool act = g->copies++ % 2 == 0 && src->dtype != NEURON_DT_INT32 &&
		   dst->dtype != NEURON_DT_INT32;
	struct walk w;

	walk_begin(&w, v, 2, 0, src->buf->space == NCC_PSUM ? 512 : WALK_MAX);
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

/* Is one chunk boundary the other's? (walk steps both sides by 128) */
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

/* A cast or PSUM on the way: through SBUF, laid out as the side that an engine can reach */
static int copy_through(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	int rc, pdim = src->pdim;
	struct ncc_view t;

	if (view_on_engine(dst)) {
		rc = gen_fetch(g, src, dst->pdim, 0, &t);
		return rc ? rc : copy_on_engine(g, dst, &t);
	}
	if (tile_bytes(src, src->dim, pdim, 0) > TILE_BYTES || gen_sparse_dim(src, -1) >= 0)
		pdim = tile_pdim(src, pdim, 0);
	rc = gen_fetch(g, src, pdim, dst->dtype, &t);
	if (!rc && gen_sparse_dim(&t, -1) >= 0)
		rc = make_dense(g, &t);
	return rc ? rc : gen_dma(g, dst, &t);
}

/* What SBUF cannot hold on the way goes in boxes */
static int copy_boxes(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	int pdim = view_on_engine(dst) ? dst->pdim : tile_pdim(src, src->pdim, 0), rc;
	unsigned int mark = g->ntemps;
	int64_t step[NCC_MAX_DIMS];
	struct tile_box b;

	memcpy(step, src->dim, sizeof(step));
	while (tile_bytes(src, step, pdim, dst->dtype) > TILE_BYTES / 2 &&
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

int gen_copy(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src)
{
	bool before = g->no_room;
	unsigned int mark = g->ntemps;
	int rc;

	if (engine_can_copy(dst, src))
		return copy_on_engine(g, dst, src);
	if (dst->dtype == src->dtype && dst->buf->space != NCC_PSUM &&
	    src->buf->space != NCC_PSUM &&
	    (dst->buf->space != NCC_DRAM || gen_sparse_dim(src, -1) < 0))
		return gen_dma(g, dst, src);
	g->no_room = false;
	rc = copy_through(g, dst, src);
	if (!rc || !g->no_room)
		return rc;
	gen_release_temps(g, mark);
	g->no_room = before;
	return copy_boxes(g, dst, src);
}

/* hi * 2^16, then the low bits: an fp32 constant does not hold every integer */
static int memset_low(struct ncc_gen *g, const struct neuron_ap *dst, unsigned int partitions,
		      uint32_t low)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_SCALAR,
				    .partitions = (uint8_t)partitions,
				    .dst = *dst,
				    .src0 = *dst,
				    .op0 = NEURON_ALU_OR,
				    .scalar0 = { .bits = low },
				    .op1 = NEURON_ALU_BYPASS };

	return gen_insn(g, NEURON_ENG_POOL, &insn);
}

int gen_memset(struct ncc_gen *g, const struct ncc_view *dst, double v)
{
	bool parts = dst->dtype == NEURON_DT_INT32 && (double)(float)v != v;
	uint32_t bits = parts ? (uint32_t)(int32_t)v : 0;
	const struct ncc_view *views[1] = { dst };
	struct walk w;

	if (parts)
		v = (int32_t)(bits & 0xffff0000u);
	walk_begin(&w, views, 1, 0, WALK_MAX);
	while (walk_next(&w)) {
		struct neuron_insn insn = { .opcode = NEURON_OP_MEMSET,
					    .partitions = (uint8_t)w.partitions,
					    .dst = w.ap[0],
					    .scalar0 = { .f = (float)v } };
		int rc = gen_insn(g, NEURON_ENG_POOL, &insn);

		if (!rc && parts)
			rc = memset_low(g, &w.ap[0], w.partitions, bits & 0xffff);
		if (rc)
			return rc;
	}
	return 0;
}

static bool fits_as_it_is(const struct ncc_view *v, int pdim, uint8_t dtype)
{
	return v->buf->space == NCC_SBUF && v->pdim == pdim && v->dtype == dtype &&
	       view_on_engine(v) &&
	       (v->pdim < 0 || v->pstart % NEURON_PARTITIONS == 0 ||
		v->pstart % NEURON_PARTITIONS + v->dim[v->pdim] <= NEURON_PARTITIONS);
}

/* The shape without its broadcast dimensions, which take no room */
static void dense_shape(const struct ncc_view *v, int pdim, struct ncc_shape *s)
{
	view_shape(v, s);
	for (unsigned int d = 0; d < s->ndim; d++)
		if (v->stride[d] == 0 && (int)d != v->pdim && (int)d != pdim)
			s->dim[d] = 1;
}

#define FEWEST_SPARSE 1024 /* elements; below, the descriptors are no burden */

int gen_sparse_dim(const struct ncc_view *v, int pdim)
{
	int64_t n = 1;
	int best = -1;

	for (unsigned int d = 0; d < v->ndim; d++) {
		n *= v->dim[d];
		if (v->dim[d] > 1 && v->stride[d] && (int)d != v->pdim && (int)d != pdim &&
		    (best < 0 || llabs(v->stride[d]) < llabs(v->stride[best])))
			best = (int)d;
	}
	if (best < 0 || n < FEWEST_SPARSE || v->stride[best] == 1 || llabs(v->stride[best]) > 4)
		return -1;
	return best;
}

/* Fetch it with what lies between, and step over that in SBUF */
static int fetch_sparse(struct ncc_gen *g, const struct ncc_view *v, unsigned int d, int pdim,
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

/* Along the partitions (or spilled from there), to be repeated along other ones: element by element
 * to each of them */
static bool is_spread_across(const struct ncc_view *v, int pdim)
{
	return (v->buf->space == NCC_SBUF || v->buf->row) && v->pdim >= 0 && pdim >= 0 &&
	       v->pdim != pdim && v->dim[v->pdim] > 1 && v->stride[pdim] == 0 &&
	       v->dim[pdim] >= NEURON_PARTITIONS / 4;
}

/* It goes to DRAM once, where its elements are neighbours */
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

/* An SBUF view of the shape whose dimensions lie in the order in which v's do in DRAM */
static int view_like(struct ncc_gen *g, const struct ncc_view *v, const struct ncc_shape *s,
		     int pdim, struct ncc_view *dst)
{
	uint8_t map[NCC_MAX_DIMS], back[NCC_MAX_DIMS];
	struct ncc_shape t = *s;
	int at = pdim, rc;

	for (unsigned int d = 0; d < v->ndim; d++) {
		unsigned int k = d;

		for (; k > 0 && v->buf->space == NCC_DRAM && v->stride[d] > 0 &&
		       v->stride[map[k - 1]] < v->stride[d];
		     k--)
			map[k] = map[k - 1];
		map[k] = (uint8_t)d;
	}
	for (unsigned int d = 0; d < v->ndim; d++) {
		back[map[d]] = (uint8_t)d;
		t.dim[d] = s->dim[map[d]];
		if (map[d] == pdim)
			at = (int)d;
	}
	rc = gen_sbuf_view(g, &t, at, dst);
	if (!rc)
		*dst = view_permute(dst, back, v->ndim);
	return rc;
}

int gen_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
	      struct ncc_view *out)
{
	struct ncc_view dst, src = *v;
	struct ncc_shape s;
	int rc;

	if (!dtype)
		dtype = v->dtype;
	if (fits_as_it_is(v, pdim, dtype)) {
		*out = *v;
		if (v->buf->pin != NCC_PIN_TEMP)
			v->buf->pin = g->stamp;
		return 0;
	}
	if (v->buf->space == NCC_DRAM && gen_sparse_dim(v, pdim) >= 0)
		return fetch_sparse(g, v, (unsigned int)gen_sparse_dim(v, pdim), pdim, dtype, out);
	if (is_spread_across(v, pdim))
		return fetch_spread(g, v, pdim, dtype, out);
	dense_shape(v, pdim, &s);
	s.dtype = dtype;
	rc = view_like(g, v, &s, pdim, &dst);
	if (rc)
		return rc;
	rc = gen_temp(g, dst.buf);
	if (rc)
		return rc;
	for (unsigned int d = 0; d < s.ndim; d++)
		src.dim[d] = s.dim[d];
	rc = gen_copy(g, &dst, &src);
	*out = dst;
	for (unsigned int d = 0; d < v->ndim; d++) {
		out->dim[d] = v->dim[d];
		if (s.dim[d] == 1 && v->dim[d] != 1)
			out->stride[d] = 0;
	}
	return rc;
}
