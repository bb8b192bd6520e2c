// SPDX-License-Identifier: MIT
/*
 * Groups: element-wise operations of one shape that follow from each other are done together, piece
 * by piece, so that what only they read never leaves SBUF. This file generates them, and the pieces
 * of a single operation whose result and operands do not fit SBUF; the plan says what they are.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "elem.h"
#include "group.h"
#include "join.h"
#include "move.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"

#define GROUP_BYTES 18432 /* of a partition, live at once: 128 times that stay in a host's cache */
#define FLATTEN_ELEMS 65536 /* of a source that is moved to DRAM for its rows */
#define RESULT_BYTES 32768 /* of a partition: larger results go to DRAM */

/* Is the operand of a binary operation an immediate? Then it needs no place. */
static bool is_immediate(const struct ncc_op *op, unsigned int i)
{
	double v;

	if (!ncc_is_binary(op->kind) || op->kind == NCC_DIV || !plan_number(op->in[i], &v))
		return false;
	return i == 1 || !plan_number(op->in[1], &v);
}

static void add_slot(struct group *x, const struct slot *slot)
{
	x->got[x->nslots].buf = NULL;
	x->slot[x->nslots++] = *slot;
}

static int find_source(struct group *x, struct ncc_op *op, uint8_t dtype)
{
	unsigned int s;

	for (s = 0; s < x->nslots; s++)
		if (!x->slot[s].result && x->slot[s].op == op && x->slot[s].dtype == dtype)
			return (int)s;
	if (s == GROUP_VIEWS)
		return -ENOSPC;
	add_slot(x, &(struct slot){ .op = op, .dtype = dtype });
	return (int)s;
}

static int add_operand(struct group *x, unsigned int m, unsigned int i)
{
	const struct ncc_op *op = x->op[m];
	struct ncc_op *in = op->in[i];
	int s;

	x->in[m][i] = NO_SLOT;
	if (is_immediate(op, i))
		return 0;

	for (unsigned int k = 0; k < m; k++) {
		if (x->op[k] != in)
			continue;
		x->in[m][i] = -1 - (int)k;
		x->last[k] = m;
		return 0;
	}

	s = find_source(x, in, op->kind == NCC_CONVERT ? 0 : in->shape.dtype);
	if (s < 0)
		return s;
	x->in[m][i] = s;
	x->slot[s].last = m;
	return 0;
}

/* Is the member read outside the group, or a result of the module? */
static bool is_result(const struct group *x, unsigned int m)
{
	unsigned int inside = 0;

	for (unsigned int k = m + 1; k < x->n; k++)
		for (unsigned int i = 0; i < x->op[k]->nin; i++)
			inside += x->op[k]->in[i] == x->op[m];
	return inside < x->op[m]->users;
}

static int collect(struct ncc_gen *g, struct group *x, struct ncc_op *first)
{
	for (struct ncc_op *op = first; op; op = op->plan->next) {
		x->op[x->n] = op;
		x->last[x->n] = x->n;
		x->out[x->n] = NO_SLOT;
		for (unsigned int i = 0; i < op->nin; i++)
			if (add_operand(x, x->n, i))
				return gen_fail(g, -EFBIG, "too many operands");
		x->n++;
	}

	for (unsigned int m = 0; m < x->n; m++) {
		if (m + 1 < x->n && !is_result(x, m))
			continue;
		if (x->nslots == GROUP_VIEWS)
			return gen_fail(g, -EFBIG, "too many operands");
		x->out[m] = (int)x->nslots;
		add_slot(x, &(struct slot){ .op = x->op[m], .result = true });
	}
	return 0;
}

/*
 * Does what was fetched stay for the next pieces? One number for each partition does, in a place of
 * its own: most pieces differ along other dimensions.
 */
static bool stays(const struct group *x, unsigned int s)
{
	const struct ncc_view *v = &x->got[s];

	return v->buf && v->buf->pin == NCC_PIN_TEMP && elem_per_partition(v);
}

/* Are two pieces of one value the same piece? */
static bool same_place(const struct ncc_view *a, const struct ncc_view *b)
{
	return a->off == b->off && a->pstart == b->pstart &&
	       !memcmp(a->dim, b->dim, a->ndim * sizeof(a->dim[0]));
}

static void drop(struct ncc_gen *g, struct ncc_view *v)
{
	gen_unref(g, v->buf);
	v->buf = NULL;
}

