// SPDX-License-Identifier: MIT
/* See pool.h. A block is a file of one row for each partition, loaded before its first reader. */
#include "pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

#define WORD 4 /* bytes of a number: fp32 or int32 */

static bool fits_pool(const struct ncc_gen *g, const struct ncc_view *v, int pdim)
{
	if (pdim < 0 || v->pdim >= 0 || v->buf->space != NCC_DRAM || v->dim[pdim] < 2 ||
	    ncc_dtype_size(v->dtype) != WORD || v->buf->row)
		return false;
	for (unsigned int d = 0; d < v->ndim; d++)
		if ((int)d != pdim && v->dim[d] != 1 && v->stride[d])
			return false;
	return g->prog.var[v->buf->var].type == NEFF_VAR_FILE && g->prog.var[v->buf->var].data;
}

static int64_t words_of(const struct ncc_view *v, int pdim)
{
	return (v->dim[pdim] + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;
}

static const struct gen_pool_entry *find(const struct gen_pool *p, const struct ncc_view *v,
					 int pdim)
{
	for (unsigned int i = 0; i < p->nentries; i++) {
		const struct gen_pool_entry *e = &p->entry[i];

		if (e->var == v->buf->var && e->off == v->off && e->stride == v->stride[pdim] &&
		    e->dim == v->dim[pdim])
			return e;
	}
	return NULL;
}

/* An empty block: its place in SBUF, and its file. 1: made; 0: there is no room; or -errno */
static int block_new(struct ncc_gen *g)
{
	struct gen_pool *p = &g->pool;
	struct gen_pool_block *b = &p->block[p->nblocks];
	uint64_t size = (uint64_t)NEURON_PARTITIONS * GEN_POOL_BYTES;
	char name[32];
	int id;

	if (p->nblocks == GEN_POOL_BLOCKS ||
	    (p->nblocks + 1) * GEN_POOL_BYTES * 8 > g->prog.target->sbuf_part_size)
		return 0;
	b->buf = gen_sbuf_alloc(g, GEN_POOL_BYTES);
	if (!b->buf)
		return 0;
	b->buf->chunk = WORD;
	b->buf->partitions = NEURON_PARTITIONS;
	b->buf->pin = NCC_PIN_TEMP;
	b->used = 0;
	b->loaded = false;
	p->nblocks++;

	snprintf(name, sizeof(name), "scalars%u", p->nblocks - 1);
	id = gen_var(g, NEFF_VAR_FILE, name, size);
	if (id < 0)
		return id;
	b->var = (uint32_t)id;
	snprintf(name, sizeof(name), "scalars%u.bin", p->nblocks - 1);
	g->prog.var[id].data = calloc(1, size);
	g->prog.var[id].file_name = strdup(name);
	return g->prog.var[id].data && g->prog.var[id].file_name ? 1 : ncc_no_memory(g->err);
}

static int load(struct ncc_gen *g, struct gen_pool_block *b)
{
	struct neff_desc *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return ncc_no_memory(g->err);
	d->from = (struct neff_pattern){ .var = b->var,
					 .ndim = 2,
					 .size = { GEN_POOL_BYTES, NEURON_PARTITIONS },
					 .step = { 1, GEN_POOL_BYTES } };
	d->to = d->from;
	d->to.var = 0;
	d->to.offset = b->buf->base;
	d->to.step[1] = NEURON_SBUF_PART_STRIDE;
	rc = ncc_prog_dma(&g->prog, NCC_Q_DATA, d, 1, g->err);
	b->dma = g->prog.ndma - 1;
	b->loaded = !rc;
	return rc;
}

static void put(struct ncc_gen *g, const struct gen_pool_block *b, const struct ncc_view *v,
		int pdim)
{
	const uint8_t *from = g->prog.var[v->buf->var].data;
	uint8_t *to = g->prog.var[b->var].data;

	for (int64_t i = 0; i < v->dim[pdim]; i++)
		memcpy(to + i % NEURON_PARTITIONS * GEN_POOL_BYTES + b->used +
			       i / NEURON_PARTITIONS * WORD,
		       from + (v->off + i * v->stride[pdim]) * WORD, WORD);
}

/* Adds a constant to the last block, or to a new one. 1: *e is it; 0: no room; or -errno */
static int add(struct ncc_gen *g, const struct ncc_view *v, int pdim,
	       const struct gen_pool_entry **e)
{
	struct gen_pool *p = &g->pool;
	uint64_t bytes = (uint64_t)words_of(v, pdim) * WORD;
	struct gen_pool_entry *more;
	struct gen_pool_block *b;
	int rc;

	if (bytes > GEN_POOL_BYTES)
		return 0;
	if (!p->nblocks || p->block[p->nblocks - 1].used + bytes > GEN_POOL_BYTES) {
		rc = block_new(g);
		if (rc <= 0)
			return rc;
	}
	if (p->nentries == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 64;
		more = realloc(p->entry, p->cap * sizeof(*more));
		if (!more)
			return ncc_no_memory(g->err);
		p->entry = more;
	}

	b = &p->block[p->nblocks - 1];
	put(g, b, v, pdim);
	p->entry[p->nentries] = (struct gen_pool_entry){ .var = v->buf->var,
							 .off = v->off,
							 .stride = v->stride[pdim],
							 .dim = v->dim[pdim],
							 .block = p->nblocks - 1,
							 .word = (int64_t)(b->used / WORD) };
	b->used += bytes;
	*e = &p->entry[p->nentries++];
	return 1;
}

int gen_pool_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, struct ncc_view *out)
{
	const struct gen_pool_entry *e;
	struct gen_pool_block *b;
	int rc = 1;

	if (!fits_pool(g, v, pdim))
		return 0;
	e = find(&g->pool, v, pdim);
	if (!e)
		rc = add(g, v, pdim, &e);
	if (rc <= 0)
		return rc;
	b = &g->pool.block[e->block];
	if (!b->loaded)
		rc = load(g, b);
	if (rc < 0)
		return rc;
	*out = *v;
	out->buf = b->buf;
	out->off = e->word;
	memset(out->stride, 0, sizeof(out->stride));
	out->pdim = pdim;
	out->pstart = 0;
	out->pstep = 1;
	return 1;
}

void gen_pool_rewind(struct ncc_gen *g)
{
	for (unsigned int i = 0; i < g->pool.nblocks; i++)
		if (g->pool.block[i].dma >= g->prog.ndma)
			g->pool.block[i].loaded = false;
}

void gen_pool_finish(struct ncc_gen *g)
{
	for (unsigned int i = 0; i < g->pool.nblocks; i++) {
		const struct gen_pool_block *b = &g->pool.block[i];
		struct neff_var *var = &g->prog.var[b->var];
		uint8_t *data = var->data;
		struct neff_desc *d;

		for (unsigned int p = 1; p < NEURON_PARTITIONS; p++)
			memmove(data + p * b->used, data + p * GEN_POOL_BYTES, b->used);
		var->size = b->used * NEURON_PARTITIONS;
		if (!b->loaded)
			continue;
		d = g->prog.dma[b->dma].desc;
		d->from.size[0] = d->to.size[0] = b->used;
		d->from.step[1] = (int64_t)b->used;
	}
}

void gen_pool_free(struct ncc_gen *g)
{
	for (unsigned int i = 0; i < g->pool.nblocks; i++)
		gen_unref(g, g->pool.block[i].buf);
	free(g->pool.entry);
	g->pool = (struct gen_pool){ .nblocks = 0 };
}
