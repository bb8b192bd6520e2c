// SPDX-License-Identifier: MIT
/* Attributes that are made of what was read, and lists of numbers and words: see text.h */
#include <string.h>

#include "text.h"

const struct mlir_attr *text_int(struct text *x, const char *type, int64_t v)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_INTEGER);

	if (!a)
		return NULL;
	a->type = type_of_number(&x->r, type);
	a->integer = v;
	return a;
}

const struct mlir_attr *text_dense_of(struct text *x, const int64_t *v, size_t n)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_DENSE);

	if (!a)
		return NULL;
	a->type = text_tensor_of(x, "i64", (int64_t)n);
	a->data = v ? (const uint8_t *)v : text_nothing;
	a->size = n * sizeof(*v);
	return a->type ? a : NULL;
}

const struct mlir_attr *text_array_of(struct text *x, const struct list *list)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_ARRAY);

	if (!a)
		return NULL;
	a->n = list->n;
	a->list = list->p;
	return a;
}

const struct mlir_attr *text_dictionary_of(struct text *x, const char *kind,
					   const struct list *attrs)
{
	struct mlir_attr *a = new_attr(&x->r, MLIR_DICTIONARY);
	const struct named_attr *e = attrs->p;

	if (!a)
		return NULL;
	a->text = kind;
	a->size = strlen(kind);
	a->n = attrs->n;
	a->names = reader_alloc(&x->r, attrs->n + 1, sizeof(*a->names));
	a->list = reader_alloc(&x->r, attrs->n + 1, sizeof(*a->list));
	for (size_t i = 0; i < attrs->n && !text_bad(x); i++) {
		a->names[i] = e[i].name;
		a->list[i] = e[i].attr;
	}
	return text_bad(x) ? NULL : a;
}

const struct mlir_attr *text_numbers(struct text *x)
{
	struct list list = { 0 };

	text_expect(x, '[');
	if (!text_is(x, ']')) {
		do {
			int64_t *v = list_add(x, &list, sizeof(*v));

			if (v)
				*v = text_integer(x);
		} while (!text_bad(x) && text_take(x, ','));
	}
	text_expect(x, ']');
	return text_bad(x) ? NULL : text_dense_of(x, list.p, list.n);
}

const struct mlir_attr *text_words(struct text *x)
{
	struct list list = { 0 };

	text_expect(x, '[');
	if (!text_is(x, ']')) {
		do {
			const struct mlir_attr **a = list_add(x, &list, sizeof(*a));
			const char *word = text_copy(x, x->t.p, x->t.n);

			if (x->t.kind != TOKEN_WORD)
				text_expected(x, "a word");
			text_next(x);
			if (a && word)
				*a = attr_of_text(&x->r, MLIR_WORD, word);
		} while (!text_bad(x) && text_take(x, ','));
	}
	text_expect(x, ']');
	return text_bad(x) ? NULL : text_array_of(x, &list);
}
