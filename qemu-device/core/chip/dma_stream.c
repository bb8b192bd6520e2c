/* SPDX-License-Identifier: MIT */
/*
 * Elements that a DMA engine compresses, decompresses or transposes while it moves them
 * (docs/hardware.md, Compressed streams, Transposes). A packet is done all at once, so that a queue
 * is never saved within it; and nothing is written before the whole is known to be right.
 */
#include "copy.h"
#include "dma.h"
#include "event.h"
#include "stream.h"

#include <errno.h>

#include "neuron/isa/table.h"

/* The destination of a stream's elements */
struct places {
	unsigned int n;
	uint64_t addr[NEURON_PACKET_MAX];
	uint32_t len[NEURON_PACKET_MAX];
};

static enum ncore_step stop(struct ncore_service *t, uint16_t code, uint64_t addr)
{
	ncore_stop_queue(t->strand->chip, t->q, code, addr);
	return NCORE_STEP_STARVED;
}

static enum ncore_step refuse(struct ncore_service *t, uint64_t addr,
			      enum neuron_stream_error reason)
{
	ncore_refuse_stream(t->strand->chip, t->q, addr, reason);
	return NCORE_STEP_STARVED;
}

/* Bytes of an element; 0: a word that asks for something else than a stream */
static unsigned int width_of(const struct neuron_target *target, uint32_t word)
{
	uint32_t dtype = word & NEURON_DMA_COMPUTE_FROM;
	uint32_t op = (word & NEURON_DMA_COMPUTE_OP) >> 12;

	if (word != NEURON_DMA_COMPUTE(op, dtype, dtype, 1) || !(target->dtypes >> dtype & 1))
		return 0;
	return neuron_isa_dtypes[dtype].size;
}

static void count(struct ncore_service *t, uint32_t first, uint64_t from, uint64_t to)
{
	struct ncore_chip *chip = t->strand->chip;
	_Atomic uint64_t *counts =
		chip->core[neuron_gen_queue_core(chip->gen, t->q->engine, t->q->index)].streams +
		(first - NEURON_PERF_DECOMPRESSED_FROM) / 8;

	atomic_fetch_add_explicit(&counts[0], from, memory_order_relaxed);
	atomic_fetch_add_explicit(&counts[1], to, memory_order_relaxed);
}

/* A whole packet is through: sources were read, of c->done bytes altogether */
static enum ncore_step finish(struct ncore_service *t, struct ncore_copy *c, unsigned int sources,
			      uint64_t extra)
{
	t->until = ncore_strand_until(t->strand, t->q, t->other);
	ncore_event(t->strand->chip, NCORE_EV_DESC, t->q->engine, t->q->index, c->src, c->dst);
	t->budget->bytes -= NEURON_STREAM_RAW_MAX;
	t->budget->descs -= sources;
	extra += neuron_dma_time(&t->strand->chip->gen->target->cost, sources, 0);
	ncore_computed(t, c, extra, true);
	return NCORE_STEP_PACKET;
}

/* The packet's elements, from its first TX descriptor to its last; 0: the queue stopped */
static uint32_t gather(struct ncore_service *t, struct ncore_copy *c, unsigned int *sources)
{
	struct ncore_ring *m = &t->q->ring[NCORE_M2S];
	uint32_t raw = 0, len;
	bool last = false;

	for (*sources = 0; !last; ++*sources) {
		if (!m->open && !ncore_ring_credit(m)) {
			stop(t, NEURON_NERR_DMA_DESC, m->cur.addr);
			return 0;
		}
		if (!m->open && ncore_open_source(t->strand->chip, t->q))
			return 0;
		len = ncore_desc_len(&m->cur);
		last = ncore_desc_ctrl(&m->cur) & NEURON_UDMA_DESC_LAST;
		if (m->done || len > NEURON_STREAM_RAW_MAX - raw) {
			stop(t, NEURON_NERR_DMA_DESC, m->cur.addr);
			return 0;
		}
		if (ncore_access(t->strand, c, m->cur.addr, t->strand->streams->raw + raw, len,
				 false)) {
			stop(t, NEURON_NERR_DMA_ABORT, c->bad);
			return 0;
		}
		raw += len;
		ncore_ring_close(m, 1);
	}
	return raw;
}

