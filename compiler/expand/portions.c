// SPDX-License-Identifier: MIT
/*
 * Rows that more indices choose than the queues of a core have room for: a loop, each iteration of
 * which reads a portion of the indices and moves their rows (portions.h). A portion lies in a few
 * rows of a table, which are what a loop can choose. Called by index.c and updates.c.
 */
#include "portions.h"

#define LINES 128 /* rows that a portion lies in: as many as there are partitions */

int64_t portions_each(const struct ncc_build *bl, int64_t n, int64_t rows)
{
	int64_t most = bl->m->most_rows / (rows > 1 ? rows : 1) / LINES * LINES, count;

	if (!bl->m->most_rows)
		return n;
	most = most > LINES ? most : LINES;
	if (n <= most)
		return n;
	count = (n + most - 1) / most;
	return ((n + count - 1) / count + LINES - 1) / LINES * LINES;
}

/* A loop over portions: its counter, and the rows of each portion in tables of all of them */
struct portions {
	struct ncc_build *bl;
	int64_t each, count, lines;
	struct ncc_op *loop, *counter, *at;
};

static void begin(struct portions *p, struct ncc_build *bl, int64_t n, int64_t each)
{
	const struct ncc_shape yes = { .dtype = NEURON_DT_INT8, .pred = true };
	const struct ncc_shape number = { .dtype = NEURON_DT_INT32 };
	struct ncc_op *first = build_splat(bl, &yes, 1);

	*p = (struct portions){ .bl = bl, .each = each, .count = (n + each - 1) / each };
	p->lines = LINES;
	while (p->lines > 1 && p->count * p->lines > NCC_MAX_TABLE)
		p->lines /= 2;
	p->loop = build_loop(bl, first);
	p->counter = p->loop ? build_state(bl, p->loop, build_splat(bl, &number, 0)) : NULL;
	p->at = build_range(bl, build_number(bl, NCC_MUL, p->counter, (double)p->lines), p->lines);
}

/* x[n, ...] as a table of all portions, with so many elements of a value behind what it has */
static struct ncc_op *as_table(const struct portions *p, struct ncc_op *x, double value)
{
	struct ncc_shape table = { .ndim = 2, .dim = { p->count * p->lines } };
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };

	if (!x)
		return NULL;
	high[0] = p->count * p->each - x->shape.dim[0];
	if (high[0])
		x = build_pad(p->bl, x, build_scalar(p->bl, &x->shape, value), low, high);
	if (!x)
		return NULL;
	table.dim[1] = ncc_elems(&x->shape) / table.dim[0];
	return build_reshape(p->bl, x, &table);
}

/* The current portion of a table, in the shape of x but for its first dimension */
static struct ncc_op *portion(const struct portions *p, struct ncc_op *table,
			      const struct ncc_op *x)
{
	struct ncc_shape s;

	if (!table || !p->at)
		return NULL;
	s = table->shape;
	s.dim[0] = p->lines;
	table = build_node(p->bl, NCC_GATHER, &s, table, p->at, NULL);
	s = x->shape;
	s.dim[0] = p->each;
	return build_reshape(p->bl, table, &s);
}

/* The state's value after the last iteration, of which next is the one after each */
static struct ncc_op *end(const struct portions *p, struct ncc_op *state, struct ncc_op *next)
{
	struct ncc_op *both[2] = { state, p->counter }, *then[2] = { next }, *again, *last;

	then[1] = build_number(p->bl, NCC_ADD, p->counter, 1);
	if (!then[1] || !state || !next)
		return NULL;
	again = build_compare(p->bl, NCC_LT, then[1],
			      build_splat(p->bl, &then[1]->shape, (double)p->count));
	last = build_loop_end(p->bl, p->loop, again, both, then, 2);
	return last ? build_loop_result(p->bl, last, state) : NULL;
}

struct ncc_op *portions_take(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
			     int64_t each, portions_take_fn take)
{
	struct ncc_shape all, s;
	struct ncc_op *now, *state;
	struct portions p;
	int64_t n;

	if (!idx || !x)
		return NULL;
	n = idx->shape.dim[0];
	begin(&p, bl, n, each);
	now = take(bl, portion(&p, as_table(&p, idx, 0), idx), x);
	if (!now)
		return NULL;

	all = s = now->shape;
	all.ndim = s.ndim = 2;
	all.dim[0] = p.count * p.lines;
	s.dim[0] = p.lines;
	all.dim[1] = s.dim[1] = ncc_elems(&now->shape) / p.lines;
	state = build_splat(bl, &all, 0);
	state = build_state(bl, p.loop, state);
	now = build_reshape(bl, now, &s);
	now = state && now ? build_node(bl, NCC_SCATTER, &all, state, p.at, now) : NULL;
	now = end(&p, state, now);
	s = x->shape;
	s.dim[0] = p.count * p.each;
	return build_slice(bl, build_reshape(bl, now, &s), 0, 0, n);
}

struct ncc_op *portions_update(struct ncc_build *bl, const struct portions_updates *u, int64_t each)
{
	struct ncc_op *row, *rows, *state;
	struct portions p;

	if (!u->x || !u->row || !u->u)
		return NULL;
	begin(&p, bl, u->row->shape.dim[0], each);
	row = portion(&p, as_table(&p, u->row, (double)u->none), u->row);
	rows = portion(&p, as_table(&p, u->u, 0), u->u);
	state = build_state(bl, p.loop, u->x);
	if (!row || !rows || !state)
		return NULL;
	return end(&p, state, u->apply(u->opaque, state, row, rows));
}
