// SPDX-License-Identifier: MIT
/*
 * Room in SBUF. When the free space is fragmented, a live buffer moves to another gap. When SBUF is
 * full, one is spilled as it is, partition after partition, to a scratch variable in DRAM, from
 * where later readers fetch it by DMA. The victim is the buffer whose next reader is farthest.
 * Every view of a buffer that moved stays valid. Part of the code generator.
 */
#include "sbuf.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "buffer.h"
#include "keep.h"
#include "pool.h"
#include "view.h"

/* May it be spilled for the current operation? */
static bool can_go(const struct ncc_gen *g, const struct ncc_buf *b)
{
	return b->pin != g->stamp && b->pin != NCC_PIN_TEMP && b != g->pool.buf;
}

/*
 * Numbers the buffers that can go by their first use in the operations to come, as far as it takes
 * to know the last one: all behind the end have the same number.
 */
static void find_next_uses(struct ncc_gen *g)
{
	unsigned int n = 0, unknown = 0;

	for (struct ncc_buf *b = g->sbuf; b; b = b->next) {
		b->next_use = can_go(g, b) ? 0 : UINT_MAX;
		unknown += !b->next_use;
	}
	for (unsigned int at = g->at; at < g->plan.n && unknown > 1; at++) {
		const struct ncc_op *op = g->plan.op[at].op;

		n++;
		for (unsigned int i = 0; i < op->nin; i++) {
			const struct ncc_value *value = op->in[i]->gen->value;
			struct ncc_buf *b = value ? value->view.buf : NULL;

			if (b && !b->next_use) {
				b->next_use = n;
				unknown -= b->space == NCC_SBUF;
			}
		}
	}
	/* A buffer that no operation reads is a result of the module. */
	for (struct ncc_buf *b = g->sbuf; b; b = b->next)
		b->next_use = b->next_use ? b->next_use : n + 1;
}

static struct ncc_buf *find_victim(struct ncc_gen *g)
{
	struct ncc_buf *best = NULL;

	find_next_uses(g);
	for (struct ncc_buf *b = g->sbuf; b; b = b->next)
		if (can_go(g, b) && (!best || b->next_use > best->next_use))
			best = b;
	return best;
}

static void image(struct neff_pattern *p, uint32_t var, uint64_t offset, const struct ncc_buf *b,
		  int64_t row)
{
	*p = (struct neff_pattern){ .var = var,
				    .offset = offset,
				    .ndim = 2,
				    .size = { b->bytes, b->partitions },
				    .step = { 1, row } };
}

static int gen_spill(struct ncc_gen *g)
{
	struct ncc_buf *b = find_victim(g);

	return b ? gen_spill_buf(g, b) : -ENOSPC;
}

static uint64_t end_of(const struct ncc_buf *b)
{
	return b ? (b->base + b->bytes + NCC_SBUF_ALIGN - 1) / NCC_SBUF_ALIGN * NCC_SBUF_ALIGN : 0;
}

static uint64_t begin_of(const struct ncc_gen *g, const struct ncc_buf *b)
{
	return b ? b->base : g->prog.target->sbuf_part_size;
}

/* Finds a gap for b outside [lo, hi); *before is the buffer in front of it (NULL: none). */
static bool gap_for(const struct ncc_gen *g, const struct ncc_buf *b, uint64_t lo, uint64_t hi,
		    struct ncc_buf **before)
{
	struct ncc_buf *prev = NULL;

	for (struct ncc_buf *next = g->sbuf;; next = next->next) {
		uint64_t from = end_of(prev), to = begin_of(g, next);

		if (to >= from && to - from >= end_of(b) - b->base && (to <= lo || from >= hi)) {
			*before = prev;
			return true;
		}
		prev = next;
		if (!next)
			return false;
	}
}

/* The smallest buffer that, moved to another gap, would leave a gap of size bytes */
static struct ncc_buf *find_mover(const struct ncc_gen *g, uint64_t size, struct ncc_buf **before)
{
	struct ncc_buf *best = NULL, *prev = NULL, *to;