/* Fetches a source's piece to SBUF, where it stays until its last reader in the group. */
static int get(struct ncc_gen *g, struct group *x, const struct form *f, unsigned int s, int pdim)
{
	unsigned int mark = g->ntemps;
	int rc;

	if (x->got[s].buf && same_place(&x->asked[s], &f->v[s]))
		return 0;
	drop(g, &x->got[s]);
	x->asked[s] = f->v[s];
	rc = gen_fetch(g, &f->v[s], pdim, x->slot[s].dtype, &x->got[s]);
	if (rc)
		x->got[s].buf = NULL;
	else
		x->got[s].buf->refs++;
	gen_release_temps(g, mark);
	return rc;
}

/*
 * Drops a source after its last reader. It may lie in SBUF, with later readers outside the group:
 * then it may be spilled from now on, lest all sources of a long group need room at once.
 */
static void drop_source(struct ncc_gen *g, struct group *x, unsigned int s)
{
	struct ncc_buf *buf = x->got[s].buf;
	bool read = false;

	x->got[s].buf = NULL;
	for (unsigned int k = 0; k < x->nslots; k++)
		read = read || x->got[k].buf == buf;
	for (unsigned int k = 0; k < x->n; k++)
		read = read || x->tile[k].buf == buf;
	if (buf && !read && buf->pin == g->stamp)
		buf->pin = 0;
	gen_unref(g, buf);
}

static const struct ncc_view *operand(const struct group *x, unsigned int m, unsigned int i)
{
	int s = x->in[m][i];

	return s < 0 ? &x->tile[-1 - s] : &x->got[s];
}

/* One step of a chain: member m, but for its operand i, which comes before it */
static struct elem_step step_of(const struct group *x, unsigned int m, unsigned int i)
{
	const struct ncc_op *op = x->op[m];
	struct elem_step step = { .kind = op->kind, .second = i == 1 };

	if (op->kind == NCC_NEG) {
		step.kind = NCC_MUL;
		step.value = -1;
	} else if (x->in[m][!i] == NO_SLOT) {
		plan_number(op->in[!i], &step.value);
	} else {
		step.view = operand(x, m, !i);
	}
	return step;
}

/* The operand of a chain's first member that goes through it: the other one is the scalar. */
static unsigned int array_operand(const struct group *x, unsigned int m)
{
	if (x->op[m]->nin == 1)
		return 0;
	return x->in[m][0] == NO_SLOT ||
	       (x->in[m][1] != NO_SLOT && elem_per_partition(operand(x, m, 0)));
}

/* Two members in one instruction */
static int compute_chain(struct ncc_gen *g, const struct group *x, unsigned int begin,
			 unsigned int end)
{
	unsigned int i = array_operand(x, begin);
	const struct elem_step step[2] = {
		step_of(x, begin, i),
		step_of(x, end, group_operand(x, end, 1) == begin),
	};

	return gen_chain(g, &x->tile[end], operand(x, begin, i), step);
}

/*
 * The elements from row to row of a window that a member reads, if a result with rows as far apart
 * is worth its space: the chip's model takes short rows that lie alike in one go.
 */
#define PITCH_ROW 128

static int64_t pitch_of(const struct group *x, unsigned int m, const struct ncc_shape *s, int pdim)
{
	unsigned int begin = chain_begin(x, m), last = s->ndim - 1;
	const unsigned int reader = begin == NO_MEMBER ? m : begin;

	if (s->ndim < 2 || pdim >= (int)last - 1 || x->out[m] != NO_SLOT ||
	    s->dtype != NEURON_DT_FP32 || s->dim[last] > PITCH_ROW || s->dim[last - 1] < 2 ||
	    !elem_can_chain(x->op[m]->kind))
		return 0;
	for (unsigned int i = 0; i < x->op[reader]->nin; i++) {
		const struct ncc_view *v;

		if (x->in[reader][i] < 0 || x->in[reader][i] == NO_SLOT)
			continue;
		v = operand(x, reader, i);
		if (v->dtype == s->dtype && v->stride[last] == 1 &&
		    v->stride[last - 1] > s->dim[last] && v->stride[last - 1] <= 2 * s->dim[last])
			return v->stride[last - 1];
	}
	return 0;
}

/* The place of a member's piece: that of an operand that nobody needs any more, or a new one */
static int place_piece(struct ncc_gen *g, struct group *x, unsigned int m,
		       const struct ncc_shape *s, int pdim)
{
	unsigned int k = chain_place(x, m);
	struct ncc_shape wide = *s;
	int64_t pitch;
	int rc;

	if (k != NO_MEMBER && x->tile[k].buf->refs == 1 && x->tile[k].buf->space == NCC_SBUF) {
		x->tile[m] = x->tile[k];
		x->tile[m].buf->refs++;
		return 0;
	}
	pitch = pitch_of(x, m, s, pdim);
	if (pitch)
		wide.dim[s->ndim - 1] = pitch;
	rc = tile_alloc(g, &wide, pdim, &x->tile[m]);
	x->tile[m].dim[s->ndim - 1] = s->dim[s->ndim - 1];
	return rc;
}

