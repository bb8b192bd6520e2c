// SPDX-License-Identifier: MIT
/*
 * Spilling: when SBUF is full, a live buffer moves to a scratch variable in DRAM as it is,
 * partition behind partition, so that every view of it stays valid; whoever reads it later fetches
 * it by DMA. The victim is the buffer whose next reader is farthest. Part of the code generator.
 */
#include <errno.h>
#include <stdlib.h>

#include "gen.h"

/* Number the live buffers by their first use in the operations to come */
static void find_next_uses(struct ncc_gen *g)
{
	unsigned int n = 0;

	for (struct ncc_buf *b = g->sbuf; b; b = b->next)
		b->next_use = 0;
	for (const struct ncc_op *op = g->op; op; op = op->next) {
		n++;
		for (unsigned int i = 0; i < op->nin; i++) {
			struct ncc_buf *b = op->in[i]->value ? op->in[i]->value->view.buf : NULL;

			if (b && !b->next_use)
				b->next_use = n;
		}
	}
	for (struct ncc_buf *b = g->sbuf; b; b = b->next) /* only a result of the module */
		b->next_use = b->next_use ? b->next_use : n + 1;
}

static struct ncc_buf *find_victim(struct ncc_gen *g)
{
	struct ncc_buf *best = NULL;

	find_next_uses(g);
	for (struct ncc_buf *b = g->sbuf; b; b = b->next)
		if (b->pin != g->stamp && b->pin != NCC_PIN_TEMP &&
		    (!best || b->next_use > best->next_use))
			best = b;
	return best;
}

static void image(struct neff_pattern *p, uint32_t var, uint64_t offset, const struct ncc_buf *b,
		  int64_t row)
{
	*p = (struct neff_pattern){ .var = var,
				    .offset = offset,
				    .ndim = 2,
				    .size = { b->bytes, b->parts },
				    .step = { 1, row } };
}

int gen_spill(struct ncc_gen *g)
{
	struct ncc_buf *b = find_victim(g);

	return b ? gen_spill_buf(g, b) : -ENOSPC;
}

int gen_spill_buf(struct ncc_gen *g, struct ncc_buf *b)
{
	struct neff_desc *d;
	char name[32];
	int id, rc;

	snprintf(name, sizeof(name), "spill%u", g->nspills++);
	id = gen_var(g, NEFF_VAR_TMP_BUF, name, b->bytes * b->parts);
	if (id < 0)
		return id;
	d = calloc(1, sizeof(*d));
	if (!d)
		return ncc_fail(g->err, -ENOMEM, "out of memory");
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
