// SPDX-License-Identifier: MIT
/*
 * Where elements move along a dimension (a slice, a pad, a concatenation at some odd place), that
 * dimension had better not lie along the partitions: each element would go to another partition by
 * itself. Called by layout.c, whose choice this changes for values that only such operations and
 * element-wise ones connect: to another dimension, or to one partition for all.
 */
#include <stdlib.h>

#include "neuron/hw/ext.h"
#include "shifts.h"

#define MOST_IN_PARTITION 2048 /* elements of a value */
#define MOVE 64 /* cycles that an element takes which goes to another partition by itself */

struct shifts {
	struct ncc_op **line;
	unsigned int n;
	unsigned int *group; /* by id: an operation of the same group, nearer to its first */
	struct group {
		uint32_t moved; /* dimensions along which elements move */
		bool product; /* a product gives or takes one of the values */
		unsigned int members;
		double shifted; /* elements that go to other partitions now */
		double elements; /* of all members, and the time that they take now */
		double time;
		struct ncc_shape largest;
	} * of; /* by id of the first */
};

static bool is_product(const struct ncc_op *op)
{
	return op->kind == NCC_DOT || op->kind == NCC_CONV;
}

static unsigned int first_of(struct shifts *s, unsigned int id)
{
	while (s->group[id] != id)
		id = s->group[id] = s->group[s->group[id]];
	return id;
}

static void join(struct shifts *s, unsigned int a, unsigned int b)
{
	a = first_of(s, a);
	b = first_of(s, b);
	if (a < b)
		s->group[b] = a;
	else
		s->group[a] = b;
}

uint32_t shifts_moved(const struct ncc_op *op)
{
	uint32_t mask = 0;
	int64_t at = 0;

	for (unsigned int d = 0; d < op->shape.ndim; d++) {
		bool moves = false;

		if (op->kind == NCC_SLICE)
			moves = op->shape.dim[d] != op->in[0]->shape.dim[d] &&
				(op->start[d] % NEURON_PARTITIONS || op->stride[d] > 1);
		if (op->kind == NCC_PAD)
			moves = op->low[d] % NEURON_PARTITIONS || op->interior[d];
		if (op->kind == NCC_REVERSE)
			moves = op->mask >> d & 1;
		mask |= (uint32_t)moves << d;
	}
	for (unsigned int i = 0; op->kind == NCC_CONCAT && i + 1 < op->nin; i++) {
		at += op->in[i]->shape.dim[op->axis];
		if (at % NEURON_PARTITIONS)
			mask |= 1u << op->axis;
	}
	return mask;
}

/* Has the operation its operands' dimensions? */
static bool keeps_dims(const struct ncc_op *op)
{
	return ncc_is_elementwise(op->kind) || op->kind == NCC_SLICE || op->kind == NCC_PAD ||
	       op->kind == NCC_CONCAT || op->kind == NCC_REVERSE;
}

/* Do they only tell apart where dimensions of 1 are? */
static bool is_view(const struct ncc_op *op)
{
	return (op->kind == NCC_RESHAPE || op->kind == NCC_BROADCAST) &&
	       ncc_elems(&op->shape) == ncc_elems(&op->in[0]->shape);
}

/* Is it a value in SBUF that an operation could give in another way? */
static bool is_member(const struct ncc_op *op)
{
	return op->shape.ndim && keeps_dims(op);
}

static int long_dim(const struct ncc_shape *s)
{
	int found = -1;

	for (unsigned int d = 0; d < s->ndim; d++) {
		if (s->dim[d] == 1)
			continue;
		if (found >= 0)
			return -1;
		found = (int)d;
	}
	return found;
}

