// SPDX-License-Identifier: MIT
/*
 * A program for several partitions becomes that of each: the entry computation is made anew, with
 * the shapes of parts, and what partitions have to pass to each other. Calls are inlined, so that
 * what is called follows what it is given; loops and branches take whole values. Where values lie
 * is what arguments, results and constraints say, and goes forward by the rules of the operations.
 * Called by stablehlo.c.
 */
#include "partition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CALLS HLO_MAX_CALLS

/* ---- a computation, instruction by instruction ---- */

struct frame {
	const hlo_computation_message *c;
	struct value *value; /* of each instruction */
	const struct value *args;
	size_t nargs;
	bool entry;
};

static int by_id(const void *id, const void *p)
{
	const int64_t a = *(const int64_t *)id, b = (*(hlo_instruction *const *)p)->id;

	return a < b ? -1 : a > b;
}

/* Instructions are numbered in their order. */
static struct value *value_of(const struct frame *f, int64_t id)
{
	hlo_instruction **p =
		bsearch(&id, f->c->instructions, f->c->n_instructions, sizeof(*p), by_id);

	return p ? &f->value[p - f->c->instructions] : NULL;
}

static const hlo_computation_message *computation_of(const struct part *c, int64_t id)
{
	const Ncc__Hlo__Module *m = c->v->proto;

	for (size_t i = 0; i < m->n_computations; i++)
		if (m->computations[i]->id == id)
			return m->computations[i];
	return NULL;
}

static int run(struct part *c, struct frame *f, struct value *root);

/* ---- arguments ---- */

/* What says how an argument lies: itself, or the first computation on partitions that takes it */
static const struct ncc_tiling *tiling_of_argument(const struct frame *f, const hlo_instruction *p)
{
	for (size_t i = 0; i < f->c->n_instructions; i++) {
		const hlo_instruction *q = f->c->instructions[i];
		const enum tiling_mark m = tiling_mark_of(q);

		if ((m == TILING_ARGUMENT || m == TILING_TO_PART) && q->operand_ids[0] == p->id)
			return tiling_of(q);
	}
	return NULL;
}

static int argument(struct part *c, const struct frame *f, const hlo_instruction *p,
		    struct value *out)
{
	const struct ncc_tiling *t = f->entry ? tiling_of_argument(f, p) : NULL;
	int64_t dims[NCC_MAX_DIMS];

	if (!f->entry) {
		if (p->parameter_number < 0 || (size_t)p->parameter_number >= f->nargs)
			return part_fail(c, -EINVAL, "an argument that is not given");
		*out = f->args[p->parameter_number];
		return 0;
	}
	if (t && !part_dims(p->shape, t, dims))
		return part_fail(c, -ENOTSUP,
				 "argument %lld has a dimension that its devices do "
				 "not divide",
				 (long long)p->parameter_number);
	t = t && !tiling_is_whole(t) ? t : NULL;
	out->p = part_copy(c, p, NULL, 0, t ? dims : NULL);
	out->t = t;
	if (p->parameter_number >= 0 && (size_t)p->parameter_number < c->nin)
		c->in[p->parameter_number] = t;
	return out->p ? 0 : -ENOMEM;
}

/* ---- what says where values lie ---- */

/* Is it the shape of a part, as t says, of a whole? */
static bool is_shape(const Ncc__Hlo__Shape *part, const Ncc__Hlo__Shape *whole,
		     const struct ncc_tiling *t)
{
	int64_t dims[NCC_MAX_DIMS];

	if (part->element_type != whole->element_type ||
	    part->n_dimensions != whole->n_dimensions || !part_dims(whole, t, dims))
		return false;
	for (size_t d = 0; d < part->n_dimensions; d++)
		if (part->dimensions[d] != dims[d])
			return false;
	return true;
}

static int mark(struct part *c, const hlo_instruction *p, enum tiling_mark m, struct value *x,
		struct value *out)
{
	const struct ncc_tiling *t = tiling_of(p);
	int64_t dims[NCC_MAX_DIMS];
	int rc = 0;

