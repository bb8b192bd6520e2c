// SPDX-License-Identifier: MIT
/*
 * Gathers of one row each whose numbers are a value and constants, from one table: what the
 * iterations of an unrolled scan read. One gather takes all of their rows, of which each is a
 * slice: each would be a DMA of its own, and another for its number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/hw/ext.h"
#include "pass.h"

#define FEWEST 4 /* gathers that become one */
#define MOST NEURON_PARTITIONS

/* A gather of the row base + at of a table */
struct one_row {
	struct ncc_op *op, *base;
	int64_t at;
	bool done;
};

/* The scalar that is spread over the only element, or NULL */
static struct ncc_op *only_element(struct ncc_op *index)
{
	struct ncc_op *x =
		index->kind == NCC_BROADCAST || index->kind == NCC_RESHAPE ? index->in[0] : NULL;

	return index->shape.dim[0] == 1 && x && !x->shape.ndim ? x : NULL;
}

static bool find_row(struct ncc_op *op, struct one_row *r)
{
	double v;

	if (op->kind != NCC_GATHER)
		return false;
	*r = (struct one_row){ .op = op, .base = only_element(op->in[1]) };
	if (!r->base)
		return false;
	while (r->base->kind == NCC_ADD) {
		unsigned int by = ncc_scalar_value(r->base->in[1], &v) ? 1 : 0;

		if (!by && !ncc_scalar_value(r->base->in[0], &v))
			break;
		r->at += (int64_t)v;
		r->base = r->base->in[!by];
	}
	return true;
}

static bool together(const struct one_row *a, const struct one_row *b)
{
	return !b->done && a->base == b->base && a->op->in[0] == b->op->in[0];
}

/* base + at of each of m gathers */
static struct ncc_op *numbers(struct ncc_build *bl, const struct one_row *first, int64_t m,
			      const int64_t *at)
{
	struct ncc_op *c = build_count(bl, m), *s;

	if (!c)
		return NULL;
	for (int64_t i = 0; i < m; i++)
		ncc_set(NEURON_DT_INT32, c->data, i, (double)at[i]);
	s = build_spread(bl, &c->shape, first->base, NULL);
	return build_binary(bl, NCC_ADD, s, c);
}

/* Makes one gather of those of rows[i..n) that go with the first; m of them */
static int join(struct ncc_pass *p, struct one_row *rows, unsigned int n, int64_t m, int64_t *at)
{
	int64_t const_bytes = 0, k = 0;
	const struct one_row first = *rows;
	struct ncc_build bl = pass_build(p, first.op, &const_bytes);
	struct ncc_shape s = first.op->shape;
	struct ncc_op *all;

	for (unsigned int i = 0; i < n && k < m; i++)
		if (together(&first, &rows[i]))
			at[k++] = rows[i].at;
	s.dim[0] = m;
	all = build_node(&bl, NCC_GATHER, &s, first.op->in[0], numbers(&bl, &first, m, at), NULL);
	k = 0;
	for (unsigned int i = 0; all && i < n && k < m; i++) {
		if (!together(&first, &rows[i]))
			continue;
		rows[i].op->replaced = build_slice(&bl, all, 0, k++, 1);
		rows[i].done = true;
		if (!rows[i].op->replaced)
			return -ENOMEM;
	}
	return all ? 0 : -ENOMEM;
}

static int join_all(struct ncc_pass *p, struct one_row *rows, unsigned int n, int64_t *at)
{
	for (unsigned int i = 0; i < n; i++) {
		int64_t m = 0;

		for (unsigned int j = i; !rows[i].done && j < n && m < MOST; j++)
			m += together(&rows[i], &rows[j]);
		if (m >= FEWEST && join(p, rows + i, n - i, m, at))
			return -ENOMEM;
	}
	return 0;
}

int pass_gathers(struct ncc_pass *p)
{
	struct one_row *rows = malloc((p->m->nops + 1) * sizeof(*rows));
	int64_t *at = malloc((p->m->nops + 1) * sizeof(*at));
	unsigned int n = 0;
	int rc = rows && at ? 0 : -ENOMEM;

	for (struct ncc_op *op = rc ? NULL : p->m->first; op; op = op->next)
		n += find_row(op, &rows[n]);
	rc = rc ? rc : join_all(p, rows, n, at);
	free(rows);
	free(at);
	return rc ? ncc_no_memory(p->err) : 0;
}
