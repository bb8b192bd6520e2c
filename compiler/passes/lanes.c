// SPDX-License-Identifier: MIT
/*
 * Small values: an instruction takes each of its partitions' rows by itself, so that one of 125
 * partitions with 8 elements takes the chip three times as long as one of 8 partitions with 125. So
 * small values that follow from each other have their partitions along a short dimension, or are in
 * one partition, if that pays: products need their contracted dimension along the partitions, and
 * what leads to other values moves there. Called by layout.c, whose choice this changes.
 */
#include <stdlib.h>

#include "lanes.h"
#include "neuron/hw/ext.h"
#include "shifts.h"

#define MOST_ELEMENTS 8192 /* of a small value */
#define MOST_IN_ROW 2048 /* elements of a partition */
#define MOST_CANDIDATES 8
#define NOWHERE UINT32_MAX /* the candidate of no dimension: one partition */

/*
 * Times in ns on a host of 2.5 GHz: of an instruction, of each of its partitions and elements; of a
 * DMA and of each of its pieces; of a block that is transposed
 */
#define INSTRUCTION 350.0
#define PARTITION 9.0
#define ELEMENT 0.15
#define DMA 600.0
#define PIECE 30.0
#define BLOCK 450.0
#define SIDE 32 /* elements of a block */
#define MOST_MOVING 512 /* columns of a product */
#define GAIN 0.8 /* a choice takes at most this share of the time before */

struct lanes {
	struct ncc_op **line;
	unsigned int n;
	layout_through *through;
	uint32_t *axis; /* by id and dimension: one that is the same, nearer to its first */
	unsigned int *group; /* by id: an operation of the same group, nearer to its first */
	unsigned int *next, *head; /* by id: the next of a group; of its first */
	int *pdim; /* by id: what is being tried */
	bool *member, *out;
};

static uint32_t root(uint32_t *of, uint32_t i)
{
	while (of[i] != i)
		i = of[i] = of[of[i]];
	return i;
}

static void unite(uint32_t *of, uint32_t a, uint32_t b)
{
	a = root(of, a);
	b = root(of, b);
	if (a < b)
		of[b] = a;
	else
		of[a] = b;
}

static uint32_t axis_of(struct lanes *l, unsigned int id, unsigned int d)
{
	return root(l->axis, id * NCC_MAX_DIMS + d);
}

static bool is_view(const struct ncc_op *op)
{
	return op->kind == NCC_RESHAPE || op->kind == NCC_TRANSPOSE || op->kind == NCC_SLICE ||
	       op->kind == NCC_BROADCAST || op->kind == NCC_REVERSE;
}

static bool keeps_dims(const struct ncc_op *op)
{
	return ncc_is_elementwise(op->kind) || op->kind == NCC_CONCAT || op->kind == NCC_PAD;
}

/* Is it made of constants, and laid out for its user? */
static bool is_constant(const struct ncc_op *op)
{
	while (op->kind == NCC_BROADCAST)
		op = op->in[0];
	return op->kind == NCC_CONST;
}

static bool is_member(const struct ncc_op *op)
{
	return op->shape.ndim && !op->upright && !is_constant(op) &&
	       ncc_elems(&op->shape) <= MOST_ELEMENTS &&
	       (keeps_dims(op) || is_view(op) || op->kind == NCC_REDUCE || op->kind == NCC_DOT);
}

static void find_groups(struct lanes *l)
{
	for (unsigned int i = 0; i < l->n; i++) {
		l->group[i] = i;
		l->member[i] = is_member(l->line[i]);
		for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
			l->axis[i * NCC_MAX_DIMS + d] = i * NCC_MAX_DIMS + d;
	}
	for (unsigned int i = 0; i < l->n; i++) {
		const struct ncc_op *op = l->line[i];

		for (unsigned int k = 0; k < op->nin; k++) {
			unsigned int in = op->in[k]->id;

			if (!l->member[i] || !l->member[in] || op->kind == NCC_DOT)
				continue;
			unite(l->group, i, in);
			for (unsigned int d = 0; d < op->shape.ndim; d++) {
				int from = l->through(op, (int)d);

				if (from >= 0 && from < (int)op->in[k]->shape.ndim)
					unite(l->axis, i * NCC_MAX_DIMS + d,
					      in * NCC_MAX_DIMS + (unsigned int)from);
			}
		}
	}
}

