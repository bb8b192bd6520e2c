// SPDX-License-Identifier: MIT
/*
 * How a DMA queue sees a transfer: two lists of contiguous runs with the same total, cut so that
 * each packet has the same bytes on both sides. The loader turns packets into descriptors; the
 * compiler counts them.
 */
#include "neff_priv.h"

#include "neuron/hw/ext.h"
#include "neuron/isa/table.h"

/*
 * The state of a walk through a pattern, run by run; adjacent runs of a dimension are merged into
 * one
 */
struct walk {
	const struct neff_pattern *pattern;
	uint64_t base; /* device address of the variable's byte 0 */
	uint64_t index[4]; /* of the current run; [0] is unused */
	uint64_t run; /* bytes of a run */
	unsigned int dim; /* first dimension that is walked */
	uint64_t left; /* bytes of the current run that are not taken yet */
	uint64_t addr;
	bool done;
};

static void walk_start_run(struct walk *w)
{
	uint64_t addr = w->base + w->pattern->offset;

	for (unsigned int d = w->dim; d < w->pattern->ndim; d++)
		addr += w->index[d] * (uint64_t)w->pattern->step[d];
	w->addr = addr;
	w->left = w->run;
}

static struct walk walk_new(const struct neff_pattern *pattern, uint64_t base)
{
	struct walk w = { .pattern = pattern, .base = base, .run = pattern->size[0], .dim = 1 };

	while (w.dim < pattern->ndim && pattern->step[w.dim] >= 0 &&
	       (uint64_t)pattern->step[w.dim] == w.run)
		w.run *= pattern->size[w.dim++];
	walk_start_run(&w);
	return w;
}

static void walk_take(struct walk *w, uint64_t n)
{
	w->addr += n;
	w->left -= n;
	if (w->left)
		return;
	for (unsigned int d = w->dim; d < w->pattern->ndim; d++) {
		if (++w->index[d] < w->pattern->size[d]) {
			walk_start_run(w);
			return;
		}
		w->index[d] = 0;
	}
	w->done = true;
}

/* The bytes by which a side's last piece can grow if the next run begins at addr */
static uint32_t room(const struct neff_piece *side, unsigned int n, uint64_t addr)
{
	const struct neff_piece *last;

	if (!n)
		return 0;
	last = &side[n - 1];
	return last->addr + last->len == addr ? NEURON_UDMA_DESC_LEN_MAX - last->len : 0;
}

static uint32_t piece_new(struct neff_piece *side, unsigned int *n, uint64_t addr)
{
	side[(*n)++] = (struct neff_piece){ .addr = addr };
	return NEURON_UDMA_DESC_LEN_MAX;
}

static bool packet_full(const struct neuron_target *target, const struct neff_packet *p,
			const struct walk *from, const struct walk *to)
{
	return (p->ntx == target->packet_max && !room(p->tx, p->ntx, from->addr)) ||
	       (p->nrx == target->packet_max && !room(p->rx, p->nrx, to->addr));
}

/* Takes as many bytes as fit both sides with at most one new piece on each. */
static void packet_step(struct neff_packet *p, struct walk *from, struct walk *to)
{
	uint32_t tx_room = room(p->tx, p->ntx, from->addr), rx_room = room(p->rx, p->nrx, to->addr);
	uint64_t n = from->left < to->left ? from->left : to->left;

	if (!tx_room)
		tx_room = piece_new(p->tx, &p->ntx, from->addr);
	if (!rx_room)
		rx_room = piece_new(p->rx, &p->nrx, to->addr);
	n = n < tx_room ? n : tx_room;
	n = n < rx_room ? n : rx_room;
	p->tx[p->ntx - 1].len += (uint32_t)n;
	p->rx[p->nrx - 1].len += (uint32_t)n;
	walk_take(from, n);
	walk_take(to, n);
}

/* Of the innermost dimension that is walked, the runs from this one on; 0: it is not a whole one,
 * or the first */