static int compute(struct ncc_gen *g, struct group *x, const struct form *f, unsigned int m,
		   const struct ncc_shape *like, int pdim)
{
	struct ncc_op *op = x->op[m];
	unsigned int mark = g->ntemps;
	struct ncc_shape s = *like;
	unsigned int begin;
	struct tile_op t;
	int rc = 0;

	if (op->kind == NCC_CONVERT && operand(x, m, 0)->dtype == op->plan->dtype &&
	    (x->out[m] == NO_SLOT || f->v[x->out[m]].buf->space == NCC_DRAM)) {
		x->tile[m] = *operand(x, m, 0);
		x->tile[m].buf->refs++;
		return 0;
	}

	s.dtype = op->plan->dtype;
	if (x->out[m] != NO_SLOT && f->v[x->out[m]].buf->space == NCC_SBUF) {
		x->tile[m] = f->v[x->out[m]];
		x->tile[m].buf->refs++;
		x->tile[m].buf->pin = g->stamp;
	} else {
		rc = place_piece(g, x, m, &s, pdim);
	}
	if (rc) {
		x->tile[m].buf = NULL;
		return rc;
	}

	begin = chain_begin(x, m);
	if (begin != NO_MEMBER)
		return compute_chain(g, x, begin, m);
	tile_op_init(&t, op, &s, pdim);
	for (unsigned int i = 0; i < op->nin; i++)
		if (x->in[m][i] != NO_SLOT)
			tile_op_operand(&t, i, operand(x, m, i));

	rc = gen_elementwise(g, &t.op, &x->tile[m]);
	gen_release_temps(g, mark);
	return rc;
}

/* Stores a result's piece once the next piece is in the program, unless it lies in its place. */
static int put(struct ncc_gen *g, struct group *x, const struct form *f, unsigned int m)
{
	int s = x->out[m];

	if (s == NO_SLOT || f->v[s].buf->space == NCC_SBUF)
		return 0;
	x->tile[m].buf->refs++;
	return tile_put(g, &x->slot[s].store, &x->tile[m], &f->v[s]);
}

static int piece(struct ncc_gen *g, struct group *x, const struct form *f, int pdim)
{
	struct ncc_shape s;
	int rc = 0;

	g->stamp++;
	view_shape(&f->v[f->lead], &s);
	memset(x->tile, 0, sizeof(x->tile[0]) * x->n);

	for (unsigned int m = 0; !rc && m < x->n; m++) {
		for (unsigned int i = 0; !rc && i < x->op[m]->nin; i++)
			if (x->in[m][i] != NO_SLOT && x->in[m][i] >= 0)
				rc = get(g, x, f, (unsigned int)x->in[m][i], pdim);
		if (!rc && x->into[m] != NO_MEMBER)
			continue;
		rc = rc ? rc : compute(g, x, f, m, &s, pdim);
		rc = rc ? rc : put(g, x, f, m);
		for (unsigned int k = 0; !rc && k <= m; k++)
			if (x->last[k] == m)
				drop(g, &x->tile[k]);
		for (unsigned int k = 0; !rc && k < x->nslots; k++)
			if (!x->slot[k].result && x->slot[k].last == m && !stays(x, k))
				drop_source(g, x, k);
	}

	for (unsigned int k = 0; k < x->n; k++)
		drop(g, &x->tile[k]);
	for (unsigned int k = 0; k < x->nslots; k++)
		if (rc || !stays(x, k))
			drop(g, &x->got[k]);
	return rc;
}

static int flush(struct ncc_gen *g, struct group *x, int rc)
{
	for (unsigned int s = 0; s < x->nslots; s++) {
		drop(g, &x->got[s]);
		if (x->slot[s].result)
			rc = tile_flush(g, &x->slot[s].store, rc);
	}
	return rc;
}

static int in_boxes(struct ncc_gen *g, struct group *x, const struct form *f, int pdim)
{
	const struct ncc_view *lead = &f->v[f->lead];
	int64_t step[NCC_MAX_DIMS];
	struct form part;
	struct tile_box b;
	int rc;

	part.lead = f->lead;
	chain_find(x, f, pdim);
	memcpy(step, lead->dim, sizeof(step));
	while (chain_live_bytes(x, f, step, pdim) > GROUP_BYTES &&
	       tile_halve(step, lead->ndim, pdim, ~0u))
		;
	tile_first(&b, lead->ndim, lead->dim, step);
	do {
		for (unsigned int s = 0; s < x->nslots; s++)
			part.v[s] = view_box(&f->v[s], b.lo, b.size);
		rc = piece(g, x, &part, pdim);
	} while (!rc && tile_next(&b));
	return flush(g, x, rc);
}

