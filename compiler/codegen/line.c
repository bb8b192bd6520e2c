// SPDX-License-Identifier: MIT
/*
 * Elements of rows by their places (line.h). Up to 128 rows at a time have one partition each,
 * whole; their places, and what is taken or combined, come in pieces. Places that all rows share
 * are fetched to every partition. Part of the code generator.
 */
#include "line.h"

#include <stdlib.h>

#include "buffer.h"
#include "emit.h"
#include "join.h"
#include "move.h"
#include "place.h"
#include "room.h"
#include "view.h"
#include "walk.h"

#define PIECE 4096 /* places of a row at one time */

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

/* Brings a piece of an operand to the partitions of the result's rows. */
static int fetch(struct ncc_gen *g, struct ncc_op *op, int pdim, struct ncc_view *v)
{
	struct ncc_view from = *v;
	int rc = op->users > 1 ? gen_fetch_kept(g, &from, pdim, 0, v)
			       : gen_fetch(g, &from, pdim, 0, v);
	struct ncc_shape s;

	if (rc || is_one_pattern(v))
		return rc;
	from = *v;
	view_shape(&from, &s);
	rc = gen_sbuf_view(g, &s, pdim, v);
	rc = rc ? rc : gen_temp(g, v->buf);
	return rc ? rc : gen_copy(g, v, &from);
}

static int fetch_places(struct ncc_gen *g, const struct ncc_op *op, const struct piece *p, int pdim,
			struct ncc_view *out)
{
	struct ncc_view v = op->in[1]->gen->value->view;

	if (v.dim[0] == 1 && p->n > 1) { /* shared by all rows */
		v.pdim = v.pdim == 0 ? -1 : v.pdim;
		v.stride[0] = 0;
		v.dim[0] = p->n;
	}
	*out = part_of(&v, p);
	return fetch(g, op->in[1], pdim, out);
}

static struct neuron_ap pattern_of(const struct ncc_view *v)
{
	struct walk w;

	walk_begin(&w, &v, 1, 0, NCC_MAX_LINE);
	walk_next(&w);
	return w.ap[0];
}

static int place_all(struct ncc_gen *g, const struct ncc_op *op, int pdim)
{
	int rc = 0;

	for (unsigned int i = 0; !rc && i < op->nin; i++)
		rc = gen_place(g, op->in[i], op->in[i]->shape.dim[0] > 1 ? pdim : -1);
	return rc;
}

static int64_t at_most(int64_t n, int64_t most)
{
	return n < most ? n : most;
}

static int take_piece(struct ncc_gen *g, const struct ncc_op *op, const struct piece *p,
		      const struct ncc_view *line, const struct ncc_view *dst)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_GATHER, .partitions = (uint8_t)p->n };
	struct ncc_view place, to = part_of(dst, p), got = to;
	struct ncc_shape s;
	int rc = fetch_places(g, op, p, line->pdim, &place);

	if (!rc && !(view_on_engine(&to) && is_one_pattern(&to))) {
		view_shape(&to, &s);
		rc = gen_sbuf_view(g, &s, line->pdim, &got);
		rc = rc ? rc : gen_temp(g, got.buf);
	}
	if (rc)
		return rc;
	insn.dst = pattern_of(&got);
	insn.src0 = pattern_of(line);
	insn.src1 = pattern_of(&place);
	rc = gen_insn(g, NEURON_ENG_POOL, &insn);
	return rc || got.buf == to.buf ? rc : gen_copy(g, &to, &got);
}

int gen_take(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	int pdim = op->shape.dim[0] > 1 ? 0 : -1, rc = place_all(g, op, pdim);
	const int64_t rows = op->shape.dim[0], places = op->shape.dim[1];
	const unsigned int mark = g->ntemps;
	struct piece p = { 0 };
	struct ncc_view line;

	for (; !rc && p.lo < rows; p.lo += p.n) {
		unsigned int pieces;

		p.n = at_most(rows - p.lo, NEURON_PARTITIONS);
		line = rows_of(&op->in[0]->gen->value->view, &p);
		rc = fetch(g, op->in[0], pdim, &line);
		pieces = g->ntemps;
		for (p.at = 0; !rc && p.at < places; p.at += p.m) {
			p.m = at_most(places - p.at, PIECE);
			rc = take_piece(g, op, &p, &line, dst);
			gen_release_temps(g, pieces);
		}
		gen_release_temps(g, mark);
	}
	return rc;
}

