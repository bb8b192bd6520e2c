/* SPDX-License-Identifier: MIT */
/*
 * Access patterns as streams of elements (docs/isa.md, Access patterns): located in host memory
 * once an instruction, rewound for each partition. Operands were checked before. Called by
 * exec_*.c only.
 */
#include "exec_walk.h"

#include <string.h>

/* Merge dimensions that walk as one, drop those of one element: what is left is at most 4 */
static void exec_stream_merge(struct exec_stream *s, const struct neuron_ap *ap)
{
	s->ndim = 0;
	for (int d = 0; d < NEURON_AP_DIMS; d++) {
		int64_t step = (int64_t)ap->step[d] * s->size;
		unsigned int n = s->ndim;

		if (ap->num[d] == 1)
			continue;
		if (n && s->step[n - 1] == step * ap->num[d]) {
			s->step[n - 1] = step;
			s->num[n - 1] *= ap->num[d];
			continue;
		}
		s->step[n] = step;
		s->num[n] = ap->num[d];
		s->ndim++;
	}
	if (!s->ndim) {
		s->step[0] = s->size;
		s->num[0] = 1;
		s->ndim = 1;
	}
}

void exec_operand_init(const struct tpb *t, struct exec_operand *o, const struct neuron_ap *ap,
		       const struct neuron_isa_region *r)
{
	o->r = *r;
	o->dtype = ap->dtype;
	o->stride = o->r.psum ? t->cfg.psum_host_stride : t->cfg.sbuf_host_stride;
	o->part0 = (o->r.psum ? t->cfg.psum : t->cfg.sbuf) + o->r.start * o->stride;
	o->s.size = o->r.size;
	o->s.count = o->r.count;
	o->s.first = o->r.first;
	exec_stream_merge(&o->s, ap);
	exec_operand_row(o, 0);
}

/* Rows are often only a few elements long. */
static inline void exec_copy(uint8_t *to, const uint8_t *from, size_t n)
{
	if (n > 128)
		memcpy(to, from, n);
	else
		exec_copy_few(to, from, n);
}

#define EXEC_GATHER(type)                                      \
	do {                                                   \
		type *out = to;                                \
		for (uint32_t i = 0; i < n; i++, from += step) \
			memcpy(&out[i], from, sizeof(type));   \
	} while (0)

#define EXEC_SCATTER(type)                                   \
	do {                                                 \
		const type *in = from;                       \
		for (uint32_t i = 0; i < n; i++, to += step) \
			memcpy(to, &in[i], sizeof(type));    \
	} while (0)

static void exec_gather(void *to, const uint8_t *from, int64_t step, uint8_t size, uint32_t n)
{
	if (step == size)
		exec_copy(to, from, (size_t)n * size);
	else if (size == 1)
		EXEC_GATHER(uint8_t);
	else if (size == 2)
		EXEC_GATHER(uint16_t);
	else
		EXEC_GATHER(uint32_t);
}

static void exec_scatter(uint8_t *to, const void *from, int64_t step, uint8_t size, uint32_t n)
{
	if (step == size)
		exec_copy(to, from, (size_t)n * size);
	else if (size == 1)
		EXEC_SCATTER(uint8_t);
	else if (size == 2)
		EXEC_SCATTER(uint16_t);
	else
		EXEC_SCATTER(uint32_t);
}

static void exec_gather_rows(uint8_t *to, const struct exec_stream *s, uint32_t rows)
{
	int d = s->ndim - 1;
	const uint8_t *from = s->base + s->pos;
	size_t bytes = (size_t)s->num[d] * s->size;

	for (; rows; rows--, from += s->step[d - 1], to += bytes)
		exec_gather(to, from, s->step[d], s->size, s->num[d]);
}

static void exec_scatter_rows(const struct exec_stream *s, const uint8_t *from, uint32_t rows)
{
	int d = s->ndim - 1;
	uint8_t *to = s->base + s->pos;
	size_t bytes = (size_t)s->num[d] * s->size;

	for (; rows; rows--, to += s->step[d - 1], from += bytes)
		exec_scatter(to, from, s->step[d], s->size, s->num[d]);
}

const void *exec_stream_get(struct exec_stream *s, void *buf, size_t n)
{
	uint8_t *out = buf;

	const void *in_place = exec_stream_at(s, n);

	if (in_place)
		return in_place;
	while (n) {
		uint32_t rows = exec_stream_rows(s, n), run;

		if (rows) {
			exec_gather_rows(out, s, rows);
			exec_stream_skip(s, rows);
			out += (size_t)rows * s->num[s->ndim - 1] * s->size;
			n -= (size_t)rows * s->num[s->ndim - 1];
			continue;
		}
		run = exec_stream_run(s, n);
		exec_gather(out, s->base + s->pos, s->step[s->ndim - 1], s->size, run);
		exec_stream_advance(s, run);
		out += (size_t)run * s->size;
		n -= run;
	}
	return buf;
}

