// SPDX-License-Identifier: MIT
/*
 * Loops and branches: their regions see all values around them, HLO's computations take arguments
 * alone. What a region uses from outside becomes an argument; small constants are copied into it.
 */
#include <errno.h>
#include <string.h>

#include "convert.h"

/* Values from outside, each once */
struct values {
	struct mlir_value **value;
	size_t n, room;
};

static int add_outer(struct scope *s, struct values *l, struct mlir_value *value)
{
	struct mlir_value **more;

	if (!value->owner || value->mark == s->v->mark)
		return 0;
	value->mark = s->v->mark;
	if (value->owner != s->c || convert_is_copied(value->note))
		return 0; /* convert_value copies it, or refuses it */
	if (l->n == l->room) {
		more = convert_alloc(s->v, 2 * l->room + 16, sizeof(struct mlir_value *));
		if (!more)
			return -ENOMEM;
		if (l->n)
			memcpy(more, l->value, l->n * sizeof(struct mlir_value *));
		l->value = more;
		l->room = 2 * l->room + 16;
	}
	l->value[l->n++] = value;
	return 0;
}

/* A value without an owner yet is in the region itself. */
static int find_outer(struct scope *s, const struct mlir_region *r, struct values *l)
{
	int rc = 0;

	for (size_t b = 0; b < r->nblocks; b++)
		for (size_t i = 0; !rc && i < r->blocks[b].nops; i++) {
			const struct mlir_op *op = &r->blocks[b].ops[i];

			for (size_t k = 0; !rc && k < op->nin; k++)
				rc = add_outer(s, l, op->in[k]);
			for (size_t k = 0; !rc && k < op->nregions; k++)
				rc = find_outer(s, &op->regions[k], l);
		}
	return rc;
}

static hlo_instruction *parameter(struct scope *s, Ncc__Hlo__Shape *shape)
{
	return shape ? convert_add(s, "parameter", shape, NULL, 0) : NULL;
}

/*
 * A computation of a region: its one parameter has the region's arguments and what it takes from
 * outside, as a tuple unless it is one value. keep: the result is a tuple that has those, too
 */
static hlo_computation_message *body(struct scope *s, const struct mlir_region *r,
				     const struct values *l, Ncc__Hlo__Shape *shape, bool keep)
{
	const struct mlir_block *b = r->blocks;
	hlo_instruction *p, *root = NULL, **all, **out;
	struct scope in = { .at = s->at };
	const size_t n = r->nblocks == 1 ? b->nargs + l->n : 0;
	size_t nout = 0;

	if (r->nblocks != 1) {
		convert_fail(s, -ENOTSUP, "a region of %zu blocks, only one is supported",
			     r->nblocks);
		return NULL;
	}
	if (convert_open(&in, s->v, "region"))
		return NULL;
	p = parameter(&in, shape);
	all = convert_alloc(s->v, n + l->n + 1, sizeof(*all));
	for (size_t i = 0; p && all && i < n; i++) {
		all[i] = n == 1 ? p : convert_element(&in, p, i);
		if (!all[i])
			return NULL;
		if (i < b->nargs)
			convert_set(&in, &b->args[i], all[i]);
		else
			convert_capture(&in, l->value[i - b->nargs], all[i]);
	}
	out = p && all ? convert_block(&in, b, &nout) : NULL;
	if (!out)
		return convert_close(&in, NULL), NULL;
	if (!keep) {
		root = nout == 1 ? out[0] : convert_tuple(&in, out, nout);
	} else if (nout != b->nargs) {
		convert_fail(&in, -EINVAL, "a loop of %zu values that gives %zu", b->nargs, nout);
	} else {
		hlo_instruction **next = convert_alloc(s->v, n + 1, sizeof(*next));

		if (next && nout)
			memcpy(next, out, nout * sizeof(*next));
		if (next && l->n)
			memcpy(&next[nout], &all[b->nargs], l->n * sizeof(*next));
		root = !next ? NULL : n == 1 ? next[0] : convert_tuple(&in, next, n);
	}
	return convert_close(&in, root) ? NULL : in.c;
}

