// SPDX-License-Identifier: MIT
/*
 * SBUF space. A buffer takes the same bytes of every partition. Allocation is first fit from a
 * moving start, so that freed space is reused late and engines need not wait for each other. Part
 * of the code generator.
 */
#include "buffer.h"

#include <errno.h>
#include <stdlib.h>

#include "neuron/hw/gen.h"
#include "view.h"

static uint64_t align_up(uint64_t v)
{
	return (v + NCC_SBUF_ALIGN - 1) / NCC_SBUF_ALIGN * NCC_SBUF_ALIGN;
}

/*
 * The first gap of size bytes at or after from: returns the link of the list where a buffer in it
 * belongs, or NULL.
 */
static struct ncc_buf **find_gap(struct ncc_gen *g, uint64_t from, uint64_t size, uint64_t *base)
{
	struct ncc_buf **link = &g->sbuf;
	uint64_t at = from;

	for (; *link; link = &(*link)->next) {
		uint64_t end = (*link)->base + align_up((*link)->bytes);

		if (end <= at)
			continue;
		if ((*link)->base >= at && (*link)->base - at >= size)
			break;
		at = end > at ? end : at;
	}
	if (at > g->prog.target->sbuf_part_size || size > g->prog.target->sbuf_part_size - at)
		return NULL;
	*base = at;
	return link;
}

struct ncc_buf *gen_sbuf_alloc(struct ncc_gen *g, uint64_t bytes)
{
	uint64_t size = align_up(bytes ? bytes : 1), base;
	struct ncc_buf **link = find_gap(g, g->sbuf_next, size, &base), *b;

	if (!link)
		link = find_gap(g, 0, size, &base);
	b = link ? calloc(1, sizeof(*b)) : NULL;
	if (!b)
		return NULL;
	b->space = NCC_SBUF;
	b->base = base;
	b->bytes = bytes;
	b->refs = 1;
	b->next = *link;
	*link = b;
	g->sbuf_next = base + size;
	g->sbuf_live += size;
	if (g->sbuf_live > g->sbuf_peak)
		g->sbuf_peak = g->sbuf_live;
	return b;
}

struct ncc_buf *gen_dram_buf(uint32_t var)
{
	struct ncc_buf *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->space = NCC_DRAM;
	b->var = var;
	b->refs = 1;
	return b;
}

void gen_sbuf_leave(struct ncc_gen *g, struct ncc_buf *buf)
{
	struct ncc_buf **link = &g->sbuf;

	while (*link && *link != buf)
		link = &(*link)->next;
	if (*link)
		*link = buf->next;
	g->sbuf_live -= align_up(buf->bytes ? buf->bytes : 1);
}

#define REGIONS 4 /* of a memory; a loader puts a variable into one of them (docs/nrt.md) */

int gen_var(struct ncc_gen *g, enum neff_var_type type, const char *name, uint64_t size)
{
	const struct neuron_gen *gen = g->prog.target->gen;
	const uint64_t region = gen->memory[0].size / REGIONS, all = neuron_gen_memory(gen);
	int id;

	if (size > region)
		return gen_fail(g, -EFBIG, "too large: %llu bytes, a region of DRAM has %llu",
				(unsigned long long)size, (unsigned long long)region);
	if (size > all - g->dram)
		return gen_fail(g, -EFBIG,
				"too large: with it the model needs %llu bytes of DRAM, a chip "
				"has %llu",
				(unsigned long long)(g->dram + size), (unsigned long long)all);
	id = ncc_prog_var(&g->prog, type, name, size);
	if (id < 0)
		return ncc_fail(g->err, id, "out of memory");
	g->dram += size;
	return id;
}

/* Smaller variables are not worth the waits that a second use brings. */
#define REUSE_BYTES (1 << 20)

/* If there is no memory to remember the variable, it is just not used again. */
static void make_idle(struct ncc_gen *g, uint32_t var)
{
	uint32_t *p;

	if (g->prog.var[var].size < REUSE_BYTES)
		return;
	p = realloc(g->idle, (g->nidle + 1) * sizeof(*p));
	if (!p)
		return;
	g->idle = p;
	g->idle[g->nidle++] = var;
}

/* The smallest idle variable that holds size bytes and is less than twice as large; -1: none */
static int take_idle(struct ncc_gen *g, uint64_t size)
{
	unsigned int best = g->nidle;
	int var;

	for (unsigned int i = 0; i < g->nidle; i++) {
		uint64_t n = g->prog.var[g->idle[i]].size;

		if (n >= size && n / 2 <= size &&
		    (best == g->nidle || n < g->prog.var[g->idle[best]].size))
			best = i;
	}
	if (best == g->nidle)
		return -1;
	var = (int)g->idle[best];
	g->idle[best] = g->idle[--g->nidle];
	return var;
}

int gen_scratch(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v)
{
	uint64_t size = (uint64_t)ncc_elems(s) * ncc_dtype_size(s->dtype);
	int id = size < REUSE_BYTES ? -1 : take_idle(g, size);
	struct ncc_buf *b;
	char name[32];

	if (id < 0) {
		snprintf(name, sizeof(name), "tmp%u", g->ntmp++);
		id = gen_var(g, NEFF_VAR_TMP_BUF, name, size);
	}
	if (id < 0)
		return id;
	b = gen_dram_buf((uint32_t)id);
	if (!b)
		return ncc_no_memory(g->err);
	b->scratch = true;
	view_row_major(v, b, s);
	view_set_outermost(v, pdim);
	return 0;
}

void gen_unref(struct ncc_gen *g, struct ncc_buf *buf)
{
	if (!buf || --buf->refs)
		return;
	if (buf->space == NCC_SBUF)
		gen_sbuf_leave(g, buf);
	if (buf->scratch)
		make_idle(g, buf->var);
	free(buf);
}

int gen_temp(struct ncc_gen *g, struct ncc_buf *buf)
{
	if (g->ntemps == g->temps_cap) {
		unsigned int cap = g->temps_cap ? g->temps_cap * 2 : 64;
		struct ncc_buf **temps = realloc(g->temps, cap * sizeof(*temps));

		if (!temps) {
			gen_unref(g, buf);
			return ncc_no_memory(g->err);
		}
		g->temps = temps;
		g->temps_cap = cap;
	}
	buf->pin = NCC_PIN_TEMP;
	g->temps[g->ntemps++] = buf;
	return 0;
}

void gen_release_temps(struct ncc_gen *g, unsigned int mark)
{
	while (g->ntemps > mark)
		gen_unref(g, g->temps[--g->ntemps]);
}

unsigned int gen_psum_bank(struct ncc_gen *g)
{
	return g->psum_bank++ % (g->prog.target->psum_part_size / NEURON_PSUM_BANK_SIZE);
}
