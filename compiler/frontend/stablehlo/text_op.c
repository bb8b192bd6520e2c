// SPDX-License-Identifier: MIT
/*
 * Operations, regions and blocks in MLIR's text: the generic form, which all operations have, and
 * what it shares with their own forms. A value is found by its name among those of its region and,
 * unless a region in between is isolated, of those around it. See text.h
 */
#include <errno.h>
#include <string.h>

#include "text.h"

/* Far beyond any program's, as body.c has it */
#define MOST_THINGS (1u << 20)
#define MOST_VALUES (1u << 22)

/* %x, or %x:2 of as many results */
struct result_name {
	struct token t;
	size_t count;
};

static bool count_thing(struct text *x)
{
	if (++x->things > MOST_THINGS)
		text_fail_at(x, x->t.p, -EFBIG, "more than %u operations and blocks", MOST_THINGS);
	return !text_bad(x);
}

static int shown(struct token t)
{
	return (int)(t.n < 80 ? t.n : 80);
}

static void define(struct text *x, struct token t, struct mlir_value *first, size_t count)
{
	struct name *e;

	if (text_bad(x))
		return;
	if (names_find(&x->values, t.p, t.n, x->floor)) {
		text_fail_at(x, t.p, -EINVAL, "the value '%.*s' was defined before", shown(t), t.p);
		return;
	}
	e = names_add(x, &x->values, t);
	if (!e)
		return;
	e->what = first;
	e->count = count;
}

static struct mlir_value *new_values(struct text *x, size_t n)
{
	x->nvalues += n;
	if (x->nvalues > MOST_VALUES)
		text_fail_at(x, x->t.p, -EFBIG, "more than %u values", MOST_VALUES);
	return text_bad(x) ? NULL : reader_alloc(&x->r, n + 1, sizeof(struct mlir_value));
}

/* Regions */

void text_arguments(struct text *x, struct list *args)
{
	text_expect(x, '(');
	while (!text_bad(x) && !text_is(x, ')')) {
		struct argument *a = list_add(x, args, sizeof(*a));

		if (!a)
			return;
		if (x->t.kind == TOKEN_VALUE) {
			a->name = x->t;
			text_next(x);
			text_expect(x, ':');
		}
		a->type = text_type(x);
		if (text_is(x, '{'))
			a->attrs = text_dictionary(x);
		text_skip_location(x);
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ')');
}

static void block_arguments(struct text *x, struct mlir_block *b, const struct list *args)
{
	const struct argument *a = args->p;

	b->nargs = args->n;
	b->args = new_values(x, b->nargs);
	for (size_t i = 0; !text_bad(x) && i < b->nargs; i++) {
		b->args[i].type = a[i].type;
		if (!a[i].name.n) {
			text_fail_at(x, x->t.p, -EINVAL, "an argument without a name");
			return;
		}
		define(x, a[i].name, &b->args[i], 1);
	}
}

/* A block's operations, up to the '}' or the next block */
static void block(struct text *x, struct mlir_block *b)
{
	struct list ops = { 0 };

	while (!text_bad(x) && !text_is(x, '}') && x->t.kind != TOKEN_BLOCK &&
	       x->t.kind != TOKEN_END)
		text_op(x, &ops);
	b->ops = ops.p;
	b->nops = ops.n;
}

static void blocks(struct text *x, struct mlir_region *region, const struct list *given)
{
	struct mlir_block *b = reader_alloc(&x->r, 1, sizeof(*b));
	struct list args = { 0 };
	const char *at;

	if (!b || (text_is(x, '}') && !given))
		return;
	if (given) {
		args = *given;
	} else if (x->t.kind == TOKEN_BLOCK) {
		text_next(x);
		if (text_is(x, '('))
			text_arguments(x, &args);
		text_expect(x, ':');
	}
	if (!count_thing(x))
		return;
	region->blocks = b;
	region->nblocks = 1;
	block_arguments(x, b, &args);
	block(x, b);
	at = x->t.p;
	if (x->t.kind == TOKEN_BLOCK)
		text_fail_at(x, at, -ENOTSUP, "a region of more than one block");
}

void text_region(struct text *x, struct draft *d, const struct list *args, bool isolated)
{
	struct mlir_region *region = list_add(x, &d->regions, sizeof(*region));
	const size_t mark = x->values.n, floor = x->floor;

	if (!region || !count_thing(x) || !text_enter(x))
		return;
	if (isolated)
		x->floor = mark;
	text_expect(x, '{');
	if (!text_bad(x))
		blocks(x, region, args);
	text_expect(x, '}');
	text_leave(x);
	names_drop(&x->values, mark);
	x->floor = floor;
}

