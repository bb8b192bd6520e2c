// SPDX-License-Identifier: MIT
/*
 * A function may be called with arguments that are divided in several ways. So the program is
 * written out first: each call is what is in the function. All operations are copied, and each
 * value of the copy has a note (struct spmd_value). Of a value that is copied the note is its copy.
 */
#include <errno.h>
#include <string.h>

#include "ir/ir.h"
#include "spmd.h"

#define MOST_DEEP 64

static int take_block(struct spmd *p, const struct mlir_block *b, struct spmd_list *l,
		      const struct mlir_op **end);

static int new_value(struct spmd *p, struct mlir_value *from, struct mlir_value *v)
{
	v->type = from->type;
	v->note = spmd_alloc(p, 1, sizeof(struct spmd_value));
	from->note = v;
	return v->note ? 0 : -ENOMEM;
}

static struct mlir_value *new_values(struct spmd *p, struct mlir_value *from, size_t n)
{
	struct mlir_value *v = spmd_alloc(p, n + 1, sizeof(*v));

	for (size_t i = 0; v && i < n; i++)
		if (new_value(p, &from[i], &v[i]))
			return NULL;
	return v;
}

/* What has no copy is used where nothing defines it: a region that is isolated uses what is outside
 */
static struct mlir_value **operands(struct spmd *p, const struct mlir_op *op)
{
	struct mlir_value **in = spmd_alloc(p, op->nin + 1, sizeof(struct mlir_value *));

	for (size_t i = 0; in && i < op->nin; i++) {
		in[i] = op->in[i]->note;
		if (!in[i]) {
			spmd_fail(p, -EINVAL, "operand %zu is not defined there", i);
			return NULL;
		}
	}
	return in;
}

static struct spmd_function *find(struct spmd *p, const struct mlir_attr *name)
{
	for (size_t i = 0; name && name->text && i < p->nfunctions; i++)
		if (!strcmp(p->functions[i].name, name->text))
			return &p->functions[i];
	return NULL;
}

static int take_call(struct spmd *p, const struct mlir_op *op, const struct mlir_attr *name,
		     struct spmd_list *l)
{
	struct spmd_function *f = find(p, name);
	struct mlir_value **in = operands(p, op);
	const struct mlir_op *end = NULL;
	struct mlir_block *b;
	int rc;

	if (!in)
		return -EINVAL;
	if (!f || f->open || p->depth >= MOST_DEEP || f->op->nregions != 1 ||
	    f->op->regions[0].nblocks != 1 || f->op->regions[0].blocks[0].nargs != op->nin)
		return spmd_fail(p, -EINVAL, "the function '%.100s' %s",
				 name && name->text ? name->text : "",
				 !f	   ? "does not exist"
				 : f->open ? "calls itself"
					   : "has no body for these arguments");
	b = &f->op->regions[0].blocks[0];
	for (size_t i = 0; i < op->nin; i++)
		b->args[i].note = in[i];
	f->open = true;
	p->depth++;
	rc = take_block(p, b, l, &end);
	p->depth--;
	f->open = false;
	if (rc)
		return rc;
	if (end->nin != op->nout)
		return spmd_fail(p, -EINVAL, "%zu results of a function that gives %zu", op->nout,
				 end->nin);
	for (size_t i = 0; i < op->nout; i++) {
		op->out[i].note = end->in[i]->note;
		if (!op->out[i].note)
			return spmd_fail(p, -EINVAL, "result %zu is not defined there", i);
	}
	return 0;
}

