// SPDX-License-Identifier: MIT
/*
 * Elements of rows by their places (line.h). Up to 128 rows at a time have one partition each,
 * whole; their places, and what is taken or combined, come in pieces. Part of the code generator.
 */
#include "line.h"

#include <stdlib.h>

#include "buffer.h"
#include "emit.h"
#include "join.h"
#include "move.h"
#include "place.h"
#include "sbuf.h"
#include "view.h"
#include "walk.h"

#define PIECE 4 /* places and elements of a piece take one part in so many beside the row */

/* A part of the rows and of their places: rows lo to lo + n, places at to at + m */
struct piece {
	int64_t lo, n, at, m;
};

static struct ncc_view rows_of(const struct ncc_view *v, const struct piece *p)
{
	return v->dim[0] == p->n ? *v : view_slice(v, 0, p->lo, p->n, 1);
}

static struct ncc_view part_of(const struct ncc_view *v, const struct piece *p)
{
	struct ncc_view r = rows_of(v, p);

	return r.dim[1] == p->m ? r : view_slice(&r, 1, p->at, p->m, 1);
}

/* One access pattern takes it all: the element after the next one is not too far away. */
static bool is_one_pattern(const struct ncc_view *v)
{
	return llabs(v->stride[1]) <= INT16_MAX;
}

/*
 * So many places at one time: all, or if the result is not in SBUF since they had no room, some for
 * which there is room beside the row
 */
static int64_t most_places(const struct ncc_gen *g, const struct ncc_op *op,
			   const struct ncc_view *dst)
{
	int64_t size = ncc_dtype_size(op->shape.dtype), row = op->in[0]->shape.dim[1] * size;

	if (dst->buf->space != NCC_DRAM)
		return PLAN_MOST_PLACES;
	return ((int64_t)g->prog.target->sbuf_part_size - row) / PIECE /
	       (size + (int64_t)sizeof(int32_t));
}

/* A tile of the view's shape in its place */
static int tile_for(struct ncc_gen *g, const struct ncc_view *v, int pdim, struct ncc_view *tile)
{
	struct ncc_shape s;
	int rc;

	view_shape(v, &s);
	rc = gen_sbuf_view(g, &s, pdim, tile);
	return rc ? rc : gen_temp(g, tile->buf);
}

/* Brings a part of an operand's rows, *v, to the partitions of the result's rows. */
static int fetch(struct ncc_gen *g, struct ncc_op *op, int pdim, struct ncc_view *v)
{
	struct ncc_view from = *v;
	int rc = op->plan->kept ? gen_fetch_kept(g, &from, pdim, 0, v)
				: gen_fetch(g, &from, pdim, 0, v);

	if (rc || is_one_pattern(v))
		return rc;
	from = *v;
	rc = tile_for(g, &from, pdim, v);
	return rc ? rc : gen_copy(g, v, &from);
}

static struct neuron_ap pattern_of(const struct ncc_view *v)
{
	struct walk w;

	walk_begin(&w, &v, 1, 0, UINT16_MAX);
	walk_next(&w);
	return w.ap[0];
}

/* An operation that goes over its rows and their places in pieces */
struct lines {
	const struct ncc_op *op;
	const struct ncc_view *dst;
	int pdim;
	int64_t places; /* at one time */
	struct piece p;
	struct ncc_view line; /* the rows, each whole in its partition */
	struct ncc_view got[3]; /* operands, as they were fetched */
};

static int64_t at_most(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

static int lines_begin(struct ncc_gen *g, struct lines *l, const struct ncc_op *op,
		       const struct ncc_view *dst)
{
	int rc = 0;

	*l = (struct lines){ .op = op,
			     .dst = dst,
			     .pdim = op->shape.dim[0] > 1 ? 0 : -1,
			     .places = most_places(g, op, dst) };
	for (unsigned int i = 0; !rc && i < op->nin; i++)
		rc = gen_place(g, op->in[i], l->pdim);
	return rc;
}

/* Fetches the piece's rows of operand i, whole or where its places are. */
static int fetch_operand(struct ncc_gen *g, struct lines *l, unsigned int i)
{
	const struct ncc_view *v = &l->op->in[i]->gen->value->view;

	l->got[i] = i ? part_of(v, &l->p) : rows_of(v, &l->p);
	return fetch(g, l->op->in[i], l->pdim, &l->got[i]);
}

/*
 * An operand that was fetched whole, and is read again, stays where it is now: its next reader
 * wants it there too.
 */
static void lines_end(struct ncc_gen *g, const struct lines *l)
{
	const struct ncc_op *op = l->op;

	for (unsigned int i = 0; i < op->nin; i++) {
		struct ncc_value *value = op->in[i]->gen->value;
		struct ncc_buf *buf = l->got[i].buf;

		if (!buf || buf == value->view.buf || buf->refs > 1 || value->uses < 2 ||
		    value->padded || op->shape.dim[0] > NEURON_PARTITIONS ||
		    (i && op->in[i]->shape.dim[1] > l->places))
			continue;
		buf->refs++;
		buf->pin = g->stamp;
		gen_unref(g, value->view.buf);
		value->view = l->got[i];
	}
}

/* Is it whole in each partition, where one access pattern reaches it? */
static bool is_reached(const struct ncc_view *v)
{
	return view_on_engine(v) && is_one_pattern(v);
}

static int take_piece(struct ncc_gen *g, struct lines *l)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_GATHER, .partitions = (uint8_t)l->p.n };
	struct ncc_view to = part_of(l->dst, &l->p), tile = to;
	int rc = fetch_operand(g, l, 1);

	if (!rc && !is_reached(&to))
		rc = tile_for(g, &to, l->pdim, &tile);
	if (rc)
		return rc;
	insn.dst = pattern_of(&tile);
	insn.src0 = pattern_of(&l->line);
	insn.src1 = pattern_of(&l->got[1]);
	rc = gen_insn(g, NEURON_ENG_POOL, &insn);
	return rc || tile.buf == to.buf ? rc : gen_copy(g, &to, &tile);
}

