// SPDX-License-Identifier: MIT
/* An operation's draft while it is read: operands, attributes and types. See text.h */
#include <errno.h>
#include <string.h>

#include "text.h"

#define MOST_RESULTS (1 << 22) /* of an operation */

static int shown(struct token t)
{
	return (int)(t.n < 80 ? t.n : 80);
}

/* Operands */

void text_operand(struct text *x, struct draft *d)
{
	struct mlir_value **v = list_add(x, &d->in, sizeof(*v));
	const struct token t = x->t;
	const struct name *e;
	int64_t i = 0;

	if (t.kind != TOKEN_VALUE) {
		text_expected(x, "a value, such as %0");
		return;
	}
	e = names_find(&x->values, t.p, t.n, x->floor);
	text_next(x);
	/* %0#1: the next token is #1 */
	if (x->t.kind == TOKEN_HASH && x->t.p == t.p + t.n) {
		for (size_t k = 1; k < x->t.n && i < MOST_RESULTS; k++)
			i = x->t.p[k] >= '0' && x->t.p[k] <= '9' ? 10 * i + x->t.p[k] - '0'
								 : MOST_RESULTS;
		text_next(x);
	}
	if (!e)
		text_fail_at(x, t.p, -EINVAL, "the value '%.*s' is not defined before it is used",
			     shown(t), t.p);
	else if ((size_t)i >= e->count)
		text_fail_at(x, t.p, -EINVAL,
			     "'%.*s' has %zu results: there is none of this number", shown(t), t.p,
			     e->count);
	else if (v)
		*v = (struct mlir_value *)e->what + i;
}

void text_operands(struct text *x, struct draft *d)
{
	if (x->t.kind != TOKEN_VALUE)
		return;
	text_operand(x, d);
	while (!text_bad(x) && text_is(x, ',') && text_peek(x).kind == TOKEN_VALUE) {
		text_next(x);
		text_operand(x, d);
	}
}

void text_check_operands(struct text *x, const struct draft *d, const struct list *types)
{
	struct mlir_value *const *in = d->in.p;
	const struct mlir_type *const *t = types->p;

	if (!text_bad(x) && types->n != d->in.n)
		text_fail_at(x, d->at.p, -EINVAL, "%zu operands, and types of %zu", d->in.n,
			     types->n);
	for (size_t i = 0; !text_bad(x) && i < types->n; i++)
		if (!text_same_type(in[i]->type, t[i]))
			text_fail_at(x, d->at.p, -EINVAL, "operand %zu is a %s, not a %s", i,
				     text_type_name(x, in[i]->type), text_type_name(x, t[i]));
}

/* Attributes */

const struct mlir_attr *text_get(const struct draft *d, const char *name)
{
	const struct named_attr *e = d->attrs.p;

	for (size_t i = 0; i < d->attrs.n; i++)
		if (!strcmp(e[i].name, name))
			return e[i].attr;
	return NULL;
}

void text_set(struct text *x, struct draft *d, const char *name, const struct mlir_attr *attr)
{
	struct named_attr *e;

	if (text_bad(x))
		return;
	if (d->attrs.n >= TEXT_MOST_ATTRS) {
		text_fail_at(x, d->at.p, -EFBIG, "an operation of more than %d attributes",
			     TEXT_MOST_ATTRS);
		return;
	}
	if (text_get(d, name)) {
		text_fail_at(x, d->at.p, -EINVAL, "the attribute '%s' is given twice", name);
		return;
	}
	e = list_add(x, &d->attrs, sizeof(*e));
	if (e)
		*e = (struct named_attr){ name, attr };
}

/* Types */

static void add_type(struct text *x, struct list *list, const struct mlir_type *t)
{
	const struct mlir_type **e = list_add(x, list, sizeof(*e));

	if (e)
		*e = t;
}

static void function_types(struct text *x, struct draft *d)
{
	const struct mlir_type *t = text_function_type(x);
	struct list in;

	if (!t)
		return;
	in = (struct list){ t->in, t->nin, 0 };
	text_check_operands(x, d, &in);
	d->out = (struct list){ t->out, t->nout, t->nout };
}

/* Types with commas between them, without brackets */
static void plain_types(struct text *x, struct list *types)
{
	do {
		add_type(x, types, text_type(x));
	} while (!text_bad(x) && text_take(x, ','));
}

/* Reads one type for all operands and results, or a function's */
static void same_types(struct text *x, struct draft *d)
{
	struct list in = { 0 };
	const struct mlir_type *t;

	if (text_is(x, '(')) {
		function_types(x, d);
		return;
	}
	t = text_type(x);
	for (size_t i = 0; !text_bad(x) && i < d->in.n; i++)
		add_type(x, &in, t);
	add_type(x, &d->out, t);
	text_check_operands(x, d, &in);
}

static void tuple_types(struct text *x, struct draft *d)
{
	const char *at = x->t.p;
	const struct mlir_type *t = text_type(x);
	struct list in;

	if (!t)
		return;
	if (t->kind != MLIR_TUPLE) {
		text_fail_at(x, at, -EINVAL, "expected a tuple's type");
		return;
	}
	in = (struct list){ t->in, t->nin, 0 };
	text_check_operands(x, d, &in);
	add_type(x, &d->out, t);
}

/* The predicate's type and that of the other two, or a function's */
static void select_types(struct text *x, struct draft *d)
{
	struct list in = { 0 };
	const struct mlir_type *t;

	if (text_is(x, '(')) {
		function_types(x, d);
		return;
	}
	add_type(x, &in, text_type(x));
	text_expect(x, ',');
	t = text_type(x);
	add_type(x, &in, t);
	add_type(x, &in, t);
	add_type(x, &d->out, t);
	text_check_operands(x, d, &in);
}

/* type, type -> type, as chlo has it */
static void arrow_types(struct text *x, struct draft *d)
{
	struct list in = { 0 };

	if (text_is(x, '(')) {
		function_types(x, d);
		return;
	}
	plain_types(x, &in);
	if (x->t.kind == TOKEN_ARROW)
		text_next(x);
	else
		text_expected(x, "'->'");
	text_types(x, &d->out);
	text_check_operands(x, d, &in);
}

/* Reads the types of operands alone; where there are none, nothing */
static void operand_types(struct text *x, struct draft *d, bool results)
{
	struct list in = { 0 };

	if (!d->in.n)
		return;
	text_expect(x, ':');
	plain_types(x, &in);
	text_check_operands(x, d, &in);
	if (results)
		d->out = (struct list){ in.p, in.n, in.n };
}

void text_signature(struct text *x, struct draft *d, const char *kind)
{
	if (!strcmp(kind, "operands") || !strcmp(kind, "pairs")) {
		operand_types(x, d, !strcmp(kind, "pairs"));
		return;
	}
	text_expect(x, ':');
	if (text_bad(x))
		return;
	if (!strcmp(kind, "fn"))
		function_types(x, d);
	else if (!strcmp(kind, "same"))
		same_types(x, d);
	else if (!strcmp(kind, "out"))
		add_type(x, &d->out, text_type(x));
	else if (!strcmp(kind, "tuple"))
		tuple_types(x, d);
	else if (!strcmp(kind, "select"))
		select_types(x, d);
	else if (!strcmp(kind, "arrow"))
		arrow_types(x, d);
}