static int order_rows(struct ncc_gen *g, const struct ncc_op *op, const struct piece *p, int pdim,
		      const struct ncc_view *dst)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SORT,
				    .partitions = (uint8_t)p->n,
				    .reverse0 = op->func == NCC_GT };
	struct ncc_view key = rows_of(&op->in[0]->gen->value->view, p);
	struct ncc_view to = rows_of(dst, p), got = to;
	int rc = fetch(g, op->in[0], pdim, &key);
	struct ncc_shape s;

	if (!rc && !(view_on_engine(&to) && is_one_pattern(&to))) {
		view_shape(&to, &s);
		rc = gen_sbuf_view(g, &s, pdim, &got);
		rc = rc ? rc : gen_temp(g, got.buf);
	}
	if (rc)
		return rc;
	insn.dst = pattern_of(&got);
	insn.src0 = pattern_of(&key);
	rc = gen_insn(g, NEURON_ENG_POOL, &insn);
	return rc || got.buf == to.buf ? rc : gen_copy(g, &to, &got);
}

int gen_order(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	int pdim = op->shape.dim[0] > 1 ? 0 : -1, rc = place_all(g, op, pdim);
	const unsigned int mark = g->ntemps;
	struct piece p = { 0 };

	for (; !rc && p.lo < op->shape.dim[0]; p.lo += p.n) {
		p.n = at_most(op->shape.dim[0] - p.lo, NEURON_PARTITIONS);
		rc = order_rows(g, op, &p, pdim, dst);
		gen_release_temps(g, mark);
	}
	return rc;
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

static int combine_piece(struct ncc_gen *g, const struct ncc_op *op, const struct piece *p,
			 const struct ncc_view *line)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SCATTER,
				    .partitions = (uint8_t)p->n,
				    .op0 = alu_of(op) };
	struct ncc_view place, u = part_of(&op->in[2]->gen->value->view, p);
	int rc = fetch_places(g, op, p, line->pdim, &place);

	rc = rc ? rc : fetch(g, op->in[2], line->pdim, &u);
	if (rc)
		return rc;
	insn.dst = pattern_of(line);
	insn.src0 = pattern_of(&u);
	insn.src1 = pattern_of(&place);
	return gen_insn(g, NEURON_ENG_POOL, &insn);
}

/* Gives up to 128 rows the elements of operand 0, unless they lie in its place. */
static int begin_rows(struct ncc_gen *g, const struct ncc_op *op, const struct piece *p,
		      const struct ncc_view *line)
{
	const struct ncc_view *x = &op->in[0]->gen->value->view;
	struct ncc_view from = rows_of(x, p);
	double v;

	if (x->buf == line->buf)
		return 0;
	if (ncc_scalar_value(op->in[0], &v) && v == v)
		return gen_memset(g, line, v);
	return gen_copy(g, line, &from);
}

static int combine_rows(struct ncc_gen *g, const struct ncc_op *op, struct piece *p, int pdim,
			const struct ncc_view *dst)
{
	const int64_t places = op->in[1]->shape.dim[1];
	struct ncc_view to = rows_of(dst, p), line = to;
	unsigned int mark;
	struct ncc_shape s;
	int rc = 0;

	if (!(view_on_engine(&to) && is_one_pattern(&to))) {
		view_shape(&to, &s);
		rc = gen_sbuf_view(g, &s, pdim, &line);
		rc = rc ? rc : gen_temp(g, line.buf);
	}
	rc = rc ? rc : begin_rows(g, op, p, &line);
	mark = g->ntemps;
	for (p->at = 0; !rc && p->at < places; p->at += p->m) {
		p->m = at_most(places - p->at, PIECE);
		rc = combine_piece(g, op, p, &line);
		gen_release_temps(g, mark);
	}
	return rc || line.buf == to.buf ? rc : gen_copy(g, &to, &line);
}

int gen_combine(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	int pdim = op->shape.dim[0] > 1 ? 0 : -1, rc = place_all(g, op, pdim);
	const unsigned int mark = g->ntemps;
	struct piece p = { 0 };

	for (; !rc && p.lo < op->shape.dim[0]; p.lo += p.n) {
		p.n = at_most(op->shape.dim[0] - p.lo, NEURON_PARTITIONS);
		rc = combine_rows(g, op, &p, pdim, dst);
		gen_release_temps(g, mark);
	}
	return rc;
}
