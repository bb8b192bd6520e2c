// SPDX-License-Identifier: MIT
/*
 * Where the program's author wrote something, in MLIR's text: see text.h. Aliases of locations are
 * mostly defined behind all that refers to them; until the end an operation has the alias's name
 * as its file, and LATER as its line.
 */
#include <string.h>

#include "text.h"

#define LATER (~0u)
#define MOST_FRAMES 64 /* aliases in aliases */

struct location {
	const char *file; /* or an alias */
	unsigned int line; /* LATER: an alias */
};

static struct location location(struct text *x);

static void quoted(struct text *x, struct location *l)
{
	size_t n = 0;
	const char *name = text_string(x, &n);

	if (text_take(x, ':')) {
		const int64_t line = text_count(x);

		l->file = n ? name : NULL;
		l->line = line < LATER ? (unsigned int)line : 0;
		text_expect(x, ':');
		text_count(x);
		if (text_take_word(x, "to")) {
			if (x->t.kind == TOKEN_INTEGER)
				text_count(x);
			text_expect(x, ':');
			text_count(x);
		}
	} else if (text_take(x, '(')) {
		*l = location(x);
		text_expect(x, ')');
	}
}

/* Takes the first of several locations */
static void fused(struct text *x, struct location *l)
{
	bool first = true;

	if (text_is(x, '<'))
		text_skip(x);
	text_expect(x, '[');
	while (!text_bad(x) && !text_is(x, ']')) {
		const struct location one = location(x);

		if (first)
			*l = one;
		first = false;
		if (!text_take(x, ','))
			break;
	}
	text_expect(x, ']');
}

/* A call's location: the callee's, and the caller's */
static void call_site(struct text *x, struct location *l)
{
	text_expect(x, '(');
	*l = location(x);
	text_expect_word(x, "at");
	location(x);
	text_expect(x, ')');
}

static struct location location(struct text *x)
{
	struct location l = { NULL, 0 };

	if (!text_enter(x))
		return l;
	if (x->t.kind == TOKEN_STRING) {
		quoted(x, &l);
	} else if (x->t.kind == TOKEN_HASH) {
		l.file = text_copy(x, x->t.p, x->t.n);
		l.line = LATER;
		text_next(x);
	} else if (text_take_word(x, "callsite")) {
		call_site(x, &l);
	} else if (text_take_word(x, "fused")) {
		fused(x, &l);
	} else if (!text_take_word(x, "unknown")) {
		text_expected(x, "a location");
	}
	text_leave(x);
	return text_bad(x) ? (struct location){ NULL, 0 } : l;
}

void text_location(struct text *x, struct mlir_op *op)
{
	struct location l;

	if (!text_take_word(x, "loc"))
		return;
	text_expect(x, '(');
	l = location(x);
	text_expect(x, ')');
	op->file = l.file;
	op->line = l.line;
}

void text_skip_location(struct text *x)
{
	struct mlir_op ignored = { 0 };

	text_location(x, &ignored);
}

/* #name = loc(...), from loc on; it may have been referred to already */
void text_location_alias(struct text *x, struct token name)
{
	struct location *l = reader_alloc(&x->r, 1, sizeof(*l));
	struct mlir_op at = { 0 };
	struct name *e;

	text_location(x, &at);
	e = l && !text_bad(x) ? names_add(x, &x->aliases, name) : NULL;
	if (!e)
		return;
	*l = (struct location){ at.file, at.line };
	e->what = l;
	e->count = 1; /* it is a location */
}

static void resolve(const struct text *x, struct mlir_op *op)
{
	for (unsigned int n = 0; op->line == LATER; n++) {
		const struct name *e = names_find(&x->aliases, op->file, strlen(op->file), 0);
		const struct location *l = e && e->count ? e->what : NULL;

		if (n == MOST_FRAMES)
			l = NULL;
		op->file = l ? l->file : NULL;
		op->line = l ? l->line : 0;
	}
}

void text_resolve_locations(struct text *x, struct mlir_op *op)
{
	resolve(x, op);
	for (size_t i = 0; i < op->nregions; i++)
		for (size_t k = 0; k < op->regions[i].nblocks; k++)
			for (size_t j = 0; j < op->regions[i].blocks[k].nops; j++)
				text_resolve_locations(x, &op->regions[i].blocks[k].ops[j]);
}
