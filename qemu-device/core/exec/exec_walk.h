/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk through an access pattern, for the loops that take many: exec_stream.c and the
 * kernels. Private to them and to exec_*.c.
 */
#ifndef NCORE_EXEC_WALK_H
#define NCORE_EXEC_WALK_H

#include "exec.h"

/* Do a partition's elements lie side by side? */
static inline bool exec_flat(const struct exec_operand *o)
{
	return o->s.ndim == 1 && o->s.step[0] == o->s.size;
}

/* Start at partition p's element 0. */
static inline void exec_operand_row(struct exec_operand *o, unsigned int p)
{
	o->s.base = o->part0 + p * o->stride;
	o->s.pos = o->s.first;
	memset(o->s.idx, 0, sizeof(o->s.idx));
}

/* Do the operands share no byte? */
static inline bool exec_apart(const struct exec_operand *a, unsigned int a_partitions,
			      const struct exec_operand *b, unsigned int b_partitions)
{
	return a->r.psum != b->r.psum || a->r.lo >= b->r.hi || b->r.lo >= a->r.hi ||
	       a->r.start + a_partitions <= b->r.start || b->r.start + b_partitions <= a->r.start;
}

/* Prefetches the next partition: rows lie too far apart for the processor to do it by itself. */
static inline void exec_operand_ahead(const struct exec_operand *o)
{
	const uint8_t *next = o->s.base + o->r.lo + o->stride;
	uint32_t bytes = o->r.hi - o->r.lo;

	if (bytes > EXEC_AHEAD)
		bytes = EXEC_AHEAD;
	for (uint32_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(next + i);
}

/* Move over n elements of the fastest dimension, n at most what is left of it */
static inline void exec_stream_advance(struct exec_stream *s, uint32_t n)
{
	int d = s->ndim - 1;

	s->idx[d] += n;
	s->pos += n * s->step[d];
	while (s->idx[d] == s->num[d]) {
		s->pos -= s->num[d] * s->step[d];
		s->idx[d] = 0;
		if (--d < 0)
			return;
		s->idx[d]++;
		s->pos += s->step[d];
	}
}

/* Whole rows of the fastest dimension in the next n elements, as far as the second one reaches */
static inline uint32_t exec_stream_rows(const struct exec_stream *s, size_t n)
{
	int d = s->ndim - 1;
	size_t rows = n / s->num[d];
	uint32_t left;

	if (!d || s->idx[d])
		return 0;
	left = s->num[d - 1] - s->idx[d - 1];
	return left < rows ? left : (uint32_t)rows;
}

/* Move over rows that exec_stream_rows() counted */
static inline void exec_stream_skip(struct exec_stream *s, uint32_t rows)
{
	int d = s->ndim - 1;

	s->idx[d - 1] += rows - 1;
	s->pos += (rows - 1) * s->step[d - 1];
	exec_stream_advance(s, s->num[d]);
}

static inline uint32_t exec_stream_run(const struct exec_stream *s, size_t n)
{
	uint32_t left = s->num[s->ndim - 1] - s->idx[s->ndim - 1];

	return left < n ? left : n;
}

/* The next n elements if they are contiguous, which are then past; else NULL */
static inline void *exec_stream_at(struct exec_stream *s, size_t n)
{
	void *in_place = s->base + s->pos;

	if (s->step[s->ndim - 1] != s->size || exec_stream_run(s, n) != n)
		return NULL;
	exec_stream_advance(s, n);
	return in_place;
}

#endif