	if (m == TILING_TO_WHOLE || m == TILING_TO_WHOLE_INSIDE) {
		out->p = part_whole(c, x);
		if (out->p && !is_shape(out->p->shape, p->shape, t))
			return part_fail(c, -EINVAL, "a part of another shape than its whole has");
		out->t = t && !tiling_is_whole(t) ? t : NULL;
		if (m == TILING_TO_WHOLE_INSIDE && out->p) {
			rc = part_move(c, out, NULL);
			out->own = true;
		}
		return out->p ? rc : -ENOMEM;
	}
	/* where a computation on partitions goes on; a constraint that does not fit is none */
	if (t && !x->own && !x->elem && (m != TILING_CONSTRAINT || part_dims(x->whole, t, dims)))
		rc = part_move(c, x, t);
	else if (t && x->own && m == TILING_TO_PART)
		rc = part_move(c, x, t);
	*out = *x;
	out->whole = p->shape;
	if (rc || m != TILING_TO_PART)
		return rc;
	out->own = true;
	out->t = NULL;
	return is_shape(x->p->shape, p->shape, NULL)
		       ? 0
		       : part_fail(c, -EINVAL, "a part of another shape than its whole has");
}

/* ---- tuples, calls, loops and branches ---- */

static int make_tuple(struct part *c, struct value *in, size_t n, struct value *out)
{
	out->elem = convert_alloc(c->v, n + 1, sizeof(*out->elem));
	if (!out->elem)
		return -ENOMEM;
	memcpy(out->elem, in, n * sizeof(*in));
	out->n = n;
	return 0;
}

static int element(struct part *c, const hlo_instruction *p, struct value *x, struct value *out)
{
	if (x->elem) {
		if (p->tuple_index < 0 || (size_t)p->tuple_index >= x->n)
			return part_fail(c, -EINVAL, "an element that the tuple has not");
		*out = x->elem[p->tuple_index];
		return 0;
	}
	out->p = part_copy(c, p, &x->p, 1, NULL);
	out->own = x->own;
	return out->p ? 0 : -ENOMEM;
}

static int inline_call(struct part *c, const hlo_instruction *p, struct value *in, size_t n,
		       struct value *out)
{
	struct frame f = { .c = p->n_called_computation_ids == 1
					? computation_of(c, p->called_computation_ids[0])
					: NULL,
			   .args = in,
			   .nargs = n };
	int rc;

	if (!f.c || c->depth >= MOST_CALLS)
		return part_fail(c, -EINVAL, "calls nested more than %d deep", MOST_CALLS);
	c->depth++;
	rc = run(c, &f, out);
	c->depth--;
	return rc;
}

static bool has_marks(const struct part *c, const hlo_computation_message *m, unsigned int depth)
{
	for (size_t i = 0; i < m->n_instructions; i++) {
		const hlo_instruction *p = m->instructions[i];

		if (tiling_mark_of(p))
			return true;
		for (size_t k = 0; k < p->n_called_computation_ids && depth < MOST_CALLS; k++) {
			const hlo_computation_message *to =
				computation_of(c, p->called_computation_ids[k]);

			if (to && has_marks(c, to, depth + 1))
				return true;
		}
	}
	return false;
}

/* A computation that takes and gives whole values, with what is in it divided; 0: an error */
static int64_t redo(struct part *c, const hlo_computation_message *from, bool own)
{
	struct part inner = { .v = c->v, .depth = c->depth + 1 };
	struct value *args = convert_alloc(c->v, from->n_instructions + 1, sizeof(*args)), root;
	struct frame f = { .c = from, .args = args };

	if (!args || inner.depth >= MOST_CALLS || convert_open(&inner.s, c->v, from->name))
		return 0;
	for (size_t i = 0; i < from->n_instructions; i++) {
		const hlo_instruction *p = from->instructions[i];
		struct value *x = &args[p->parameter_number];

		if (strcmp(p->opcode, "parameter"))
			continue;
		*x = (struct value){ .p = part_copy(&inner, p, NULL, 0, NULL),
				     .whole = p->shape,
				     .own = own };
		if (!x->p)
			return 0;
		f.nargs++;
	}
	if (run(&inner, &f, &root))
		return 0;
	return convert_close(&inner.s, part_whole(&inner, &root)) ? 0 : inner.s.c->id;
}

