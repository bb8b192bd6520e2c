/* SPDX-License-Identifier: MIT */
/*
 * Elements that a DMA engine computes while it moves them: conversions, and sums, smallest and
 * greatest ones of up to sixteen sources (docs/hardware.md, DMA). What an RX descriptor's second
 * word asks for is done with all its sources at once, so that a queue is never saved within it.
 */
#include "copy.h"
#include "dma.h"
#include "event.h"

#include <errno.h>

#include "exec/exec.h"
#include "neuron/isa/table.h"

#define CHUNK 1024 /* elements at once */

struct compute {
	uint8_t from, to, op;
	unsigned int sources;
	uint32_t elements;
	uint64_t source[NEURON_DMA_SOURCES_MAX];
	const struct exec_kernels *kern;
};

static const uint8_t alus[] = {
	[NEURON_DMA_CAST] = NEURON_ALU_BYPASS,
	[NEURON_DMA_ADD] = NEURON_ALU_ADD,
	[NEURON_DMA_MIN] = NEURON_ALU_MIN,
	[NEURON_DMA_MAX] = NEURON_ALU_MAX,
};

static bool has_type(const struct neuron_target *target, uint8_t dtype)
{
	return target->dtypes >> dtype & 1;
}

/* false: no operation, or not of elements of these types */
static bool parse(const struct neuron_target *target, const struct ncore_desc *rx,
		  struct compute *k)
{
	uint32_t word = ncore_desc_meta(rx), size;

	*k = (struct compute){
		.from = word & NEURON_DMA_COMPUTE_FROM,
		.to = (word & NEURON_DMA_COMPUTE_TO) >> 6,
		.op = (word & NEURON_DMA_COMPUTE_OP) >> 12,
		.sources = ((word & NEURON_DMA_COMPUTE_SOURCES) >> 16) + 1,
		.kern = exec_kernels_best(),
	};
	if (word & NEURON_DMA_COMPUTE_RESERVED || k->op < NEURON_DMA_CAST ||
	    k->op > NEURON_DMA_MAX || (k->op == NEURON_DMA_CAST && k->sources > 1) ||
	    !has_type(target, k->from) || !has_type(target, k->to))
		return false;
	size = neuron_isa_dtypes[k->to].size;
	k->elements = ncore_desc_len(rx) / size;
	return !(ncore_desc_len(rx) % size) &&
	       k->elements * (uint64_t)neuron_isa_dtypes[k->from].size <= NEURON_UDMA_DESC_LEN_MAX;
}

/* Takes the sources' descriptors, all of one packet; *last: its end. -errno: the queue stopped */
static int take_sources(struct ncore_service *t, struct compute *k, bool *last)
{
	struct ncore_ring *m = &t->q->ring[NCORE_M2S];
	uint32_t len = k->elements * neuron_isa_dtypes[k->from].size;

	for (unsigned int i = 0; i < k->sources; i++) {
		int ret = m->open ? 0 : ncore_open_source(t->strand->chip, t->q);

		if (ret)
			return ret;
		*last = ncore_desc_ctrl(&m->cur) & NEURON_UDMA_DESC_LAST;
		if (m->done || ncore_desc_len(&m->cur) != len || (*last && i + 1 < k->sources)) {
			ncore_stop_queue(t->strand->chip, t->q, NEURON_NERR_DMA_DESC, m->cur.addr);
			return -EINVAL;
		}
		k->source[i] = m->cur.addr;
		ncore_ring_close(m, 1);
	}
	return 0;
}

/* The next n elements of source i, as fp32 */
static int load(struct ncore_service *t, struct ncore_copy *c, const struct compute *k,
		unsigned int i, uint32_t at, uint32_t n, float *out)
{
	uint8_t raw[CHUNK * sizeof(uint32_t)];
	uint8_t size = neuron_isa_dtypes[k->from].size;
	int ret = ncore_access(t->strand, c, k->source[i] + (uint64_t)at * size, raw,
			       (uint64_t)n * size, false);

	if (!ret)
		k->kern->load(k->from, out, raw, n);
	return ret;
}

