// SPDX-License-Identifier: MIT
/*
 * Logical cores: divides a module, after its passes, among two cores. A value is whole, computed by
 * both, or divided: each core has a part of it, along one dimension. Products, and element-wise
 * operations on large values, begin to divide; what can follow its operands' division does. Of what
 * cannot, the cores exchange their parts of the operand. A division never goes through what is
 * summed, so every element is computed as one core computes it. Of a module with loops each part is
 * divided by itself: what is kept between parts lies in the memory of both. Called by ncc.c.
 */
#include "cores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/traits.h"

#define WHOLE (-1)
#define LEAST_COST (1 << 18) /* of an operation that is worth an exchange (cost.c) */
#define FULL 128 /* a dimension of so many fills an engine */

/* The division of a value: the first core has [0, at) of dimension axis, the second one the rest */
struct part {
	int axis;
	int64_t at;
};

/* A value in the core's module that is being made */
struct have {
	struct ncc_op *whole, *own; /* own: the core's part */
	struct ncc_op *sliced; /* a part of a whole one, as by says */
	struct part by;
};

struct divide {
	struct ncc_module *m;
	uint64_t least; /* cost of an operation with which a division begins */
	struct part *part; /* by id */
	struct have *have;
	unsigned int core;
	struct ncc_module *to;
	struct ncc_op **made; /* of that module, in order */
	unsigned int nmade, cap;
	unsigned int exchanges, most;
	uint64_t *place; /* of what is exchanged, two values an exchange, in the shared scratchpad */
	uint64_t scratch;
	struct ncc_error *err;
};

static int64_t outer_of(const struct ncc_shape *s, unsigned int axis)
{
	int64_t n = 1;

	for (unsigned int d = 0; d < axis; d++)
		n *= s->dim[d];
	return n;
}

static bool same_part(struct part a, struct part b)
{
	return a.axis == b.axis && (a.axis == WHOLE || a.at == b.at);
}

/* Is dimension d of operand i of a product neither one of the batch nor summed over? */
static bool is_free(const struct ncc_op *op, unsigned int i, unsigned int d)
{
	const uint8_t *batch = i ? op->dot->rhs_batch : op->dot->lhs_batch;
	const uint8_t *contract = i ? op->dot->rhs_contract : op->dot->lhs_contract;

	for (unsigned int k = 0; k < op->dot->nbatch; k++)
		if (batch[k] == d)
			return false;
	for (unsigned int k = 0; k < op->dot->ncontract; k++)
		if (contract[k] == d)
			return false;
	/* sparse weights and their tags stay whole */
	return !op->dot->neighbours || !i;
}

/* The result's dimension that is dimension d of operand i of a product; WHOLE: it is summed over */
static int dot_result(const struct ncc_op *op, unsigned int i, unsigned int d)
{
	const uint8_t *batch = i ? op->dot->rhs_batch : op->dot->lhs_batch;
	unsigned int n = op->dot->nbatch;

	for (unsigned int k = 0; k < op->dot->nbatch; k++)
		if (batch[k] == d)
			return (int)k;
	if (!is_free(op, i, d))
		return WHOLE;
	for (unsigned int k = 0; i && k < op->in[0]->shape.ndim; k++)
		n += is_free(op, 0, k);
	for (unsigned int k = 0; k < d; k++)
		n += is_free(op, i, k);
	return (int)n;
}

static int reduce_result(const struct ncc_op *op, unsigned int d)
{
	int n = 0;

	if (op->mask >> d & 1)
		return WHOLE;
	for (unsigned int k = 0; k < d; k++)
		n += !(op->mask >> k & 1);
	return n;
}

static bool window_moves(const struct ncc_window *w)
{
	return w->size != 1 || w->stride != 1 || w->low || w->high || w->base_dilation != 1;
}

/*
 * The result's dimension along which it is divided if operand i is divided along d, one of its
 * dimensions that keeps its size; WHOLE: there is none
 */