/* The generic form */

static bool is_isolated(const char *name)
{
	return !strcmp(name, "func.func") || !strcmp(name, "builtin.module");
}

static void generic_regions(struct text *x, struct draft *d)
{
	const bool isolated = is_isolated(d->op.spelled);

	text_next(x);
	do {
		text_region(x, d, NULL, isolated);
	} while (!text_bad(x) && text_take(x, ','));
	text_expect(x, ')');
}

static void generic(struct text *x, struct draft *d)
{
	const char *at;
	size_t n = 0;

	d->op.spelled = text_string(x, &n);
	if (!d->op.spelled)
		return;
	text_expect(x, '(');
	text_operands(x, d);
	text_expect(x, ')');
	at = x->t.p;
	if (text_is(x, '['))
		text_fail_at(x, at, -ENOTSUP, "an operation that goes on in another block");
	if (text_is(x, '<')) {
		text_next(x);
		text_attrs(x, &d->attrs);
		text_expect(x, '>');
	}
	if (text_is(x, '(') && !text_bad(x))
		generic_regions(x, d);
	if (text_is(x, '{')) {
		struct list more = { 0 };
		const struct named_attr *e;

		text_attrs(x, &more);
		e = more.p;
		for (size_t i = 0; !text_bad(x) && i < more.n; i++)
			text_set(x, d, e[i].name, e[i].attr);
	}
	text_signature(x, d, "fn");
}

/* The results' names are those of values from here on. */
static void results(struct text *x, struct draft *d)
{
	const struct result_name *name = d->names.p;
	const struct mlir_type *const *types = d->out.p;
	size_t n = 0;

	for (size_t i = 0; i < d->names.n; i++)
		n += name[i].count;
	if (!text_bad(x) && d->names.n && n != d->out.n)
		text_fail_at(x, d->at.p, -EINVAL, "%zu results, and names for %zu", d->out.n, n);
	d->op.nout = d->out.n;
	d->op.out = new_values(x, d->op.nout);
	for (size_t i = 0; !text_bad(x) && i < d->op.nout; i++)
		d->op.out[i].type = types[i];
	n = 0;
	for (size_t i = 0; !text_bad(x) && i < d->names.n; i++) {
		define(x, name[i].t, &d->op.out[n], name[i].count);
		n += name[i].count;
	}
}

static void result_names(struct text *x, struct draft *d)
{
	do {
		struct result_name *r = list_add(x, &d->names, sizeof(*r));

		if (x->t.kind != TOKEN_VALUE)
			text_expected(x, "a result's name");
		if (!r || text_bad(x))
			return;
		r->t = x->t;
		r->count = 1;
		text_next(x);
		if (text_take(x, ':')) {
			r->count = (size_t)text_count(x);
			if (!r->count || r->count > MOST_VALUES)
				text_fail_at(x, r->t.p, -EINVAL, "a wrong number of results");
		}
	} while (!text_bad(x) && text_take(x, ','));
	text_expect(x, '=');
}

static void pretty(struct text *x, struct draft *d)
{
	const struct form *form = x->form_of(x->t.p, x->t.n);

	if (!form) {
		text_fail_at(x, x->t.p, -ENOTSUP, "the operation '%.*s' is not known", shown(x->t),
			     x->t.p);
		return;
	}
	d->op.spelled = form->name;
	text_next(x);
	if (form->read)
		form->read(x, d);
	else
		text_pretty(x, d, form->form);
}

void text_op(struct text *x, struct list *ops)
{
	struct draft d = { 0 };
	struct mlir_op *op;

	if (!count_thing(x))
		return;
	if (x->t.kind == TOKEN_VALUE)
		result_names(x, &d);
	d.at = x->t;
	if (x->t.kind == TOKEN_STRING)
		generic(x, &d);
	else if (x->t.kind == TOKEN_WORD)
		pretty(x, &d);
	else
		text_expected(x, "an operation");
	text_location(x, &d.op);
	for (size_t i = 0; d.made && i < d.made->nops; i++) {
		d.made->ops[i].file = d.op.file;
		d.made->ops[i].line = d.op.line;
	}
	if (!text_bad(x))
		text_to_vhlo(x, &d);
	results(x, &d);
	op = list_add(x, ops, sizeof(*op));
	if (!op || text_bad(x))
		return;
	*op = d.op;
	op->in = d.in.p;
	op->nin = d.in.n;
	op->regions = d.regions.p;
	op->nregions = d.regions.n;
}
