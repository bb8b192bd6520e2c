/* SPDX-License-Identifier: MIT */
/*
 * Transfers of a program: patterns inside their variables and memories, what computes on the way
 * (docs/neff.md). Called by neff_check.c.
 */
#include "neff_check.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/hw/gen.h"
#include "neuron/isa/check.h"
#include "neuron/isa/compress.h"

#define STOP_DESCS 256 /* after so many it is asked whether to go on */

/* The place of an error: the engine's DMA, its descriptor, and the side */
struct at {
	unsigned int eng, dma, desc;
	const char *side;
};

static int pattern_fail(struct ctx *c, const struct at *at, const char *text)
{
	return neff_fail(c->err, "%s/%s.json: dma[%u] desc[%u]: '%s': %s", c->sg->name,
			 c->target->engine[at->eng].name, at->dma, at->desc, at->side, text);
}

/* The lowest byte of a pattern and the one behind its highest; false on overflow */
static bool pattern_extent(const struct neff_pattern *p, int64_t *lo, int64_t *hi)
{
	int64_t span;

	if (p->offset > INT64_MAX || p->size[0] > INT64_MAX)
		return false;
	*lo = (int64_t)p->offset;
	if (__builtin_add_overflow(*lo, (int64_t)p->size[0], hi))
		return false;
	for (unsigned int d = 1; d < p->ndim; d++) {
		if (p->size[d] > INT64_MAX ||
		    __builtin_mul_overflow((int64_t)p->size[d] - 1, p->step[d], &span))
			return false;
		if (span < 0 ? __builtin_add_overflow(*lo, span, lo)
			     : __builtin_add_overflow(*hi, span, hi))
			return false;
	}
	return true;
}

static int pattern_check(struct ctx *c, const struct at *at, const struct neff_pattern *p,
			 uint64_t *bytes)
{
	const struct neff_var *v;
	uint64_t runs = 1;
	int64_t lo, hi;

	if (p->var >= c->sg->nvars)
		return pattern_fail(c, at, "no such variable");

	v = &c->sg->vars[p->var];
	if (p->ndim < 1 || p->ndim > 4 || p->step[0] != 1)
		return pattern_fail(c, at, "not 1 to 4 dimensions, the innermost with step 1");

	for (unsigned int d = 0; d < p->ndim; d++)
		if (!p->size[d])
			return pattern_fail(c, at, "a size of 0");
	if (!pattern_extent(p, &lo, &hi) || lo < 0)
		return pattern_fail(c, at, "outside its variable");

	for (unsigned int d = 1; d < p->ndim; d++)
		if (__builtin_mul_overflow(runs, p->size[d], &runs))
			runs = UINT64_MAX;
	if (runs > c->most_runs - c->runs)
		return pattern_fail(c, at, "too many pieces");
	c->runs += runs;

	if (__builtin_mul_overflow(runs, p->size[0], bytes))
		return pattern_fail(c, at, "too many bytes");
	if (v->type == NEFF_VAR_STATE_BUFFER)
		return neff_pattern_in_core(c->target, p)
			       ? 0
			       : pattern_fail(c, at, "outside a partition of the core");
	return (uint64_t)hi <= v->size ? 0 : pattern_fail(c, at, "outside its variable");
}

/* Checks the table and the indices of a gather or a scatter. */
static int indices_check(struct ctx *c, struct at *at, const struct neff_desc *d)
{
	const struct neff_pattern *table = neff_table(d);
	uint64_t n = neff_row_count(d), bytes = n * sizeof(uint32_t), end; /* n: at most 2^24 */
	const struct neff_var *v;

	at->side = d->op == NEFF_GATHER ? "from" : "to";
	if (c->sg->vars[table->var].type == NEFF_VAR_STATE_BUFFER || table->ndim != 2 ||
	    table->size[0] > NEFF_MAX_ROW || table->size[1] > NEFF_MAX_ROWS)
		return pattern_fail(c, at,
				    "not a table in DRAM of at most "
				    "65536 rows of at most 65536 bytes");

	at->side = d->op == NEFF_GATHER ? "to" : "from";
	if (neff_rows(d)->size[0] != table->size[0])
		return pattern_fail(c, at, "its pieces are not the table's rows");

	at->side = "index";
	if (d->index >= c->sg->nvars)
		return pattern_fail(c, at, "no such variable");
	if (n > c->most_runs - c->runs)
		return pattern_fail(c, at, "too many pieces");
	c->runs += n;

	v = &c->sg->vars[d->index];
	if (v->type == NEFF_VAR_STATE_BUFFER)
		return neff_run_in_core(c->target, d->index_off, bytes)
			       ? 0
			       : pattern_fail(c, at, "outside a partition of the core");
	if (__builtin_add_overflow(d->index_off, bytes, &end) || end > v->size)
		return pattern_fail(c, at, "outside its variable");
	return 0;
}

