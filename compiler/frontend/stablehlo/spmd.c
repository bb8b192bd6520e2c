// SPDX-License-Identifier: MIT
/*
 * Partitions a module: see spmd.h. What the program says of main's arguments and results stands;
 * an argument of which nothing is said is whole. Called by stablehlo.c between reading and HLO.
 */
#include "spmd.h"

#include <errno.h>
#include <string.h>

#include "ir/ir.h"

#define FIRST_CHANNEL 1000 /* beyond those of manual computations, which number their own from 1 */

static int find_functions(struct spmd *p)
{
	const struct mlir_block *b = &p->m->module->regions[0].blocks[0];
	const struct mlir_op *open = NULL;
	unsigned int n = 0;

	p->functions = spmd_alloc(p, b->nops + 1, sizeof(*p->functions));
	if (!p->functions)
		return -ENOMEM;
	for (size_t i = 0; i < b->nops; i++) {
		const struct mlir_attr *name = mlir_attr_of(&b->ops[i], "sym_name");
		const struct mlir_attr *seen = mlir_attr_of(&b->ops[i], "sym_visibility");

		if (strcmp(b->ops[i].name, "func") || !name || !name->text)
			continue;
		p->functions[p->nfunctions++] =
			(struct spmd_function){ .name = name->text, .op = &b->ops[i] };
		if (!strcmp(name->text, "main"))
			p->main = &b->ops[i];
		if (seen && seen->text && !strcmp(seen->text, "private"))
			continue;
		open = &b->ops[i];
		n++;
	}
	p->main = p->main ?: n == 1 ? open : NULL;
	return p->main ? 0 : spmd_fail(p, -EINVAL, "a program without a function 'main'");
}

static const struct mlir_attr *attrs_of(const struct mlir_op *op, const char *name, size_t i)
{
	const struct mlir_attr *list = mlir_attr_of(op, name);

	return list && list->kind == MLIR_ARRAY && i < list->n ? list->list[i] : NULL;
}

static int read_said(struct spmd *p)
{
	const struct mlir_op *end = &p->body->ops[p->body->nops - 1];
	bool said;
	int rc = 0;

	p->at = p->main;
	p->results = spmd_alloc(p, end->nin + 1, sizeof(*p->results));
	p->said = spmd_alloc(p, end->nin + 1, sizeof(*p->said));
	if (!p->results || !p->said)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < p->body->nargs; i++) {
		struct spmd_value *v = spmd_note(&p->body->args[i]);

		rc = spmd_read_said(p, attrs_of(p->main, "arg_attrs", i), p->body->args[i].type,
				    &v->split, &said);
		v->fixed = true;
	}
	for (size_t i = 0; !rc && i < end->nin; i++)
		rc = spmd_read_said(p, attrs_of(p->main, "res_attrs", i), end->in[i]->type,
				    &p->results[i], &p->said[i]);
	return rc;
}

/* The same dictionaries without what is said of shardings, which are the device's own now */
static const struct mlir_attr *without(struct spmd *p, const struct mlir_attr *list)
{
	struct mlir_attr *new = spmd_alloc(p, 1, sizeof(*new));

	if (!new || !list || list->kind != MLIR_ARRAY)
		return list;
	*new = *list;
	new->list = spmd_alloc(p, list->n + 1, sizeof(*new->list));
	for (size_t i = 0; new->list &&i < list->n; i++) {
		const struct mlir_attr *from = list->list[i];
		struct mlir_attr *to = spmd_alloc(p, 1, sizeof(*to));

		new->list[i] = from;
		if (!to || !from || from->kind != MLIR_DICTIONARY)
			continue;
		*to = *from;
		to->n = 0;
		to->names = spmd_alloc(p, from->n + 1, sizeof(*to->names));
		to->list = spmd_alloc(p, from->n + 1, sizeof(*to->list));
		for (size_t k = 0; to->names && to->list && k < from->n; k++) {
			if (!strcmp(from->names[k], "sdy.sharding") || !strcmp(from->names[k], "mhl"
											       "o."
											       "sha"
											       "rdi"
											       "n"
											       "g"))
				continue;
			to->names[to->n] = from->names[k];
			to->list[to->n++] = from->list[k];
		}
		new->list[i] = to;
	}
	return new->list ? new : NULL;
}

