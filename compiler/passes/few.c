// SPDX-License-Identifier: MIT
/*
 * A few long vectors, along the last dimension: that dimension becomes two, the first of which
 * fills the partitions with whole rows, as pass_flatten does with single vectors. So what is cut
 * out of them, or put together, lies as it did. Values that a product, a reduction or a transpose
 * gives or takes stay. Reshapes between neighbours cancel in pass_simplify. Called by flatten.c.
 */
#include "few.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_VECTORS 16

struct few {
	unsigned int *group; /* by id: an operation of the same group, nearer to its first */
	bool *stays; /* by id of the first */
};

static int64_t rows_of(const struct ncc_shape *s)
{
	int64_t n = s->ndim > 1 && s->ndim < NCC_MAX_DIMS ? s->dim[s->ndim - 1] : 0;

	return n && ncc_elems(s) / n <= MOST_VECTORS ? ncc_even_rows(n) : 0;
}

/* Does it leave the vectors whole? */
static bool keeps_vectors(const struct ncc_op *op)
{
	unsigned int last = op->shape.ndim - 1;

	if (!rows_of(&op->shape))
		return false;
	switch (op->kind) {
	case NCC_SLICE:
		return op->shape.dim[last] == op->in[0]->shape.dim[last] &&
		       rows_of(&op->in[0]->shape);
	case NCC_CONCAT:
		return op->axis != last;
	case NCC_PAD:
		return !op->low[last] && !op->high[last] && !op->interior[last];
	case NCC_REVERSE:
		return !(op->mask >> last & 1);
	default:
		return ncc_is_elementwise(op->kind);
	}
}

static bool needs_dims(const struct ncc_op *op)
{
	return op->kind == NCC_DOT || op->kind == NCC_CONV || op->kind == NCC_REDUCE ||
	       op->kind == NCC_REDUCE_WINDOW || op->kind == NCC_TRANSPOSE;
}

static unsigned int first_of(struct few *f, unsigned int id)
{
	while (f->group[id] != id)
		id = f->group[id] = f->group[f->group[id]];
	return id;
}

static void find_groups(struct few *f, const struct ncc_module *m)
{
	for (unsigned int i = 0; i < m->nops; i++)
		f->group[i] = i;
	for (const struct ncc_op *op = m->first; op; op = op->next) {
		for (unsigned int k = 0; k < op->nin && keeps_vectors(op); k++) {
			unsigned int a = first_of(f, op->id), b = first_of(f, op->in[k]->id);

			if (keeps_vectors(op->in[k]))
				f->group[a > b ? a : b] = a < b ? a : b;
		}
	}
	for (const struct ncc_op *op = m->first; op; op = op->next)
		for (unsigned int k = 0; k < op->nin; k++) {
			if (needs_dims(op))
				f->stays[first_of(f, op->in[k]->id)] = true;
			if (needs_dims(op->in[k]))
				f->stays[first_of(f, op->id)] = true;
		}
}

static struct ncc_shape split(const struct ncc_shape *s)
{
	struct ncc_shape to = *s;
	int64_t rows = rows_of(s);

	to.dim[to.ndim] = to.dim[to.ndim - 1] / rows;
	to.dim[to.ndim - 1] = rows;
	to.ndim++;
	return to;
}

static struct ncc_op *split_operand(struct ncc_pass *p, struct ncc_op *op, struct ncc_op *x)
{
	struct ncc_shape s;

	while (x->replaced)
		x = x->replaced;
	if (!x->shape.ndim)
		return x; /* what a pad is filled with */
	s = split(&x->shape);
	if (x->kind == NCC_BROADCAST && !x->in[0]->shape.ndim)
		return pass_new(p, NCC_BROADCAST, op, &s, x->in[0], NULL);
	return pass_new(p, NCC_RESHAPE, op, &s, x, NULL);
}

static int split_op(struct ncc_pass *p, struct ncc_op *op)
{
	struct ncc_op *m = ncc_op_clone(p->m, op, op->nin), *back;

	if (!m)
		return -ENOMEM;
	m->shape = split(&op->shape);
	if (op->kind == NCC_SLICE) {
		m->start[op->shape.ndim] = 0;
		m->stride[op->shape.ndim] = 1;
	}
	for (unsigned int i = 0; i < op->nin; i++) {
		m->in[i] = split_operand(p, op, op->in[i]);
		if (!m->in[i])
			return -ENOMEM;
	}
	back = pass_new(p, NCC_RESHAPE, op, &op->shape, m, NULL);
	op->replaced = back;
	return back ? 0 : -ENOMEM;
}

int few_split(struct ncc_pass *p)
{
	unsigned int n = p->m->nops + 1;
	struct few f = { malloc(n * sizeof(*f.group)), calloc(n, sizeof(*f.stays)) };
	int rc = f.group && f.stays ? 0 : -ENOMEM;

	if (!rc)
		find_groups(&f, p->m);
	for (struct ncc_op *op = p->m->first; !rc && op; op = op->next)
		if (keeps_vectors(op) && !f.stays[first_of(&f, op->id)])
			rc = split_op(p, op);
	free(f.group);
	free(f.stays);
	return rc ? ncc_no_memory(p->err) : 0;
}