/*
 * Takes a dimension of short rows, or one long row, as 128 long ones along the partitions, and the
 * rest by itself.
 */
static int in_rows(struct ncc_gen *g, struct group *x, const struct form *f, int wish)
{
	int pdim = tile_pdim(&f->v[f->lead], wish, 0), rc;
	struct form main, rest;
	bool split;

	for (unsigned int s = 0; pdim != wish && s < x->nslots; s++)
		if (f->v[s].buf->space == NCC_SBUF && (x->slot[s].result || f->v[s].pdim == wish))
			pdim = wish;
	split = tile_should_split(&f->v[f->lead], pdim);
	for (unsigned int s = 0; s < x->nslots && split; s++)
		split = tile_can_split(&f->v[s], pdim);
	if (!split)
		return in_boxes(g, x, f, pdim);
	main.lead = rest.lead = f->lead;
	for (unsigned int s = 0; s < x->nslots; s++) {
		main.v[s] = tile_split(&f->v[s], (unsigned int)pdim);
		rest.v[s] = tile_rest(&f->v[s], (unsigned int)pdim);
	}
	rc = in_boxes(g, x, &main, pdim);
	return rc || !rest.v[f->lead].dim[pdim] ? rc : in_boxes(g, x, &rest, pdim);
}

/* Takes contiguous values as rows of as many elements as a piece may have, whatever their shape. */
static int in_flat_rows(struct ncc_gen *g, struct group *x, const struct form *f)
{
	int64_t n = f->v[f->lead].dim[0], columns, probe[1] = { NCC_SBUF_ALIGN };
	struct form part;
	int rc = 0;

	part.lead = f->lead;
	chain_find(x, f, -1); /* they lie side by side: none is a number for each partition */
	columns = GROUP_BYTES / (chain_live_bytes(x, f, probe, -1) / NCC_SBUF_ALIGN) /
		  NCC_SBUF_ALIGN * NCC_SBUF_ALIGN;
	columns = columns ? columns : NCC_SBUF_ALIGN;
	for (int64_t lo = 0; !rc && lo < n;) {
		int64_t left = n - lo, c = left / NEURON_PARTITIONS, rows = NEURON_PARTITIONS;

		c = c > columns ? columns : c;
		if (!c) {
			rows = left;
			c = 1;
		}
		for (unsigned int s = 0; s < x->nslots; s++)
			part.v[s] = tile_flat_piece(&f->v[s], lo, rows, c);
		rc = piece(g, x, &part, 0);
		lo += rows * c;
	}
	return flush(g, x, rc);
}

/* Orders the dimensions as the result lies in memory, outermost first. */
static int in_order(struct group *x, struct form *f, int pdim)
{
	const struct ncc_view *lead = &f->v[f->lead];
	uint8_t map[NCC_MAX_DIMS];
	int at = -1;

	if (lead->buf->space == NCC_SBUF)
		return pdim;
	for (unsigned int d = 0; d < lead->ndim; d++) {
		unsigned int k = d;

		for (; k > 0 && lead->stride[map[k - 1]] < lead->stride[d]; k--)
			map[k] = map[k - 1];
		map[k] = (uint8_t)d;
	}
	for (unsigned int d = 0; d < lead->ndim; d++)
		if (map[d] == pdim)
			at = (int)d;
	for (unsigned int s = 0, n = lead->ndim; s < x->nslots; s++)
		f->v[s] = view_permute(&f->v[s], map, n);
	return at;
}

static bool all_flat(const struct group *x, struct form *f)
{
	struct form flat;

	for (unsigned int s = 0; s < x->nslots; s++) {
		flat.v[s] = f->v[s];
		if (!tile_flatten(&flat.v[s]))
			return false;
	}
	memcpy(f->v, flat.v, x->nslots * sizeof(f->v[0]));
	return true;
}

static unsigned int reads(const struct group *x, const struct ncc_op *in)
{
	unsigned int n = 0;

	for (unsigned int m = 0; m < x->n; m++)
		for (unsigned int i = 0; i < x->op[m]->nin; i++)
			n += x->op[m]->in[i] == in;
	return n;
}

