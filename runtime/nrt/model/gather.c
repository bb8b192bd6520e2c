/* SPDX-License-Identifier: MIT */
/*
 * Gathers and scatters: DMAs whose addresses of one side the program chooses. No instruction
 * computes an address and no index is trusted, so three queues do it. The program rings the first
 * one:
 *
 * 1. the first queue copies the index's low bytes into the descriptors of the second one, and rings
 *    it;
 * 2. the second queue reads an address for each index from a list of the addresses of all rows,
 *    writes it into the third queue's descriptors (a gather's source, a scatter's destination
 *    addresses), and rings that queue;
 * 3. the third queue copies the rows and increments the semaphore.
 *
 * A list has a place for every number that an index's low bytes can have, row i modulo the number
 * of rows at place i, and lies at an address that is a multiple of its size: whatever the program
 * computes, the second queue stays in the list and the third in the table. Places are 256 bytes
 * apart, so that the loader sets the lowest byte of the address: it selects one of the LIST_TABLES
 * tables that share a list.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_subgraph.h"

#define PLACE 256 /* bytes from one place of a list to the next */
#define PART 4096 /* places that are written at once: a shorter list is written whole */
#define LIST_TABLES (PLACE / (int)sizeof(uint64_t))
#define MAX_LISTS 32 /* of up to 16 MiB each */
#define MAX_TABLES (MAX_LISTS * LIST_TABLES)
#define MAX_ROWS (1u << 22) /* rows that one queue gathers */
#define BELLS 4 /* doorbell values of a gather: two for the second queue, two for the third */

struct table {
	uint32_t var;
	uint64_t offset, rows;
	int64_t pitch;
};

struct rt_gathers {
	unsigned int width; /* bytes of an index: 1 or 2 */
	unsigned int ntables;
	struct table table[MAX_TABLES];
	struct rt_chunk list[MAX_LISTS], bells;
	unsigned int n, next; /* the number of gathers, and the next one to be added */
	uint32_t *bell;
};

static bool is_by_index(const struct neff_dma *dma)
{
	return neff_indexed(&dma->desc[0]); /* none of them is then: libneff checked it */
}

/* The sum of a queue's gathers and scatters; all is 0 for a queue of copies */
struct count {
	unsigned int n; /* DMAs */
	uint64_t rows;
	bool has[NEFF_SCATTER + 1];
};

static struct count count(const struct neff_subgraph *neff, unsigned int queue)
{
	const struct neff_engine *e = &neff->engine[neff->queues[queue].owner];
	struct count c = { 0 };

	for (unsigned int i = 0; i < e->ndma; i++) {
		if (e->dma[i].queue != queue || !is_by_index(&e->dma[i]))
			continue;
		c.n++;
		for (unsigned int k = 0; k < e->dma[i].ndesc; k++) {
			c.rows += neff_row_count(&e->dma[i].desc[k]);
			c.has[e->dma[i].desc[k].op] = true;
		}
	}
	return c;
}

unsigned int rt_gather_queues(const struct neff_subgraph *neff)
{
	unsigned int n = 0;

	for (unsigned int q = 0; q < neff->nqueues; q++)
		n += count(neff, q).n ? 2 : 0;
	return n;
}

static unsigned int find_table(const struct rt_gathers *g, const struct neff_pattern *p)
{
	unsigned int i = 0;

	while (i < g->ntables &&
	       (g->table[i].var != p->var || g->table[i].offset != p->offset ||
		g->table[i].pitch != p->step[1] || g->table[i].rows != p->size[1]))
		i++;
	return i;
}

static NRT_STATUS find_tables(struct rt_gathers *g, const struct neff_engine *e)
{
	for (unsigned int i = 0; i < e->ndma; i++) {
		for (unsigned int k = 0; is_by_index(&e->dma[i]) && k < e->dma[i].ndesc; k++) {
			const struct neff_pattern *p = neff_table(&e->dma[i].desc[k]);
			unsigned int t = find_table(g, p);

			if (t < g->ntables)
				continue;
			if (t == MAX_TABLES)
				return rt_fail(NRT_RESOURCE, "TDRV", "rows of more than %d tables",
					       MAX_TABLES);
			g->table[g->ntables++] =
				(struct table){ p->var, p->offset, p->size[1], p->step[1] };
			if (p->size[1] > 256)
				g->width = 2;
		}
	}
	return NRT_SUCCESS;
}

/* Places [from, from + n) of a list, which a buffer has */
static void fill_part(const struct rt_subgraph *sg, const struct table *t, unsigned int slot,
		      uint64_t from, uint64_t n, uint8_t *part)
{
	uint64_t first = sg->vars[t->var].pa + t->offset, row = from % t->rows;

	part += (size_t)slot * sizeof(uint64_t);
	for (uint64_t i = 0; i < n; i++, part += PLACE) {
		uint64_t addr = first + row * (uint64_t)t->pitch;

		memcpy(part, &addr, sizeof(addr)); /* little-endian, as the host is */
		row = row + 1 < t->rows ? row + 1 : 0;
	}
}