static uint64_t row_left(const struct walk *w)
{
	if (w->dim == w->pattern->ndim || w->left != w->run || !w->index[w->dim])
		return 0;
	return w->pattern->size[w->dim] - w->index[w->dim];
}

static void walk_skip(struct walk *w, uint64_t runs)
{
	w->index[w->dim] += runs - 1;
	w->addr += (runs - 1) * (uint64_t)w->pattern->step[w->dim];
	walk_take(w, w->run);
}

/*
 * Takes runs behind the first one of a dimension, of equal length on both sides: none of them goes
 * on where the one before it ends, or both were one run.
 */
static void packet_row(const struct neuron_target *target, struct neff_packet *p, struct walk *from,
		       struct walk *to)
{
	const unsigned int fuller = p->ntx > p->nrx ? p->ntx : p->nrx;
	uint64_t n = row_left(from), other = row_left(to);
	int64_t from_step, to_step;

	n = n < other ? n : other;
	n = n < target->packet_max - fuller ? n : target->packet_max - fuller;
	if (!n || from->run != to->run || from->run > NEURON_UDMA_DESC_LEN_MAX)
		return;
	from_step = from->pattern->step[from->dim];
	to_step = to->pattern->step[to->dim];
	for (uint64_t i = 0; i < n; i++) {
		p->tx[p->ntx++] = (struct neff_piece){ from->addr + i * (uint64_t)from_step,
						       (uint32_t)from->run };
		p->rx[p->nrx++] =
			(struct neff_piece){ to->addr + i * (uint64_t)to_step, (uint32_t)to->run };
	}
	walk_skip(from, n);
	walk_skip(to, n);
}

bool neff_computes(const struct neff_desc *d)
{
	return d->op >= NEFF_CAST;
}

bool neff_streams(const struct neff_desc *d)
{
	return d->op == NEFF_COMPRESS || d->op == NEFF_DECOMPRESS;
}

bool neff_indexed(const struct neff_desc *d)
{
	return d->op == NEFF_GATHER || d->op == NEFF_SCATTER;
}

const struct neff_pattern *neff_table(const struct neff_desc *d)
{
	return d->op == NEFF_GATHER ? &d->from : &d->to;
}

const struct neff_pattern *neff_rows(const struct neff_desc *d)
{
	return d->op == NEFF_GATHER ? &d->to : &d->from;
}

uint64_t neff_row_count(const struct neff_desc *d)
{
	return neff_runs(neff_rows(d));
}

int neff_packets(const struct neuron_target *target, const struct neff_pattern *from_pattern,
		 uint64_t from_base, const struct neff_pattern *to_pattern, uint64_t to_base,
		 int (*take)(void *arg, const struct neff_packet *packet), void *arg)
{
	struct walk from = walk_new(from_pattern, from_base), to = walk_new(to_pattern, to_base);
	struct neff_packet packet; /* pieces that are there alone are written */

	packet.ntx = packet.nrx = 0;
	packet.compute = 0;
	while (!from.done && !to.done) {
		if (packet_full(target, &packet, &from, &to)) {
			int err = take(arg, &packet);

			if (err)
				return err;
			packet.ntx = packet.nrx = 0;
		}
		packet_step(&packet, &from, &to);
		if (!from.done && !to.done)
			packet_row(target, &packet, &from, &to);
	}
	return take(arg, &packet);
}

static const uint8_t dma_ops[] = {
	[NEFF_CAST] = NEURON_DMA_CAST,	       [NEFF_ADD] = NEURON_DMA_ADD,
	[NEFF_MIN] = NEURON_DMA_MIN,	       [NEFF_MAX] = NEURON_DMA_MAX,
	[NEFF_COMPRESS] = NEURON_DMA_COMPRESS, [NEFF_DECOMPRESS] = NEURON_DMA_DECOMPRESS,
};

/* The elements up to the first end of a run, or as many as a descriptor holds */
static uint64_t run_elements(const struct walk *side, unsigned int n, uint64_t size, uint64_t most)
{
	for (unsigned int i = 0; i < n; i++)
		if (side[i].left / size < most)
			most = side[i].left / size;
	return most < NEURON_UDMA_DESC_LEN_MAX / size ? most : NEURON_UDMA_DESC_LEN_MAX / size;
}

