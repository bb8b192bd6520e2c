// SPDX-License-Identifier: MIT
/*
 * Groups: element-wise operations of one shape that follow from each other are done together, piece
 * by piece, so that what only they read never leaves SBUF. This file finds the groups and generates
 * them, and the pieces of a single operation whose result and operands do not fit SBUF.
 *
 * A group is generated at the place of its last member. Nothing before that place reads a member
 * without being one, so whatever a member reads exists by then, and nobody misses it before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "elem.h"
#include "move.h"
#include "place.h"
#include "room.h"
#include "tile.h"
#include "view.h"

#define GROUP_MEMBERS 128
#define GROUP_BYTES 18432 /* of a partition, live at once: 128 times that stay in a host's cache */
#define GROUP_ELEMS 65536 /* fewer are not worth it */
#define GROUP_AHEAD 1024 /* operations that are searched for one group */
#define RESULT_BYTES 32768 /* of a partition: larger results go to DRAM */
#define GROUP_DEPTH 8 /* operations that a member's operand is the last of */
#define GROUP_VIEWS (GROUP_MEMBERS * 2)

static bool can_join(const struct ncc_op *op)
{
	return ncc_is_elementwise(op->kind) && !op->gen->fused && !op->gen->group &&
	       ncc_elems(&op->shape) >= GROUP_ELEMS;
}

static bool reads_group(const struct ncc_op *op, const struct ncc_op *last)
{
	for (unsigned int i = 0; i < op->nin; i++)
		if (op->in[i]->gen->group == last)
			return true;
	return false;
}

/* A group that grows; its members are marked with their first one. */
struct growth {
	struct ncc_op *first, *last;
	unsigned int n;
};

static bool fits(const struct growth *w, const struct ncc_op *op)
{
	return w->n < GROUP_MEMBERS && can_join(op) && op->pdim == w->first->pdim &&
	       ncc_same_dims(&op->shape, &w->first->shape);
}

static void add_member(struct growth *w, struct ncc_op *op)
{
	op->gen->group = w->first;
	w->last->gen->group_next = op;
	w->last = op;
	w->n++;
}

/*
 * Adds a member, and before it what only it reads: a product is made where it is summed, rather
 * than kept until the group is generated.
 */
static void join(struct growth *w, struct ncc_op *op, unsigned int depth)
{
	w->n++; /* op itself, which follows */
	for (unsigned int i = 0; i < op->nin; i++)
		if (depth < GROUP_DEPTH && op->in[i]->users == 1 && fits(w, op->in[i]))
			join(w, op->in[i], depth + 1);
	w->n--;
	add_member(w, op);
}

/* The members of a group are linked from its first one; all name the last one as their group */
static void grow(struct ncc_op *first)
{
	struct growth w = { .first = first, .last = first, .n = 1 };
	unsigned int ahead = 0;

	first->gen->group = first;
	for (struct ncc_op *x = first->next; x && ahead < GROUP_AHEAD; x = x->next, ahead++) {
		if (x->gen->group == first || !reads_group(x, first))
			continue;
		if (!fits(&w, x))
			break;
		join(&w, x, 0);
	}

	for (struct ncc_op *x = first; x; x = x->gen->group_next)
		x->gen->group = w.n > 1 ? w.last : NULL;
	w.last->gen->group_first = first;
}

void gen_find_groups(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next)
		op->gen->group = op->gen->group_next = op->gen->group_first = NULL;
	for (struct ncc_op *op = m->first; op; op = op->next)
		if (can_join(op))
			grow(op);
}

/* Is the operand of a binary operation an immediate? Then it needs no place. */
bool tile_is_immediate(const struct ncc_op *op, unsigned int i)
{
	double v;

	if (!ncc_is_binary(op->kind) || op->kind == NCC_DIV || !ncc_scalar_value(op->in[i], &v))
		return false;
	return i == 1 || !ncc_scalar_value(op->in[1], &v);
}

/* A value that comes from outside the group or goes there; all slots are cut into pieces alike. */
struct slot {
	struct ncc_op *op;
	uint8_t dtype; /* of a source: the type to fetch (0: its own) */
	bool result;
	unsigned int last; /* of a source: the last member that reads it */
	struct tile_store store; /* of a result */
};

struct group {
	unsigned int n;
	struct ncc_op *op[GROUP_MEMBERS];
	int in[GROUP_MEMBERS][TILE_OPERANDS]; /* slot, or -1 - member, or NO_SLOT: an immediate */
	int out[GROUP_MEMBERS]; /* slot, or NO_SLOT */
	unsigned int last[GROUP_MEMBERS]; /* the last member that reads this one */
	unsigned int nslots;
	struct slot slot[GROUP_VIEWS];
	/* Of the current piece: */
	struct ncc_view tile[GROUP_MEMBERS], got[GROUP_VIEWS];
};
#define NO_SLOT INT32_MAX