static const struct mlir_attr *type_attr(struct spmd *p, const struct mlir_block *b)
{
	const struct mlir_op *end = &b->ops[b->nops - 1];
	struct mlir_attr *a = spmd_alloc(p, 1, sizeof(*a));
	struct mlir_type *t = spmd_alloc(p, 1, sizeof(*t));

	if (!a || !t)
		return NULL;
	*t = (struct mlir_type){ .kind = MLIR_FUNCTION,
				 .name = "a function's type",
				 .nin = (unsigned int)b->nargs,
				 .nout = (unsigned int)end->nin };
	t->in = spmd_alloc(p, b->nargs + 1, sizeof(*t->in));
	t->out = spmd_alloc(p, end->nin + 1, sizeof(*t->out));
	for (size_t i = 0; t->in && i < b->nargs; i++)
		t->in[i] = b->args[i].type;
	for (size_t i = 0; t->out && i < end->nin; i++)
		t->out[i] = end->in[i]->type;
	*a = (struct mlir_attr){ .kind = MLIR_TYPE, .type = t };
	return t->in && t->out ? a : NULL;
}

static int write_function(struct spmd *p, struct mlir_op *op)
{
	struct mlir_region *r = spmd_alloc(p, 1, sizeof(*r));
	struct mlir_block *b = spmd_alloc(p, 1, sizeof(*b));
	const size_t n = p->main->nattrs;
	const char **names = spmd_alloc(p, n + 1, sizeof(*names));
	const struct mlir_attr **attrs = spmd_alloc(p, n + 1, sizeof(*attrs));
	int rc = r && b && names && attrs ? spmd_emit(p, b) : -ENOMEM;

	if (rc)
		return rc;
	*op = *p->main;
	for (size_t i = 0; i < n; i++) {
		names[i] = op->names[i];
		attrs[i] = op->attrs[i];
		if (!strcmp(names[i], "function_type"))
			attrs[i] = type_attr(p, b);
		else if (!strcmp(names[i], "arg_attrs") || !strcmp(names[i], "res_attrs"))
			attrs[i] = without(p, op->attrs[i]);
		if (!attrs[i])
			return -ENOMEM;
	}
	op->names = names;
	op->attrs = attrs;
	*r = (struct mlir_region){ 1, b };
	op->regions = r;
	return 0;
}

/* The module with its meshes, which collectives may name, and one function */
static int write_module(struct spmd *p)
{
	const struct mlir_block *from = &p->m->module->regions[0].blocks[0];
	struct mlir_op *module = spmd_alloc(p, 1, sizeof(*module));
	struct mlir_region *r = spmd_alloc(p, 1, sizeof(*r));
	struct mlir_block *b = spmd_alloc(p, 1, sizeof(*b));
	struct mlir_op *ops = spmd_alloc(p, from->nops + 1, sizeof(*ops));
	int rc;

	if (!module || !r || !b || !ops)
		return -ENOMEM;
	*b = (struct mlir_block){ .ops = ops };
	for (size_t i = 0; i < from->nops; i++)
		if (strcmp(from->ops[i].name, "func"))
			ops[b->nops++] = from->ops[i];
	rc = write_function(p, &ops[b->nops++]);
	if (rc)
		return rc;
	*r = (struct mlir_region){ 1, b };
	*module = *p->m->module;
	module->regions = r;
	p->m->module = module;
	return 0;
}

static int write_ends(struct spmd *p, struct spmd_ends *ends)
{
	const struct mlir_op *end = &p->body->ops[p->body->nops - 1];

	ends->nin = p->body->nargs;
	ends->nout = end->nin;
	ends->in = spmd_alloc(p, ends->nin + 1, sizeof(*ends->in));
	ends->out = spmd_alloc(p, ends->nout + 1, sizeof(*ends->out));
	p->err->text[0] = 0;
	for (size_t i = 0; ends->in && i < ends->nin; i++)
		ends->in[i] =
			spmd_tiling(p, &spmd_note(&p->body->args[i])->split, p->body->args[i].type);
	for (size_t i = 0; ends->out && i < ends->nout; i++)
		ends->out[i] = spmd_tiling(p, &p->results[i], end->in[i]->type);
	return !ends->in || !ends->out || p->err->text[0] ? -ENOMEM : 0;
}

int spmd_partition(struct mlir *m, unsigned int devices, struct spmd_ends *ends,
		   struct ncc_error *err)
{
	struct spmd *p = arena_alloc(&m->arena, 1, sizeof(*p));
	int rc;

	*ends = (struct spmd_ends){ 0 };
	err->text[0] = 0;
	if (!p)
		return ncc_no_memory(err);
	p->m = m;
	p->err = err;
	p->channel = FIRST_CHANNEL;
	rc = spmd_mesh_make(p, devices) ?: find_functions(p) ?: spmd_inline(p) ?: read_said(p) ?:
	     spmd_choose(p) ?: write_module(p) ?: write_ends(p, ends);
	return rc && !err->text[0] ? ncc_no_memory(err) : rc;
}