/* The list part by part: most of it is zeros, which would be cleared for it, and copied */
static int fill_list(const struct rt_subgraph *sg, unsigned int n, uint8_t *part, uint64_t places)
{
	const struct rt_gathers *g = sg->gathers;
	const unsigned int first = n * LIST_TABLES, last = first + LIST_TABLES;
	uint64_t now = places < PART ? places : PART;
	int err = 0;

	for (uint64_t at = 0; at < places && !err; at += now) {
		for (unsigned int i = first; i < last && i < g->ntables; i++)
			fill_part(sg, &g->table[i], i - first, at, now, part);
		err = ndlx_memory_buf_copyin(sg->core->dev, g->list[n].handle, part, at * PLACE,
					     now * PLACE);
	}
	return err;
}

static NRT_STATUS make_list(struct rt_subgraph *sg, unsigned int n)
{
	struct rt_gathers *g = sg->gathers;
	const uint64_t places = 1ull << (8 * g->width), size = places * PLACE;
	NRT_STATUS status = rt_chunk_alloc(sg->core, size, size,
					   NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE, &g->list[n]);
	uint8_t *part;
	int err;

	if (status)
		return status;
	if (g->list[n].pa % size)
		return rt_fail(NRT_FAILURE, "TDRV", "a list's memory is not aligned");
	part = calloc(PART, PLACE);
	if (!part)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	err = fill_list(sg, n, part, places);
	free(part);
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "a list: %s", rt_errno_text(err))
		   : NRT_SUCCESS;
}

/* Makes the two queues behind each queue of gathers, and their descriptors' memory. */
static NRT_STATUS make_queues(struct rt_subgraph *sg)
{
	struct rt_ring *next = sg->queues + sg->neff->nqueues;
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int q = 0; q < sg->neff->nqueues && !status; q++) {
		struct count c = count(sg->neff, q);
		uint64_t descs = c.rows + c.n;
		uint32_t length;

		if (!c.n)
			continue;
		if (descs > MAX_ROWS)
			return rt_fail(NRT_RESOURCE, "TDRV",
				       "queue '%s' gathers or scatters more than %u rows",
				       sg->neff->queues[q].name, MAX_ROWS);
		sg->gathers->n += c.n;
		sg->queues[q].next = next;
		next->next = next + 1;

		/* one descriptor for a row, and one for a DMA: the doorbells or the semaphore */
		length = sg->self_refilling ? rt_iteration_size((uint32_t)descs) : (uint32_t)descs;
		status = rt_half_reserve(sg->core, &next[0].tx, length);
		if (!status && c.has[NEFF_GATHER])
			status = rt_half_reserve(sg->core, &next[1].tx, length);
		if (!status && c.has[NEFF_SCATTER])
			status = rt_half_reserve(sg->core, &next[1].rx, length);
		next += 2;
	}
	return status;
}

NRT_STATUS rt_gather_begin(struct rt_subgraph *sg)
{
	struct rt_gathers *g;
	NRT_STATUS status;

	if (!rt_gather_queues(sg->neff))
		return NRT_SUCCESS;

	g = sg->gathers = calloc(1, sizeof(*g));
	if (!g)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	g->width = 1;

	status = make_queues(sg);
	for (unsigned int e = 0; e < sg->target->engines && !status; e++)
		status = find_tables(g, &sg->neff->engine[e]);
	for (unsigned int n = 0; n * LIST_TABLES < g->ntables && !status; n++)
		status = make_list(sg, n);

	if (!status)
		status = rt_chunk_alloc(sg->core, g->n * BELLS * sizeof(uint32_t), 0,
					NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE, &g->bells);
	if (status)
		return status;

	g->bell = calloc(g->n, BELLS * sizeof(uint32_t));
	return g->bell ? NRT_SUCCESS : rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
}

/* The address fields of the next n descriptors, as a pattern of their bytes */
static struct neff_pattern addresses(const struct rt_half *half, uint64_t size, uint64_t n)
{
	return (struct neff_pattern){
		.offset = (uint64_t)half->n * NEURON_UDMA_DESC_SIZE + NHAL_DESC_ADDR,
		.ndim = 2,
		.size = { size, n },
		.step = { 1, NEURON_UDMA_DESC_SIZE },
	};
}