static unsigned int side_pieces(const struct neff_pattern *pattern, uint64_t base,
				struct neff_piece *side)
{
	struct walk w = walk_new(pattern, base);
	unsigned int n = 0;

	while (!w.done) {
		side[n++] = (struct neff_piece){ w.addr, (uint32_t)w.left };
		walk_take(&w, w.left);
	}
	return n;
}

int neff_compute_packets(const struct neff_desc *d, const uint64_t *from_base, uint64_t to_base,
			 int (*take)(void *arg, const struct neff_packet *packet), void *arg)
{
	const uint64_t ss = neuron_isa_dtypes[d->from_dtype].size;
	const uint64_t ds = neuron_isa_dtypes[d->to_dtype].size;
	struct neff_packet packet = { .nrx = 1, .ntx = 1 + d->nmore };
	struct walk to = walk_new(&d->to, to_base);
	struct walk from[NEURON_DMA_SOURCES_MAX];
	int err = 0;

	packet.compute = d->op == NEFF_TRANSPOSE
				 ? NEURON_DMA_COMPUTE_TRANSPOSE(d->to_dtype, d->shape[0],
								d->shape[1] * d->shape[2])
				 : NEURON_DMA_COMPUTE(dma_ops[d->op], d->from_dtype, d->to_dtype,
						      packet.ntx);
	if (neff_streams(d) || d->op == NEFF_TRANSPOSE) {
		packet.ntx = side_pieces(&d->from, from_base[0], packet.tx);
		packet.nrx = side_pieces(&d->to, to_base, packet.rx);
		return take(arg, &packet);
	}
	for (unsigned int i = 0; i < packet.ntx; i++)
		from[i] = walk_new(i ? &d->more[i - 1] : &d->from, from_base[i]);
	while (!to.done && !err) {
		uint64_t n =
			run_elements(from, packet.ntx, ss, run_elements(&to, 1, ds, UINT64_MAX));

		packet.rx[0] = (struct neff_piece){ to.addr, (uint32_t)(n * ds) };
		for (unsigned int i = 0; i < packet.ntx; i++) {
			packet.tx[i] = (struct neff_piece){ from[i].addr, (uint32_t)(n * ss) };
			walk_take(&from[i], n * ss);
		}
		walk_take(&to, n * ds);
		err = take(arg, &packet);
	}
	return err;
}

bool neff_run_in_core(const struct neuron_target *target, uint64_t off, uint64_t len)
{
	if (off < (uint64_t)NEURON_PARTITIONS * NEURON_SBUF_PART_STRIDE)
		return len <= target->sbuf_part_size &&
		       off % NEURON_SBUF_PART_STRIDE <= target->sbuf_part_size - len;
	if (off < NEURON_PSUM_OFFSET)
		return false;
	off -= NEURON_PSUM_OFFSET;
	return off < (uint64_t)NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE &&
	       len <= target->psum_part_size &&
	       off % NEURON_PSUM_PART_STRIDE <= target->psum_part_size - len;
}

bool neff_pattern_in_core(const struct neuron_target *target, const struct neff_pattern *p)
{
	uint64_t n[4] = { 1, 1, 1, 1 };

	for (unsigned int d = 1; d < p->ndim; d++)
		n[d] = p->size[d];
	for (uint64_t i = 0; i < n[3]; i++)
		for (uint64_t j = 0; j < n[2]; j++)
			for (uint64_t k = 0; k < n[1]; k++) {
				int64_t off = (int64_t)p->offset;

				off += n[1] > 1 ? (int64_t)k * p->step[1] : 0;
				off += n[2] > 1 ? (int64_t)j * p->step[2] : 0;
				off += n[3] > 1 ? (int64_t)i * p->step[3] : 0;
				if (!neff_run_in_core(target, (uint64_t)off, p->size[0]))
					return false;
			}
	return true;
}