/* The views of all slots in one form */
struct form {
	struct ncc_view v[GROUP_VIEWS];
	unsigned int lead; /* a result: it has every element once */
};

static uint8_t dtype_of(const struct ncc_op *op)
{
	return op->gen->write_dtype ? op->gen->write_dtype : op->shape.dtype;
}

static int find_source(struct group *x, struct ncc_op *op, uint8_t dtype)
{
	unsigned int s;

	for (s = 0; s < x->nslots; s++)
		if (!x->slot[s].result && x->slot[s].op == op && x->slot[s].dtype == dtype)
			return (int)s;
	if (s == GROUP_VIEWS)
		return -ENOSPC;
	x->slot[x->nslots++] = (struct slot){ .op = op, .dtype = dtype };
	return (int)s;
}

static int add_operand(struct group *x, unsigned int m, unsigned int i)
{
	const struct ncc_op *op = x->op[m];
	struct ncc_op *in = op->in[i];
	int s;

	x->in[m][i] = NO_SLOT;
	if (tile_is_immediate(op, i))
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

static int collect(struct ncc_gen *g, struct group *x, struct ncc_op *last)
{
	struct ncc_op *op = last->gen->group ? last->gen->group_first : last;

	for (; op; op = last->gen->group ? op->gen->group_next : NULL) {
		x->op[x->n] = op;
		x->last[x->n] = x->n;
		x->out[x->n] = NO_SLOT;
		for (unsigned int i = 0; i < op->nin; i++)
			if (add_operand(x, x->n, i))
				return ncc_fail_op(g->err, -EFBIG, op, "too many operands");
		x->n++;
	}

	for (unsigned int m = 0; m < x->n; m++) {
		if (m + 1 < x->n && !is_result(x, m))
			continue;
		if (x->nslots == GROUP_VIEWS)
			return ncc_fail_op(g->err, -EFBIG, last, "too many operands");
		x->out[m] = (int)x->nslots;
		x->slot[x->nslots++] = (struct slot){ .op = x->op[m], .result = true };
	}
	return 0;
}

/* The bytes of a partition that pieces take which live at one time, at most */
static int64_t live_bytes(const struct group *x, const struct form *f, const int64_t *size,
			  int pdim)
{
	int64_t live = 0, most = 0, extra;
	struct ncc_view any = f->v[f->lead];
	bool here[GROUP_VIEWS] = { false };

	any.buf = NULL;
	for (unsigned int m = 0; m < x->n; m++) {
		extra = 0;
		for (unsigned int i = 0; i < x->op[m]->nin; i++) {
			int s = x->in[m][i];

			if (x->op[m]->kind == NCC_DIV && i == 1)
				extra = tile_bytes(&any, size, pdim, 0) * 4 /
					ncc_dtype_size(any.dtype);
			if (s == NO_SLOT || s < 0 || here[s])
				continue;
			here[s] = true;
			live += tile_bytes(&f->v[s], size, pdim, x->slot[s].dtype);
		}
		any.dtype = dtype_of(x->op[m]);
		live += tile_bytes(&any, size, pdim, 0);
		most = live + extra > most ? live + extra : most;
		for (unsigned int s = 0; s < x->nslots; s++)
			if (here[s] && x->slot[s].last == m)
				live -= tile_bytes(&f->v[s], size, pdim, x->slot[s].dtype);
		for (unsigned int k = 0; k <= m; k++) {
			any.dtype = dtype_of(x->op[k]);
			if (x->last[k] == m && x->out[k] == NO_SLOT)
				live -= tile_bytes(&any, size, pdim, 0);
		}
	}
	return most;
}

/* Fetches a source's piece to SBUF, where it stays until its last reader in the group. */
static int get(struct ncc_gen *g, struct group *x, const struct form *f, unsigned int s, int pdim)
{
	unsigned int mark = g->ntemps;
	int rc;

	if (x->got[s].buf)
		return 0;
	rc = gen_fetch(g, &f->v[s], pdim, x->slot[s].dtype, &x->got[s]);
	if (rc)
		x->got[s].buf = NULL;
	else
		x->got[s].buf->refs++;
	gen_release_temps(g, mark);
	return rc;
}

static void drop(struct ncc_gen *g, struct ncc_view *v)
{
	gen_unref(g, v->buf);
	v->buf = NULL;
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

static int compute(struct ncc_gen *g, struct group *x, const struct form *f, unsigned int m,
		   const struct ncc_shape *like, int pdim)
{
	struct ncc_op *op = x->op[m];
	unsigned int mark = g->ntemps;
	struct ncc_shape s = *like;
	struct tile_op t;
	int rc = 0;

	if (op->kind == NCC_CONVERT && operand(x, m, 0)->dtype == dtype_of(op) &&
	    (x->out[m] == NO_SLOT || f->v[x->out[m]].buf->space == NCC_DRAM)) {
		x->tile[m] = *operand(x, m, 0);
		x->tile[m].buf->refs++;
		return 0;
	}

	s.dtype = dtype_of(op);
	if (x->out[m] != NO_SLOT && f->v[x->out[m]].buf->space == NCC_SBUF) {
		x->tile[m] = f->v[x->out[m]];
		x->tile[m].buf->refs++;
		x->tile[m].buf->pin = g->stamp;
	} else {
		rc = tile_alloc(g, &s, pdim, &x->tile[m]);
	}
	if (rc) {
		x->tile[m].buf = NULL;
		return rc;
	}

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
	memset(x->got, 0, sizeof(x->got[0]) * x->nslots);
	memset(x->tile, 0, sizeof(x->tile[0]) * x->n);

	for (unsigned int m = 0; !rc && m < x->n; m++) {
		for (unsigned int i = 0; !rc && i < x->op[m]->nin; i++)
			if (x->in[m][i] != NO_SLOT && x->in[m][i] >= 0)
				rc = get(g, x, f, (unsigned int)x->in[m][i], pdim);
		rc = rc ? rc : compute(g, x, f, m, &s, pdim);
		rc = rc ? rc : put(g, x, f, m);
		for (unsigned int k = 0; !rc && k <= m; k++)
			if (x->last[k] == m)
				drop(g, &x->tile[k]);
		for (unsigned int k = 0; !rc && k < x->nslots; k++)
			if (!x->slot[k].result && x->slot[k].last == m)
				drop_source(g, x, k);
	}

	for (unsigned int k = 0; k < x->n; k++)
		drop(g, &x->tile[k]);
	for (unsigned int k = 0; k < x->nslots; k++)
		drop(g, &x->got[k]);
	return rc;
}

static int flush(struct ncc_gen *g, struct group *x, int rc)
{
	for (unsigned int s = 0; s < x->nslots; s++)
		if (x->slot[s].result)
			rc = tile_flush(g, &x->slot[s].store, rc);
	return rc;
}

static int in_boxes(struct ncc_gen *g, struct group *x, const struct form *f, int pdim)
{
	const struct ncc_view *lead = &f->v[f->lead];
	int64_t step[NCC_MAX_DIMS];
	struct form part = *f;
	struct tile_box b;
	int rc;

	memcpy(step, lead->dim, sizeof(step));
	while (live_bytes(x, f, step, pdim) > GROUP_BYTES &&
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
	struct form main = *f, rest = *f;
	bool split;

	for (unsigned int s = 0; pdim != wish && s < x->nslots; s++)
		if (f->v[s].buf->space == NCC_SBUF && (x->slot[s].result || f->v[s].pdim == wish))
			pdim = wish;
	split = tile_should_split(&f->v[f->lead], pdim);
	for (unsigned int s = 0; s < x->nslots && split; s++)
		split = tile_can_split(&f->v[s], pdim);
	if (!split)
		return in_boxes(g, x, f, pdim);
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
	struct form part = *f;
	int rc = 0;

	columns = GROUP_BYTES / (live_bytes(x, f, probe, -1) / NCC_SBUF_ALIGN) / NCC_SBUF_ALIGN *
		  NCC_SBUF_ALIGN;
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
	struct form flat = *f;

	for (unsigned int s = 0; s < x->nslots; s++)
		if (!tile_flatten(&flat.v[s]))
			return false;
	*f = flat;
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

/* Gives m's result the place of a source whose last reader m is. */
static bool take_place(struct ncc_gen *g, struct group *x, unsigned int m,
		       const struct ncc_shape *s, struct ncc_view *v)
{
	for (unsigned int k = 0; k < x->nslots; k++) {
		const struct slot *t = &x->slot[k];

		if (t->result || t->last > m || (t->dtype && t->dtype != s->dtype) ||
		    !view_can_take(t->op, reads(x, t->op), s, x->op[m]->pdim))
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

	s.dtype = dtype_of(op);
	view_row_major(&v, NULL, &s);
	if (!take_place(g, x, m, &s, &v) &&
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
	if (ncc_elems(&s) > GROUP_ELEMS)
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

int tile_elementwise(struct ncc_gen *g, struct ncc_op *last)
{
	struct group *x = calloc(1, sizeof(*x));
	struct form f = { 0 };
	int rc, pdim = last->pdim;

	if (!x)
		return ncc_no_memory(g->err);
	rc = collect(g, x, last);
	rc = rc ? rc : place(g, x, &f, pdim);
	if (!rc) {
		pdim = in_order(x, &f, pdim);
		rc = all_flat(x, &f) ? in_flat_rows(g, x, &f) : in_rows(g, x, &f, pdim);
	}
	free(x);
	return rc;
}