	for (struct ncc_buf *b = g->sbuf; b; prev = b, b = b->next) {
		uint64_t lo = end_of(prev), hi = begin_of(g, b->next);

		if (hi - lo < size || (best && b->bytes >= best->bytes) ||
		    !gap_for(g, b, lo, hi, &to))
			continue;
		best = b;
		*before = to;
	}
	return best;
}

static int move(struct ncc_gen *g, struct ncc_buf *b, struct ncc_buf *before)
{
	struct neff_desc *d = calloc(1, sizeof(*d));
	struct ncc_buf **link = &g->sbuf;

	if (!d)
		return ncc_no_memory(g->err);
	image(&d->from, 0, b->base, b, NEURON_SBUF_PART_STRIDE);
	while (*link != b)
		link = &(*link)->next;
	*link = b->next;
	b->base = end_of(before);
	link = before ? &before->next : &g->sbuf;
	b->next = *link;
	*link = b;
	image(&d->to, 0, b->base, b, NEURON_SBUF_PART_STRIDE);
	g->nspills++;
	return ncc_prog_dma(&g->prog, NCC_Q_DATA, d, 1, g->err);
}

/*
 * Makes room for size bytes of every partition by dropping what stays for later readers, or
 * constants of the pool of constants, by moving a live buffer within SBUF, or by spilling the one
 * that is needed last. 0: the caller tries again; -ENOSPC: nothing can go; or -errno.
 */
static int make_room(struct ncc_gen *g, uint64_t size)
{
	struct ncc_buf *before = NULL, *b;

	if (gen_keep_drop(g) || gen_pool_drop(g))
		return 0;
	b = find_mover(g, size, &before);
	return b ? move(g, b, before) : gen_spill(g);
}

int gen_spill_buf(struct ncc_gen *g, struct ncc_buf *b)
{
	struct neff_desc *d;
	char name[32];
	int id, rc;

	snprintf(name, sizeof(name), "spill%u", g->nspills++);
	id = gen_var(g, NEFF_VAR_TMP_BUF, name, b->bytes * b->partitions);
	if (id < 0)
		return id;
	d = calloc(1, sizeof(*d));
	if (!d)
		return ncc_no_memory(g->err);

	image(&d->from, 0, b->base, b, NEURON_SBUF_PART_STRIDE);
	image(&d->to, (uint32_t)id, 0, b, (int64_t)b->bytes);
	rc = ncc_prog_dma(&g->prog, NCC_Q_DATA, d, 1, g->err);
	if (rc)
		return rc;

	gen_sbuf_leave(g, b);
	b->space = NCC_DRAM;
	b->var = (uint32_t)id;
	b->base = 0;
	b->row = (int64_t)b->bytes;
	b->next = NULL;
	return 0;
}

int gen_sbuf_view(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v)
{
	const int64_t part = g->prog.target->sbuf_part_size;
	int64_t chunks, bytes = plan_chunk_bytes(s, pdim, &chunks);
	int rc;

	view_row_major(v, NULL, s);
	view_set_pdim(v, pdim);
	if (plan_has_room(bytes, chunks, part)) {
		do {
			v->buf = gen_sbuf_alloc(g, (uint64_t)(bytes * chunks));
			rc = v->buf ? 0 : make_room(g, (uint64_t)(bytes * chunks));
		} while (!v->buf && !rc);
		if (rc && rc != -ENOSPC)
			return rc;
	}

	g->no_room = g->no_room || !v->buf;
	if (!v->buf)
		return gen_fail(g, -EFBIG,
				"too large: needs %lld bytes in each of the %d partitions of "
				"SBUF, %lld of %lld are in use",
				(long long)(bytes * chunks), NEURON_PARTITIONS,
				(long long)g->sbuf_live, (long long)part);
	v->buf->chunk = bytes;
	v->buf->partitions = 1;
	if (pdim >= 0)
		v->buf->partitions =
			(uint16_t)(s->dim[pdim] < NEURON_PARTITIONS ? s->dim[pdim]
								    : NEURON_PARTITIONS);
	v->buf->pin = g->stamp;
	return 0;
}

int gen_view_like(struct ncc_gen *g, const struct ncc_view *v, const struct ncc_shape *s, int pdim,
		  struct ncc_view *dst)
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
