// SPDX-License-Identifier: MIT
/*
 * Simplification: constants are folded, operations that do nothing vanish, and chains of reshapes,
 * transposes and broadcasts become one. It is one walk in order, so that an operand is simplified
 * before its users.
 */
#include <math.h>
#include <string.h>

#include "ir/range.h"
#include "pass.h"

static struct ncc_op *operand(struct ncc_op *op, unsigned int i)
{
	while (op->in[i]->replaced)
		op->in[i] = op->in[i]->replaced;
	return op->in[i];
}

static bool same_shape(const struct ncc_shape *a, const struct ncc_shape *b)
{
	return a->dtype == b->dtype && a->pred == b->pred && ncc_same_dims(a, b);
}

/* Is the operation's result its operand? */
static bool is_noop(const struct ncc_op *op)
{
	const struct ncc_op *a = op->in[0];
	double v;

	switch (op->kind) {
	case NCC_BITCAST:
	case NCC_RESHAPE:
	case NCC_CONVERT:
	case NCC_BROADCAST:
	case NCC_TRANSPOSE:
		for (unsigned int i = 0;
		     (op->kind == NCC_BROADCAST || op->kind == NCC_TRANSPOSE) && i < op->shape.ndim;
		     i++)
			if (op->map[i] != i)
				return false;
		return same_shape(&op->shape, &a->shape);
	case NCC_SLICE:
		return same_shape(&op->shape, &a->shape);
	case NCC_REVERSE:
		return !op->mask;
	case NCC_REDUCE:
		return false;
	case NCC_CONCAT:
		return op->nin == 1;
	case NCC_MAX: /* max(x, -inf) is x, NaN included */
		return op->shape.dtype == NEURON_DT_FP32 && ncc_scalar_value(op->in[1], &v) &&
		       v == -INFINITY;
	case NCC_MUL:
		return ncc_scalar_value(op->in[1], &v) && v == 1;
	case NCC_PAD:
		for (unsigned int i = 0; i < op->shape.ndim; i++)
			if (op->low[i] || op->high[i] || (op->interior[i] && op->shape.dim[i] > 1))
				return false;
		return true;
	default:
		return false;
	}
}

static void merge_chain(struct ncc_op *op)
{
	struct ncc_op *a = op->in[0];

	if (op->kind != a->kind)
		return;
	if (op->kind == NCC_RESHAPE || op->kind == NCC_BITCAST) {
		op->in[0] = a->in[0];
	} else if (op->kind == NCC_TRANSPOSE) {
		for (unsigned int i = 0; i < op->shape.ndim; i++)
			op->map[i] = a->map[op->map[i]];
		op->in[0] = a->in[0];
	} else if (op->kind == NCC_BROADCAST) {
		uint8_t map[NCC_MAX_DIMS];

		for (unsigned int i = 0; i < a->in[0]->shape.ndim; i++)
			map[i] = op->map[a->map[i]];
		memcpy(op->map, map, sizeof(map));
		op->in[0] = a->in[0];
	}
}

#define EXACT (1 << 24) /* as in integers.c */

/* A counter that is counted several times, as an unrolled loop does: once, by the sum */
static void merge_counts(struct ncc_module *m, struct ncc_op *op)
{
	struct ncc_op *a = op->in[0], *sum;
	double v, w;

	if (op->kind != NCC_ADD || a->kind != NCC_ADD || op->shape.ndim || op->shape.pred ||
	    op->shape.dtype != NEURON_DT_INT32 || !ncc_scalar_value(op->in[1], &v) ||
	    !ncc_scalar_value(a->in[1], &w) || fabs(v + w) >= EXACT)
		return;
	sum = ncc_const_scalar(m, NEURON_DT_INT32, v + w);
	if (!sum)
		return;
	op->in[0] = a->in[0];
	op->in[1] = sum;
}

/* One number, moved, is one number. */
static void move_of_splat(struct ncc_op *op)
{
	const struct ncc_op *b = op->in[0];

	if (op->kind != NCC_RESHAPE && op->kind != NCC_TRANSPOSE && op->kind != NCC_SLICE &&
	    op->kind != NCC_REVERSE && op->kind != NCC_GATHER)
		return;
	if (b->kind != NCC_BROADCAST || b->in[0]->shape.ndim)
		return;
	op->kind = NCC_BROADCAST;
	op->nin = 1;
	op->in[0] = b->in[0];
}