/* Elements of types that the core has, as many on every side; no run ends within one */
static int elements_check(struct ctx *c, struct at *at, const struct neff_pattern *p, uint8_t dtype,
			  uint64_t bytes, uint64_t elements)
{
	uint64_t size = neuron_isa_dtypes[dtype & (NEURON_ISA_DTYPE_COUNT - 1)].size;

	if (dtype >= NEURON_ISA_DTYPE_COUNT || !(c->target->dtypes >> dtype & 1))
		return pattern_fail(c, at,
				    "not of a type that DMA engines of this generation have");
	if (p->size[0] % size)
		return pattern_fail(c, at, "its pieces are not whole elements");
	return bytes == elements * size ? 0 : pattern_fail(c, at, "not as many elements as 'to'");
}

/* Elements that one packet moves, on one side; on the other one the bytes of a stream, in a row */
static int stream_check(struct ctx *c, struct at *at, const struct neff_desc *d, uint64_t from,
			uint64_t to)
{
	const bool compress = d->op == NEFF_COMPRESS;
	const struct neff_pattern *elements = compress ? &d->from : &d->to;
	const struct neff_pattern *stream = compress ? &d->to : &d->from;
	uint64_t bytes = compress ? from : to, pieces = bytes / elements->size[0];

	at->side = compress ? "to" : "from";
	if (stream->ndim > 1 || stream->size[0] > NEURON_UDMA_DESC_LEN_MAX)
		return pattern_fail(c, at, "a stream is one piece of at most 65536 bytes");
	at->side = compress ? "from" : "to";
	if (bytes > NEURON_STREAM_RAW_MAX || pieces > c->target->packet_max)
		return pattern_fail(c, at, "more than the elements of a stream, or in more pieces");
	if (d->from_dtype != d->to_dtype)
		return pattern_fail(c, at, "a stream's elements have one type");
	return elements_check(c, at, elements, d->to_dtype, bytes,
			      bytes / neuron_isa_dtypes[d->to_dtype].size);
}

/* One packet of elements, as many as the shape says, that a descriptor's word can say */
static int transpose_check(struct ctx *c, struct at *at, const struct neff_desc *d, uint64_t from,
			   uint64_t to)
{
	const uint64_t most = c->target->packet_max, size = neuron_isa_dtypes[d->to_dtype].size;
	uint64_t elements = 1;
	int ret;

	for (unsigned int i = 0; i < 4; i++) {
		if (!d->shape[i] || d->shape[i] > NEFF_MAX_TURNED)
			return pattern_fail(c, at, "not as many elements as the shape");
		elements *= d->shape[i];
	}
	if (d->shape[0] > NEURON_DMA_TRANSPOSE_FIRST_MAX ||
	    d->shape[1] * d->shape[2] > NEURON_DMA_SOURCES_MAX)
		return pattern_fail(c, at,
				    "transposes have a first dimension of at most 4096, "
				    "and at most 16 elements in the middle");
	if (to > NEURON_STREAM_RAW_MAX || from / d->from.size[0] > most ||
	    to / d->to.size[0] > most)
		return pattern_fail(c, at,
				    "a transpose is of at most 65536 bytes, "
				    "and in no more pieces than a packet");
	if (d->from_dtype != d->to_dtype || (size != 2 && size != 4))
		return pattern_fail(c, at, "a transpose's elements have 2 or 4 bytes");
	if (to != elements * size)
		return pattern_fail(c, at, "not as many elements as the shape");
	ret = elements_check(c, at, &d->to, d->to_dtype, to, elements);
	at->side = "from";
	return ret ? ret : elements_check(c, at, &d->from, d->from_dtype, from, elements);
}