static int follows(const struct ncc_op *op, unsigned int i, unsigned int d)
{
	if (ncc_is_elementwise(op->kind))
		return (int)d;
	switch (op->kind) {
	case NCC_BITCAST:
		return ncc_same_dims(&op->shape, &op->in[0]->shape) ? (int)d : WHOLE;
	case NCC_BROADCAST:
		return op->map[d];
	case NCC_TRANSPOSE:
		for (unsigned int k = 0; k < op->shape.ndim; k++)
			if (op->map[k] == d)
				return (int)k;
		return WHOLE;
	case NCC_SLICE:
		return op->shape.dim[d] == op->in[0]->shape.dim[d] ? (int)d : WHOLE;
	case NCC_REVERSE:
		return op->mask >> d & 1 ? WHOLE : (int)d;
	case NCC_CONCAT:
		return d == op->axis ? WHOLE : (int)d;
	case NCC_PAD:
		return i || op->low[d] || op->high[d] || op->interior[d] ? WHOLE : (int)d;
	case NCC_GATHER:
		return i && !d ? 0 : WHOLE;
	case NCC_DOT:
		return dot_result(op, i, d);
	case NCC_CONV:
		if (!i)
			return d == op->conv->in_batch ? op->conv->out_batch : WHOLE;
		return d == op->conv->k_out && op->conv->groups == 1 ? op->conv->out_feature
								     : WHOLE;
	case NCC_REDUCE:
		return i ? WHOLE : reduce_result(op, d);
	case NCC_REDUCE_WINDOW:
		return i || window_moves(&op->window[d]) ? WHOLE : (int)d;
	default:
		return WHOLE;
	}
}

/* The same of a reshape, whose dimensions may be cut or put together: where the outer ones agree */
static struct part reshaped(const struct ncc_shape *from, const struct ncc_shape *to, struct part p)
{
	const int64_t outer = outer_of(from, (unsigned int)p.axis), n = from->dim[p.axis];

	for (unsigned int d = 0; d < to->ndim; d++) {
		int64_t there = to->dim[d];

		if (outer_of(to, d) != outer || there == 1)
			continue;
		if (there % n == 0)
			return (struct part){ (int)d, p.at * (there / n) };
		if (n % there == 0 && p.at % (n / there) == 0)
			return (struct part){ (int)d, p.at / (n / there) };
	}
	return (struct part){ WHOLE, 0 };
}

/* The part of the result that a part of operand i gives */
static struct part forward(const struct ncc_op *op, unsigned int i, struct part p)
{
	if (op->kind == NCC_RESHAPE)
		return reshaped(&op->in[0]->shape, &op->shape, p);
	return (struct part){ follows(op, i, (unsigned int)p.axis), p.at };
}

/* The part of operand i that a part of the result needs */
static struct part backward(const struct ncc_op *op, unsigned int i, struct part p)
{
	if (op->kind == NCC_RESHAPE)
		return reshaped(&op->shape, &op->in[0]->shape, p);
	for (unsigned int d = 0; d < op->in[i]->shape.ndim; d++)
		if (follows(op, i, d) == p.axis)
			return (struct part){ (int)d, p.at };
	return (struct part){ WHOLE, 0 };
}

/* Phase 1: which values are divided, and how */

static bool is_constant(const struct ncc_op *op)
{
	while (op->nin == 1)
		op = op->in[0];
	return op->kind == NCC_CONST;
}

/*
 * Where to begin with a product: a dimension that both cores' engines are busy with, rather one of
 * what is computed than one of weights, of which each core then needs all
 */
static struct part begin_product(const struct ncc_op *op)
{
	struct part best = { WHOLE, 0 };
	int64_t most = 0;

	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int d = 0; d < op->in[i]->shape.ndim; d++) {
			int64_t n = op->in[i]->shape.dim[d];
			int axis = n > 1 ? follows(op, i, d) : WHOLE;
			int64_t worth = 2 * (n < FULL ? n : FULL) + !is_constant(op->in[i]);

			if (axis == WHOLE || worth <= most)
				continue;
			most = worth;
			best = (struct part){ axis, (n + 1) / 2 };
		}
	}
	return best;
}

static struct part begin(const struct divide *d, const struct ncc_op *op)
{
	const struct ncc_shape *s = &op->shape;

	if (ncc_cost(op) < d->least)
		return (struct part){ WHOLE, 0 };
	if (op->kind == NCC_DOT || op->kind == NCC_CONV)
		return begin_product(op);
	if (ncc_is_elementwise(op->kind) || op->kind == NCC_GATHER)
		for (unsigned int k = 0; k < s->ndim && (!k || op->kind != NCC_GATHER); k++)
			if (s->dim[k] > 1)
				return (struct part){ (int)k, (s->dim[k] + 1) / 2 };
	return (struct part){ WHOLE, 0 };
}

