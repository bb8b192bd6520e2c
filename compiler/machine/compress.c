// SPDX-License-Identifier: MIT
/*
 * --compress-constants: what the program only copies from, it copies from streams, which DMA
 * engines decompress (docs/hardware.md, Compressed streams), if they take clearly less memory and,
 * where that is to be decided, clearly less of the engines' time and of the emulator's host's. A
 * stream is what one packet writes; copies that read the same bytes for pieces of the same size
 * share it.
 */
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/compress.h"
#include "prog.h"

#define LEAST 4096 /* bytes of a constant that is looked at */
#define MAX_STREAMS 4096 /* of a constant: each is compared with those before */
/*
 * What the streams may take of a constant's bytes or copies' time, at most: else it stays as it is.
 * On the host that is a margin for estimates, and for copies of what lies in its caches
 */
#define WORTH(all) ((all) / 8 * 7)

/*
 * What moving a piece takes on the host, in picoseconds: as it is, of a stream with a table of
 * elements, with planes of which none is coded, or some are. Measured on an AMD EPYC 9004 (bench
 * group streams), from memory into 4 MiB of SBUF; only what they are to each other counts.
 */
static const struct {
	uint32_t piece, element, stream; /* each; of a byte of elements, of the stream */
} host[] = {
	[0] = { 0, 68, 0 }, [1] = { 60000, 38, 220 }, [2] = { 60000, 90, 110 }, [3] = { 60000, 800, 110 }
};

struct stream {
	struct neff_pattern from; /* bytes [lo, hi) of these */
	uint64_t lo, hi;
	uint64_t at;
	uint32_t size;
	uint8_t kind; /* of host[] */
};

struct packer {
	struct ncc_prog *p;
	enum ncc_compress when;
	bool codes; /* are worth their time */
	struct neuron_stream_work work;
	uint32_t var;
	unsigned int width; /* of its elements */
	struct stream stream[MAX_STREAMS];
	unsigned int n;
	uint8_t *out; /* as large as the constant */
	uint64_t size;
	struct ncc_before_after chip, host; /* times */
	uint8_t *raw; /* of the descriptor at hand */
	uint64_t raw_size;
};

static const uint8_t dtypes[] = {
	[1] = NEURON_DT_UINT8, [2] = NEURON_DT_UINT16, [4] = NEURON_DT_UINT32
};

static bool same(const struct neff_pattern *a, const struct neff_pattern *b)
{
	if (a->offset != b->offset || a->ndim != b->ndim)
		return false;
	for (unsigned int d = 0; d < a->ndim; d++)
		if (a->size[d] != b->size[d] || a->step[d] != b->step[d])
			return false;
	return true;
}

/* Is the constant only copied from, in pieces of whole elements that fit streams? */
static bool only_copied(const struct ncc_prog *p, uint32_t var, unsigned int *width)
{
	bool read = false;

	for (unsigned int i = 0; i < p->ncustom; i++)
		for (unsigned int k = 0; k < p->custom[i].nargs; k++)
			if (!p->custom[i].arg[k].scalar && p->custom[i].arg[k].var == var)
				return false;
	for (unsigned int i = 0; i < p->ndma; i++) {
		for (unsigned int k = 0; k < p->dma[i].ndesc; k++) {
			const struct neff_desc *d = &p->dma[i].desc[k];

			if (neff_indexed(d) && (d->index == var || d->from.var == var))
				return false;
			if (d->from.var != var)
				continue;
			if (d->op != NEFF_COPY || d->to.size[0] > NEURON_STREAM_RAW_MAX)
				return false;
			while (d->to.size[0] % *width)
				*width /= 2;
			read = true;
		}
	}
	return read;
}

static uint64_t host_time(unsigned int kind, uint64_t raw, uint64_t size)
{
	return host[kind].piece + raw * host[kind].element + size * host[kind].stream;
}

static unsigned int kind_of(const struct packer *k, const uint8_t *stream)
{
	return neuron_stream_has_table(stream) ? 1 : k->codes ? 3 : 2;
}

/*
 * Of the widths that divide all pieces that which makes the first 64 KiB smallest, or, without
 * codes, fastest; false: the host copies them faster
 */
static bool choose_width(struct packer *k, unsigned int most)
{
	const struct neff_var *v = &k->p->var[k->var];
	uint32_t bytes =
		v->size < NEURON_STREAM_RAW_MAX ? (uint32_t)v->size & ~3u : NEURON_STREAM_RAW_MAX;
	static const uint32_t room = NEURON_STREAM_RAW_MAX + NEURON_STREAM_OVERHEAD;
	uint64_t best = UINT64_MAX;
	uint8_t *out = malloc(room);

	k->width = 1;
	for (unsigned int w = 1; out && w <= most; w *= 2) {
		uint32_t size = neuron_compress(v->data, bytes, w, k->codes, out, &k->work);
		uint64_t cost = k->codes ? size : host_time(kind_of(k, out), bytes, size);

		if (cost < best) {
			best = cost;
			k->width = w;
		}
	}
	free(out);
	return k->codes || best <= WORTH(host_time(0, bytes, 0));
}