static int add_rows(struct rt_subgraph *sg, const struct neff_desc *d, struct rt_ring *ring)
{
	const struct rt_gathers *g = sg->gathers;
	const struct neff_pattern *tp = neff_table(d), *rp = neff_rows(d);
	struct rt_ring *places = ring->next, *rows = places->next;
	struct rt_half *chosen = d->op == NEFF_GATHER ? &rows->tx : &rows->rx;
	unsigned int table = find_table(g, tp);
	uint64_t n = neff_row_count(d), table_pa = sg->vars[tp->var].pa,
		 rows_pa = sg->vars[rp->var].pa;
	uint32_t before = chosen->n;
	struct neff_pattern index = { .offset = d->index_off,
				      .ndim = 2,
				      .size = { g->width, n },
				      .step = { 1, sizeof(uint32_t) } };
	struct neff_pattern place = { .offset = table % LIST_TABLES * sizeof(uint64_t),
				      .ndim = 2,
				      .size = { sizeof(uint64_t), n } };
	/* row 0, as often; a run of its own each, so a descriptor each */
	struct neff_pattern row = { .offset = tp->offset, .ndim = 2, .size = { tp->size[0], n } };
	struct neff_pattern to = addresses(&places->tx, g->width, n);
	int err;

	to.offset++; /* the loader sets the lowest byte: it selects the table */
	err = rt_ring_add_copy(sg->target, ring, &index, sg->vars[d->index].pa, &to,
			       places->tx.chunk.pa);
	to = addresses(chosen, sizeof(uint64_t), n);
	if (!err)
		err = rt_ring_add_copy(sg->target, places, &place, g->list[table / LIST_TABLES].pa,
				       &to, chosen->chunk.pa);
	if (!err && d->op == NEFF_GATHER)
		err = rt_ring_add_copy(sg->target, rows, &row, table_pa, rp, rows_pa);
	else if (!err)
		err = rt_ring_add_copy(sg->target, rows, rp, rows_pa, &row, table_pa);
	return !err && chosen->n - before != n ? -EINVAL : err;
}

/* Adds two words to the two doorbells of the next queue, behind a barrier. */
static int add_bells(struct rt_subgraph *sg, struct rt_ring *ring, unsigned int bell)
{
	const struct rt_ring *next = ring->next;
	int err = rt_ring_add_tx(
		ring, sg->gathers->bells.pa + bell * sizeof(uint32_t), 2 * sizeof(uint32_t),
		NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST | NEURON_UDMA_DESC_DMB);

	if (!err)
		err = rt_ring_add_rx(ring,
				     ndlx_doorbell_address(sg->core->dev, next->eng, next->qid,
							   NEURON_DMA_QUEUE_RX),
				     sizeof(uint32_t));
	if (!err)
		err = rt_ring_add_rx(ring,
				     ndlx_doorbell_address(sg->core->dev, next->eng, next->qid,
							   NEURON_DMA_QUEUE_TX),
				     sizeof(uint32_t));
	return err;
}

int rt_gather_add(struct rt_subgraph *sg, const struct neff_dma *dma, struct rt_ring *ring)
{
	struct rt_ring *places = ring->next, *rows = places->next;
	unsigned int at = sg->gathers->next++ * BELLS;
	uint32_t *bell = sg->gathers->bell + at;
	uint32_t before[BELLS] = { places->rx.n, places->tx.n, rows->rx.n, rows->tx.n };
	int err = 0;

	for (unsigned int i = 0; i < dma->ndesc && !err; i++)
		err = add_rows(sg, &dma->desc[i], ring);
	if (!err)
		err = add_bells(sg, ring, at);
	if (!err)
		err = add_bells(sg, places, at + 2);
	if (!err && dma->semaphore >= 0)
		err = rt_ring_add_completion(sg->core, rows, sg->one.pa,
					     (unsigned int)dma->semaphore);
	bell[0] = places->rx.n - before[0];
	bell[1] = places->tx.n - before[1];
	bell[2] = rows->rx.n - before[2];
	bell[3] = rows->tx.n - before[3];
	places->last_rx = &bell[0];
	places->last_tx = &bell[1];
	rows->last_rx = &bell[2];
	rows->last_tx = &bell[3];
	return err;
}

NRT_STATUS rt_gather_commit(struct rt_subgraph *sg)
{
	struct rt_gathers *g = sg->gathers;
	int err;

	if (!g)
		return NRT_SUCCESS;
	err = ndlx_memory_buf_copyin(sg->core->dev, g->bells.handle, g->bell, 0, g->bells.size);
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "doorbells: %s", rt_errno_text(err))
		   : NRT_SUCCESS;
}

void rt_gather_free(struct rt_subgraph *sg)
{
	struct rt_gathers *g = sg->gathers;

	if (!g)
		return;
	for (unsigned int i = 0; i < MAX_LISTS; i++)
		rt_chunk_free(&g->list[i]);
	rt_chunk_free(&g->bells);
	free(g->bell);
	free(g);
	sg->gathers = NULL;
}
