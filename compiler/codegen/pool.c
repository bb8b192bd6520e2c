// SPDX-License-Identifier: MIT
/* See pool.h. The pool is a file of one row for each partition, loaded before its first reader. */
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"

#define WORD 4 /* bytes of a number: fp32 or int32 */
#define MOST_NUMBERS 65536 /* of one constant: a larger one is a table */
#define MOST_OF_SBUF 8 /* the pool of constants takes one part in so many, at most */
#define ROOMY 3 /* quarters of SBUF that may be in use, with the pool, when it is loaded */

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

/* Is it a constant, one number after the other along one dimension? */
static bool is_line(const struct ncc_op *op)
{
	unsigned int lines = 0;

	if (op->kind != NCC_CONST || ncc_dtype_size(op->shape.dtype) != WORD)
		return false;
	for (unsigned int d = 0; d < op->shape.ndim; d++)
		lines += op->shape.dim[d] > 1;
	return lines == 1;
}

/* The memory that broadcasts of such constants may take: each constant once */
static uint64_t bytes_needed(const struct ncc_module *m)
{
	uint64_t bytes = 0;

	for (const struct ncc_op *op = m->first; op; op = op->next)
		if (is_line(op) && ncc_elems(&op->shape) <= MOST_NUMBERS)
			bytes += (uint64_t)(ncc_elems(&op->shape) + NEURON_PARTITIONS - 1) /
				 NEURON_PARTITIONS * WORD;
	return bytes;
}

int gen_pool_begin(struct ncc_gen *g)
{
	const uint64_t most = g->prog.target->sbuf_part_size / MOST_OF_SBUF;
	uint64_t bytes = bytes_needed(g->m);
	int id;

	bytes = bytes < most ? bytes : most;
	if (!bytes)
		return 0;
	id = gen_var(g, NEFF_VAR_FILE, "scalars", NEURON_PARTITIONS * bytes);
	if (id < 0)
		return id;
	g->pool.size = bytes;
	g->pool.var = (uint32_t)id;
	g->prog.var[id].data = calloc(NEURON_PARTITIONS, bytes);
	g->prog.var[id].file_name = strdup("scalars.bin");
	return g->prog.var[id].data && g->prog.var[id].file_name ? 0 : ncc_no_memory(g->err);
}

/* Is it in SBUF, or is there room to spare? */
static bool take_room(struct ncc_gen *g)
{
	struct gen_pool *p = &g->pool;

	if (!p->buf &&
	    (g->sbuf_live + p->size) * 4 <= (uint64_t)g->prog.target->sbuf_part_size * ROOMY) {
		p->buf = gen_sbuf_alloc(g, p->size);
		p->loaded = false;
	}
	if (!p->buf)
		return false;
	p->buf->chunk = WORD;
	p->buf->partitions = NEURON_PARTITIONS;
	p->buf->pin = g->stamp;
	return true;
}

bool gen_pool_drop(struct ncc_gen *g)
{
	struct gen_pool *p = &g->pool;

	if (!p->buf || p->buf->pin == g->stamp || p->buf->refs > 1)
		return false;
	gen_unref(g, p->buf);
	p->buf = NULL;
	return true;
}

static int load(struct ncc_gen *g)
{
	struct neff_desc *d = calloc(1, sizeof(*d));
	struct gen_pool *p = &g->pool;
	int rc;

	if (!d)
		return ncc_no_memory(g->err);
	d->from = (struct neff_pattern){ .var = p->var,
					 .ndim = 2,
					 .size = { p->size, NEURON_PARTITIONS },
					 .step = { 1, (int64_t)p->size } };
	d->to = d->from;
	d->to.var = 0;
	d->to.offset = p->buf->base;
	d->to.step[1] = NEURON_SBUF_PART_STRIDE;
	rc = ncc_prog_dma(&g->prog, NCC_Q_DATA, d, 1, g->err);
	p->dma = g->prog.ndma - 1;
	p->loaded = !rc;
	return rc;
}

static void put(struct ncc_gen *g, const struct ncc_view *v, int pdim)
{
	const struct gen_pool *p = &g->pool;
	const uint8_t *from = g->prog.var[v->buf->var].data;
	uint8_t *to = g->prog.var[p->var].data;

	for (int64_t i = 0; i < v->dim[pdim]; i++)
		memcpy(to + (uint64_t)(i % NEURON_PARTITIONS) * p->size + p->used +
			       i / NEURON_PARTITIONS * WORD,
		       from + (v->off + i * v->stride[pdim]) * WORD, WORD);
}

/* Adds a constant. 1: *e is it; 0: no room; or -errno */
static int add(struct ncc_gen *g, const struct ncc_view *v, int pdim,
	       const struct gen_pool_entry **e)
{
	struct gen_pool *p = &g->pool;
	uint64_t bytes = (uint64_t)words_of(v, pdim) * WORD;
	struct gen_pool_entry *more;

	if (bytes > p->size - p->used)
		return 0;
	if (p->nentries == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 64;
		more = realloc(p->entry, p->cap * sizeof(*more));
		if (!more)
			return ncc_no_memory(g->err);
		p->entry = more;
	}

	put(g, v, pdim);
	p->entry[p->nentries] = (struct gen_pool_entry){ .var = v->buf->var,
							 .off = v->off,
							 .stride = v->stride[pdim],
							 .dim = v->dim[pdim],
							 .word = (int64_t)(p->used / WORD) };
	p->used += bytes;
	*e = &p->entry[p->nentries++];
	return 1;
}

int gen_pool_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, struct ncc_view *out)
{
	const struct gen_pool_entry *e;
	struct gen_pool *p = &g->pool;
	int rc = 1;

	if (!p->size || !fits_pool(g, v, pdim) || !take_room(g))
		return 0;
	e = find(p, v, pdim);
	if (!e)
		rc = add(g, v, pdim, &e);
	if (rc <= 0)
		return rc;
	if (!p->loaded)
		rc = load(g);
	if (rc < 0)
		return rc;
	*out = *v;
	out->buf = p->buf;
	out->off = e->word;
	memset(out->stride, 0, sizeof(out->stride));
	out->pdim = pdim;
	out->pstart = 0;
	out->pstep = 1;
	return 1;
}

void gen_pool_rewind(struct ncc_gen *g)
{
	if (g->pool.dma >= g->prog.ndma)
		g->pool.loaded = false;
}

void gen_pool_finish(struct ncc_gen *g)
{
	const struct gen_pool *p = &g->pool;
	const uint64_t used = p->used ? p->used : WORD;
	uint8_t *data;

	if (!p->size)
		return;
	data = g->prog.var[p->var].data;
	for (unsigned int i = 1; i < NEURON_PARTITIONS; i++)
		memmove(data + i * used, data + i * p->size, used);
	g->prog.var[p->var].size = used * NEURON_PARTITIONS;
	for (unsigned int i = 0; i < g->prog.ndma; i++) {
		struct neff_desc *d = g->prog.dma[i].desc;

		if (d->from.var != p->var)
			continue;
		d->from.size[0] = d->to.size[0] = used;
		d->from.step[1] = (int64_t)used;
	}
}

void gen_pool_free(struct ncc_gen *g)
{
	gen_unref(g, g->pool.buf);
	free(g->pool.entry);
	g->pool = (struct gen_pool){ .buf = NULL };
}
