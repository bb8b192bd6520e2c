// SPDX-License-Identifier: MIT
/*
 * The descriptors that DMAs take, and programs of more of them than the ring of one queue has room
 * for: a core that moves much element by element. What is beyond the room goes to the queues of
 * inputs and outputs, which take DMAs of any kind.
 */
#include <errno.h>

#include "prog.h"

static int count_packet(void *arg, const struct neff_packet *packet)
{
	struct ncc_descs *d = arg;

	d->tx += packet->ntx;
	d->rx += packet->nrx;
	return d->tx > NEFF_MAX_QUEUE_DESCS || d->rx > NEFF_MAX_QUEUE_DESCS ? -E2BIG : 0;
}

int ncc_count_descs(const struct neuron_target *target, const struct neff_dma *dma,
		    struct ncc_descs *d)
{
	const uint64_t nowhere = 0;
	int rc = 0;

	for (unsigned int i = 0; i < dma->ndesc && !rc; i++) {
		if (dma->desc[i].op == NEFF_COPY)
			rc = neff_packets(target, &dma->desc[i].from, 0, &dma->desc[i].to, 0,
					  count_packet, d);
		else if (neff_computes(&dma->desc[i]))
			rc = neff_compute_packets(&dma->desc[i], &nowhere, 0, count_packet, d);
		else
			d->rows += neff_row_count(&dma->desc[i]);
		rc = rc ?: d->tx + d->rows > NEFF_MAX_QUEUE_DESCS ? -E2BIG : 0;
	}
	if (dma->semaphore >= 0) {
		d->tx++;
		d->rx++;
	}
	return rc;
}

#define LEAST_PACKET 512 /* bytes: no chip cuts a run into less */

/* As many as there can be of one kind: quickly, and mostly too many. Past most it need not be
 * right. */
static uint64_t at_most(const struct ncc_prog *p, uint64_t most)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < p->ndma && n <= most; i++)
		for (unsigned int k = 0; k < p->dma[i].ndesc; k++) {
			const struct neff_desc *d = &p->dma[i].desc[k];
			uint64_t runs = neff_runs(&d->from) + neff_runs(&d->to);

			for (unsigned int m = 0; m < d->nmore; m++)
				runs += neff_runs(&d->more[m]);
			n += (1 + d->nmore) * (runs + 2 + ncc_pattern_bytes(&d->to) / LEAST_PACKET);
		}
	return n;
}

/* Can there be more than one queue has room for? A quick answer, whose yes may be wrong */
static bool may_be_many(const struct ncc_prog *p)
{
	return at_most(p, NEFF_MAX_QUEUE_DESCS) > NEFF_MAX_QUEUE_DESCS;
}

/* Of both kinds, and of those for rows that an index chooses */
#define FEW (NEFF_MAX_MODEL_DESCS / (2 + NCC_ROW_DESCS))
_Static_assert(FEW <= NEFF_MAX_QUEUE_DESCS, "few for a queue");

bool ncc_few_descs(const struct ncc_prog *p)
{
	return at_most(p, FEW) <= FEW;
}

static bool has_room(const struct ncc_descs *d, const struct ncc_descs *more)
{
	return d->tx + d->rows + more->tx + more->rows <= NEFF_MAX_QUEUE_DESCS &&
	       d->rx + more->rx <= NEFF_MAX_QUEUE_DESCS;
}

static void add(struct ncc_descs *d, const struct ncc_descs *more)
{
	d->tx += more->tx;
	d->rx += more->rx;
	d->rows += more->rows;
}

bool ncc_spread_queues(struct ncc_prog *p)
{
	static const enum ncc_queue others[] = { NCC_Q_OUT, NCC_Q_IN };
	struct ncc_descs d[NCC_QUEUES] = { { 0 } };
	bool any = false;

	if (!may_be_many(p))
		return false;
	for (unsigned int i = 0; i < p->nnodes; i++) {
		struct ncc_node *n = ncc_prog_node(p, i);
		struct ncc_descs more = { 0 };
		enum ncc_queue q;

		if (n->proc < NCC_PROC_QUEUE(0) || n->proc >= NCC_PROC_QUEUE(NCC_QUEUES))
			continue;
		q = p->dma[n->dma].queue;
		(void)ncc_count_descs(p->target, &p->dma[n->dma], &more); /* refused below */
		more.tx++; /* a semaphore's */
		more.rx++;
		for (unsigned int k = 0; q == NCC_Q_DATA && k < 2 && !has_room(&d[q], &more); k++)
			if (has_room(&d[others[k]], &more))
				q = others[k];
		add(&d[q], &more);
		any |= p->dma[n->dma].queue != (uint32_t)q;
		p->dma[n->dma].queue = q;
		n->proc = (uint8_t)NCC_PROC_QUEUE(q);
	}
	return any;
}

int ncc_check_descs(const struct ncc_prog *p, struct ncc_error *err)
{
	struct ncc_descs d[NCC_QUEUES] = { { 0 } };
	uint64_t all = 0;
	int rc = 0;

	if (ncc_few_descs(p))
		return 0;
	for (unsigned int i = 0; i < p->ndma && !rc; i++)
		rc = ncc_count_descs(p->target, &p->dma[i], &d[p->dma[i].queue]);
	for (unsigned int q = 0; q < NCC_QUEUES; q++)
		all += d[q].tx + d[q].rx + NCC_ROW_DESCS * d[q].rows;
	if (rc || all > NEFF_MAX_MODEL_DESCS)
		return ncc_fail(err, -E2BIG,
				"too large: what a core's program moves is in more than %u pieces "
				"for a queue, or %u in all, each row that an index chooses being "
				"%u",
				NEFF_MAX_QUEUE_DESCS, NEFF_MAX_MODEL_DESCS, NCC_ROW_DESCS);
	return 0;
}