/* The bytes that a descriptor reads, one behind the other */
static int read_pattern(struct packer *k, const struct neff_pattern *p)
{
	const uint8_t *data = k->p->var[k->var].data;
	uint64_t n[4] = { 1, 1, 1, 1 }, i[4] = { 0 }, bytes = ncc_pattern_bytes(p);
	uint8_t *to;

	if (bytes > k->raw_size) {
		uint8_t *raw = realloc(k->raw, bytes);

		if (!raw)
			return -1;
		k->raw = raw;
		k->raw_size = bytes;
	}
	to = k->raw;
	for (unsigned int d = 1; d < p->ndim; d++)
		n[d] = p->size[d];
	for (i[3] = 0; i[3] < n[3]; i[3]++)
		for (i[2] = 0; i[2] < n[2]; i[2]++)
			for (i[1] = 0; i[1] < n[1]; i[1]++) {
				int64_t off = (int64_t)p->offset;

				for (unsigned int d = 1; d < p->ndim; d++)
					off += (int64_t)i[d] * p->step[d];
				memcpy(to, data + off, p->size[0]);
				to += p->size[0];
			}
	return 0;
}

/* The stream of bytes [lo, hi) of what was read; NULL: there are too many, or too much in them */
static const struct stream *stream_of(struct packer *k, const struct neff_pattern *from,
				      uint64_t lo, uint64_t hi)
{
	const uint64_t room = WORTH(k->p->var[k->var].size);
	uint8_t out[NEURON_STREAM_RAW_MAX + NEURON_STREAM_OVERHEAD];
	struct stream *s;

	for (unsigned int i = 0; i < k->n; i++) {
		s = &k->stream[i];
		if (s->lo == lo && s->hi == hi && same(&s->from, from))
			return s;
	}
	if (k->n == MAX_STREAMS)
		return NULL;
	s = &k->stream[k->n++];
	*s = (struct stream){ .from = *from, .lo = lo, .hi = hi, .at = k->size };
	s->size = neuron_compress(k->raw + lo, (uint32_t)(hi - lo), k->width, k->codes, out,
				  &k->work);
	if (s->size > NEURON_STREAM_RAW_MAX || s->size > room - k->size)
		return NULL;
	s->kind = (uint8_t)kind_of(k, out);
	memcpy(k->out + k->size, out, s->size);
	k->size += s->size;
	return s;
}

/* The cut of a pattern: into pieces of whole dimensions below d, and of up to n of that one */
struct cut {
	unsigned int d;
	uint64_t n, bytes; /* bytes: of one of them */
};

static struct cut cut_of(const struct ncc_prog *p, const struct neff_pattern *to)
{
	struct cut c = { 1, 1, to->size[0] };
	uint64_t runs = 1, most;

	while (c.d < to->ndim && c.bytes * to->size[c.d] <= NEURON_STREAM_RAW_MAX &&
	       runs * to->size[c.d] < p->target->packet_max) {
		c.bytes *= to->size[c.d];
		runs *= to->size[c.d++];
	}
	if (c.d == to->ndim)
		return c;
	c.n = NEURON_STREAM_RAW_MAX / c.bytes;
	most = (p->target->packet_max - 1) / runs;
	c.n = c.n < most ? c.n : most;
	c.n = c.n < to->size[c.d] ? c.n : to->size[c.d];
	return c;
}

/* Appends a descriptor's pieces to *list; false: no memory, or the constant is not worth it */
static bool cut_desc(struct packer *k, const struct neff_desc *d, struct neff_desc **list,
		     unsigned int *n)
{
	const struct neff_pattern *to = &d->to;
	const struct cut c = cut_of(k->p, to);
	uint64_t index[5] = { 0 }, lo = 0, all = ncc_pattern_bytes(to);

	if (read_pattern(k, &d->from))
		return false;
	while (lo < all) {
		uint64_t m = c.d == to->ndim			? 1
			     : to->size[c.d] - index[c.d] < c.n ? to->size[c.d] - index[c.d]
								: c.n;
		const struct stream *s = stream_of(k, &d->from, lo, lo + m * c.bytes);
		struct neff_desc *grown = s ? realloc(*list, (*n + 1) * sizeof(**list)) : NULL;
		struct neff_desc *next;

		if (!grown)
			return false;
		*list = grown;
		next = &grown[(*n)++];
		*next = (struct neff_desc){
			.from = { k->var, s->at, 1, { s->size }, { 1 } },
			.to = *to,
			.op = NEFF_DECOMPRESS,
			.from_dtype = dtypes[k->width],
			.to_dtype = dtypes[k->width],
		};
		next->to.ndim = c.d;
		for (unsigned int i = c.d; i < to->ndim; i++)
			next->to.offset += index[i] * (uint64_t)to->step[i];
		if (c.d < to->ndim) {
			next->to.ndim = c.d + 1;
			next->to.size[c.d] = m;
		}
		k->host.after += host_time(s->kind, m * c.bytes, s->size);
		k->host.before += host_time(0, m * c.bytes, 0);
		lo += m * c.bytes;
		index[c.d] += m;
		for (unsigned int i = c.d; i < to->ndim && index[i] == to->size[i]; i++) {
			index[i] = 0;
			index[i + 1]++;
		}
	}
	return true;
}

