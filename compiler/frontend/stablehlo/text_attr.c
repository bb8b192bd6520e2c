// SPDX-License-Identifier: MIT
/* Attributes in MLIR's text: see text.h */
#include <errno.h>
#include <string.h>

#include "frontend/hlo/hlo.h"
#include "text.h"

static const struct mlir_attr *array(struct text *x)
{
	struct list list = { 0 };

	text_expect(x, '[');
	if (!text_is(x, ']')) {
		do {
			const struct mlir_attr **a = list_add(x, &list, sizeof(*a));

			if (a)
				*a = text_attr(x);
		} while (!text_bad(x) && text_take(x, ','));
	}
	text_expect(x, ']');
	return text_bad(x) ? NULL : text_array_of(x, &list);
}

static void add_attr(struct text *x, struct list *attrs, struct names *seen)
{
	const struct token t = x->t;
	struct named_attr *e = list_add(x, attrs, sizeof(*e));
	size_t n = 0;

	if (t.kind != TOKEN_WORD && t.kind != TOKEN_STRING)
		text_expected(x, "an attribute's name");
	if (!e || text_bad(x))
		return;
	if (t.kind == TOKEN_STRING) {
		e->name = text_string(x, &n);
	} else {
		e->name = text_copy(x, t.p, t.n);
		text_next(x);
	}
	if (names_find(seen, t.p, t.n, 0))
		text_fail_at(x, t.p, -EINVAL, "the attribute '%.80s' was there before", e->name);
	if (text_bad(x) || !names_add(x, seen, t))
		return;
	e->attr = text_take(x, '=') ? text_attr(x) : new_attr(&x->r, MLIR_UNIT);
}

void text_attrs(struct text *x, struct list *attrs)
{
	struct names seen = { 0 };

	text_expect(x, '{');
	if (!text_is(x, '}')) {
		do {
			add_attr(x, attrs, &seen);
		} while (!text_bad(x) && text_take(x, ','));
	}
	text_expect(x, '}');
}

const struct mlir_attr *text_dictionary(struct text *x)
{
	struct list attrs = { 0 };

	text_attrs(x, &attrs);
	return text_bad(x) ? NULL : text_dictionary_of(x, "", &attrs);
}

/* A number whose bits from the type's width on are the sign's */
static int64_t of_width(const struct mlir_type *t, int64_t v)
{
	const unsigned int bits = 8 * text_bytes_of(t);

	if (t->name[0] != 'i' || bits >= 64 || !strcmp(t->name, "i1") || bits < 8)
		return v;
	return (int64_t)((uint64_t)v << (64 - bits)) >> (64 - bits);
}

static const struct mlir_attr *number(struct text *x)
{
	const struct token first = x->t;
	const bool is_float = (text_is(x, '-') ? text_peek(x) : x->t).kind == TOKEN_FLOAT;
	const struct mlir_type *type = NULL;
	struct mlir_attr *a;
	struct token after;
	const char *at;

	text_take(x, '-');
	text_next(x);
	after = x->t;
	if (text_take(x, ':')) {
		at = x->t.p;
		type = text_type(x);
		after = x->t;
		if (type && (type->kind != MLIR_NUMBER || !strncmp(type->name, "complex", 7)))
			text_fail_at(x, at, -EINVAL, "a number whose type is none");
	}
	if (!type && !text_bad(x))
		type = type_of_number(&x->r, is_float ? "f64" : "i64");
	if (!type || text_bad(x))
		return NULL;
	text_return(x, first);
	a = new_attr(&x->r, strchr("iu", type->name[0]) ? MLIR_INTEGER : MLIR_FLOAT);
	if (!a)
		return NULL;
	a->type = type;
	if (a->kind == MLIR_INTEGER && is_float)
		text_fail_at(x, first.p, -EINVAL, "a number of the type %s that is none",
			     type->name);
	else if (a->kind == MLIR_INTEGER)
		a->integer = of_width(type, text_integer(x));
	else
		a->real = text_real(x, type->name);
	text_return(x, after);
	return text_bad(x) ? NULL : a;
}

/* An attribute of which nothing is asked but what it is */
static const struct mlir_attr *unknown(struct text *x, const char *kind)
{
	if (text_is(x, '<') || text_is(x, '('))
		text_skip(x);
	return kind && !text_bad(x) ? attr_of_text(&x->r, MLIR_UNKNOWN, kind) : NULL;
}

/* #stablehlo<precision HIGHEST> and #stablehlo.result_accuracy_mode<DEFAULT> */
static const struct mlir_attr *enumerated(struct text *x, bool named)
{
	const char *word;

	text_expect(x, '<');
	if (named && x->t.kind == TOKEN_WORD)
		text_next(x);
	if (x->t.kind != TOKEN_WORD)
		text_expected(x, "a word");
	word = text_copy(x, x->t.p, x->t.n);
	text_next(x);
	text_expect(x, '>');
	return word && !text_bad(x) ? attr_of_text(&x->r, MLIR_WORD, word) : NULL;
}

/* A number without a type of its own, a list of such, or any other attribute */
static const struct mlir_attr *field(struct text *x)
{
	struct token next;

	if (text_is(x, '[')) {
		next = text_peek(x);
		if (next.kind == TOKEN_INTEGER || token_is(next, "]") || token_is(next, "-"))
			return text_numbers(x);
	}
	if (x->t.kind == TOKEN_INTEGER || text_is(x, '-')) {
		next = text_is(x, '-') ? text_peek(x) : x->t;
		if (next.kind == TOKEN_INTEGER)
			return attr_of_int(&x->r, MLIR_INTEGER, text_integer(x));
	}
	return text_attr(x);
}