void exec_stream_put(struct exec_stream *s, const void *buf, size_t n)
{
	const uint8_t *in = buf;

	while (n) {
		uint32_t rows = exec_stream_rows(s, n), run;

		if (rows) {
			exec_scatter_rows(s, in, rows);
			exec_stream_skip(s, rows);
			in += (size_t)rows * s->num[s->ndim - 1] * s->size;
			n -= (size_t)rows * s->num[s->ndim - 1];
			continue;
		}
		run = exec_stream_run(s, n);
		exec_scatter(s->base + s->pos, in, s->step[s->ndim - 1], s->size, run);
		exec_stream_advance(s, run);
		in += (size_t)run * s->size;
		n -= run;
	}
}

void exec_stream_runs(const struct exec_stream *s, struct exec_runs *runs)
{
	unsigned int inner = s->ndim - 1;

	runs->len = s->num[inner];
	runs->step = s->step[inner];
	runs->at[0] = s->first;
	runs->count = 1;
	for (unsigned int d = inner; d-- > 0;) { /* what there is, again for each step of d */
		uint32_t n = runs->count;

		for (uint32_t i = 1; i < s->num[d]; i++)
			for (uint32_t j = 0; j < n; j++)
				runs->at[runs->count++] = runs->at[j] + i * s->step[d];
	}
}

const float *exec_stream_floats(const struct tpb *t, struct exec_stream *s, uint8_t dtype,
				float *buf, size_t n)
{
	const void *in = exec_stream_get(s, t->scratch->raw, n);

	if (dtype == NEURON_DT_FP32)
		return in;
	t->kern->load(dtype, buf, in, n);
	return buf;
}

void exec_stream_store(const struct tpb *t, struct exec_stream *s, uint8_t dtype, const float *x,
		       size_t n)
{
	void *at = exec_stream_at(s, n);

	exec_store(t, dtype, at ? at : t->scratch->row, x, n);
	if (!at)
		exec_stream_put(s, t->scratch->row, n);
}

bool exec_stream_distinct(const struct exec_stream *s)
{
	int64_t reach = s->size; /* bytes that the faster dimensions span */

	for (int d = s->ndim - 1; d >= 0; d--) {
		int64_t step = s->step[d] < 0 ? -s->step[d] : s->step[d];

		if (step < reach)
			return false;
		reach += (s->num[d] - 1) * step;
	}
	return true;
}

/*
 * Partitions of two operands are the same or disjoint (start rule), so only the bytes of one
 * partition matter. The same bytes in the same order, each visited once, are safe too.
 */
bool exec_chunks_safe(const struct exec_operand *dst, const struct exec_operand *src)
{
	const struct exec_stream *a = &dst->s, *b = &src->s;

	if (dst->r.psum != src->r.psum || dst->r.start != src->r.start || dst->r.lo >= src->r.hi ||
	    src->r.lo >= dst->r.hi)
		return true;
	if (a->ndim != b->ndim || a->first != b->first || a->size != b->size)
		return false;
	for (unsigned int d = 0; d < a->ndim; d++)
		if (a->step[d] != b->step[d] || a->num[d] != b->num[d])
			return false;
	return exec_stream_distinct(a);
}

struct exec_arith_scalar exec_scalar_place(const struct tpb *t, const struct neuron_scalar *s)
{
	struct exec_arith_scalar r = { .dtype = s->dtype, .value = s->f };
	uint32_t off = s->offset;

	if (s->kind == NEURON_SCALAR_IMM)
		return r;
	if (off >= NEURON_PSUM_OFFSET) {
		off -= NEURON_PSUM_OFFSET;
		r.stride = t->cfg.psum_host_stride;
		r.at = t->cfg.psum + off / NEURON_PSUM_PART_STRIDE * r.stride +
		       off % NEURON_PSUM_PART_STRIDE;
	} else {
		r.stride = t->cfg.sbuf_host_stride;
		r.at = t->cfg.sbuf + off / NEURON_SBUF_PART_STRIDE * r.stride +
		       off % NEURON_SBUF_PART_STRIDE;
	}
	return r;
}

static const uint8_t *exec_scalar_at(const struct tpb *t, const struct neuron_scalar *s,
				     unsigned int p)
{
	struct exec_arith_scalar place = exec_scalar_place(t, s);

	return place.at + p * place.stride;
}

float exec_scalar_f32(const struct tpb *t, const struct neuron_scalar *s, unsigned int p)
{
	float out[16];

	if (s->kind == NEURON_SCALAR_IMM)
		return s->f;
	t->kern->load(s->dtype, out, exec_scalar_at(t, s, p), 1);
	return out[0];
}