/* Every operation is listed with the groups of its members: its own, and those of its operands. */
static void list_members(struct lanes *l)
{
	for (unsigned int i = 0; i < l->n; i++)
		l->head[i] = l->next[i] = NOWHERE;
	for (unsigned int i = l->n; i-- > 0;) {
		unsigned int first = root(l->group, i);

		if (!l->member[i])
			continue;
		l->next[i] = l->head[first];
		l->head[first] = i;
	}
}

static int64_t dim_of(const struct ncc_shape *s, int d)
{
	return d < 0 ? 1 : s->dim[d];
}

static double lanes_of(const struct ncc_shape *s, int d)
{
	int64_t n = dim_of(s, d);

	return (double)(n < NEURON_PARTITIONS ? n : NEURON_PARTITIONS);
}

static double chunks_of(const struct ncc_shape *s, int d)
{
	return (double)((dim_of(s, d) + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS);
}

/* The time of instructions that write a value */
static double writing(const struct ncc_shape *s, int d)
{
	return chunks_of(s, d) * (INSTRUCTION + PARTITION * lanes_of(s, d)) +
	       ELEMENT * (double)ncc_elems(s);
}

/* The time of a product: stationary operands are loaded, and each is multiplied with the others. */
static double multiplying(const struct ncc_op *op, int d)
{
	const double row = INSTRUCTION + PARTITION * NEURON_PARTITIONS;
	double moving = (double)ncc_elems(&op->shape) / (double)dim_of(&op->shape, d), batch = 1;

	for (unsigned int i = 0; i < op->dot->nbatch; i++)
		batch *= (double)op->shape.dim[i];
	moving = moving / batch / MOST_MOVING;
	return batch * chunks_of(&op->shape, d) * row * (1 + (moving < 1 ? 1 : moving)) +
	       writing(&op->shape, d);
}

/* The time to bring a value from one dimension along the partitions to another */
static double moving(const struct ncc_shape *s, int from, int to)
{
	int64_t a = dim_of(s, from), b = dim_of(s, to);
	double n = (double)ncc_elems(s), blocks = n / (double)(a * b);
	double rows = a == 1 && to != (int)s->ndim - 1 ? (double)b : n;

	blocks *= (double)((a + SIDE - 1) / SIDE * ((b + SIDE - 1) / SIDE));
	return blocks * BLOCK < DMA + rows * PIECE ? blocks * BLOCK : DMA + rows * PIECE;
}

/* The time to bring rows of a value that lies as it should to other partitions */
static double shifting(const struct ncc_shape *s, int d)
{
	return DMA + PIECE * (double)dim_of(s, d);
}

static int contracted(const struct ncc_op *op, unsigned int k)
{
	const uint8_t *dims = k ? op->dot->rhs_contract : op->dot->lhs_contract;
	int best = -1;

	for (unsigned int i = 0; i < op->dot->ncontract; i++)
		if (best < 0 || op->in[k]->shape.dim[dims[i]] > op->in[k]->shape.dim[best])
			best = dims[i];
	return best;
}

/* The time it takes to give an operation its operand, as both lie */
static double reading(struct lanes *l, const struct ncc_op *op, unsigned int k)
{
	const struct ncc_op *in = op->in[k];
	const struct ncc_shape *s = &in->shape;
	int has = l->pdim[in->id], d = l->pdim[op->id], want;

	if (!s->ndim)
		return 0;
	if (is_constant(in))
		return (op->kind == NCC_PAD || op->kind == NCC_CONCAT) && d >= 0 &&
				       shifts_moved(op) >> d & 1
			       ? DMA + PIECE * (double)ncc_elems(s)
			       : 0;
	if (op->kind == NCC_DOT) {
		want = contracted(op, k);
		return has == want ? 0 : moving(s, has, want);
	}
	if (op->kind == NCC_SCATTER || op->kind == NCC_GATHER)
		return has == (int)s->ndim - 1 ? moving(s, has, -1) : shifting(s, has);
	want = l->through(op, d);
	if (want >= (int)s->ndim)
		return 0;
	if (ncc_elems(&op->shape) < ncc_elems(s))
		s = op->kind == NCC_SLICE ? &op->shape : s;
	if (in->kind == NCC_PARAM)
		return want >= 0 && want == (int)s->ndim - 1 ? moving(s, -1, want)
							     : shifting(s, want);
	if (op->kind == NCC_BROADCAST && d >= 0 && want < 0)
		return moving(s, has, -1) + shifting(&op->shape, d);
	if (want != has && !(dim_of(&in->shape, want) == 1 && dim_of(&in->shape, has) == 1))
		return moving(s, has, want);
	return d >= 0 && shifts_moved(op) >> d & 1 ? shifting(s, want) : 0;
}

static double computing(struct lanes *l, const struct ncc_op *op)
{
	int d = l->pdim[op->id];
	double t = 0;

	if (op->kind == NCC_DOT)
		t = multiplying(op, d);
	else if (op->kind == NCC_REDUCE)
		t = writing(&op->in[0]->shape, l->through(op, d));
	else if (!is_view(op))
		t = writing(&op->shape, d);
	if (l->out[op->id])
		t += d >= 0 && d == (int)op->shape.ndim - 1 ? moving(&op->shape, d, -1)
							    : shifting(&op->shape, d);
	return t;
}

struct users {
	unsigned int *first, *of, *slot; /* by id: its users, and as which operand */
};

/* The time of a group's operations, and of what passes between them and others */
static double time_of(struct lanes *l, const struct users *u, unsigned int group)
{
	double t = 0;

	for (unsigned int i = l->head[group]; i != NOWHERE; i = l->next[i]) {
		const struct ncc_op *op = l->line[i];

		t += computing(l, op);
		for (unsigned int k = 0; k < op->nin; k++)
			t += reading(l, op, k);
		for (unsigned int k = u->first[i]; k < u->first[i + 1]; k++)
			if (!l->member[u->of[k]] || root(l->group, u->of[k]) != group)
				t += reading(l, l->line[u->of[k]], u->slot[k]);
	}
	return t;
}

static bool may_lie_along(const struct ncc_op *op, int d)
{
	if (op->shape.dim[d] < 2 || (op->kind == NCC_DOT && d < (int)op->dot->nbatch))
		return false;
	if (op->kind == NCC_DOT && op->dot->neighbours && d != op->pdim)
		return false;
	return ncc_elems(&op->shape) / op->shape.dim[d] <= MOST_IN_ROW;
}

static int long_dims(const struct ncc_shape *s)
{
	int n = 0;

	for (unsigned int d = 0; d < s->ndim; d++)
		n += s->dim[d] > 1;
	return n;
}

/* The place of an operation if its group's partitions are along an axis */
static int lies(struct lanes *l, const struct ncc_op *op, uint32_t axis)
{
	for (unsigned int d = 0; axis != NOWHERE && d < op->shape.ndim; d++)
		if (axis_of(l, op->id, d) == axis && may_lie_along(op, (int)d))
			return (int)d;
	if ((keeps_dims(op) || is_view(op)) && long_dims(&op->shape) <= 1 &&
	    ncc_elems(&op->shape) <= MOST_IN_ROW)
		return -1;
	return op->pdim;
}

static void lay(struct lanes *l, unsigned int group, uint32_t axis)
{
	for (unsigned int i = l->head[group]; i != NOWHERE; i = l->next[i])
		l->pdim[i] = lies(l, l->line[i], axis);
}

static bool is_new(const uint32_t *list, unsigned int n, uint32_t axis)
{
	for (unsigned int i = 0; i < n; i++)
		if (list[i] == axis)
			return false;
	return true;
}

/* The group's first axes */
static unsigned int candidates(struct lanes *l, unsigned int group, uint32_t *list)
{
	unsigned int n = 0;

	list[n++] = NOWHERE;
	for (unsigned int i = l->head[group]; i != NOWHERE; i = l->next[i])
		for (unsigned int d = 0; d < l->line[i]->shape.ndim; d++) {
			uint32_t axis = axis_of(l, i, d);

			if (n < MOST_CANDIDATES && l->line[i]->shape.dim[d] > 1 &&
			    is_new(list, n, axis))
				list[n++] = axis;
		}
	return n;
}

static void choose(struct lanes *l, const struct users *u, unsigned int group)
{
	uint32_t list[MOST_CANDIDATES], best = NOWHERE;
	unsigned int n = candidates(l, group, list);
	double least = time_of(l, u, group) * GAIN;
	bool found = false;

	for (unsigned int i = 0; i < n; i++) {
		double t;

		lay(l, group, list[i]);
		t = time_of(l, u, group);
		if (t >= least)
			continue;
		least = t;
		best = list[i];
		found = true;
	}
	if (found)
		lay(l, group, best);
	for (unsigned int i = l->head[group]; i != NOWHERE; i = l->next[i]) {
		if (found)
			l->line[i]->pdim = l->pdim[i];
		l->pdim[i] = l->line[i]->pdim;
	}
}

static bool find_users(struct lanes *l, struct users *u)
{
	unsigned int n = 0;

	u->first = calloc(l->n + 2, sizeof(*u->first));
	if (!u->first)
		return false;
	for (unsigned int i = 0; i < l->n; i++) {
		n += l->line[i]->nin;
		for (unsigned int k = 0; k < l->line[i]->nin; k++)
			u->first[l->line[i]->in[k]->id + 2]++;
	}
	for (unsigned int i = 1; i < l->n + 2; i++)
		u->first[i] += u->first[i - 1];
	u->of = malloc((n + 1) * sizeof(*u->of));
	u->slot = malloc((n + 1) * sizeof(*u->slot));
	if (!u->of || !u->slot)
		return false;
	for (unsigned int i = 0; i < l->n; i++)
		for (unsigned int k = 0; k < l->line[i]->nin; k++) {
			unsigned int at = u->first[l->line[i]->in[k]->id + 1]++;

			u->of[at] = i;
			u->slot[at] = k;
		}
	return true;
}

static bool alloc(struct lanes *l)
{
	size_t n = l->n + 1;

	l->axis = malloc(n * NCC_MAX_DIMS * sizeof(*l->axis));
	l->group = malloc(n * sizeof(*l->group));
	l->next = malloc(n * sizeof(*l->next));
	l->head = malloc(n * sizeof(*l->head));
	l->pdim = malloc(n * sizeof(*l->pdim));
	l->member = calloc(n, sizeof(*l->member));
	l->out = calloc(n, sizeof(*l->out));
	return l->axis && l->group && l->next && l->head && l->pdim && l->member && l->out;
}

static void choose_all(struct lanes *l, const struct ncc_module *m, const struct users *u)
{
	for (unsigned int i = 0; i < l->n; i++)
		l->pdim[i] = l->line[i]->pdim;
	for (unsigned int i = 0; i < m->nouts; i++)
		l->out[m->outs[i]->id] = true;
	find_groups(l);
	list_members(l);
	for (unsigned int i = 0; i < l->n; i++)
		if (l->head[i] != NOWHERE)
			choose(l, u, i);
}

int lanes_choose(const struct ncc_module *m, struct ncc_op **line, unsigned int n,
		 layout_through *through)
{
	struct lanes l = { .line = line, .n = n, .through = through };
	struct users u = { NULL, NULL, NULL };
	bool ok = alloc(&l) && find_users(&l, &u);

	if (ok)
		choose_all(&l, m, &u);
	free(l.axis);
	free(l.group);
	free(l.next);
	free(l.head);
	free(l.pdim);
	free(l.member);
	free(l.out);
	free(u.first);
	free(u.of);
	free(u.slot);
	return ok ? 0 : -1;
}
