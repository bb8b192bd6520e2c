// SPDX-License-Identifier: MIT
/*
 * The type of numbers that stand for others, in MLIR's text: !quant.uniform<i8<-127:127>:f32:1,
 * {0.5:3, 0.25}>, whose storage's bounds, dimension and zero points may be left out. See text.h
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"

static int64_t whole(struct text *x)
{
	const bool negative = text_take(x, '-');
	const int64_t v = text_count(x);

	return negative ? -v : v;
}

static double real(struct text *x)
{
	const bool negative = text_take(x, '-');
	const char *digits;
	double v;

	if (x->t.kind != TOKEN_FLOAT && x->t.kind != TOKEN_INTEGER) {
		text_expected(x, "a number");
		return 0;
	}
	digits = text_copy(x, x->t.p, x->t.n);
	v = digits ? strtod(digits, NULL) : 0;
	text_next(x);
	return negative ? -v : v;
}

/* "i8" or "u8" */
static const struct mlir_type *storage(struct text *x)
{
	const bool positive = x->t.kind == TOKEN_WORD && x->t.p[0] == 'u';
	const char *name = text_copy(x, x->t.p, x->t.n);
	char spelled[16];

	if (x->t.kind != TOKEN_WORD || x->t.n > 8) {
		text_expected(x, "a type of integers");
		return NULL;
	}
	text_next(x);
	snprintf(spelled, sizeof(spelled), "%si%s", positive ? "u" : "", name ? name + 1 : "");
	name = text_copy(x, spelled, strlen(spelled));
	return name ? type_of_number(&x->r, name) : NULL;
}

static const struct mlir_type *expressed(struct text *x)
{
	const char *name = text_copy(x, x->t.p, x->t.n);

	if (x->t.kind != TOKEN_WORD) {
		text_expected(x, "a type of floats");
		return NULL;
	}
	text_next(x);
	return name ? type_of_number(&x->r, name) : NULL;
}

static void scale(struct text *x, struct list *scales, struct list *zeros)
{
	double *s = list_add(x, scales, sizeof(*s));
	int64_t *z = list_add(x, zeros, sizeof(*z));

	if (!s || !z)
		return;
	*s = real(x);
	*z = text_take(x, ':') ? whole(x) : 0;
}

const struct mlir_type *text_quantized(struct text *x, const char *name)
{
	struct mlir_quant q = { .axis = -1 };
	struct list scales = { 0 }, zeros = { 0 };

	text_expect(x, '<');
	q.storage = storage(x);
	if (!q.storage || text_bad(x))
		return NULL;
	quant_bounds(&q);
	if (text_take(x, '<')) {
		q.least = whole(x);
		text_expect(x, ':');
		q.most = whole(x);
		text_expect(x, '>');
	}
	text_expect(x, ':');
	q.expressed = expressed(x);
	if (text_bad(x) || !q.expressed)
		return NULL;
	if (text_take(x, ':'))
		q.axis = text_count(x);
	text_expect(x, ',');
	if (text_take(x, '{')) {
		do {
			scale(x, &scales, &zeros);
		} while (!text_bad(x) && text_take(x, ','));
		text_expect(x, '}');
	} else {
		scale(x, &scales, &zeros);
	}
	text_expect(x, '>');
	q.n = scales.n;
	q.scale = scales.p;
	q.zero = zeros.p;
	return text_bad(x) ? NULL : type_of_quant(&x->r, &q, name);
}