static void find_groups(struct shifts *s, bool vectors)
{
	for (unsigned int i = 0; i < s->n; i++)
		s->group[i] = i;
	for (unsigned int i = 0; i < s->n; i++) {
		const struct ncc_op *op = s->line[i];
		bool joins = vectors ? long_dim(&op->shape) >= 0 && (keeps_dims(op) || is_view(op))
				     : is_member(op);

		for (unsigned int k = 0; joins && k < op->nin; k++) {
			const struct ncc_op *in = op->in[k];

			if (vectors ? long_dim(&in->shape) >= 0 && (is_member(in) || is_view(in))
				    : is_member(in) && in->shape.ndim == op->shape.ndim)
				join(s, i, in->id);
		}
	}
}

static double lanes(const struct ncc_op *op)
{
	int64_t n = op->pdim < 0 ? 1 : op->shape.dim[op->pdim];

	return n < NEURON_PARTITIONS ? (double)n : NEURON_PARTITIONS;
}

static void add_member(struct shifts *s, const struct ncc_op *op, bool vectors)
{
	struct group *g = &s->of[first_of(s, op->id)];
	uint32_t moved = shifts_moved(op);
	double n = (double)ncc_elems(&op->shape);

	g->members++;
	g->moved |= moved;
	g->elements += n;
	g->time += n / lanes(op);
	if (vectors ? moved : op->pdim >= 0 && moved >> op->pdim & 1)
		g->shifted += n;
	if (!g->largest.ndim || ncc_elems(&op->shape) > ncc_elems(&g->largest))
		g->largest = op->shape;
}

/* Measures the groups' members, and their neighbours */
static void measure(struct shifts *s, bool vectors)
{
	for (unsigned int i = 0; i < s->n; i++)
		s->of[i] = (struct group){ 0 };
	for (unsigned int i = 0; i < s->n; i++) {
		const struct ncc_op *op = s->line[i];

		if (is_member(op) && (!vectors || long_dim(&op->shape) >= 0))
			add_member(s, op, vectors);
		for (unsigned int k = 0; k < op->nin; k++) {
			if (is_product(op))
				s->of[first_of(s, op->in[k]->id)].product = true;
			if (is_product(op->in[k]))
				s->of[first_of(s, i)].product = true;
		}
	}
}

/* The largest dimension along which nothing moves, or none */
static int best_dim(const struct group *g)
{
	int best = -1;

	for (unsigned int d = 0; d < g->largest.ndim; d++)
		if (!(g->moved >> d & 1) && g->largest.dim[d] > 1 &&
		    (best < 0 || g->largest.dim[d] > g->largest.dim[best]))
			best = (int)d;
	return best;
}

/* Is it better to have dimension d (-1: none) along the partitions? */
static bool is_better(const struct group *g, int d)
{
	double n = d < 0 ? 1 : (double)g->largest.dim[d];

	if (g->product || !g->shifted || (double)ncc_elems(&g->largest) / n > MOST_IN_PARTITION)
		return false;
	if (n > NEURON_PARTITIONS)
		n = NEURON_PARTITIONS;
	return g->elements / n < g->time + MOVE * g->shifted;
}

static void choose(struct shifts *s, bool vectors)
{
	find_groups(s, vectors);
	measure(s, vectors);
	for (unsigned int i = 0; i < s->n; i++) {
		struct ncc_op *op = s->line[i];
		const struct group *g = &s->of[first_of(s, i)];
		bool counts = vectors ? long_dim(&op->shape) >= 0 && (is_member(op) || is_view(op))
				      : is_member(op);
		int d = vectors ? -1 : best_dim(g);

		if (counts && g->members && is_better(g, d))
			op->pdim = d >= 0 && op->shape.dim[d] > 1 ? d : -1;
	}
}

int shifts_avoid(struct ncc_op **line, unsigned int n)
{
	struct shifts s = { .line = line, .n = n };

	s.group = malloc((n + 1) * sizeof(*s.group));
	s.of = malloc((n + 1) * sizeof(*s.of));
	if (s.group && s.of) {
		choose(&s, false);
		choose(&s, true);
	}
	free(s.group);
	free(s.of);
	return s.group && s.of ? 0 : -1;
}