/* A reshape that only adds dimensions of 1 is a broadcast, which may join others */
static void reshape_to_broadcast(struct ncc_op *op)
{
	const struct ncc_shape *s = &op->in[0]->shape;
	unsigned int i = 0;
	uint8_t map[NCC_MAX_DIMS];

	if (op->kind != NCC_RESHAPE || op->in[0]->kind != NCC_BROADCAST ||
	    op->shape.ndim <= s->ndim)
		return;
	for (unsigned int d = 0; d < op->shape.ndim; d++) {
		if (i < s->ndim && op->shape.dim[d] == s->dim[i])
			map[i++] = (uint8_t)d;
		else if (op->shape.dim[d] != 1)
			return;
	}
	if (i != s->ndim)
		return;
	op->kind = NCC_BROADCAST;
	memcpy(op->map, map, sizeof(map));
}

/* Dimensions of from that are not 1 keep their order where map says that each one is in to. */
static bool keeps_order(const struct ncc_shape *from, const uint8_t *map)
{
	int last = -1;

	for (unsigned int i = 0; i < from->ndim; i++) {
		if (from->dim[i] == 1)
			continue;
		if (map[i] < last)
			return false;
		last = map[i];
	}
	return true;
}

/*
 * A transpose that only moves dimensions of 1 is a reshape, and a reshape of a broadcast that only
 * adds some is one of its operand.
 */
static void moves_of_ones(struct ncc_op *op)
{
	struct ncc_op *b = op->in[0];

	if (op->kind == NCC_TRANSPOSE && keeps_order(&op->shape, op->map))
		op->kind = NCC_RESHAPE;
	if (op->kind == NCC_RESHAPE && b->kind == NCC_BROADCAST && b->in[0]->shape.ndim &&
	    ncc_elems(&b->shape) == ncc_elems(&b->in[0]->shape) &&
	    keeps_order(&b->in[0]->shape, b->map))
		op->in[0] = b->in[0];
}

/* A reduction of one element is that element, unless the initial value counts. */
static void reduce_of_ones(struct ncc_op *op)
{
	double v;

	if (op->kind != NCC_REDUCE || ncc_elems(&op->shape) != ncc_elems(&op->in[0]->shape) ||
	    !ncc_scalar_value(op->in[1], &v) || v != ncc_neutral(op->func, &op->shape))
		return;
	op->kind = NCC_RESHAPE;
	op->nin = 1;
}

/*
 * Removes dimensions of 1 under a broadcast: broadcast(reshape(x)), where the reshape drops them.
 */
static void broadcast_of_reshape(struct ncc_op *op)
{
	struct ncc_op *r = op->in[0];
	const struct ncc_shape *a, *b = &r->shape;
	unsigned int i = 0;
	uint8_t map[NCC_MAX_DIMS];

	if (op->kind != NCC_BROADCAST || r->kind != NCC_RESHAPE)
		return;
	a = &r->in[0]->shape; /* x has fewer dimensions than r */
	for (unsigned int d = 0; d < b->ndim; d++) {
		if (i < a->ndim && b->dim[d] == a->dim[i])
			map[i++] = op->map[d];
		else if (b->dim[d] != 1)
			return;
	}
	if (i != a->ndim)
		return;
	memcpy(op->map, map, sizeof(map));
	op->in[0] = r->in[0];
}

/*
 * Once so many bytes of constants were made, those that folding has replaced are swept, so that
 * they do not add up.
 */
#define MOST_GARBAGE (256u << 20)

int pass_simplify(struct ncc_pass *p)
{
	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		if (p->m->garbage > MOST_GARBAGE) {
			ncc_sweep(p->m);
			op = p->m->first;
		}
		for (unsigned int i = 0; i < op->nin; i++)
			operand(op, i);
		if (!op->nin || ncc_fold(p->m, op))
			continue;
		ncc_fold_elementwise(p->m, op);
		if (!op->nin)
			continue;
		merge_counts(p->m, op);
		move_of_splat(op);
		reduce_of_ones(op);
		moves_of_ones(op);
		reshape_to_broadcast(op);
		merge_chain(op);
		broadcast_of_reshape(op);
		merge_chain(op);
		if (is_noop(op))
			op->replaced = op->in[0];
	}
	return 0;
}
