// SPDX-License-Identifier: MIT
/*
 * Common subexpressions: exporters write a value twice that is computed once (both uses of a
 * softmax's exponentials), and a loop that is unrolled has its constants in every iteration.
 * Operations of equal operands and attributes, and constants of equal bytes, are one. Equal
 * conversions stay apart, as what reads them often does them as it reads, but they are equal
 * operands. Those of predicates to floats of 16 bits are one: products read them, which cannot.
 */
#include <stdlib.h>
#include <string.h>

#include "pass.h"

#define BUCKETS 4096
#define SAMPLES 64 /* bytes of a constant */

struct common {
	struct ncc_op *first[BUCKETS];
	struct ncc_op **next, **equal; /* by the number of an operation; equal: the first one */
};

static bool stays_apart(const struct ncc_op *op)
{
	return op->kind == NCC_CONVERT && op->shape.dtype != NEURON_DT_INT8 &&
	       !(op->in[0]->shape.pred && ncc_is_float(op->shape.dtype) &&
		 ncc_dtype_size(op->shape.dtype) == 2);
}

static bool can_be_common(const struct ncc_op *op)
{
	switch (op->kind) {
	case NCC_CONST:
	case NCC_BROADCAST:
	case NCC_BITCAST:
	case NCC_RESHAPE:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
	case NCC_CONCAT:
	case NCC_REDUCE:
	case NCC_GATHER:
	case NCC_TAKE:
	case NCC_COMBINE:
	case NCC_ORDER:
	case NCC_RANDOM:
		return true;
	case NCC_PAD: /* of floats may become one of what they are cast to */
		return !ncc_is_float(op->shape.dtype);
	default:
		return ncc_is_elementwise(op->kind);
	}
}

static size_t bytes_of(const struct ncc_op *op)
{
	return (size_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype);
}

static bool same_attributes(const struct ncc_op *a, const struct ncc_op *b)
{
	const size_t dims = a->shape.ndim * sizeof(int64_t);

	switch (a->kind) {
	case NCC_CONST:
		return a->data == b->data || !memcmp(a->data, b->data, bytes_of(a));
	case NCC_BROADCAST:
		return !memcmp(a->map, b->map, a->in[0]->shape.ndim);
	case NCC_TRANSPOSE:
		return !memcmp(a->map, b->map, a->shape.ndim);
	case NCC_SLICE:
		return !memcmp(a->start, b->start, dims) && !memcmp(a->stride, b->stride, dims);
	case NCC_PAD:
		return !memcmp(a->low, b->low, dims) && !memcmp(a->high, b->high, dims) &&
		       !memcmp(a->interior, b->interior, dims);
	case NCC_CONCAT:
		return a->axis == b->axis;
	case NCC_REDUCE:
		return a->mask == b->mask && a->func == b->func;
	case NCC_COMBINE:
	case NCC_ORDER:
		return a->func == b->func;
	default:
		return true;
	}
}

static bool same_operands(const struct common *c, const struct ncc_op *a, const struct ncc_op *b)
{
	for (unsigned int i = 0; i < a->nin; i++)
		if (c->equal[a->in[i]->id] != c->equal[b->in[i]->id])
			return false;
	return true;
}

static bool same(const struct common *c, const struct ncc_op *a, const struct ncc_op *b)
{
	return a->kind == b->kind && a->nin == b->nin && a->shape.dtype == b->shape.dtype &&
	       a->shape.pred == b->shape.pred && ncc_same_dims(&a->shape, &b->shape) &&
	       a->exact == b->exact && a->upright == b->upright && a->narrowed == b->narrowed &&
	       same_operands(c, a, b) && same_attributes(a, b);
}

/* Some of a constant's bytes: equal ones are nearly always of equal constants. */
static uint64_t sample(const struct ncc_op *op)
{
	size_t n = bytes_of(op), step = n / SAMPLES + 1;
	uint64_t h = n;

	for (size_t i = 0; i < n; i += step)
		h = (h ^ ((const uint8_t *)op->data)[i]) * 0x9e3779b97f4a7c15u;
	return h;
}

static unsigned int hash(const struct common *c, const struct ncc_op *op)
{
	uint64_t h = op->kind == NCC_CONST ? sample(op) : op->kind;

	for (unsigned int i = 0; i < op->nin; i++)
		h = (h ^ (uintptr_t)c->equal[op->in[i]->id]) * 0x9e3779b97f4a7c15u;
	for (unsigned int d = 0; d < op->shape.ndim; d++)
		h = (h ^ (uint64_t)op->shape.dim[d]) * 0x9e3779b97f4a7c15u;
	return (unsigned int)(h >> 40) % BUCKETS;
}

static bool common_init(struct common *c, const struct ncc_module *m)
{
	c->next = calloc(m->nops + 1, sizeof(struct ncc_op *));
	c->equal = calloc(m->nops + 1, sizeof(struct ncc_op *));
	return c->next && c->equal;
}

static void common_free(struct common *c)
{
	if (!c)
		return;
	free(c->next);
	free(c->equal);
	free(c);
}

/* The first operation that is equal to op: op itself, if there is none before it */
static struct ncc_op *first_equal(struct common *c, struct ncc_op *op)
{
	struct ncc_op **bucket, *x;

	if (!can_be_common(op))
		return op;
	bucket = &c->first[hash(c, op)];
	for (x = *bucket; x; x = c->next[x->id])
		if (same(c, x, op))
			return x;
	c->next[op->id] = *bucket;
	*bucket = op;
	return op;
}

int pass_common(struct ncc_pass *p)
{
	struct common *c = calloc(1, sizeof(*c));

	if (!c || !common_init(c, p->m)) {
		common_free(c);
		return ncc_no_memory(p->err);
	}

	ncc_number(p->m);
	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		struct ncc_op *x;

		for (unsigned int i = 0; i < op->nin; i++)
			while (op->in[i]->replaced)
				op->in[i] = op->in[i]->replaced;
		x = first_equal(c, op);
		c->equal[op->id] = x;
		if (x != op && !stays_apart(op))
			op->replaced = x;
	}
	common_free(c);
	return 0;
}