/* Everything else: whole operands, and computations of its own with marks in them made anew */
static int plainly(struct part *c, const hlo_instruction *p, struct value *in, struct value *out)
{
	hlo_instruction **x = convert_alloc(c->v, p->n_operand_ids + 1, sizeof(*x));
	bool own = false;

	if (!x)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_operand_ids; i++) {
		own |= in[i].own;
		for (size_t k = 0; in[i].elem && k < in[i].n; k++)
			own |= in[i].elem[k].own;
		x[i] = part_whole(c, &in[i]);
		if (!x[i])
			return c->v->err->text[0] ? -ENOTSUP : -ENOMEM;
	}
	out->p = part_copy(c, p, x, p->n_operand_ids, NULL);
	out->own = own;
	if (!out->p)
		return -ENOMEM;
	for (size_t k = 0; k < p->n_called_computation_ids; k++) {
		const hlo_computation_message *to = computation_of(c, p->called_computation_ids[k]);
		int64_t *ids = out->p->called_computation_ids;

		if (!to || !has_marks(c, to, 0))
			continue;
		if (ids == p->called_computation_ids) {
			ids = convert_alloc(c->v, p->n_called_computation_ids, sizeof(*ids));
			if (!ids)
				return -ENOMEM;
			memcpy(ids, p->called_computation_ids,
			       p->n_called_computation_ids * sizeof(*ids));
			out->p->called_computation_ids = ids;
		}
		ids[k] = redo(c, to, own);
		if (!ids[k])
			return c->v->err->text[0] ? -ENOTSUP : -ENOMEM;
	}
	return 0;
}

/* Is a value, or one in a tuple, divided among partitions? */
static bool is_cut(const struct value *x)
{
	for (size_t i = 0; x->elem && i < x->n; i++)
		if (is_cut(&x->elem[i]))
			return true;
	return x->t && !x->own;
}

static bool any_cut(const struct value *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is_cut(&in[i]))
			return true;
	return false;
}

static int step(struct part *c, const struct frame *f, const hlo_instruction *p, struct value *in,
		struct value *out)
{
	const enum tiling_mark m = tiling_mark_of(p);
	int rc = 1;

	if (!strcmp(p->opcode, "parameter"))
		return argument(c, f, p, out);
	if (m)
		return mark(c, p, m, in, out);
	if (!strcmp(p->opcode, "tuple"))
		return make_tuple(c, in, p->n_operand_ids, out);
	if (!strcmp(p->opcode, "get-tuple-element"))
		return element(c, p, in, out);
	if (!strcmp(p->opcode, "call"))
		return inline_call(c, p, in, p->n_operand_ids, out);
	if (any_cut(in, p->n_operand_ids))
		rc = part_rule(c, p, in, out);
	return rc == 1 ? plainly(c, p, in, out) : rc;
}

static int run(struct part *c, struct frame *f, struct value *root)
{
	const hlo_instruction *at = c->at;
	const struct value *x;
	int rc = 0;

	f->value = convert_alloc(c->v, f->c->n_instructions + 1, sizeof(*f->value));
	if (!f->value)
		return -ENOMEM;
	for (size_t i = 0; i < f->c->n_instructions && !rc; i++) {
		const hlo_instruction *p = f->c->instructions[i];
		struct value *in = convert_alloc(c->v, p->n_operand_ids + 1, sizeof(*in));

		if (!in)
			return -ENOMEM;
		c->at = p;
		for (size_t k = 0; k < p->n_operand_ids; k++) {
			x = value_of(f, p->operand_ids[k]);
			if (!x)
				return part_fail(c, -EINVAL, "an operand that does not exist");
			in[k] = *x;
		}
		f->value[i].whole = p->shape;
		rc = step(c, f, p, in, &f->value[i]);
	}
	c->at = at;
	x = rc ? NULL : value_of(f, f->c->root_id);
	if (x)
		*root = *x;
	return x || rc ? rc : part_fail(c, -EINVAL, "no root");
}