/* n elements from the at-th on. -errno: c->bad is refused */
static int chunk(struct ncore_service *t, struct ncore_copy *c, const struct compute *k,
		 uint32_t at, uint32_t n)
{
	uint64_t dst = c->dst + (uint64_t)at * neuron_isa_dtypes[k->to].size;
	uint8_t raw[CHUNK * sizeof(uint32_t)];
	float sum[CHUNK], next[CHUNK];
	int ret = load(t, c, k, 0, at, n, sum);

	for (unsigned int i = 1; i < k->sources && !ret; i++) {
		ret = load(t, c, k, i, at, n, next);
		if (!ret)
			k->kern->alu(alus[k->op], sum, exec_array(sum), exec_array(next), n);
	}
	if (ret)
		return ret;
	k->kern->store(k->to, raw, sum, n);
	return ncore_access(t->strand, c, dst, raw, (uint64_t)n * neuron_isa_dtypes[k->to].size,
			    true);
}

/* The bytes of a single source move as they are if the type stays */
static int move(struct ncore_service *t, struct ncore_copy *c, const struct compute *k)
{
	uint64_t len = ncore_desc_len(&t->q->ring[NCORE_S2M].cur);
	uint8_t raw[CHUNK * sizeof(uint32_t)];
	int ret = 0;

	for (uint64_t at = 0, n; at < len && !ret; at += n) {
		n = len - at < sizeof(raw) ? len - at : sizeof(raw);
		ret = ncore_access(t->strand, c, k->source[0] + at, raw, n, false);
		ret = ret ? ret : ncore_access(t->strand, c, c->dst + at, raw, n, true);
	}
	return ret;
}

static int compute(struct ncore_service *t, struct ncore_copy *c, const struct compute *k)
{
	int ret = 0;

	if (k->op == NEURON_DMA_CAST && k->from == k->to)
		return move(t, c, k);
	for (uint32_t at = 0, n; at < k->elements && !ret; at += n) {
		n = k->elements - at < CHUNK ? k->elements - at : CHUNK;
		ret = chunk(t, c, k, at, n);
	}
	return ret;
}

enum ncore_step ncore_compute(struct ncore_service *t, struct ncore_copy *c)
{
	struct ncore_ring *m = &t->q->ring[NCORE_M2S], *s = &t->q->ring[NCORE_S2M];
	const struct neuron_costs *cost = &t->strand->chip->gen->target->cost;
	struct compute k;
	bool last = false;
	uint64_t extra;

	if (!parse(t->strand->chip->gen->target, &s->cur, &k) || ncore_ring_credit(m) < k.sources) {
		ncore_stop_queue(t->strand->chip, t->q, NEURON_NERR_DMA_DESC, s->cur.addr);
		return NCORE_STEP_STARVED;
	}
	if (take_sources(t, &k, &last))
		return NCORE_STEP_STARVED;
	if (compute(t, c, &k)) {
		ncore_stop_queue(t->strand->chip, t->q, NEURON_NERR_DMA_ABORT, c->bad);
		return NCORE_STEP_STARVED;
	}
	t->until = ncore_strand_until(t->strand, t->q, t->other);
	c->done = (uint64_t)k.sources * k.elements * neuron_isa_dtypes[k.from].size;
	extra = neuron_dma_time(cost, k.sources, 0) + neuron_dma_sum_time(cost, k.sources, c->done);
	ncore_event(t->strand->chip, NCORE_EV_DESC, t->q->engine, t->q->index, c->src, c->dst);
	t->budget->bytes -= (int64_t)c->done;
	t->budget->descs -= k.sources;
	ncore_computed(t, c, extra, last);
	return last ? NCORE_STEP_PACKET : NCORE_STEP_LEAVE;
}
