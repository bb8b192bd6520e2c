// SPDX-License-Identifier: MIT
/*
 * Reads an operation's own form as the table of text_forms.c describes it: items with blanks
 * between them, each
 *
 *   $ $*           an operand; any number of them
 *   i:NAME i32:NAME l:NAME w:NAME b:NAME s:NAME p:NAME
 *                  an attribute: an integer of 64 or 32 bits, a list of integers, a word, a
 *                  boolean, a string, a list of words
 *   <format>       how many bits an exponent and a fraction have: e5m10
 *   value          the attribute value, whose type is the result's
 *   callee         a function's name
 *   {}             attributes by name, if they are there
 *   ?( )?          what may be left out; it begins with one or two literals
 *   :KIND          the types, as text_signature reads them
 *
 * and anything else stands for itself.
 */
#include <errno.h>
#include <string.h>

#include "text.h"

/* Attributes */

static const struct mlir_attr *word(struct text *x)
{
	const char *w = text_copy(x, x->t.p, x->t.n);

	if (x->t.kind != TOKEN_WORD)
		text_expected(x, "a word");
	text_next(x);
	return w && !text_bad(x) ? attr_of_text(&x->r, MLIR_WORD, w) : NULL;
}

static const struct mlir_attr *boolean(struct text *x)
{
	const bool v = text_is_word(x, "true");

	if (!v && !text_is_word(x, "false"))
		text_expected(x, "'true' or 'false'");
	text_next(x);
	return attr_of_int(&x->r, MLIR_BOOL, v);
}

static const struct mlir_attr *string(struct text *x)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_STRING);

	if (a)
		a->text = text_string(x, &a->size);
	return text_bad(x) ? NULL : a;
}

static const struct mlir_attr *integer(struct text *x)
{
	return text_int(x, "i64", text_integer(x));
}

static const struct mlir_attr *integer32(struct text *x)
{
	return text_int(x, "i32", text_integer(x));
}

static const struct {
	const char *prefix;
	const struct mlir_attr *(*read)(struct text *x);
} kinds[] = {
	{ "i:", integer }, { "i32:", integer32 }, { "l:", text_numbers }, { "w:", word },
	{ "b:", boolean }, { "s:", string },	  { "p:", text_words },
};

static bool take_attr(struct text *x, struct draft *d, const char *item)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const size_t n = strlen(kinds[i].prefix);

		if (!strncmp(item, kinds[i].prefix, n)) {
			const char *name = text_copy(x, item + n, strlen(item + n));

			if (name)
				text_set(x, d, name, kinds[i].read(x));
			return true;
		}
	}
	return false;
}

/* e5m10 */
static void format(struct text *x, struct draft *d)
{
	unsigned int e = 0, m = 0, n = 0;
	char word[16] = "";

	if (x->t.kind == TOKEN_WORD && x->t.n < sizeof(word))
		memcpy(word, x->t.p, x->t.n);
	for (; word[n + 1] >= '0' && word[n + 1] <= '9' && n < 6; n++)
		e = 10 * e + (unsigned int)(word[n + 1] - '0');
	if (word[0] != 'e' || !n || word[n + 1] != 'm' || !word[n + 2]) {
		text_expected(x, "a format, such as e5m10");
		return;
	}
	for (const char *p = word + n + 2; *p && m < 100000; p++) {
		if (*p < '0' || *p > '9') {
			text_expected(x, "a format, such as e5m10");
			return;
		}
		m = 10 * m + (unsigned int)(*p - '0');
	}
	text_next(x);
	text_set(x, d, "exponent_bits", text_int(x, "i32", e));
	text_set(x, d, "mantissa_bits", text_int(x, "i32", m));
}

static void value(struct text *x, struct draft *d)
{
	const char *at = x->t.p;
	const struct mlir_attr *a = text_attr(x);
	const struct mlir_type **t = list_add(x, &d->out, sizeof(*t));

	if (!a || !t)
		return;
	text_set(x, d, "value", a);
	if (!a->type)
		text_fail_at(x, at, -EINVAL, "expected a tensor's value");
	*t = a->type;
}

static void callee(struct text *x, struct draft *d)
{
	size_t n = 0;
	const char *name = text_symbol(x, &n);

	if (name)
		text_set(x, d, "callee", attr_of_text(&x->r, MLIR_STRING, name));
}

static void attributes(struct text *x, struct draft *d)
{
	struct list more = { 0 };
	const struct named_attr *e;

	if (!text_is(x, '{'))
		return;
	text_attrs(x, &more);
	e = more.p;
	for (size_t i = 0; !text_bad(x) && i < more.n; i++)
		text_set(x, d, e[i].name, e[i].attr);
}

/* The form */

#define MOST_ITEM 64

/* The next item; false: there is none */
static bool next_item(const char **form, char *item)
{
	size_t n;

	*form += strspn(*form, " ");
	n = strcspn(*form, " ");
	if (!n || n >= MOST_ITEM)
		return false;
	memcpy(item, *form, n);
	item[n] = 0;
	*form += n;
	return true;
}

static void literal(struct text *x, const char *item)
{
	char what[MOST_ITEM + 2];

	snprintf(what, sizeof(what), "'%s'", item);
	if (token_is(x->t, item))
		text_next(x);
	else
		text_expected(x, what);
}

/* Is what may be left out there? rest: it begins there, behind its first literal */
static bool is_there(const struct text *x, const char *first, const char *rest)
{
	char second[MOST_ITEM];

	if (!token_is(x->t, first))
		return false;
	if (!next_item(&rest, second) || strchr(second, ':') || *second == '$')
		return true;
	return token_is(text_peek(x), second);
}

static void take_item(struct text *x, struct draft *d, const char *item)
{
	if (!strcmp(item, "$"))
		text_operand(x, d);
	else if (!strcmp(item, "$*"))
		text_operands(x, d);
	else if (!strcmp(item, "{}"))
		attributes(x, d);
	else if (!strcmp(item, "<format>"))
		format(x, d);
	else if (!strcmp(item, "value"))
		value(x, d);
	else if (!strcmp(item, "callee"))
		callee(x, d);
	else if (*item == ':' && item[1])
		text_signature(x, d, item + 1);
	else if (!take_attr(x, d, item))
		literal(x, item);
}

void text_pretty(struct text *x, struct draft *d, const char *form)
{
	char item[MOST_ITEM];

	while (!text_bad(x) && next_item(&form, item)) {
		if (!strcmp(item, ")?"))
			continue;
		if (strcmp(item, "?(")) {
			take_item(x, d, item);
		} else if (next_item(&form, item)) {
			if (is_there(x, item, form))
				literal(x, item);
			else
				form = strstr(form, ")?") + 2;
		}
	}
}