/* A DMA's descriptors with those that read the constant cut into streams; NULL: as above */
static struct neff_desc *cut_dma(struct packer *k, const struct neff_dma *dma, unsigned int *n)
{
	struct neff_desc *list = NULL;
	bool ok = true;

	*n = 0;
	for (unsigned int i = 0; i < dma->ndesc && ok; i++) {
		const struct neff_desc *d = &dma->desc[i];
		struct neff_desc *grown;

		if (d->from.var == k->var) {
			ok = cut_desc(k, d, &list, n);
			continue;
		}
		grown = realloc(list, (*n + 1) * sizeof(*list));
		ok = grown;
		if (ok) {
			list = grown;
			list[(*n)++] = *d;
		}
	}
	if (ok)
		return list;
	free(list);
	return NULL;
}

static bool reads(const struct neff_dma *dma, uint32_t var)
{
	for (unsigned int i = 0; i < dma->ndesc; i++)
		if (dma->desc[i].from.var == var)
			return true;
	return false;
}

/* The time that DMA engines take for those of n descriptors that read the constant */
static uint64_t time_of(const struct packer *k, const struct neff_desc *desc, unsigned int n)
{
	uint64_t time = 0;

	for (unsigned int i = 0; i < n; i++)
		if (desc[i].from.var == k->var)
			time += ncc_desc_time(&k->p->target->cost, &desc[i]);
	return time;
}

static bool is_better(const struct packer *k)
{
	if (k->when == NCC_COMPRESS_ALWAYS)
		return true;
	return k->chip.after <= WORTH(k->chip.before) &&
	       (k->when == NCC_COMPRESS_CHIP || k->host.after <= WORTH(k->host.before));
}

/* All or nothing: lists of every DMA that reads the constant, which then take the old ones' places */
static bool pack(struct packer *k, struct neff_desc **list, unsigned int *n)
{
	struct ncc_prog *p = k->p;
	struct neff_var *v = &p->var[k->var];
	bool ok = true;

	memset(list, 0, p->ndma * sizeof(*list));
	for (unsigned int i = 0; i < p->ndma && ok; i++) {
		if (!reads(&p->dma[i], k->var))
			continue;
		list[i] = cut_dma(k, &p->dma[i], &n[i]);
		ok = list[i];
		k->chip.before += time_of(k, p->dma[i].desc, p->dma[i].ndesc);
		k->chip.after += ok ? time_of(k, list[i], n[i]) : 0;
	}
	ok = ok && is_better(k);
	for (unsigned int i = 0; i < p->ndma; i++) {
		if (!ok)
			free(list[i]);
		if (!ok || !list[i])
			continue;
		p->ndesc += n[i] - p->dma[i].ndesc;
		free(p->dma[i].desc);
		p->dma[i].desc = list[i];
		p->dma[i].ndesc = n[i];
	}
	if (!ok)
		return false;
	if (!p->lent[k->var])
		free(v->data);
	p->lent[k->var] = false;
	v->data = k->out;
	v->size = k->size;
	k->out = NULL;
	return true;
}

static void add(struct ncc_before_after *sum, const struct ncc_before_after *x)
{
	sum->before += x->before;
	sum->after += x->after;
}

int ncc_compress_constants(struct ncc_prog *p, enum ncc_compress when, struct ncc_error *err)
{
	struct neff_desc **list = calloc(p->ndma + 1, sizeof(*list));
	unsigned int *n = calloc(p->ndma + 1, sizeof(*n));
	struct packer *k = NULL; /* its half a megabyte is made for the first constant */
	bool memory = list && n;

	for (uint32_t i = 0; i < p->nvars && memory; i++) {
		struct ncc_before_after bytes = { p->var[i].size, 0 };
		unsigned int width = 4;

		if (p->var[i].type != NEFF_VAR_FILE || !p->var[i].data || bytes.before < LEAST ||
		    !only_copied(p, i, &width))
			continue;
		k = k ? k : calloc(1, sizeof(*k));
		memory = k;
		if (!memory)
			break;
		k->p = p;
		k->when = when;
		k->codes = when != NCC_COMPRESS_AUTO;
		k->var = i;
		k->n = 0;
		k->size = 0;
		k->chip = k->host = (struct ncc_before_after){ 0, 0 };
		k->out = malloc(bytes.before);
		memory = k->out;
		if (!memory)
			break;
		if (choose_width(k, width) && pack(k, list, n)) {
			p->compressed.constants++;
			bytes.after = p->var[i].size;
			add(&p->compressed.bytes, &bytes);
			add(&p->compressed.chip, &k->chip);
			add(&p->compressed.host, &k->host);
		}
		free(k->out);
	}
	if (k)
		free(k->raw);
	free(k);
	free(list);
	free(n);
	return memory ? 0 : ncc_no_memory(err);
}