const struct mlir_attr *text_fields(struct text *x, const char *kind)
{
	struct list attrs = { 0 };

	text_expect(x, '<');
	while (!text_bad(x) && !text_is(x, '>')) {
		struct named_attr *e = list_add(x, &attrs, sizeof(*e));

		if (x->t.kind != TOKEN_WORD)
			text_expected(x, "a field's name");
		if (!e || text_bad(x))
			return NULL;
		e->name = text_copy(x, x->t.p, x->t.n);
		text_next(x);
		text_expect(x, '=');
		e->attr = field(x);
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, '>');
	return text_bad(x) ? NULL : text_dictionary_of(x, kind, &attrs);
}

/* Does an attribute of that kind have several fields? */
static bool has_fields(const char *kind)
{
	static const char *const kinds[] = {
		"stablehlo.gather",
		"stablehlo.scatter",
		"stablehlo.dot",
		"stablehlo.dot_algorithm",
		"stablehlo.channel_handle",
		"stablehlo.result_accuracy",
		"stablehlo.output_operand_alias",
		"chlo.ragged_dot",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

static const struct mlir_attr *dialect_attr(struct text *x)
{
	const struct token t = x->t;
	const struct name *alias = names_find(&x->aliases, t.p, t.n, 0);
	const char *kind = text_copy(x, t.p + 1, t.n - 1);

	text_next(x);
	if (alias && alias->count)
		return attr_of_text(&x->r, MLIR_UNKNOWN, "location");
	if (alias && x->in_alias)
		text_fail_at(x, t.p, -ENOTSUP, "an alias of what has aliases in it");
	if (alias)
		return alias->what;
	if (!kind || text_bad(x))
		return NULL;
	if (!strcmp(kind, "stablehlo") || !strcmp(kind, "chlo") || !strcmp(kind, "mhlo"))
		return enumerated(x, true);
	if (!strcmp(kind, "stablehlo.result_accuracy_mode"))
		return enumerated(x, false);
	if (!strcmp(kind, "stablehlo.conv")) {
		const struct mlir_attr *a;

		text_expect(x, '<');
		a = text_conv_dims(x);
		text_expect(x, '>');
		return text_bad(x) ? NULL : a;
	}
	if (has_fields(kind))
		return text_fields(x, kind);
	if (!strcmp(kind, "sdy") || !strncmp(kind, "sdy.", strlen("sdy.")))
		return text_sdy(x, kind);
	if (!strchr(kind, '.') && !text_is(x, '<')) {
		text_fail_at(x, t.p, -EINVAL, "the attribute '#%.80s' is not defined", kind);
		return NULL;
	}
	return unknown(x, kind);
}

static const struct mlir_attr *string(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_STRING);
	size_t n = 0;
	const char *s = text_string(x, &n);

	if (!a || !s)
		return NULL;
	a->text = s;
	a->size = n;
	if (text_take(x, ':'))
		text_type(x);
	return text_bad(x) ? NULL : a;
}

static const struct mlir_attr *symbol(struct text *x)
{
	size_t n = 0;
	const char *s = text_symbol(x, &n);

	if (text_is(x, ':') && text_peek(x).p == x->t.p + 1 && token_is(text_peek(x), ":"))
		text_fail_at(x, x->t.p, -ENOTSUP, "a name in a name");
	return s && !text_bad(x) ? attr_of_text(&x->r, MLIR_STRING, s) : NULL;
}

static const struct mlir_attr *type_attr(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_TYPE);

	if (a)
		a->type = text_type(x);
	return text_bad(x) ? NULL : a;
}

/* true, dense<...>: what begins with a word; else a type */
static const struct mlir_attr *worded(struct text *x)
{
	static const char *const unread[] = { "affine_map", "affine_set", "opaque", "sparse",
					      "loc",	    "distinct",	  "strided" };

	if (text_is_word(x, "true") || text_is_word(x, "false")) {
		const bool v = text_is_word(x, "true");

		text_next(x);
		return attr_of_int(&x->r, MLIR_BOOL, v);
	}
	if (text_is_word(x, "dense"))
		return text_dense(x);
	if (text_is_word(x, "dense_resource"))
		return text_dense_resource(x);
	if (text_is_word(x, "array"))
		return text_array(x);
	if (text_take_word(x, "unit"))
		return new_attr(&x->r, MLIR_UNIT);
	for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]); i++)
		if (text_take_word(x, unread[i]))
			return unknown(x, unread[i]);
	return type_attr(x);
}

static const struct mlir_attr *any_attr(struct text *x)
{
	switch (x->t.kind) {
	case TOKEN_WORD:
		return worded(x);
	case TOKEN_STRING:
		return string(x);
	case TOKEN_INTEGER:
	case TOKEN_FLOAT:
		return number(x);
	case TOKEN_HASH:
		return dialect_attr(x);
	case TOKEN_SYMBOL:
		return symbol(x);
	case TOKEN_TYPE:
		return type_attr(x);
	default:
		break;
	}
	if (text_is(x, '-'))
		return number(x);
	if (text_is(x, '['))
		return array(x);
	if (text_is(x, '{'))
		return text_dictionary(x);
	if (text_is(x, '('))
		return type_attr(x);
	text_expected(x, "an attribute");
	return NULL;
}

const struct mlir_attr *text_attr(struct text *x)
{
	const struct mlir_attr *a;

	if (!text_enter(x))
		return NULL;
	a = any_attr(x);
	text_leave(x);
	return text_bad(x) ? NULL : a;
}