static uint8_t alu_of(const struct ncc_op *op)
{
	switch (op->func) {
	case NCC_ADD:
		return NEURON_ALU_ADD;
	case NCC_MAX:
		return NEURON_ALU_MAX;
	case NCC_MIN:
		return NEURON_ALU_MIN;
	default:
		return NEURON_ALU_BYPASS;
	}
}

static int combine_piece(struct ncc_gen *g, struct lines *l)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SCATTER,
				    .partitions = (uint8_t)l->p.n,
				    .op0 = alu_of(l->op) };
	int rc = fetch_operand(g, l, 1);

	rc = rc ? rc : fetch_operand(g, l, 2);
	if (rc)
		return rc;
	insn.dst = pattern_of(&l->line);
	insn.src0 = pattern_of(&l->got[2]);
	insn.src1 = pattern_of(&l->got[1]);
	return gen_insn(g, NEURON_ENG_POOL, &insn);
}

/* A piece's fetched data goes when the next piece comes. */
static int each_piece(struct ncc_gen *g, struct lines *l,
		      int (*fn)(struct ncc_gen *g, struct lines *l))
{
	const int64_t all = l->op->in[1]->shape.dim[1];
	const unsigned int mark = g->ntemps;
	int rc = 0;

	for (l->p.at = 0; !rc && l->p.at < all; l->p.at += l->p.m) {
		gen_release_temps(g, mark);
		l->p.m = at_most(all - l->p.at, l->places);
		rc = fn(g, l);
	}
	return rc;
}

static int take_rows(struct ncc_gen *g, struct lines *l)
{
	int rc = fetch_operand(g, l, 0);

	l->line = l->got[0];
	return rc ? rc : each_piece(g, l, take_piece);
}

static int order_rows(struct ncc_gen *g, struct lines *l)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SORT,
				    .partitions = (uint8_t)l->p.n,
				    .reverse0 = l->op->func == NCC_GT };
	struct ncc_view to = rows_of(l->dst, &l->p), tile = to;
	int rc = fetch_operand(g, l, 0);

	if (!rc && !is_reached(&to))
		rc = tile_for(g, &to, l->pdim, &tile);
	if (rc)
		return rc;
	insn.dst = pattern_of(&tile);
	insn.src0 = pattern_of(&l->got[0]);
	rc = gen_insn(g, NEURON_ENG_POOL, &insn);
	return rc || tile.buf == to.buf ? rc : gen_copy(g, &to, &tile);
}

/* Seeds the generator and draws: nobody draws in between, as the engine takes one after the other. */
int gen_random(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct neuron_insn seed = { .opcode = NEURON_OP_SET_RNG_SEED, .partitions = 1 };
	struct neuron_insn draw = { .opcode = NEURON_OP_RNG,
				    .partitions = (uint8_t)op->shape.dim[0] };
	struct ncc_view tile = *dst, got;
	int rc = gen_place(g, op->in[0], -1);

	rc = rc ? rc : gen_fetch(g, &op->in[0]->gen->value->view, -1, 0, &got);
	if (!rc && !is_reached(dst))
		rc = tile_for(g, dst, op->shape.dim[0] > 1 ? 0 : -1, &tile);
	if (rc)
		return rc;
	seed.src0 = pattern_of(&got);
	draw.dst = pattern_of(&tile);
	rc = gen_insn(g, NEURON_ENG_POOL, &seed);
	rc = rc ? rc : gen_insn(g, NEURON_ENG_POOL, &draw);
	return rc || tile.buf == dst->buf ? rc : gen_copy(g, dst, &tile);
}

/* Gives the row the elements of operand 0, unless it is in its place. */
static int begin_row(struct ncc_gen *g, const struct lines *l)
{
	const struct ncc_view *x = &l->op->in[0]->gen->value->view;
	struct ncc_view from = rows_of(x, &l->p);
	double v;

	if (x->buf == l->line.buf)
		return 0;
	if (plan_number(l->op->in[0], &v) && v == v)
		return gen_memset(g, &l->line, v);
	return gen_copy(g, &l->line, &from);
}

static int combine_rows(struct ncc_gen *g, struct lines *l)
{
	struct ncc_view to = rows_of(l->dst, &l->p);
	int rc = 0;

	l->line = to;
	if (!is_reached(&to))
		rc = tile_for(g, &to, l->pdim, &l->line);
	rc = rc ? rc : begin_row(g, l);
	rc = rc ? rc : each_piece(g, l, combine_piece);
	return rc || l->line.buf == to.buf ? rc : gen_copy(g, &to, &l->line);
}

static int each_rows(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst,
		     int (*fn)(struct ncc_gen *g, struct lines *l))
{
	const unsigned int mark = g->ntemps;
	struct lines l;
	int rc = lines_begin(g, &l, op, dst);

	for (; !rc && l.p.lo < op->shape.dim[0]; l.p.lo += l.p.n) {
		gen_release_temps(g, mark);
		l.p.n = at_most(op->shape.dim[0] - l.p.lo, NEURON_PARTITIONS);
		rc = fn(g, &l);
	}
	if (!rc)
		lines_end(g, &l);
	return rc;
}

int gen_order(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	return each_rows(g, op, dst, order_rows);
}

int gen_take(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	return each_rows(g, op, dst, take_rows);
}

int gen_combine(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	return each_rows(g, op, dst, combine_rows);
}
