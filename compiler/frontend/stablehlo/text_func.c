// SPDX-License-Identifier: MIT
/* The forms of modules and functions, and of what is divided among devices: see text.h */
#include "text.h"

static void set_symbol(struct text *x, struct draft *d)
{
	size_t n = 0;
	const char *name = text_symbol(x, &n);

	if (name)
		text_set(x, d, "sym_name", attr_of_text(&x->r, MLIR_STRING, name));
}

static void set_visibility(struct text *x, struct draft *d)
{
	static const char *const words[] = { "public", "private", "nested" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text_take_word(x, words[i])) {
			text_set(x, d, "sym_visibility",
				 attr_of_text(&x->r, MLIR_STRING, words[i]));
			return;
		}
}

/* module @name attributes {...} {...} */
void form_module(struct text *x, struct draft *d)
{
	struct list none = { 0 };

	d->op.spelled = "builtin.module";
	set_visibility(x, d);
	if (x->t.kind == TOKEN_SYMBOL)
		set_symbol(x, d);
	if (text_take_word(x, "attributes"))
		text_pretty(x, d, "{}");
	text_region(x, d, &none, true);
}

/* Attributes of arguments or results: none at all, or a dictionary for each */
static const struct mlir_attr *attrs_of(struct text *x, const struct list *args)
{
	const struct argument *a = args->p;
	struct list list = { 0 }, none = { 0 };
	bool any = false;

	for (size_t i = 0; i < args->n; i++)
		any |= a[i].attrs != NULL;
	for (size_t i = 0; any && i < args->n && !text_bad(x); i++) {
		const struct mlir_attr **e = list_add(x, &list, sizeof(*e));

		if (e)
			*e = a[i].attrs ? a[i].attrs : text_dictionary_of(x, "", &none);
	}
	return text_array_of(x, &list);
}

static const struct mlir_type **types_of(struct text *x, const struct list *args)
{
	const struct argument *a = args->p;
	const struct mlir_type **t = reader_alloc(&x->r, args->n + 1, sizeof(*t));

	for (size_t i = 0; t && i < args->n; i++)
		t[i] = a[i].type;
	return t;
}

static void set_function_type(struct text *x, struct draft *d, const struct list *args,
			      const struct list *results)
{
	struct mlir_type *t = new_type(&x->r, MLIR_FUNCTION, "a function's type");
	struct mlir_attr *a = new_attr(&x->r, MLIR_TYPE);

	if (!t || !a)
		return;
	t->nin = (unsigned int)args->n;
	t->in = types_of(x, args);
	t->nout = (unsigned int)results->n;
	t->out = types_of(x, results);
	a->type = t;
	text_set(x, d, "function_type", a);
	text_set(x, d, "arg_attrs", attrs_of(x, args));
	text_set(x, d, "res_attrs", attrs_of(x, results));
}

/* public @name(%a: type {...}, ...) -> (type {...}, ...) attributes {...} {...} */
void form_func(struct text *x, struct draft *d)
{
	struct list args = { 0 }, results = { 0 };

	set_visibility(x, d);
	set_symbol(x, d);
	text_arguments(x, &args);
	if (x->t.kind == TOKEN_ARROW) {
		text_next(x);
		if (text_is(x, '(')) {
			text_arguments(x, &results);
		} else {
			struct argument *a = list_add(x, &results, sizeof(*a));

			if (a)
				a->type = text_type(x);
		}
	}
	if (text_take_word(x, "attributes"))
		text_pretty(x, d, "{}");
	if (text_bad(x))
		return;
	set_function_type(x, d, &args, &results);
	if (text_is(x, '{'))
		text_region(x, d, &args, true);
	else if (!list_add(x, &d->regions, sizeof(struct mlir_region)))
		return; /* a declaration: a region of no blocks */
}

/* @mesh = <["x"=4]> {...} */
void form_mesh(struct text *x, struct draft *d)
{
	set_visibility(x, d);
	set_symbol(x, d);
	text_expect(x, '=');
	text_set(x, d, "mesh", text_sdy(x, "sdy.mesh"));
	text_pretty(x, d, "{}");
}

/* %0 <@mesh, [{"x"}]> {...} : type */
void form_sharding(struct text *x, struct draft *d)
{
	text_operand(x, d);
	text_set(x, d, "sharding", text_sdy(x, "sdy.sharding"));
	text_pretty(x, d, "{} :same");
}

/* (%0) in_shardings=[...] out_shardings=[...] manual_axes={...} (%a: type) {...} : types */
void form_manual(struct text *x, struct draft *d)
{
	struct list args = { 0 };

	text_pretty(x, d, "( $* ) in_shardings =");
	text_set(x, d, "in_shardings", text_shardings(x));
	text_pretty(x, d, "out_shardings =");
	text_set(x, d, "out_shardings", text_shardings(x));
	text_pretty(x, d, "manual_axes =");
	text_set(x, d, "manual_axes", text_axes(x));
	text_arguments(x, &args);
	text_region(x, d, &args, false);
	text_pretty(x, d, "{} :fn");
}
