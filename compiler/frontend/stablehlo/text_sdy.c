// SPDX-License-Identifier: MIT
/* The attributes of Shardy's dialect in MLIR's text, as sdy.c makes them of bytecode: see text.h */
#include <string.h>

#include "text.h"

static void add(struct text *x, struct list *attrs, const char *name, const struct mlir_attr *a)
{
	struct named_attr *e = list_add(x, attrs, sizeof(*e));

	if (e)
		*e = (struct named_attr){ name, a };
}

static void push(struct text *x, struct list *list, const struct mlir_attr *a)
{
	const struct mlir_attr **e = list_add(x, list, sizeof(*e));

	if (e)
		*e = a;
}

static const struct mlir_attr *string_attr(struct text *x)
{
	size_t n = 0;
	const char *s = text_string(x, &n);

	return s ? attr_of_text(&x->r, MLIR_STRING, s) : NULL;
}

static const struct mlir_attr *integer_attr(struct text *x)
{
	return attr_of_int(&x->r, MLIR_INTEGER, text_integer(x));
}

/* "x", or a part of it: "x":(2)4 */
static const struct mlir_attr *axis(struct text *x)
{
	struct list attrs = { 0 }, part = { 0 };

	add(x, &attrs, "name", string_attr(x));
	if (text_take(x, ':')) {
		text_expect(x, '(');
		add(x, &part, "pre_size", integer_attr(x));
		text_expect(x, ')');
		add(x, &part, "size", integer_attr(x));
		add(x, &attrs, "sub_axis", text_dictionary_of(x, "sdy.sub_axis", &part));
	}
	return text_bad(x) ? NULL : text_dictionary_of(x, "sdy.axis_ref", &attrs);
}

/* Reads axes up to the '}', or a '?' before it */
static const struct mlir_attr *axes(struct text *x)
{
	struct list list = { 0 };

	text_expect(x, '{');
	while (!text_bad(x) && x->t.kind == TOKEN_STRING) {
		push(x, &list, axis(x));
		if (!text_take(x, ','))
			break;
	}
	return text_bad(x) ? NULL : text_array_of(x, &list);
}

const struct mlir_attr *text_axes(struct text *x)
{
	struct list list = { 0 };

	text_expect(x, '{');
	while (!text_bad(x) && x->t.kind == TOKEN_STRING) {
		push(x, &list, string_attr(x));
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, '}');
	return text_bad(x) ? NULL : text_array_of(x, &list);
}

/* {"x", ?}p1 */
static const struct mlir_attr *dimension(struct text *x)
{
	struct list attrs = { 0 };

	add(x, &attrs, "axes", axes(x));
	add(x, &attrs, "is_closed", attr_of_int(&x->r, MLIR_BOOL, !text_take(x, '?')));
	text_expect(x, '}');
	if (x->t.kind == TOKEN_WORD && *x->t.p == 'p') {
		text_return(x, (struct token){ TOKEN_WORD, x->t.p, 1 });
		text_next(x);
		add(x, &attrs, "priority", integer_attr(x));
	}
	return text_bad(x) ? NULL : text_dictionary_of(x, "sdy.dimension_sharding", &attrs);
}

static const struct mlir_attr *dimensions(struct text *x)
{
	struct list list = { 0 };

	text_expect(x, '[');
	while (!text_bad(x) && !text_is(x, ']')) {
		push(x, &list, dimension(x));
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ']');
	return text_bad(x) ? NULL : text_array_of(x, &list);
}

static const struct mlir_attr *named_axes(struct text *x, const char *word)
{
	const struct mlir_attr *a;
	struct list none = { 0 };

	if (!text_is(x, ',') || !token_is(text_peek(x), word))
		return text_array_of(x, &none);
	text_next(x);
	text_next(x);
	text_expect(x, '=');
	a = axes(x);
	text_expect(x, '}');
	return a;
}

/* <["x"=4], device_ids=[0, 1]> */
static const struct mlir_attr *mesh(struct text *x)
{
	struct list attrs = { 0 }, list = { 0 };

	text_expect(x, '<');
	text_expect(x, '[');
	while (!text_bad(x) && !text_is(x, ']')) {
		struct list one = { 0 };

		add(x, &one, "name", string_attr(x));
		text_expect(x, '=');
		add(x, &one, "size", integer_attr(x));
		push(x, &list, text_dictionary_of(x, "sdy.mesh_axis", &one));
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ']');
	add(x, &attrs, "axes", text_array_of(x, &list));
	if (text_take(x, ',')) {
		text_expect_word(x, "device_ids");
		text_expect(x, '=');
		add(x, &attrs, "device_ids", text_numbers(x));
	} else {
		add(x, &attrs, "device_ids", text_dense_of(x, NULL, 0));
	}
	text_expect(x, '>');
	return text_bad(x) ? NULL : text_dictionary_of(x, "sdy.mesh", &attrs);
}

/* <@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}> */
static const struct mlir_attr *sharding(struct text *x)
{
	struct list attrs = { 0 };
	bool unreduced;
	size_t n = 0;

	text_expect(x, '<');
	if (text_take_word(x, "mesh")) {
		add(x, &attrs, "mesh", mesh(x));
	} else {
		const char *name = text_symbol(x, &n);

		add(x, &attrs, "mesh", name ? attr_of_text(&x->r, MLIR_STRING, name) : NULL);
	}
	text_expect(x, ',');
	add(x, &attrs, "dim_shardings", dimensions(x));
	add(x, &attrs, "replicated_axes", named_axes(x, "replicated"));
	unreduced = text_is(x, ',');
	if (unreduced)
		add(x, &attrs, "unreduced_axes", named_axes(x, "unreduced"));
	text_expect(x, '>');
	return text_bad(x) ? NULL : text_dictionary_of(x, "sdy.sharding", &attrs);
}

const struct mlir_attr *text_shardings(struct text *x)
{
	struct list list = { 0 };

	text_expect(x, '[');
	while (!text_bad(x) && !text_is(x, ']')) {
		push(x, &list, sharding(x));
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ']');
	return text_bad(x) ? NULL : text_array_of(x, &list);
}

/* #sdy<manual_axes{"x"}> */
static const struct mlir_attr *manual(struct text *x)
{
	const struct mlir_attr *a;

	text_expect(x, '<');
	text_expect_word(x, "manual_axes");
	a = text_axes(x);
	text_expect(x, '>');
	return a;
}

const struct mlir_attr *text_sdy(struct text *x, const char *kind)
{
	const struct mlir_attr *a;

	if (!strcmp(kind, "sdy") && token_is(text_peek(x), "manual_axes"))
		return manual(x);
	if (!strcmp(kind, "sdy.sharding"))
		return sharding(x);
	if (!strcmp(kind, "sdy.mesh"))
		return mesh(x);
	if (!strcmp(kind, "sdy.sharding_per_value")) {
		text_expect(x, '<');
		a = text_shardings(x);
		text_expect(x, '>');
		return a;
	}
	if (text_is(x, '<'))
		text_skip(x);
	return attr_of_text(&x->r, MLIR_UNKNOWN, "sdy");
}