static enum ncore_step compress(struct ncore_service *t, struct ncore_copy *c, unsigned int width)
{
	struct ncore_ring *m = &t->q->ring[NCORE_M2S], *s = &t->q->ring[NCORE_S2M];
	struct ncore_streams *w = t->strand->streams;
	unsigned int sources;
	uint32_t raw, size;

	if (!(ncore_desc_ctrl(&m->cur) & NEURON_UDMA_DESC_FIRST))
		return stop(t, NEURON_NERR_DMA_DESC, m->cur.addr);
	raw = gather(t, c, &sources);
	if (!raw)
		return NCORE_STEP_STARVED;
	if (raw % width)
		return stop(t, NEURON_NERR_DMA_DESC, s->cur.addr);
	size = neuron_compress(w->raw, raw, width, true, w->stream, &w->work);
	if (size > ncore_desc_len(&s->cur))
		return refuse(t, c->dst, NEURON_STREAM_BAD_ROOM);
	if (ncore_access(t->strand, c, c->dst, w->stream, size, true))
		return stop(t, NEURON_NERR_DMA_ABORT, c->bad);
	count(t, NEURON_PERF_COMPRESSED_FROM, raw, size);
	c->done = raw;
	return finish(t, c, sources, 0);
}

/*
 * RX descriptors that ask for the same, and hold raw bytes together; the last one stays open.
 * -EINVAL: they hold other than that; -EIO: the queue stopped
 */
static int take_places(struct ncore_service *t, uint32_t raw, struct places *p)
{
	struct ncore_ring *s = &t->q->ring[NCORE_S2M];
	const uint32_t word = ncore_desc_meta(&s->cur);
	uint32_t space = 0;

	for (p->n = 0;; p->n++) {
		if (!s->open && ncore_ring_credit(s) &&
		    ncore_open_destination(t->strand->chip, t->q))
			return -EIO;
		if (!s->open || ncore_desc_meta(&s->cur) != word ||
		    ncore_desc_len(&s->cur) > raw - space)
			break;
		p->addr[p->n] = s->cur.addr;
		p->len[p->n] = ncore_desc_len(&s->cur);
		space += p->len[p->n];
		if (space == raw) {
			p->n++;
			return 0;
		}
		ncore_ring_close(s, 1);
	}
	return -EINVAL;
}

/* Writes bytes to their places. */
static int put(struct ncore_service *t, struct ncore_copy *c, const struct places *p,
	       const uint8_t *bytes)
{
	uint32_t at = 0;
	int ret = 0;

	for (unsigned int i = 0; i < p->n && !ret; at += p->len[i++])
		ret = ncore_access(t->strand, c, p->addr[i], (void *)(uintptr_t)(bytes + at),
				   p->len[i], true);
	return ret;
}

static enum ncore_step decompress(struct ncore_service *t, struct ncore_copy *c, unsigned int width)
{
	const uint32_t whole = NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST;
	struct ncore_ring *m = &t->q->ring[NCORE_M2S];
	struct ncore_streams *w = t->strand->streams;
	uint32_t have = ncore_desc_len(&m->cur), raw = 0, size = 0;
	enum neuron_stream_error e;
	struct places p;
	int ret;

