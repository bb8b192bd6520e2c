// SPDX-License-Identifier: MIT
/*
 * Operands that are read again: the weights of a recurrent cell, in every iteration of a loop. What
 * was fetched from a constant or an input, or from what another part or iteration of a program with
 * loops left, stays in SBUF until its room is needed; then the one goes that was not read for
 * longest, and is fetched again if need be. Part of the code generator.
 */
#include "keep.h"

#include <string.h>

#include "buffer.h"
#include "view.h"

#define MOST_OF_SBUF 2 /* they take one part in so many, at most */

/*
 * The shared scratchpad changes at the program's end, but for rows that are replaced where they lie
 * (gen_keep_forget).
 */
static bool never_changes(const struct ncc_gen *g, const struct ncc_view *v)
{
	enum neff_var_type type;

	if (v->buf->space != NCC_DRAM || v->buf->row)
		return false;
	type = g->prog.var[v->buf->var].type;
	return type == NEFF_VAR_FILE || type == NEFF_VAR_INPUT || type == NEFF_VAR_VIRTUAL;
}

static bool same_view(const struct ncc_view *a, const struct ncc_view *b)
{
	return a->dtype == b->dtype && a->ndim == b->ndim && a->off == b->off &&
	       a->pdim == b->pdim && !memcmp(a->dim, b->dim, a->ndim * sizeof(a->dim[0])) &&
	       !memcmp(a->stride, b->stride, a->ndim * sizeof(a->stride[0]));
}

static struct gen_kept *find(struct gen_keep *k, const struct ncc_view *v, int pdim, uint8_t dtype)
{
	for (unsigned int i = 0; i < k->n; i++)
		if (k->of[i].var == v->buf->var && k->of[i].base == v->buf->base &&
		    k->of[i].pdim == pdim && k->of[i].dtype == dtype &&
		    same_view(&k->of[i].from, v))
			return &k->of[i];
	return NULL;
}

static void drop(struct ncc_gen *g, unsigned int i)
{
	struct gen_keep *k = &g->keep;

	k->bytes -= k->of[i].to.buf->bytes;
	gen_unref(g, k->of[i].to.buf);
	k->of[i] = k->of[--k->n];
}

bool gen_keep_drop(struct ncc_gen *g)
{
	const struct gen_keep *k = &g->keep;
	unsigned int best = k->n;

	for (unsigned int i = 0; i < k->n; i++)
		if (k->of[i].to.buf->refs == 1 &&
		    (best == k->n || k->of[i].read < k->of[best].read))
			best = i;
	if (best == k->n)
		return false;
	drop(g, best);
	return true;
}

/* Is there room for a buffer among those that stay, or can it be made? */
static bool has_room(struct ncc_gen *g, uint64_t bytes)
{
	const uint64_t most = g->prog.target->sbuf_part_size / MOST_OF_SBUF;

	while (bytes <= most && (g->keep.n == NCC_MAX_KEPT || g->keep.bytes + bytes > most))
		if (!gen_keep_drop(g))
			return false;
	return bytes <= most;
}

bool gen_keep_find(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
		   struct ncc_view *out)
{
	struct gen_kept *x = never_changes(g, v) ? find(&g->keep, v, pdim, dtype) : NULL;

	if (!x)
		return false;
	*out = x->to;
	x->read = g->stamp;
	return true;
}

void gen_keep_add(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
		  const struct ncc_view *out)
{
	struct ncc_buf *buf = out->buf;

	if (!never_changes(g, v) || buf->space != NCC_SBUF || buf->pin != NCC_PIN_TEMP ||
	    buf->refs != 1 || !has_room(g, buf->bytes))
		return;
	buf->refs++;
	g->keep.bytes += buf->bytes;
	g->keep.of[g->keep.n++] = (struct gen_kept){ .from = *v,
						     .to = *out,
						     .var = v->buf->var,
						     .base = v->buf->base,
						     .pdim = pdim,
						     .dtype = dtype,
						     .dma = g->prog.ndma - 1,
						     .read = g->stamp };
}

void gen_keep_forget(struct ncc_gen *g, uint32_t var)
{
	for (unsigned int i = g->keep.n; i-- > 0;)
		if (g->keep.of[i].var == var)
			drop(g, i);
}

void gen_keep_rewind(struct ncc_gen *g)
{
	for (unsigned int i = g->keep.n; i-- > 0;)
		if (g->keep.of[i].dma >= g->prog.ndma)
			drop(g, i);
}

void gen_keep_free(struct ncc_gen *g)
{
	while (g->keep.n)
		drop(g, 0);
}