/* Divides op as the largest operand that it can follow; else it begins a division */
static struct part choose(const struct divide *s, const struct ncc_op *op)
{
	struct part best = { WHOLE, 0 };
	int64_t most = 0;

	for (unsigned int i = 0; i < op->nin; i++) {
		struct part p = s->part[op->in[i]->id];
		int64_t n = ncc_elems(&op->in[i]->shape);

		if (p.axis == WHOLE || n <= most)
			continue;
		p = forward(op, i, p);
		if (p.axis == WHOLE)
			continue;
		most = n;
		best = p;
	}
	return most ? best : begin(s, op);
}

/* Phase 2: a core's module */

static int keep(struct divide *s, struct ncc_op *op)
{
	if (s->nmade == s->cap) {
		unsigned int cap = s->cap ? 2 * s->cap : 256;
		struct ncc_op **p = reallocarray(s->made, cap, sizeof(struct ncc_op *));

		if (!p)
			return -ENOMEM;
		s->made = p;
		s->cap = cap;
	}
	s->made[s->nmade++] = op;
	return 0;
}

static struct ncc_op *get_whole(struct divide *s, struct ncc_op *op);

static int64_t own_size(const struct divide *s, const struct ncc_shape *shape, struct part p)
{
	return s->core ? shape->dim[p.axis] - p.at : p.at;
}

/* A constant's part is one of its own, where it lies as the whole does */
static struct ncc_op *slice_constant(struct divide *s, const struct ncc_op *op, struct part p)
{
	struct ncc_op *c = ncc_op_clone(s->to, op, 0);
	const int64_t outer = outer_of(&op->shape, (unsigned int)p.axis);
	size_t run = ncc_dtype_size(op->shape.dtype), own, step;
	char *to;

	if (!c)
		return NULL;
	c->shape.dim[p.axis] = own_size(s, &op->shape, p);
	for (unsigned int d = (unsigned int)p.axis + 1; d < op->shape.ndim; d++)
		run *= (size_t)op->shape.dim[d];
	own = run * (size_t)c->shape.dim[p.axis];
	step = run * (size_t)op->shape.dim[p.axis];
	c->data = (char *)op->data + (s->core ? run * (size_t)p.at : 0);
	if (outer == 1)
		return c;
	to = ncc_alloc_data(s->to, own * (size_t)outer);
	for (int64_t i = 0; to && i < outer; i++)
		memcpy(to + own * (size_t)i, (char *)c->data + step * (size_t)i, own);
	c->data = to;
	return to ? c : NULL;
}

static struct ncc_op *get_slice(struct divide *s, struct ncc_op *op, struct part p)
{
	struct have *h = &s->have[op->id];
	struct part inner = { WHOLE, 0 };
	struct ncc_op *c;

	if (h->sliced && same_part(h->by, p))
		return h->sliced;
	if (op->kind == NCC_CONST) {
		c = slice_constant(s, op, p);
	} else if (op->kind == NCC_BROADCAST && s->part[op->id].axis == WHOLE) {
		inner = backward(op, 0, p);
		c = ncc_op_clone(s->to, op, 1);
		if (c)
			c->shape.dim[p.axis] = own_size(s, &op->shape, p);
		if (c)
			c->in[0] = inner.axis == WHOLE ? get_whole(s, op->in[0])
						       : get_slice(s, op->in[0], inner);
		c = c && c->in[0] ? c : NULL;
	} else {
		c = ncc_op_new(s->to, NCC_SLICE, op->name, 1);
		if (!c)
			return NULL;
		c->shape = op->shape;
		c->shape.dim[p.axis] = own_size(s, &op->shape, p);
		c->pdim = op->pdim;
		for (unsigned int d = 0; d < op->shape.ndim; d++)
			c->stride[d] = 1;
		c->start[p.axis] = s->core ? p.at : 0;
		c->in[0] = get_whole(s, op);
		c = c->in[0] ? c : NULL;
	}
	if (!c || keep(s, c))
		return NULL;
	h->sliced = c;
	h->by = p;
	return c;
}

static struct ncc_op *get_part(struct divide *s, struct ncc_op *op, struct part p)
{
	return same_part(s->part[op->id], p) ? s->have[op->id].own : get_slice(s, op, p);
}