/* ---- the program ---- */

/* The results, each as it lies */
static hlo_instruction *close_root(struct part *c, struct value *root)
{
	const size_t n = root->elem ? root->n : 1;
	hlo_instruction **in = convert_alloc(c->v, n + 1, sizeof(hlo_instruction *));

	for (size_t i = 0; in && i < n; i++) {
		struct value *x = root->elem ? &root->elem[i] : root;

		in[i] = x->elem ? part_whole(c, x) : x->p;
		if (i < c->nout)
			c->out[i] = x->t;
		if (!in[i])
			return NULL;
	}
	if (!in)
		return NULL;
	return root->elem ? convert_tuple(&c->s, in, n) : in[0];
}

/* Marks a computation and what it calls as of the program. */
static void reach(const struct part *c, int64_t id, bool *there, unsigned int depth)
{
	const Ncc__Hlo__Module *m = c->v->proto;
	size_t at = 0;

	while (at < m->n_computations && m->computations[at]->id != id)
		at++;
	if (at == m->n_computations || there[at] || depth > MOST_CALLS)
		return;
	there[at] = true;
	for (size_t i = 0; i < m->computations[at]->n_instructions; i++) {
		const hlo_instruction *p = m->computations[at]->instructions[i];

		for (size_t k = 0; k < p->n_called_computation_ids; k++)
			reach(c, p->called_computation_ids[k], there, depth + 1);
	}
}

/* What is inlined is not needed any more. */
static int drop_others(struct part *c, int64_t entry)
{
	Ncc__Hlo__Module *m = c->v->proto;
	bool *there = convert_alloc(c->v, m->n_computations + 1, sizeof(*there));
	size_t n = 0;

	if (!there)
		return -ENOMEM;
	reach(c, entry, there, 0);
	for (size_t i = 0; i < m->n_computations; i++)
		if (there[i])
			m->computations[n++] = m->computations[i];
	m->n_computations = n;
	return 0;
}

int partition_module(struct convert *v, const hlo_computation_message **entry)
{
	struct part c = { .v = v };
	struct frame f = { .c = *entry, .entry = true };
	const hlo_instruction *r = NULL;
	struct value root;
	int rc;

	if (!has_marks(&c, f.c, 0))
		return 0;
	for (size_t i = 0; i < f.c->n_instructions; i++) {
		c.nin += !strcmp(f.c->instructions[i]->opcode, "parameter");
		if (f.c->instructions[i]->id == f.c->root_id)
			r = f.c->instructions[i];
	}
	c.nout = r && r->shape->element_type == HLO_TUPLE ? r->shape->n_tuple_shapes : 1;
	v->in = c.in = convert_alloc(v, c.nin + 1, sizeof(*c.in));
	v->out = c.out = convert_alloc(v, c.nout + 1, sizeof(*c.out));
	if (!c.in || !c.out)
		return ncc_no_memory(v->err);
	v->nin = c.nin;
	v->nout = c.nout;
	v->err->text[0] = 0;
	rc = convert_open(&c.s, v, f.c->name);
	rc = rc ? rc : run(&c, &f, &root);
	rc = rc ? rc : convert_close(&c.s, close_root(&c, &root));
	rc = rc ? rc : drop_others(&c, c.s.c->id);
	if (rc)
		return v->err->text[0] ? rc : ncc_no_memory(v->err);
	*entry = c.s.c;
	return 0;
}
