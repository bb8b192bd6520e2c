// SPDX-License-Identifier: MIT
/*
 * What the generator appends to the program: an engine's instruction, or a DMA between two views
 * with its descriptors. Part of the code generator.
 */
#include "emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view.h"
#include "walk.h"

int gen_insn(struct ncc_gen *g, unsigned int engine, const struct neuron_insn *insn)
{
	struct ncc_error e;
	int rc = ncc_prog_insn(&g->prog, engine, insn, &e);

	return rc ? gen_fail(g, rc, "%s", e.text) : 0;
}

/* One side of a DMA: byte steps within one chunk of partitions */
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

/* The number of indices of pdim from p on that stay in one chunk */
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
			return gen_fail(g, -EFBIG, "too large: a copy of too many pieces");
		d = realloc(x->desc, cap * sizeof(*d));
		if (!d)
			return ncc_no_memory(g->err);
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

/* Orders the dimensions, innermost first: as they are, or by their steps. */
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

/* Joins dimensions of the two sides (outermost first in dim) into x, innermost first, in bytes. */
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

/*
 * Takes the order that makes the longer contiguous pieces; the dimensions' own if both are equal.
 */
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
	for (;;) { /* a loop over the dimensions past the fourth */
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

static enum ncc_queue queue_of(const struct ncc_gen *g, const struct neff_desc *d)
{
	if (g->prog.var[d->from.var].type == NEFF_VAR_INPUT)
		return NCC_Q_IN;
	return g->prog.var[d->to.var].type == NEFF_VAR_OUTPUT ? NCC_Q_OUT : NCC_Q_DATA;
}

int gen_dma_desc(struct ncc_gen *g, struct neff_desc *desc)
{
	return ncc_prog_dma(&g->prog, queue_of(g, desc), desc, 1, g->err);
}

/*
 * Cuts a DMA into pieces in which neither side leaves a chunk of partitions; the two pdims may
 * differ.
 */
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
	return ncc_prog_dma(&g->prog, queue_of(g, x.desc), x.desc, x.n, g->err);
}

/*
 * Sets the low 16 bits of an integer whose high half has been set: an fp32 constant does not hold
 * every integer.
 */
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
	bool split = dst->dtype == NEURON_DT_INT32 && (double)(float)v != v;
	uint32_t bits = split ? (uint32_t)(int32_t)v : 0;
	const struct ncc_view *views[1] = { dst };
	struct walk w;

	if (split)
		v = (int32_t)(bits & 0xffff0000u);
	walk_begin_chunks(&w, views, 1, 0, WALK_MAX);
	while (walk_next(&w)) {
		struct neuron_insn insn = { .opcode = NEURON_OP_MEMSET,
					    .partitions = (uint8_t)w.partitions,
					    .dst = w.ap[0],
					    .scalar0 = { .f = (float)v } };
		int rc = gen_insn(g, NEURON_ENG_POOL, &insn);

		if (!rc && split)
			rc = memset_low(g, &w.ap[0], w.partitions, bits & 0xffff);
		if (rc)
			return rc;
	}
	return 0;
}