static int take_regions(struct spmd *p, const struct mlir_op *op, struct mlir_region *to)
{
	int rc = 0;

	if (p->depth >= MOST_DEEP)
		return spmd_fail(p, -EFBIG, "regions and calls nested more than %d deep",
				 MOST_DEEP);
	p->depth++;
	for (size_t i = 0; !rc && i < op->nregions; i++) {
		const struct mlir_region *r = &op->regions[i];
		struct mlir_block *b = spmd_alloc(p, 1, sizeof(*b));
		struct spmd_list l = { 0 };

		if (!b)
			return -ENOMEM;
		if (r->nblocks != 1)
			return spmd_fail(p, -ENOTSUP,
					 "a region of %zu blocks, only one is supported",
					 r->nblocks);
		b->nargs = r->blocks[0].nargs;
		b->args = new_values(p, r->blocks[0].args, b->nargs);
		rc = b->args ? take_block(p, r->blocks, &l, NULL) : -ENOMEM;
		b->ops = l.op;
		b->nops = l.n;
		to[i] = (struct mlir_region){ 1, b };
	}
	p->depth--;
	return rc;
}

static bool is_end(const struct mlir_op *op)
{
	return !strcmp(op->name, "return") || !strcmp(op->name, "sdy.return");
}

/* Composites that the conversion to HLO knows stay; of the others what they are made of does. */
static const struct mlir_attr *callee(const struct mlir_op *op)
{
	const struct mlir_attr *name = mlir_attr_of(op, "name");

	if (!strcmp(op->name, "call"))
		return mlir_attr_of(op, "callee");
	if (strcmp(op->name, "composite") ||
	    (name && name->text && !strcmp(name->text, "chlo.erf")) ||
	    (name && name->text && !strcmp(name->text, "chlo.top_k")))
		return NULL;
	return mlir_attr_of(op, "decomposition");
}

static int take_op(struct spmd *p, const struct mlir_op *op, struct spmd_list *l)
{
	const struct mlir_attr *name = callee(op);
	struct mlir_op *new, copy = *op;

	p->at = op;
	if (name)
		return take_call(p, op, name, l);
	copy.in = operands(p, op);
	copy.regions = spmd_alloc(p, op->nregions + 1, sizeof(*copy.regions));
	if (!copy.in || !copy.regions)
		return p->err->text[0] ? -EINVAL : -ENOMEM;
	if (op->nregions && take_regions(p, op, copy.regions))
		return -EINVAL;
	copy.out = new_values(p, op->out, op->nout);
	new = copy.out ? spmd_add(p, l) : NULL;
	if (!new)
		return -EFBIG;
	*new = copy;
	return 0;
}

/* end: of a function, whose return is not copied */
static int take_block(struct spmd *p, const struct mlir_block *b, struct spmd_list *l,
		      const struct mlir_op **end)
{
	for (size_t i = 0; i < b->nops; i++) {
		const struct mlir_op *op = &b->ops[i];
		int rc = end && is_end(op) ? 0 : take_op(p, op, l);

		if (rc || is_end(op)) {
			if (end)
				*end = op;
			return rc;
		}
	}
	return spmd_fail(p, -EINVAL, "a region without a return");
}

/* Says of each value what makes it, now that the operations have their places */
static void set_makers(const struct mlir_block *b)
{
	for (size_t i = 0; i < b->nops; i++) {
		const struct mlir_op *op = &b->ops[i];

		for (size_t k = 0; k < op->nout; k++)
			spmd_note(&op->out[k])->from = op;
		for (size_t k = 0; k < op->nregions; k++)
			set_makers(op->regions[k].blocks);
	}
}

int spmd_inline(struct spmd *p)
{
	const struct mlir_region *r = p->main->regions;
	struct spmd_list l = { 0 };
	int rc;

	p->at = p->main;
	if (p->main->nregions != 1 || r->nblocks != 1)
		return spmd_fail(p, -EINVAL, "the function has no body of one block");
	p->body = spmd_alloc(p, 1, sizeof(*p->body));
	if (!p->body)
		return -ENOMEM;
	p->body->nargs = r->blocks[0].nargs;
	p->body->args = new_values(p, r->blocks[0].args, p->body->nargs);
	rc = p->body->args ? take_block(p, r->blocks, &l, NULL) : -ENOMEM;
	p->body->ops = l.op;
	p->body->nops = l.n;
	if (!rc)
		set_makers(p->body);
	return rc;
}