/* Room for what an exchange passes in both directions */
static int place(struct divide *s, const struct ncc_op *op, struct part p)
{
	const uint64_t size = (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype);
	const uint64_t first = size / (uint64_t)op->shape.dim[p.axis] * (uint64_t)p.at;

	if (s->exchanges == s->most) {
		unsigned int most = s->most ? 2 * s->most : 64;
		uint64_t *at = reallocarray(s->place, most, NCC_CORES * sizeof(*at));

		if (!at)
			return -ENOMEM;
		s->place = at;
		s->most = most;
	}
	s->place[NCC_CORES * s->exchanges] = s->scratch;
	s->scratch += (first + 63) & ~63ull;
	s->place[NCC_CORES * s->exchanges + 1] = s->scratch;
	s->scratch += (size - first + 63) & ~63ull;
	return 0;
}

/* The parts are exchanged and put together */
static struct ncc_op *join(struct divide *s, struct ncc_op *op)
{
	struct part p = s->part[op->id];
	struct ncc_op *own = s->have[op->id].own;
	struct ncc_op *x = ncc_op_new(s->to, NCC_EXCHANGE, op->name, 1);
	struct ncc_op *all = ncc_op_new(s->to, NCC_CONCAT, op->name, NCC_CORES);

	if (!own || !x || !all || place(s, op, p))
		return NULL;
	x->shape = all->shape = op->shape;
	x->shape.dim[p.axis] -= own->shape.dim[p.axis];
	x->index = s->exchanges++;
	x->pdim = all->pdim = op->pdim;
	x->in[0] = own;
	x->where = all->where = op->where;
	all->axis = (unsigned int)p.axis;
	all->in[s->core] = own;
	all->in[!s->core] = x;
	return keep(s, x) || keep(s, all) ? NULL : all;
}

static struct ncc_op *get_whole(struct divide *s, struct ncc_op *op)
{
	struct have *h = &s->have[op->id];

	if (!h->whole && s->part[op->id].axis != WHOLE)
		h->whole = join(s, op);
	return h->whole;
}

static int make(struct divide *s, struct ncc_op *op)
{
	struct part p = s->part[op->id];
	struct ncc_op *c = ncc_op_clone(s->to, op, op->nin);

	if (!c)
		return -ENOMEM;
	for (unsigned int i = 0; i < op->nin; i++) {
		struct part in = p.axis == WHOLE ? p : backward(op, i, p);

		c->in[i] = in.axis == WHOLE ? get_whole(s, op->in[i]) : get_part(s, op->in[i], in);
		if (!c->in[i])
			return -ENOMEM;
	}
	if (p.axis == WHOLE) {
		s->have[op->id].whole = c;
	} else {
		c->shape.dim[p.axis] = own_size(s, &op->shape, p);
		s->have[op->id].own = c;
	}
	return keep(s, c);
}

/* An output is written in parts if each of them is one piece of it, else by the first core. */
static int add_output(struct divide *s, unsigned int i)
{
	struct ncc_module *to = s->to;
	struct ncc_half *half = to->piece->half;
	struct ncc_op *op = s->m->outs[i], *value;
	struct part p = s->part[op->id];
	const bool parts = p.axis != WHOLE && outer_of(&op->shape, (unsigned int)p.axis) == 1;

	value = parts ? s->have[op->id].own : get_whole(s, op);
	if (!value)
		return -ENOMEM;
	if (!parts && s->core)
		return 0;
	if (parts) {
		half->out_of[to->nouts] = &op->shape;
		half->out_start[to->nouts] =
			s->core ? p.at * (ncc_elems(&op->shape) / op->shape.dim[p.axis]) : 0;
	}
	to->piece->out[to->nouts] = ncc_port_of(s->m, i);
	if (s->m->out_dtype)
		to->out_dtype[to->nouts] = s->m->out_dtype[i];
	to->outs[to->nouts++] = value;
	return 0;
}

static bool alloc_outputs(struct divide *s)
{
	struct ncc_module *to = s->to;
	const unsigned int n = s->m->nouts + 1;
	struct ncc_half *half;

	to->out_source = s->m->out_source;
	to->outs = ncc_alloc(to, n * sizeof(struct ncc_op *));
	to->out_dtype = s->m->out_dtype ? ncc_alloc(to, n) : NULL;
	half = ncc_alloc(to, sizeof(*half));
	if (!half || !ncc_make_piece(to, n))
		return false;
	to->piece->half = half;
	half->out_of = ncc_alloc(to, n * sizeof(struct ncc_shape *));
	half->out_start = ncc_alloc(to, n * sizeof(*half->out_start));
	return to->outs && half->out_of && half->out_start && (to->out_dtype || !s->m->out_dtype);
}