static int compute_check(struct ctx *c, struct at *at, const struct neff_desc *d, uint64_t from,
			 uint64_t to)
{
	uint64_t elements;
	int ret;

	if (c->target->core < 2)
		return pattern_fail(c, at, "DMA engines of this generation only copy");
	if (d->nmore >= NEURON_DMA_SOURCES_MAX ||
	    ((d->op == NEFF_CAST || neff_streams(d) || d->op == NEFF_TRANSPOSE) && d->nmore))
		return pattern_fail(c, at, "too many sources");
	if (d->to_dtype >= NEURON_ISA_DTYPE_COUNT || !neuron_isa_dtypes[d->to_dtype].size)
		return pattern_fail(c, at,
				    "not of a type that DMA engines of this generation have");
	if (neff_streams(d))
		return stream_check(c, at, d, from, to);
	if (d->op == NEFF_TRANSPOSE)
		return transpose_check(c, at, d, from, to);
	elements = to / neuron_isa_dtypes[d->to_dtype].size;
	ret = elements_check(c, at, &d->to, d->to_dtype, to, elements);
	at->side = "from";
	for (unsigned int i = 0; i <= d->nmore && !ret; i++) {
		const struct neff_pattern *p = i ? &d->more[i - 1] : &d->from;

		ret = i ? pattern_check(c, at, p, &from) : 0;
		ret = ret ? ret : elements_check(c, at, p, d->from_dtype, from, elements);
	}
	return ret;
}

static int desc_check(struct ctx *c, struct at *at, const struct neff_desc *d)
{
	uint64_t from = 0, to = 0;
	enum neff_var_type type;
	int ret;

	at->side = "from";
	ret = pattern_check(c, at, &d->from, &from);
	if (ret)
		return ret;
	at->side = "to";
	ret = pattern_check(c, at, &d->to, &to);
	if (ret)
		return ret;

	if (neff_computes(d))
		ret = compute_check(c, at, d, from, to);
	else if (neff_indexed(d))
		ret = indices_check(c, at, d);
	else if (from != to)
		ret = pattern_fail(c, at, "not as many bytes as 'from'");
	if (ret)
		return ret;

	at->side = "to";
	type = c->sg->vars[d->to.var].type;
	if (type == NEFF_VAR_INPUT || type == NEFF_VAR_FILE)
		return pattern_fail(c, at, "an input or a constant is not written");
	return 0;
}

int neff_dma_check(struct ctx *c, unsigned int eng, unsigned int i)
{
	const struct neff_dma *dma = &c->sg->engine[eng].dma[i];
	const char *sg = c->sg->name, *key = c->target->engine[eng].name;
	struct at at = { eng, i, 0, NULL };
	int ret = 0;

	if (dma->queue >= c->sg->nqueues || c->sg->queues[dma->queue].owner != eng)
		return neff_fail(c->err, "%s/%s.json: dma[%u]: its queue set has another owner", sg,
				 key, i);
	if (dma->semaphore < -1 || dma->semaphore >= (int)neff_program_semaphores(c->model))
		return neff_fail(c->err, "%s/%s.json: dma[%u]: semaphore %d", sg, key, i,
				 dma->semaphore);
	if (!dma->ndesc)
		return neff_fail(c->err, "%s/%s.json: dma[%u]: no descriptors", sg, key, i);
	for (at.desc = 0; !ret && at.desc < dma->ndesc; at.desc++) {
		ret = (i + at.desc) % STOP_DESCS ? 0 : neff_stop(c->limits, c->err);
		if (!ret)
			ret = desc_check(c, &at, &dma->desc[at.desc]);
	}
	return ret;
}

int neff_gathers_check(struct ctx *c, unsigned int eng)
{
	const struct neff_engine *e = &c->sg->engine[eng];
	uint8_t *seen = calloc(c->sg->nqueues + 1, 1);
	int ret = seen ? 0 : neff_nomem(c->err);

	for (unsigned int i = 0; !ret && i < e->ndma; i++) {
		const struct neff_dma *dma = &e->dma[i];

		for (unsigned int k = 0; k < dma->ndesc; k++)
			seen[dma->queue] |= neff_indexed(&dma->desc[k]) ? 2 : 1;
		if (seen[dma->queue] == 3)
			ret = neff_fail(c->err,
					"%s/%s.json: dma[%u]: "
					"a copy in a queue set of gathers or scatters",
					c->sg->name, c->target->engine[eng].name, i);
	}
	free(seen);
	return ret;
}