/* The values that a region takes, as one instruction: a tuple unless it is one */
static hlo_instruction *gather_values(struct scope *s, hlo_instruction **in, size_t nin,
				      const struct values *l)
{
	hlo_instruction **all = convert_alloc(s->v, nin + l->n + 1, sizeof(*all));

	if (!all)
		return NULL;
	if (nin)
		memcpy(all, in, nin * sizeof(*all));
	for (size_t i = 0; i < l->n; i++)
		all[nin + i] = l->value[i]->note;
	return nin + l->n == 1 ? all[0] : convert_tuple(s, all, nin + l->n);
}

int whole_while(struct scope *s, const struct mlir_op *op)
{
	hlo_instruction **in = convert_operands(s, op), *state, *p;
	const hlo_computation_message *cond, *next;
	struct values l = { 0 };
	int rc;

	if (!in || op->nregions != 2 || op->nin != op->nout)
		return in ? convert_fail(s, -EINVAL, "no loop") : -ENOTSUP;
	s->v->mark++;
	rc = find_outer(s, &op->regions[0], &l) ?: find_outer(s, &op->regions[1], &l);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < 2; i++)
		if (op->regions[i].nblocks == 1 && op->regions[i].blocks[0].nargs != op->nin)
			return convert_fail(s, -EINVAL, "a region of %zu arguments, of %zu values",
					    op->regions[i].blocks[0].nargs, op->nin);
	state = gather_values(s, in, op->nin, &l);
	if (!state)
		return -ENOMEM;
	next = body(s, &op->regions[1], &l, state->shape, true);
	cond = next ? body(s, &op->regions[0], &l, state->shape, false) : NULL;
	if (!cond)
		return -ENOTSUP;
	p = convert_add(s, "while", state->shape, &state, 1);
	rc = p ? convert_calls(p, s->v, next) ?: convert_calls(p, s->v, cond) : -ENOMEM;
	if (rc || op->nin + l.n != 1)
		for (size_t i = 0; !rc && i < op->nout; i++) {
			hlo_instruction *e = convert_element(s, p, i);

			rc = e ? 0 : -ENOMEM;
			convert_set(s, &op->out[i], e);
		}
	else if (op->nout)
		convert_set(s, &op->out[0], p);
	return rc;
}

/* case and if: a computation for each branch, which takes what the branch needs */
int whole_case(struct scope *s, const struct mlir_op *op)
{
	const size_t n = op->nregions;
	const hlo_computation_message **c = convert_alloc(s->v, n + 1, sizeof(*c));
	hlo_instruction **in = convert_alloc(s->v, n + 2, sizeof(*in)), *p;
	int rc = 0;

	if (!c || !in)
		return -ENOMEM;
	if (op->nin != 1 || !n || (!strcmp(op->name, "if") && n != 2))
		return convert_fail(s, -EINVAL, "%zu operands and %zu branches", op->nin, n);
	in[0] = convert_value(s, op->in[0]);
	if (!in[0])
		return -ENOTSUP;
	for (size_t i = 0; i < n; i++) {
		struct values l = { 0 };

		s->v->mark++;
		if (find_outer(s, &op->regions[i], &l))
			return -ENOMEM;
		if (op->regions[i].nblocks == 1 && op->regions[i].blocks[0].nargs)
			return convert_fail(s, -EINVAL, "a branch of arguments");
		in[i + 1] = gather_values(s, NULL, 0, &l);
		c[i] = in[i + 1] ? body(s, &op->regions[i], &l, in[i + 1]->shape, false) : NULL;
		if (!c[i])
			return -ENOTSUP;
	}
	p = convert_add(s, "conditional", convert_result_shape(s, op), in, n + 1);
	for (size_t i = 0; p && !rc && i < n; i++)
		rc = convert_calls(p, s->v, c[i]);
	return rc ? rc : convert_results(s, op, p);
}