/* A selection writes one side before it reads the predicate. */
static bool reads_late(const struct ncc_op *op, const struct ncc_op *in)
{
	return op->kind == NCC_SELECT && op->in[0] == in;
}

/* Gives m's result the place of a source whose last reader m is. */
static bool take_place(struct ncc_gen *g, struct group *x, unsigned int m,
		       const struct ncc_shape *s, struct ncc_view *v)
{
	for (unsigned int k = 0; k < x->nslots; k++) {
		const struct slot *t = &x->slot[k];

		if (t->result || t->last > m || reads_late(x->op[m], t->op) ||
		    (t->dtype && t->dtype != s->dtype) ||
		    !view_can_take(t->op->gen->value, reads(x, t->op), s, x->op[m]->pdim))
			continue;
		*v = t->op->gen->value->view;
		v->buf->refs++; /* so that no other result takes it */
		v->buf->pin = g->stamp;
		return true;
	}
	return false;
}

/*
 * Places a result: in SBUF if it takes a source's place or is small and there is room, else in
 * DRAM.
 */
static int place_result(struct ncc_gen *g, struct group *x, unsigned int m)
{
	struct ncc_op *op = x->op[m];
	struct ncc_view v = { .ndim = 0 };
	struct ncc_shape s = op->shape;

	s.dtype = op->plan->dtype;
	view_row_major(&v, NULL, &s);
	if ((x->n == 1 || op->pdim < 0 || !gen_join_place(g, op, s.dtype, &v)) &&
	    !take_place(g, x, m, &s, &v) &&
	    (x->n == 1 || op->pdim < 0 || tile_bytes(&v, s.dim, op->pdim, 0) > RESULT_BYTES ||
	     gen_sbuf_view(g, &s, op->pdim, &v)))
		return tile_result(g, op);
	op->gen->value = ncc_alloc(g->m, sizeof(*op->gen->value));
	if (!op->gen->value) {
		gen_unref(g, v.buf);
		return ncc_no_memory(g->err);
	}
	op->gen->value->view = v;
	op->gen->value->uses = op->users;
	return 0;
}

/*
 * Moves a small source that lies in other partitions than the results to DRAM, from where rows of
 * it come piece by piece.
 */
static int flatten_source(struct ncc_gen *g, struct ncc_view *v, int pdim)
{
	struct ncc_view from = *v, to;
	struct ncc_shape s;
	int rc;

	if (v->pdim < 0 || v->pdim == pdim)
		return 0;
	for (unsigned int d = 0; d < v->ndim; d++)
		if (!v->stride[d] && (int)d != v->pdim)
			from.dim[d] = 1;

	view_shape(&from, &s);
	if (ncc_elems(&s) > FLATTEN_ELEMS)
		return 0;
	rc = gen_scratch(g, &s, -1, &to);
	rc = rc ? rc : gen_temp(g, to.buf);

	rc = rc ? rc : gen_copy(g, &to, &from);
	for (unsigned int d = 0; d < v->ndim; d++) {
		if (to.dim[d] != v->dim[d])
			to.stride[d] = 0;
		to.dim[d] = v->dim[d];
	}
	*v = to;
	return rc;
}

static int place(struct ncc_gen *g, struct group *x, struct form *f, int pdim)
{
	int rc = 0;

	for (unsigned int s = 0; !rc && s < x->nslots; s++) { /* sources come first */
		if (x->slot[s].result)
			continue;
		rc = gen_place(g, x->slot[s].op, pdim);
		if (!rc)
			f->v[s] = x->slot[s].op->gen->value->view;
		rc = rc ? rc : flatten_source(g, &f->v[s], pdim);
	}

	for (unsigned int m = 0; !rc && m < x->n; m++) {
		if (x->out[m] == NO_SLOT)
			continue;
		f->lead = (unsigned int)x->out[m];
		rc = place_result(g, x, m);
		if (!rc)
			f->v[f->lead] = x->op[m]->gen->value->view;
	}
	return rc;
}

int tile_elementwise(struct ncc_gen *g, struct ncc_op *first)
{
	struct group *x = malloc(sizeof(*x));
	struct form f;
	int rc, pdim = first->pdim;

	if (!x)
		return ncc_no_memory(g->err);
	memset(x, 0, offsetof(struct group, slot));
	rc = collect(g, x, first);
	rc = rc ? rc : place(g, x, &f, pdim);
	if (!rc) {
		pdim = in_order(x, &f, pdim);
		rc = all_flat(x, &f) ? in_flat_rows(g, x, &f) : in_rows(g, x, &f, pdim);
	}
	free(x);
	return rc;
}