/* Takes what outputs and exchanges need into the module; the first core also has all parameters. */
static void take_made(struct divide *s)
{
	for (unsigned int i = 0; i < s->nmade; i++)
		s->made[i]->mark = s->made[i]->kind == NCC_EXCHANGE ||
				   (s->made[i]->kind == NCC_PARAM && !s->core &&
				    s->made[i]->passage != NCC_BETWEEN_PARTS);
	for (unsigned int i = 0; i < s->to->nouts; i++)
		s->to->outs[i]->mark = 1;
	for (unsigned int i = s->nmade; i-- > 0;)
		for (unsigned int k = 0; s->made[i]->mark && k < s->made[i]->nin; k++)
			s->made[i]->in[k]->mark = 1;
	for (unsigned int i = 0; i < s->nmade; i++) {
		if (s->made[i]->mark)
			ncc_op_append(s->to, s->made[i]);
		s->made[i]->mark = 0;
	}
}

static int make_module(struct divide *s)
{
	const struct ncc_piece *of = s->m->piece;
	int rc = alloc_outputs(s) ? 0 : -ENOMEM;
	struct ncc_half *half;

	memset(s->have, 0, s->m->nops * sizeof(*s->have));
	s->nmade = 0;
	s->exchanges = 0;
	s->scratch = of ? of->kept_end : 0;
	if (rc)
		return rc;
	half = s->to->piece->half;
	half->core = s->core;
	s->to->piece->kept = ncc_kept_of(s->m);
	if (s->scratch) {
		half->written = of->out;
		half->nwritten = s->m->nouts;
	}
	for (struct ncc_op *op = s->m->first; op && !rc; op = op->next)
		rc = make(s, op);
	for (unsigned int i = 0; i < s->m->nouts && !rc; i++)
		rc = add_output(s, i);
	if (rc)
		return rc;
	take_made(s);
	half->exchanged = ncc_alloc(s->to, (s->exchanges + 1) * NCC_CORES * sizeof(*s->place));
	if (!half->exchanged)
		return -ENOMEM;
	if (s->exchanges)
		memcpy(half->exchanged, s->place, s->exchanges * NCC_CORES * sizeof(*s->place));
	ncc_number(s->to);
	ncc_count_users(s->to);
	return s->to->nouts ? ncc_verify(s->to, s->err) : 0;
}

/* Tells the other core's module which values between parts this core's module reads or writes. */
static int tell(const struct ncc_module *m, struct ncc_module *sibling)
{
	struct ncc_port *port = ncc_alloc(sibling, (m->nops + m->nouts + 1) * sizeof(*port));
	unsigned int n = 0;

	if (!port)
		return -ENOMEM;
	for (const struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind == NCC_PARAM && op->passage == NCC_BETWEEN_PARTS)
			port[n++] = (struct ncc_port){ op->passage, op->index };
	for (unsigned int i = 0; i < m->nouts; i++)
		if (m->piece->out[i].passage == NCC_BETWEEN_PARTS)
			port[n++] = m->piece->out[i];
	sibling->piece->half->touched = port;
	sibling->piece->half->ntouched = n;
	return 0;
}

int ncc_divide(struct ncc_module *m, uint64_t least, struct ncc_module *core[NCC_CORES],
	       struct ncc_error *err)
{
	struct divide s = { .m = m, .least = least ? least : LEAST_COST, .err = err };
	int rc = 0;

	core[0] = core[1] = NULL;
	ncc_number(m);
	s.part = calloc(m->nops + 1, sizeof(*s.part));
	s.have = calloc(m->nops + 1, sizeof(*s.have));
	if (!s.part || !s.have)
		rc = -ENOMEM;
	for (struct ncc_op *op = m->first; op && !rc; op = op->next)
		s.part[op->id] = choose(&s, op);
	for (s.core = 0; s.core < NCC_CORES && !rc; s.core++) {
		s.to = core[s.core] = ncc_module_new(m->name);
		rc = s.to ? make_module(&s) : -ENOMEM;
	}
	for (unsigned int i = 0; i < NCC_CORES && !rc && core[0]->piece->half->written; i++)
		rc = tell(core[i], core[!i]);
	free(s.part);
	free(s.have);
	free(s.made);
	free(s.place);
	if (rc == -ENOMEM)
		ncc_no_memory(err);
	return rc;
}
