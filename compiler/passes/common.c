// SPDX-License-Identifier: MIT
/*
 * Common subexpressions: exporters write a value twice that is computed once (both uses of a
 * softmax's exponentials). Operations of equal operands and attributes are one. Conversions are
 * not: what reads them often does them as it reads.
 */
#include <stdlib.h>
#include <string.h>

#include "pass.h"

#define BUCKETS 4096

struct common {
	struct ncc_op *first[BUCKETS], **next; /* next: by the number of an operation */
};

static bool can_be_common(const struct ncc_op *op)
{
	switch (op->kind) {
	case NCC_CONST:
		return !op->shape.ndim;
	case NCC_BROADCAST:
	case NCC_RESHAPE:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
	case NCC_REDUCE:
		return true;
	case NCC_CONVERT:
		return false;
	default:
		return ncc_is_elementwise(op->kind);
	}
}

static bool same_attributes(const struct ncc_op *a, const struct ncc_op *b)
{
	const size_t dims = a->shape.ndim * sizeof(int64_t);

	switch (a->kind) {
	case NCC_CONST:
		return !memcmp(a->data, b->data, ncc_dtype_size(a->shape.dtype));
	case NCC_BROADCAST:
		return !memcmp(a->map, b->map, a->in[0]->shape.ndim);
	case NCC_TRANSPOSE:
		return !memcmp(a->map, b->map, a->shape.ndim);
	case NCC_SLICE:
		return !memcmp(a->start, b->start, dims) && !memcmp(a->stride, b->stride, dims);
	case NCC_REDUCE:
		return a->mask == b->mask && a->func == b->func;
	default:
		return true;
	}
}

static bool same(const struct ncc_op *a, const struct ncc_op *b)
{
	return a->kind == b->kind && a->nin == b->nin && a->shape.dtype == b->shape.dtype &&
	       a->shape.pred == b->shape.pred && ncc_same_dims(&a->shape, &b->shape) &&
	       a->exact == b->exact && a->upright == b->upright && a->narrowed == b->narrowed &&
	       !memcmp(a->in, b->in, a->nin * sizeof(struct ncc_op *)) && same_attributes(a, b);
}

static unsigned int hash(const struct ncc_op *op)
{
	uint64_t h = op->kind;

	for (unsigned int i = 0; i < op->nin; i++)
		h = (h ^ (uintptr_t)op->in[i]) * 0x9e3779b97f4a7c15u;
	for (unsigned int d = 0; d < op->shape.ndim; d++)
		h = (h ^ (uint64_t)op->shape.dim[d]) * 0x9e3779b97f4a7c15u;
	return (unsigned int)(h >> 40) % BUCKETS;
}

int pass_common(struct ncc_pass *p)
{
	struct common *c = calloc(1, sizeof(*c));
	unsigned int n = 0;

	if (c)
		c->next = calloc(p->m->nops + 1, sizeof(struct ncc_op *));
	if (!c || !c->next) {
		free(c);
		return ncc_no_memory(p->err);
	}

	ncc_number(p->m);
	for (struct ncc_op *op = p->m->first; op; op = op->next, n++) {
		struct ncc_op **bucket, *x;

		for (unsigned int i = 0; i < op->nin; i++)
			while (op->in[i]->replaced)
				op->in[i] = op->in[i]->replaced;
		if (!can_be_common(op))
			continue;
		bucket = &c->first[hash(op)];
		for (x = *bucket; x && !same(x, op); x = c->next[x->id])
			;
		if (x) {
			op->replaced = x;
			continue;
		}
		c->next[op->id] = *bucket;
		*bucket = op;
	}
	free(c->next);
	free(c);
	return 0;
}