	if ((ncore_desc_ctrl(&m->cur) & whole) != whole || m->done)
		return stop(t, NEURON_NERR_DMA_DESC, m->cur.addr);
	if (ncore_access(t->strand, c, c->src, w->stream, have, false))
		return stop(t, NEURON_NERR_DMA_ABORT, c->bad);
	e = neuron_stream_head(w->stream, have, width, &raw, &size);
	e = e ? e : neuron_decompress(w->stream, size, width, w->raw, &w->work);
	if (e)
		return refuse(t, c->src, e);
	ret = take_places(t, raw, &p);
	if (ret)
		return ret == -EIO ? NCORE_STEP_STARVED : refuse(t, c->src, NEURON_STREAM_BAD_ROOM);
	if (put(t, c, &p, w->raw))
		return stop(t, NEURON_NERR_DMA_ABORT, c->bad);
	ncore_ring_close(m, 1);
	count(t, NEURON_PERF_DECOMPRESSED_FROM, size, raw);
	c->done = size;
	return finish(t, c, 1,
		      neuron_dma_unpack_time(&t->strand->chip->gen->target->cost, size, raw));
}

/* A transpose: the first dimension, those between as one, the last; bytes of an element */
struct transposed {
	uint32_t first, middle, last, width;
};

/* false: a word that asks for something else */
static bool parse(const struct neuron_target *target, uint32_t word, struct transposed *k)
{
	const uint8_t dtype = word & NEURON_DMA_COMPUTE_FROM;

	k->first = (word >> 20) + 1;
	k->middle = ((word & NEURON_DMA_COMPUTE_SOURCES) >> 16) + 1;
	if (word != NEURON_DMA_COMPUTE_TRANSPOSE(dtype, k->first, k->middle) ||
	    !(target->dtypes >> dtype & 1))
		return false;
	k->width = neuron_isa_dtypes[dtype].size;
	return k->width == 2 || k->width == 4;
}

static void transpose_elements(const struct transposed *k, const uint8_t *in, uint8_t *out)
{
	for (uint32_t l = 0; l < k->last; l++)
		for (uint32_t m = 0; m < k->middle; m++)
			for (uint32_t f = 0; f < k->first; f++, out += k->width)
				memcpy(out, in + ((f * k->middle + m) * k->last + l) * k->width,
				       k->width);
}

static enum ncore_step transpose(struct ncore_service *t, struct ncore_copy *c)
{
	struct ncore_ring *m = &t->q->ring[NCORE_M2S], *s = &t->q->ring[NCORE_S2M];
	const struct neuron_target *target = t->strand->chip->gen->target;
	struct ncore_streams *w = t->strand->streams;
	unsigned int sources;
	struct places p;
	struct transposed k;
	uint32_t raw;
	int ret;

	if (!parse(target, ncore_desc_meta(&s->cur), &k) ||
	    !(ncore_desc_ctrl(&m->cur) & NEURON_UDMA_DESC_FIRST))
		return stop(t, NEURON_NERR_DMA_DESC, s->cur.addr);
	raw = gather(t, c, &sources);
	if (!raw)
		return NCORE_STEP_STARVED;
	k.last = raw / (k.first * k.middle * k.width);
	if (raw != k.first * k.middle * k.last * k.width)
		return stop(t, NEURON_NERR_DMA_DESC, s->cur.addr);
	transpose_elements(&k, w->raw, w->stream);
	ret = take_places(t, raw, &p);
	if (ret)
		return ret == -EIO ? NCORE_STEP_STARVED : stop(t, NEURON_NERR_DMA_DESC, c->dst);
	if (put(t, c, &p, w->stream))
		return stop(t, NEURON_NERR_DMA_ABORT, c->bad);
	c->done = raw;
	return finish(t, c, sources, neuron_dma_transpose_time(&target->cost, raw));
}

enum ncore_step ncore_stream(struct ncore_service *t, struct ncore_copy *c)
{
	const struct ncore_desc *rx = &t->q->ring[NCORE_S2M].cur;
	const uint32_t op = (ncore_desc_meta(rx) & NEURON_DMA_COMPUTE_OP) >> 12;
	unsigned int width;

	if (op == NEURON_DMA_TRANSPOSE)
		return transpose(t, c);
	width = width_of(t->strand->chip->gen->target, ncore_desc_meta(rx));
	if (!width)
		return stop(t, NEURON_NERR_DMA_DESC, rx->addr);
	return op == NEURON_DMA_COMPRESS ? compress(t, c, width) : decompress(t, c, width);
}
